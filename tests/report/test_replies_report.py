"""What the report says of replies that are empty, filtered, cut, or cut in reasoning."""

import json
from pathlib import Path
from typing import Any

import fabricated
import pytest

from trinity.errors import DataError
from trinity.report.document import document
from trinity.report.inputs import read_evaluation
from trinity.report.write import gather, write_report

TASKS = ("demo_math", "demo_code")


def written(root: Path, odd: dict[str, Any], **changes: Any) -> str:
    """The report of two tasks, the first with such replies."""
    fabricated.write_run(root, TASKS)
    path = root / "data" / "evaluation" / "demo_math" / "summary.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(summary | {"odd_replies": odd} | changes), encoding="utf-8")
    return document(gather(fabricated.config(TASKS), root))


def rows_of(report: str) -> list[list[str]]:
    """The cells of the table of such replies."""
    _, _, after = report.partition("empty, filtered and cut replies (simulated pool)**")
    lines = after.strip().split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_nothing_is_said_where_every_reply_is_whole(tmp_path: Path) -> None:
    assert "filtered" not in written(tmp_path, {})


def test_counts_stand_by_agent_apart_from_those_at_more_tokens(tmp_path: Path) -> None:
    odd = {
        "trinity_cma": {"atlas": {"cut": 2, "empty": 1}},
        "single_atlas": {"atlas": {"cut": 3}},
        "single_birch": {"birch": {"filtered": 9}},
        "single5x_atlas": {"atlas": {"cut": 9}},
    }
    plain = written(tmp_path / "plain", {})
    report = written(tmp_path / "odd", odd)
    evaluation = read_evaluation(tmp_path / "odd" / "data" / "evaluation" / "demo_math")
    turns = [0, 0, 0]
    for system, agents in zip(evaluation.episodes["system"], evaluation.episodes["agents"], strict=True):
        for agent in agents.split(">") if not system.startswith("single5x") else []:
            turns[int(agent)] += 1
    assert rows_of(report) == [
        ["atlas", f"{turns[0]:,}", "1", "0", "5", "0", f"{6 / turns[0]:.1%}"],
        ["birch", f"{turns[1]:,}", "0", "9", "0", "0", f"{9 / turns[1]:.1%}"],
        ["atlas at 5x tokens", "90", "0", "0", "9", "0", "10.0%"],
    ]
    assert "`episode.max_tokens`" not in report
    assert "demo_code: empty" not in report
    start, end = report.index("## Empty, filtered"), report.index("## Learning curves")
    assert report[:start] + report[end:] == plain


def test_a_cap_spent_on_reasoning_comes_with_advice(tmp_path: Path) -> None:
    odd = {"single_birch": {"birch": {"cut in reasoning": 7}}, "random": {"cedar": {"cut in reasoning": 2}}}
    report = " ".join(written(tmp_path, odd).split())
    assert "on demo_math birch, cedar spent max_tokens on reasoning in 9 replies" in report
    assert "Raise `episode.max_tokens` or the agent's `decoding`, or have less reasoned in `pool.agents`" in report


@pytest.mark.parametrize(
    "odd",
    [
        [],
        {"random": 3},
        {"random": {"oak": {"cut": 1}}},
        {"random": {"atlas": {"late": 1}}},
        {"random": {"atlas": {"cut": -1}}},
        {"random": {"atlas": {"cut": 0.5}}},
    ],
)
def test_a_malformed_count_is_one_line(tmp_path: Path, odd: Any) -> None:
    with pytest.raises(DataError, match=r"summary\.json: odd_replies: must be \{system: [^\n]*$"):
        written(tmp_path, odd)


def test_the_whole_report_is_written_with_them(tmp_path: Path) -> None:
    written(tmp_path, {"random": {"cedar": {"empty": 2}}})
    write_report(fabricated.config(TASKS), tmp_path)
    assert rows_of((tmp_path / "reports" / "report.md").read_text(encoding="utf-8"))[0][:3:2] == ["cedar", "2"]
