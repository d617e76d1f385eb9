"""`trinity grade` and `trinity canonical`."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from sandboxes import SANDBOX
from shared_files import shared
from trinity.config import load_config
from trinity.errors import DataError, TrinityError
from trinity.grading.canonical import changed_number, check
from trinity.grading.lines import run
from trinity.rewards.grader import Grader
from trinity.tasks.registry import get_task
from trinity.types import SPLITS, Item

ROOT = Path(__file__).parents[2]
MATHS = {"kind": "math", "response": r"\boxed{4}", "reference": "4"}


def grade(path: Path, lines: list[Any] | bytes, mode: str = "robust") -> None:
    content = lines if isinstance(lines, bytes) else b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    path.write_bytes(content)
    assert run(argparse.Namespace(file=str(path), mode=mode)) == 0


def test_lines_come_back_in_order_with_verdict_and_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = [
        MATHS,
        {**MATHS, "response": r"\boxed{5}", "note": "kept ü"},
        {"kind": "mcq", "response": "Answer: B", "reference": "b", "choices": 4},
        {"kind": "freeform", "response": "Answer: 3.1416", "reference": 3.14159},
        {"kind": "code_extract", "response": "```python\nx = 1\n```", "reference": "x = 1"},
        {"kind": "mtbench_rating", "response": "Rating: [[8.5]]"},
        {"kind": "mtbench_rating", "response": "none"},
    ]
    grade(tmp_path / "a.jsonl", lines)
    out = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["verdict"] for line in out] == [True, False, True, True, True, 8.5, None]
    assert all(line["reason"] for line in out)
    assert [{key: line[key] for key in line if key not in ("verdict", "reason")} for line in out] == lines


def test_code_is_a_program_or_holds_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tests = {"inputs": ["2\n", "3\n"], "outputs": ["4\n", "6\n"]}
    program = "print(int(input()) * 2)"
    lines: list[dict[str, Any]] = [
        {"kind": "code_stdin", "response": program, "reference": tests},
        {"kind": "code_stdin", "response": f"So:\n```python\n{program}\n```", "reference": {**tests, "timeout": 3}},
        {"kind": "code_stdin", "response": "while True: pass", "reference": {**tests, "timeout": 1}},
        {
            "kind": "code_functional",
            "response": "def f(a, b):\n    return a + b",
            "reference": {"inputs": ["1\n2"], "outputs": ["3"], "fn_name": "f"},
        },
    ]
    grade(tmp_path / "a.jsonl", lines)
    out = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["verdict"] for line in out] == [True, True, False, True]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON: .* \\(the file seems to be cut short here\\)"),
        (b'{"kind": "math"\n', "not JSON"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b"[1]\n", "must be an object with kind, response and reference"),
        (b'{"kind": "math", "response": "\xff", "reference": "4"}\n', "not UTF-8: invalid start byte"),
        ({**MATHS, "kind": "poem"}, "kind: must be one of math, .*, got 'poem'"),
        ({"response": "x", "reference": "x"}, "kind: must be one of"),
        ({**MATHS, "response": 4}, "response: must be text, got int"),
        ({"kind": "math", "reference": "4"}, "response: must be text"),
        ({"kind": "math", "response": "4"}, "reference: missing"),
        ({**MATHS, "reference": " "}, "reference: must be the answer"),
        ({**MATHS, "reference": True}, "reference: must be the answer"),
        ({**MATHS, "reference": "$$"}, "the reference is empty"),
        ({"kind": "mcq", "response": "A", "reference": "K"}, "reference: must be a letter from A to J"),
        ({"kind": "mcq", "response": "A", "reference": "A", "choices": "4"}, "choices: must be"),
        ({"kind": "code_extract", "response": "A", "reference": 1}, "reference: must be text"),
        ({"kind": "code_stdin", "response": "", "reference": "x"}, "reference: must be an object"),
        ({"kind": "code_stdin", "response": "", "reference": {"inputs": [], "outputs": []}}, "reference: no tests"),
        (
            {"kind": "code_stdin", "response": "", "reference": {"inputs": ["1"], "outputs": []}},
            "1 inputs and 0 outputs",
        ),
        (
            {"kind": "code_stdin", "response": "", "reference": {"inputs": [1], "outputs": ["1"]}},
            "inputs: must be a list",
        ),
        (
            {"kind": "code_stdin", "response": "", "reference": {"inputs": ["1"], "outputs": ["1"], "timeout": 0}},
            "reference.timeout: must be whole seconds",
        ),
        (
            {"kind": "code_functional", "response": "", "reference": {"inputs": ["1"], "outputs": ["1"]}},
            "fn_name: must be the name of the function",
        ),
        (
            {
                "kind": "code_functional",
                "response": "",
                "reference": {"inputs": ["1"], "outputs": ["x"], "fn_name": "f"},
            },
            "outputs: number 1 is not JSON",
        ),
    ],
)
def test_a_line_that_cannot_be_graded_is_one_error_with_its_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: Any, message: str
) -> None:
    path = tmp_path / "a.jsonl"
    bad = line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"
    with pytest.raises(TrinityError, match=rf"a\.jsonl: row 3: .*{message}") as raised:
        grade(path, json.dumps(MATHS).encode() + b"\n\n" + bad)
    assert "\n" not in str(raised.value)
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.jsonl: no such file"):
        run(argparse.Namespace(file=str(tmp_path / "nothing.jsonl"), mode="robust"))


@pytest.mark.parametrize(
    ("answer", "changed"), [("4", "5"), ("99", "19"), (r"\frac{1}{20}", r"\frac{1}{30}"), ("x", None), ("0.5", "0.6")]
)
def test_changed_number(answer: str, changed: str | None) -> None:
    assert changed_number(answer) == changed


def test_canonical_names_what_a_grader_gets_wrong() -> None:
    items = [
        Item("fine", "t", "d", "q", "math", "12"),
        Item("word", "t", "d", "q", "freeform", "blue"),
        # No grader can tell this reference from another, so it must come out as an exception.
        Item("odd", "t", "d", "q", "math", r"0 \cdot 7"),
    ]
    with Grader(SANDBOX) as grader:
        report = check("t", items, grader)
        with pytest.raises(DataError, match="task t: answers of kind recorded are not checked, but math"):
            check("t", [Item("one", "t", "d", "q", "recorded", None)], grader)
    assert report.refused == ()
    assert len(report.accepted) == 5
    assert all(one.startswith("odd: ") for one in report.accepted)
    assert report.lines()[:2] == [
        "  own answers graded 1:     13 of 13",
        "  changed answers graded 0: 5 of 10",
    ]


SETS = [("math500", "math500/math500.jsonl", 500), ("mmlu", "mmlu_stem/test.jsonl", 3018), ("gsm8k", "gsm8k", 8792)]


@pytest.mark.parametrize(("task", "source", "least"), SETS)
@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_own_answers_of_the_real_sets_pass_and_changed_ones_fail(task: str, source: str, least: int, step: int) -> None:
    config = load_config(ROOT / "params.yaml")
    data = config.data.model_copy(update={"source": {task: str(shared(f"data/{source}"))}})
    splits = get_task(config.model_copy(update={"data": data}), task).load().items
    items = [item for split in SPLITS for item in splits[split]]
    assert len(items) == least
    with Grader(SANDBOX) as grader:
        report = check(task, items[::step], grader)
    assert (report.refused, report.accepted) == ((), ())
