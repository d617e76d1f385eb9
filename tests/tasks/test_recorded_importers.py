"""The public forms become tables: on small sources made here, and on the collections themselves where they stand."""

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from shared_files import shared
from trinity.config import load_config
from trinity.errors import DataError
from trinity.tasks.importers import ImportReport, import_outcomes
from trinity.tasks.importers.command import add_parser
from trinity.tasks.outcomes import OutcomeRow, read_outcomes

ROOT = Path(__file__).parents[2]


def write_jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def mmlu_row(identity: int, question: str, **predictions: str | None) -> dict[str, Any]:
    return {
        "question_id": identity,
        "question": question,
        "options": ["red", "blue"],
        "answer": "B",
        "category": "art",
        "src": "made",
        "preds": {name.replace("gemini", "gemini-1.5-pro-002") + "_5shots": p for name, p in predictions.items()},
    }


@pytest.fixture
def mmlu(tmp_path: Path) -> Path:
    records = [
        mmlu_row(1, "Sky?", one="B", gemini="A"),
        mmlu_row(2, "Sea?", one=None, gemini="B"),
        mmlu_row(3, "Ice?", one="B", gemini=None),
        mmlu_row(4, "Sky?", one="A", gemini="B"),
        mmlu_row(5, "Fire?", one="A", gemini="B") | {"options": ["red"], "answer": "A"},
        mmlu_row(6, " ", one="A", gemini="B"),
    ]
    write_jsonl(tmp_path / "mmlu_pro_12032q_x_28models.jsonl.gz", records)
    return tmp_path


def router_row(kind: str, question: str, split: str = "train", choices: str | None = None) -> dict[str, Any]:
    return {
        "task": kind,
        "split": split,
        "question": question,
        "choices": choices,
        "ground_truth": "A",
        "metric": "em",
        "task_id": None,
        "scores": {"one": 1.0, "two": 0.5},
    }


