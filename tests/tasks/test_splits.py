import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.base import Splits
from trinity.tasks.demo.task import DemoTask
from trinity.tasks.splits import cap_splits, read_manifest, read_split, write_splits
from trinity.types import SPLITS, Item, Split

DEMO = DemoTask("demo_code", 0).load()


def data(seed: int = 0, own: dict[str, dict[str, int | None]] | None = None, **caps: int) -> Data:
    settings = {"caps": own or {}, "outcomes": {}, "source": {}, "revision": {}, "decontaminate": []}
    return Data.model_validate({"seed": seed, **settings, **caps})


def made(number: int, **changes: Any) -> Item:
    fields: dict[str, Any] = {
        "id": f"item-{number}",
        "task": "toy",
        "domain": "d",
        "question": "q",
        "reward": "choice",
        "reference": "A",
        "extra": {},
    }
    return Item(**{**fields, **changes})


def toy(**items: list[Item]) -> Splits:
    parts: dict[Split, tuple[Item, ...]] = {"train": (made(1),), "valid": (made(2),), "test": (made(3),)}
    return Splits({split: tuple(items.get(split, parts[split])) for split in SPLITS}, {"source": "toy"})


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    write_splits(tmp_path / "a" / "b", "demo_code", DEMO, data())
    for split in SPLITS:
        assert tuple(read_split(tmp_path / "a" / "b", split)) == DEMO.items[split]


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_splits(tmp_path / name, "demo_code", DEMO, data(n_train=7))
    write_splits(tmp_path / "two", "demo_code", DEMO, data(n_train=7))
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["manifest.json", "test.jsonl", "train.jsonl", "valid.jsonl"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_manifest_says_what_was_used(tmp_path: Path) -> None:
    write_splits(tmp_path, "demo_code", DEMO, data(seed=5, n_train=10, n_test=1000))
    manifest = read_manifest(tmp_path)
    assert manifest["task"] == "demo_code"
    assert manifest["seed"] == 5
    assert manifest["sizes"] == {"train": 10, "valid": 48, "test": 60}
    assert manifest["sizes_before_caps"] == {"train": 192, "valid": 48, "test": 60}
    assert manifest["domains"]["test"] == {"strings": 20, "lists": 20, "numbers": 20}
    assert sum(manifest["domains"]["train"].values()) == 10
    assert manifest["sha256"]["train"] == hashlib.sha256((tmp_path / "train.jsonl").read_bytes()).hexdigest()
    assert manifest["provenance"] == DEMO.provenance
    assert (manifest["duplicates"], manifest["evaluation_only"]) == (None, False)


def test_the_manifest_keeps_the_counts_of_duplicates(tmp_path: Path) -> None:
    write_splits(tmp_path, "toy", toy(), data(), {"removed": {"train": 3}})
    assert read_manifest(tmp_path)["duplicates"] == {"removed": {"train": 3}}


def test_the_lower_of_two_caps_counts(tmp_path: Path) -> None:
    own: dict[str, dict[str, int | None]] = {
        "demo_code": {"train": 12, "valid": None, "test": 9},
        "other": {"train": 1, "valid": 1, "test": 1},
    }
    sizes = write_splits(tmp_path, "demo_code", DEMO, data(own=own, n_train=20, n_test=5))
    assert sizes == {"train": 12, "valid": 48, "test": 5}
    assert sizes == read_manifest(tmp_path)["sizes"]
    both = cap_splits("demo_code", DEMO, data(own={"demo_code": {"train": 7, "valid": None, "test": None}}))
    assert both.items == cap_splits("demo_code", DEMO, data(n_train=7)).items


def test_a_task_for_evaluation_has_a_test_split_alone(tmp_path: Path) -> None:
    given = toy(train=[], valid=[])
    with pytest.raises(DataError, match="split train is empty"):
        write_splits(tmp_path, "toy", given, data())
    with pytest.raises(DataError, match="split test is empty"):
        write_splits(tmp_path, "toy", toy(train=[], valid=[], test=[]), data(), evaluation_only=True)
    write_splits(tmp_path, "toy", given, data(), evaluation_only=True)
    assert [read_split(tmp_path, split) for split in SPLITS] == [[], [], [made(3)]]
    assert read_manifest(tmp_path)["evaluation_only"] is True
    (tmp_path / "test.jsonl").write_bytes(b"")
    with pytest.raises(DataError, match="differs from"):
        read_split(tmp_path, "test")


def test_an_emptied_split_is_refused(tmp_path: Path) -> None:
    write_splits(tmp_path, "toy", toy(), data())
    (tmp_path / "train.jsonl").write_bytes(b"")
    with pytest.raises(DataError, match=r"train\.jsonl: row 1: not JSON"):
        read_split(tmp_path, "train")


@given(st.integers(1, 120), st.integers(1, 120), st.integers(0, 5))
def test_caps_keep_order_and_a_smaller_cap_keeps_a_part(small: int, large: int, seed: int) -> None:
    small, large = sorted((small, large))
    few, many = (cap_splits("demo_code", DEMO, data(seed, n_train=cap, n_valid=cap)).items for cap in (small, large))
    for split in ("train", "valid"):
        ours: list[str] = [item.id for item in few[split]]
        theirs: list[str] = [item.id for item in many[split]]
        full: list[str] = [item.id for item in DEMO.items[split]]
        assert len(ours) == min(small, len(full))
        assert ours == [identity for identity in theirs if identity in set(ours)]
        assert theirs == [identity for identity in full if identity in set(theirs)]
    assert few["test"] == DEMO.items["test"]


def test_the_draw_of_a_cap_depends_on_seed_and_task() -> None:
    kept = {
        tuple(item.id for item in cap_splits(task, DEMO, data(seed, n_train=20)).items["train"])
        for task, seed in (("a", 0), ("a", 1), ("b", 0))
    }
    assert len(kept) == 3


def test_unusual_text_survives(tmp_path: Path) -> None:
    odd = made(1, question="a\u2028b\x85c\nd\té€𝄞", extra={"x": {"y": [1.5, None, True]}})
    write_splits(tmp_path, "toy", toy(train=[odd]), data())
    assert read_split(tmp_path, "train") == [odd]


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        (toy(valid=[]), "split valid is empty"),
        (toy(test=[made(1)]), "'item-1' is in train and again in test"),
        (toy(test=[made(7, question="\ud800")]), "item 'item-7': a text is no Unicode: surrogates not allowed"),
        (toy(train=[made(1), made(1)]), "'item-1' is in train and again in train"),
    ],
)
def test_splits_that_cannot_be_are_refused(tmp_path: Path, splits: Splits, message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_splits(tmp_path, "toy", splits, data())
    assert not (tmp_path / "manifest.json").exists()


def row(**changes: Any) -> bytes:
    fields = {**vars(made(9)), **changes}
    return json.dumps({name: value for name, value in fields.items() if value != "LEFT OUT"}).encode()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON"),
        (b"", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"id": "\xff"}', "not UTF-8"),
        (row(question="LEFT OUT"), "missing question"),
        (row(extra="LEFT OUT"), "missing extra"),
        (row(answer="A"), "unknown field answer"),
        (row(id=""), "id must be a text that is not empty"),
        (row(question=3), "question must be a text"),
        (row(question="  "), "question must be a text"),
        (row(extra=[]), "extra must be an object"),
        (row(task="other"), "task 'other', but the manifest says 'toy'"),
        (row(id="item-1"), "id 'item-1' is there twice"),
        (row(reference=None), "reference is empty"),
        (row(reference=" "), "reference is empty"),
        (row(reference={}), "reference is empty"),
        (row(reference=[]), "reference is empty"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    write_splits(tmp_path, "toy", toy(), data())
    path = tmp_path / "train.jsonl"
    path.write_bytes(path.read_bytes() + line + b"\n" + row(id="last") + b"\n")
    with pytest.raises(DataError) as caught:
        read_split(tmp_path, "train")
    assert str(caught.value).startswith(f"{path}: row 2: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_recorded_item_may_have_no_reference_and_zero_is_one(tmp_path: Path) -> None:
    items = [made(1, reward="recorded", reference=None), made(4, reference=0)]
    write_splits(tmp_path, "toy", toy(train=items), data())
    assert read_split(tmp_path, "train") == items


@pytest.mark.parametrize("change", [lambda text: text.replace(b'"A"', b'"B"'), lambda text: text + row() + b"\n"])
def test_a_changed_file_is_refused(tmp_path: Path, change: Any) -> None:
    write_splits(tmp_path, "toy", toy(), data())
    path = tmp_path / "train.jsonl"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=r"train\.jsonl: differs from what manifest\.json says"):
        read_split(tmp_path, "train")
    assert read_split(tmp_path, "test")


def test_absent_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"manifest\.json: not found: make the splits"):
        read_split(tmp_path, "train")
    write_splits(tmp_path, "toy", toy(), data())
    (tmp_path / "valid.jsonl").unlink()
    with pytest.raises(DataError, match=r"valid\.jsonl: cannot be read: No such file"):
        read_split(tmp_path, "valid")
    for text in ("{", "[]", "{}"):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(DataError, match="manifest"):
            read_split(tmp_path, "train")
