"""An outcome table as a task: which questions land in which split, and what an item carries."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trinity.config.tasks import OutcomeTable
from trinity.errors import DataError
from trinity.tasks.base import Splits, Task
from trinity.tasks.outcomes import OutcomeRow, write_outcomes
from trinity.tasks.recorded import OutcomeTask
from trinity.types import SPLITS


def row(number: int, split: Literal["train", "test"] | None = None) -> OutcomeRow:
    kind = ("odd", "even")[number % 2 == 0]
    return OutcomeRow(
        f"q{number}",
        f"Question {number}?",
        kind,
        {"a": 1.0, "b": 0.5, "c": 0.0},
        reference=number,
        split=split,
        texts={"a": f"text {number}", "c": "unused"},
        tokens={"b": number},
    )


def load(folder: Path, rows: list[OutcomeRow], seed: int = 0, kinds: list[str] | None = None) -> Splits:
    path = folder / "table.jsonl"
    write_outcomes(path, rows)
    task: Task = OutcomeTask("mix", OutcomeTable(path=str(path), kinds=kinds), ("b", "a"), seed)
    return task.load()


def places(splits: Splits) -> dict[str, str]:
    return {item.id: split for split in SPLITS for item in splits.items[split]}


def test_holdout_sizes_and_provenance(tmp_path: Path) -> None:
    splits = load(tmp_path, [row(n) for n in range(100)])
    assert {split: len(splits.items[split]) for split in SPLITS} == {"train": 64, "valid": 16, "test": 20}
    assert len(places(splits)) == 100
    assert {k: v for k, v in splits.provenance.items() if k not in {"path", "sha256"}} == {
        "source": "recorded outcomes",
        "split": "holdout",
        "kinds": {"even": 50, "odd": 50},
        "rows_used": 100,
        "rows_dropped": 0,
    }
    assert len(splits.provenance["sha256"]) == 64


def test_a_table_that_fixes_the_split_keeps_it(tmp_path: Path) -> None:
    splits = load(tmp_path, [row(n, "test" if n % 3 == 0 else "train") for n in range(90)])
    assert {split: len(splits.items[split]) for split in SPLITS} == {"train": 48, "valid": 12, "test": 30}
    assert all(int(item.id[1:]) % 3 == 0 for item in splits.items["test"])
    assert splits.provenance["split"] == "by the table"


def test_an_item_carries_the_agents_outcomes_only(tmp_path: Path) -> None:
    splits = load(tmp_path, [row(n) for n in range(20)])
    item = next(item for split in SPLITS for item in splits.items[split] if item.id == "q7")
    assert (item.task, item.domain, item.question, item.reward, item.reference) == (
        "mix",
        "odd",
        "Question 7?",
        "recorded",
        7,
    )
    assert item.extra == {"scores": {"b": 0.5, "a": 1.0}, "texts": {"a": "text 7"}, "tokens": {"b": 7}}


@settings(max_examples=30)
@given(st.permutations(range(40)), st.integers(0, 5))
def test_the_split_does_not_depend_on_the_order_of_rows(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("order")
    assert places(load(folder, [row(n) for n in order], seed)) == places(
        load(folder, [row(n) for n in range(40)], seed)
    )


def test_a_further_row_moves_hardly_any_other(tmp_path: Path) -> None:
    before, after = (places(load(tmp_path, [row(n) for n in range(size)])) for size in (200, 205))
    assert sum(before[identity] != after[identity] for identity in before) <= 4


def test_another_seed_is_another_split(tmp_path: Path) -> None:
    rows = [row(n) for n in range(100)]
    assert places(load(tmp_path, rows, 0)) == places(load(tmp_path, rows, 0))
    assert places(load(tmp_path, rows, 0)) != places(load(tmp_path, rows, 1))


def test_kinds_choose_rows(tmp_path: Path) -> None:
    rows = [row(n) for n in range(60)]
    splits = load(tmp_path, rows, kinds=["even"])
    assert {item.domain for split in SPLITS for item in splits.items[split]} == {"even"}
    assert (splits.provenance["rows_used"], splits.provenance["rows_dropped"]) == (30, 30)
    with pytest.raises(DataError, match=r"no kind prime \(data\.outcomes\.mix\.kinds\); kinds of the table: even, odd"):
        load(tmp_path, rows, kinds=["even", "prime"])
    with pytest.raises(DataError, match="no kind chosen"):
        load(tmp_path, rows, kinds=[])


def test_a_row_without_an_agents_score_is_refused_where_it_is_used(tmp_path: Path) -> None:
    rows = [row(n) for n in range(40)] + [OutcomeRow("new", "?", "rare", {"a": 1.0})]
    with pytest.raises(DataError, match=r"table\.jsonl: id 'new': no score of b"):
        load(tmp_path, rows)
    assert len(places(load(tmp_path, rows, kinds=["odd", "even"]))) == 40


@pytest.mark.parametrize("split, lacking", [(None, "valid, test"), ("train", "valid, test"), ("test", "train, valid")])
def test_too_few_rows(tmp_path: Path, split: Literal["train", "test"] | None, lacking: str) -> None:
    with pytest.raises(DataError, match=rf"2 rows leave no {lacking} items"):
        load(tmp_path, [row(1, split), row(2, split)])