def test_mmlu_pro_letters_become_scores(mmlu: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    report = import_outcomes("mmlu_pro", mmlu, out)
    assert read_outcomes(out) == [
        OutcomeRow("1", "Sky?\nA. red\nB. blue", "art", {"gemini-1.5-pro-002": 0.0, "one": 1.0}, "B"),
        OutcomeRow("2", "Sea?\nA. red\nB. blue", "art", {"gemini-1.5-pro-002": 1.0, "one": 0.0}, "B"),
    ]
    assert dict(report.dropped) == {
        "fewer than two options": 1,
        "no answer of a gemini model (absent from its file, or unreadable)": 1,
        "question and options of an earlier row": 1,
        "question without a statement": 1,
    }
    assert any(note.startswith("one: nothing could be extracted from 1 replies") for note in report.notes)


def test_a_gemini_gap_costs_rows_only_where_gemini_is_taken(mmlu: Path, tmp_path: Path) -> None:
    report = import_outcomes("mmlu_pro", mmlu, tmp_path / "out.jsonl", models=["one"])
    assert (report.rows, report.models) == (3, ("one",))


def test_llmrouter_keeps_no_test_question_that_was_trained_on(tmp_path: Path) -> None:
    records = [
        router_row("qa", "Seen?"),
        router_row("qa", "Seen?", "test"),
        router_row("qa", "New?", "test"),
        router_row("mmlu", "Pick.", choices="['x', 'y']"),
        router_row("arc", "Pick?", choices="{'text': ['x', 'y'], 'label': ['1', '2']}"),
        router_row("mbpp", "Write f.", choices="['assert f(1)', 'assert f(2)']"),
        router_row("qa", ""),
    ]
    write_jsonl(tmp_path / "outcomes.jsonl", records)
    out = tmp_path / "out.jsonl"
    report = import_outcomes("llmrouter", tmp_path, out)
    assert {row.id: row.question for row in read_outcomes(out)} == {
        "qa-0001": "Seen?",
        "qa-0003": "New?",
        "mmlu-0004": "Pick.\nA. x\nB. y",
        "arc-0005": "Pick?\n1. x\n2. y",
        "mbpp-0006": "Write f.\nYour code should pass these tests:\nassert f(1)\nassert f(2)",
    }
    assert dict(report.dropped) == {
        "question without a statement": 1,
        "test question that is a training question": 1,
    }
    assert {row.split for row in read_outcomes(out)} == {None}
    assert dict(report.means) == {"one": 1.0, "two": 0.5}


def test_a_cell_below_a_blind_guess_is_named(tmp_path: Path) -> None:
    records = [router_row("mmlu", f"Pick {n}.", choices="['x', 'y']") for n in range(60)]
    for number, record in enumerate(records):
        record["scores"] = {"deaf": float(number < 10), "near": float(number < 25)}
    write_jsonl(tmp_path / "outcomes.jsonl", records)
    notes = import_outcomes("llmrouter", tmp_path, tmp_path / "out.jsonl").notes
    assert [note.split(":")[0] for note in notes] == ["deaf on mmlu"]


@pytest.mark.parametrize(
    "change, said",
    [
        ({"scores": {"one": 1.0}}, "row 2: not of the expected form: KeyError 'two'"),
        ({"choices": "[1"}, "row 2: not of the expected form: SyntaxError"),
        ({"scores": {"one": 1.0, "two": 7}}, r"row 2: scores\.two: must be a number from 0 to 1"),
    ],
)
def test_a_malformed_source_row_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    write_jsonl(tmp_path / "outcomes.jsonl", [router_row("qa", "1?"), router_row("qa", "2?") | change])
    with pytest.raises(DataError, match=said):
        import_outcomes("llmrouter", tmp_path, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_a_damaged_archive_is_one_line(mmlu: Path, tmp_path: Path) -> None:
    path = mmlu / "mmlu_pro_12032q_x_28models.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match=r"jsonl\.gz: cannot be read"):
        import_outcomes("mmlu_pro", mmlu, tmp_path / "out.jsonl")


def test_what_a_user_may_get_wrong(mmlu: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(DataError, match="no form 'mmlu'; forms: mmlu_pro, llmrouter, lcb"):
        import_outcomes("mmlu", mmlu, out)
    with pytest.raises(DataError, match=r"no model two; models: gemini-1\.5-pro-002, one"):
        import_outcomes("mmlu_pro", mmlu, out, models=["one", "two"])
    with pytest.raises(DataError, match="no model chosen"):
        import_outcomes("mmlu_pro", mmlu, out, models=[])
    with pytest.raises(DataError, match=r"outcomes\.jsonl: no such file"):
        import_outcomes("llmrouter", mmlu, out)
    with pytest.raises(DataError, match="give it with --questions"):
        import_outcomes("lcb", mmlu, out)
    with pytest.raises(DataError, match="leave --questions out"):
        import_outcomes("mmlu_pro", mmlu, out, questions=mmlu)


def lcb(folder: Path, first: str, second: str) -> ImportReport:
    head = "question_id,split,contest_date,platform,difficulty,functional,"
    (folder / "pass1_release_v5_880q_x_19models.csv").write_text(f"{head}Old (N=1) (Low),Both\n{first}")
    (folder / "pass1_release_v6_1055q_x_16models.csv").write_text(f"{head}Both,New\n{second}")
    statement = {"question_content": "Add.", "starter_code": "def add():\n  "}
    write_jsonl(folder / "problems_880_with_o1_code.jsonl", [{"question_id": i} | statement for i in ("1_A", "2")])
    return import_outcomes("lcb", folder, folder / "out.jsonl", questions=folder)


def test_lcb_joins_statements_and_releases(tmp_path: Path) -> None:
    report = lcb(
        tmp_path,
        "2,v2_v5,d,leetcode,easy,1,0.1,0.2\n1_A,v1,d,atcoder,hard,0,0.3,0.4\n",
        "1_A,v1,d,atcoder,hard,0,0.9,1\n2,v2_v5,d,leetcode,easy,1,0.9,0\n3,v6,d,atcoder,hard,0,1,1\n",
    )
    assert read_outcomes(tmp_path / "out.jsonl") == [
        OutcomeRow(
            "1_A", "Add.\n\ndef add():", "atcoder-hard", {"Old-Low": 0.3, "Both": 0.4, "New": 1.0}, split="train"
        ),
        OutcomeRow("2", "Add.\n\ndef add():", "leetcode-easy", {"Old-Low": 0.1, "Both": 0.2, "New": 0.0}, split="test"),
    ]
    assert dict(report.dropped) == {"question without a statement": 1}


def test_lcb_refuses_a_hole(tmp_path: Path) -> None:
    whole = "1_A,v1,d,atcoder,hard,0,0.3,0.4\n"
    with pytest.raises(DataError, match=r"question 2: no outcome of New"):
        lcb(tmp_path, whole + "2,v2_v5,d,leetcode,easy,1,0.1,0.2\n", whole)
    with pytest.raises(DataError, match="2 rows but 1 whole and different ones"):
        lcb(tmp_path, whole + "2,v2_v5,d,leetcode,easy,1,0.1\n", whole)


def test_the_collections_themselves(tmp_path: Path) -> None:
    router = import_outcomes("llmrouter", shared("data/llmrouter_9models"), tmp_path / "router.jsonl")
    assert (router.rows, sum(router.dropped.values()), len(router.models), len(router.kinds)) == (5541, 69, 9, 13)
    assert router.means["gemma-2-9b-it"] == pytest.approx(0.562, abs=5e-4)
    code = import_outcomes(
        "lcb", shared("data/lcb_outcomes"), tmp_path / "lcb.jsonl", shared("data/lcb_questions_v1_v5")
    )
    assert (code.rows, dict(code.dropped)) == (880, {"question without a statement": 175})
    assert (dict(code.splits), len(code.models)) == ({"test": 480, "train": 400}, 29)
    choice = import_outcomes("mmlu_pro", shared("data/mmlu_pro_outcomes"), tmp_path / "mmlu.jsonl")
    assert (choice.rows, sum(choice.dropped.values()), len(choice.models)) == (11762, 270, 28)
    assert len(read_outcomes(tmp_path / "mmlu.jsonl")) == 11762


def test_the_command_prints_the_report_and_repeats_its_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    tables = []
    models = "gemma-2-9b-it, qwen2.5-7b-instruct"
    source = str(shared("data/llmrouter_9models"))
    for name in ("one.jsonl", "two.jsonl"):
        args = parser.parse_args(
            ["import-outcomes", "llmrouter", "--source", source, "--out", str(tmp_path / name), "--models", models]
        )
        assert args.run(args) == 0
        tables.append((tmp_path / name).read_bytes())
    assert tables[0] == tables[1]
    printed = capsys.readouterr().out
    assert "5541 questions, 2 models (llmrouter)" in printed
    assert "qwen2.5-7b-instruct on mmlu: 0.16, below a blind guess" in printed


def test_the_recorded_preset_is_a_whole_params_file() -> None:
    config = load_config(ROOT / "src" / "trinity" / "presets" / "recorded.yaml")
    assert config.pool.kind == "recorded"
    assert set(config.tasks) == set(config.data.outcomes)
