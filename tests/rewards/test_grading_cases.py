"""Cases whose right grade is known from the official graders (`shared/cases/grading_cases.jsonl`)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trinity.rewards.code import CodeReward, last_program
from trinity.rewards.math import MathReward
from trinity.types import Item, Response

CASES = Path(__file__).parents[2].parent / "shared/cases/grading_cases.jsonl"


def cases(*kinds: str) -> Iterator[dict[str, Any]]:
    if not CASES.exists():
        pytest.skip("shared/cases/grading_cases.jsonl is not here")
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["kind"] in kinds:
            yield case


def item(reference: Any) -> Item:
    return Item("one", "t", "d", "q", "", reference)


def test_boxed_maths() -> None:
    reward = MathReward()
    try:
        # Without a box there is no answer here, whatever others find in the text.
        boxed = [case for case in cases("math") if r"\boxed" in case["response"] or not case["expected"]]
        for case in boxed:
            grade = reward(item(case["reference"]), Response(case["response"], "stop", 1, 1))
            assert grade.value == case["expected"], (case, grade)
        assert boxed
    finally:
        reward.close()


def test_programs() -> None:
    reward = CodeReward(trusted=True)
    try:
        for case in cases("code_stdin", "code_functional"):
            tests = zip(case["reference"]["inputs"], case["reference"]["outputs"], strict=True)
            reference = {
                "function": case["reference"].get("fn_name"),
                "tests": [{"input": given, "output": wanted} for given, wanted in tests],
            }
            text = f"```python\n{case['response']}\n```"
            grade = reward(item(reference), Response(text, "stop", 1, 1))
            assert grade.value == case["expected"], (case, grade)
    finally:
        reward.close()


def test_extracted_programs() -> None:
    for case in cases("code_extract"):
        assert (last_program(case["response"]) == case["reference"]) is case["expected"]
