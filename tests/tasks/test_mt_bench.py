"""MT-Bench: eighty questions of two turns in both layouts, and the second episode."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared_files import shared
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.benchmarks.mt_bench import ANSWERS, QUESTIONS, MtBench, second_turn
from trinity.types import Item


def task(source: Path) -> MtBench:
    sections: dict[str, Any] = {"caps": {}, "outcomes": {}, "revision": {}, "decontaminate": []}
    return MtBench(Data.model_validate({"seed": 0, "source": {"mt_bench": str(source)}, **sections}))


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def asked(number: int, category: str, **changes: Any) -> dict[str, Any]:
    return {"question_id": number, "category": category, "turns": [f"first {number}", f"second {number}"], **changes}


def answered(number: int) -> dict[str, Any]:
    return {"question_id": number, "choices": [{"index": 0, "turns": [f"gold {number}", f"gold again {number}"]}]}


@pytest.fixture
def items(tmp_path: Path) -> tuple[Item, ...]:
    write(tmp_path / QUESTIONS, [asked(1, "writing", reference=["a", "b"]), asked(2, "math")])
    write(tmp_path / ANSWERS, [answered(2)])
    splits = task(tmp_path).load()
    assert splits.items["train"] == splits.items["valid"] == ()
    return splits.items["test"]


def test_an_item_is_the_first_turn_and_knows_the_second(items: tuple[Item, ...]) -> None:
    writing, maths = items
    assert (writing.id, writing.question, writing.reward) == ("1", "first 1", "judge")
    assert writing.reference == {"category": "writing", "turn": 1, "answer": None, "first": None}
    assert maths.reference == {"category": "math", "turn": 1, "answer": "gold 2", "first": None}
    assert maths.extra == {"stem": "first 2", "second": "second 2", "second_answer": "gold again 2"}


def test_the_second_episode_holds_the_first_exchange(items: tuple[Item, ...]) -> None:
    second = second_turn(items[1], "an answer with {braces}")
    positions = [second.question.index(part) for part in ("first 2", "an answer with {braces}", "second 2")]
    assert positions == sorted(positions)
    assert (second.id, second.task, second.reward) == ("2-2", "mt_bench", "judge")
    assert second.reference == {
        "category": "math",
        "turn": 2,
        "answer": "gold again 2",
        "first": ["first 2", "an answer with {braces}"],
        "first_answer": "gold 2",
    }


def test_the_layout_of_the_hub(tmp_path: Path) -> None:
    rows = [
        {"category": "coding", "prompt": ["p", "q"], "reference": ["r", "s"], "prompt_id": 7},
        {"category": "coding", "prompt": ["p", "q"], "reference": [], "prompt_id": 8},
        {"category": "stem", "prompt": ["p", "q"], "reference": ["r", "s"], "prompt_id": 9},
    ]
    items = task(write(tmp_path / "train.jsonl", rows)).load().items["test"]
    assert [item.id for item in items] == ["7", "8", "9"]
    assert [item.reference["answer"] for item in items] == ["r", None, None]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (asked(3, "math"), f"question 3 has no answer in .*{ANSWERS}"),
        (asked(1, "writing", turns=["one"]), "needs two turns, has 1"),
        (asked(1, "writing", turns=[]), "turns: must be a list of texts that is not empty"),
        (asked(1, ""), "category: is empty"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    write(tmp_path / QUESTIONS, [asked(5, "stem"), row])
    write(tmp_path / ANSWERS, [answered(2)])
    with pytest.raises(DataError, match=rf"question\.jsonl: row 2: {message}"):
        task(tmp_path).load()


def test_the_real_set() -> None:
    items = task(shared("data/mt_bench")).load().items["test"]
    assert len(items) == len({item.id for item in items}) == 80
    with_reference = {item.domain for item in items if item.reference["answer"] is not None}
    assert with_reference == {"math", "reasoning", "coding"}
    assert sum(item.reference["answer"] is not None for item in items) == 30
    assert all(second_turn(item, "x").reference["answer"] for item in items if item.domain in with_reference)


def test_questions_alone_load_with_the_references_that_they_have() -> None:
    items = task(shared("data/mt_bench/question.jsonl")).load().items["test"]
    assert len(items) == 80
    halves = [item for item in items if (item.reference["answer"] is None) != (item.extra["second_answer"] is None)]
    assert {item.id for item in halves} == {"103", "108", "110"}
