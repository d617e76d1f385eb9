"""Cases whose right grade is known from the official graders, through `trinity grade`."""

import argparse
import json
from typing import Any

import pytest

from shared_files import shared
from trinity.grading.lines import run

GRADER = {
    "math": "math-verify 0.9.0",
    "mcq": "simple-evals",
    "code_stdin": "lcb testing_util",
    "code_functional": "lcb testing_util",
}
# LiveCodeBench runs a program inside a function with stand-ins for stdin and stdout, by which right programs fail.
ACCIDENTS = {"stdin_buffer_readline_twice", "stdout_buffer", "main_guard_dq_not_last", "open0"}


def graded(mode: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    cases = shared("cases/grading_cases.jsonl")
    assert run(argparse.Namespace(file=str(cases), mode=mode)) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def agrees(case: dict[str, Any], wanted: Any) -> bool:
    if case["kind"] == "mtbench_rating":
        return bool((case["verdict"] == case["reference"]) is wanted)
    return case["verdict"] is wanted


def test_robust_gives_the_right_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    cases = graded("robust", capsys)
    assert len(cases) == 70
    wrong = [case for case in cases if not agrees(case, case["expected"])]
    assert all(case.get("official_only") for case in wrong), wrong
    assert len(wrong) == 3


def test_official_gives_the_reported_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    cases = graded("official", capsys)
    wanted = [case["official"][GRADER[case["kind"]]] if "official" in case else case["expected"] for case in cases]
    wrong = {
        case.get("id", case["response"])
        for case, verdict in zip(cases, wanted, strict=True)
        if not agrees(case, verdict)
    }
    assert wrong == ACCIDENTS
