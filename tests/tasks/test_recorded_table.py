"""The outcome table: what is read back, and the one line that every mistake gets."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.errors import DataError
from trinity.tasks.outcomes import OutcomeRow, read_outcomes, require_scores, write_outcomes

GOOD: dict[str, Any] = {"id": "a", "question": "1 + 1?", "task": "sums", "reference": 2, "scores": {"x": 1, "y": 0.25}}
LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
MODEL = st.sampled_from(["x", "y", "z", "ü 1"])


def write(folder: Path, *records: dict[str, Any] | str | bytes) -> Path:
    path = folder / "table.jsonl"
    lines = [r if isinstance(r, bytes) else (r if isinstance(r, str) else json.dumps(r)).encode() for r in records]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def rows() -> st.SearchStrategy[OutcomeRow]:
    return st.builds(
        OutcomeRow,
        id=LINE,
        question=TEXT,
        task=LINE,
        scores=st.dictionaries(MODEL, st.floats(0, 1), min_size=1),
        reference=st.none() | TEXT | st.integers(-9, 9),
        split=st.none(),
        texts=st.dictionaries(MODEL, st.text(st.characters(exclude_categories=["Cs"]))),
        tokens=st.dictionaries(MODEL, st.integers(0, 10**6)),
    )


@given(st.lists(rows(), min_size=1, max_size=5, unique_by=lambda row: row.id))
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, table: list[OutcomeRow]) -> None:
    path = tmp_path_factory.mktemp("table") / "new" / "table.jsonl"
    write_outcomes(path, table)
    assert read_outcomes(path) == table
    first = path.read_bytes()
    write_outcomes(path, read_outcomes(path))
    assert path.read_bytes() == first


def test_parquet_with_structs_reads_like_jsonl(tmp_path: Path) -> None:
    import pandas

    records = [
        {"id": "a", "question": "q", "task": "k", "split": "train", "scores": {"x": 1.0, "y": 0.5}, "tokens": {"x": 3}},
        {"id": "b", "question": "r", "task": "k", "split": "test", "scores": {"x": 0.0}, "texts": {"x": "no"}},
    ]
    path = tmp_path / "table.parquet"
    pandas.DataFrame(records).to_parquet(path)
    assert read_outcomes(path) == read_outcomes(write(tmp_path, *records))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"table\.parquet: not a readable Parquet file"):
        read_outcomes(path)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"id": None}, "id: missing"),
        ({"id": ""}, "id: is empty"),
        ({"id": True}, "id: must be text, got True"),
        ({"question": None}, "question: missing"),
        ({"question": " \n"}, "question: is empty"),
        ({"question": "\ud800"}, "question: holds half a surrogate pair"),
        ({"task": None}, "task: missing"),
        ({"scores": None}, "scores: missing"),
        ({"scores": {}}, "scores: no model"),
        ({"scores": [1]}, "scores: must be an object by model, got list"),
        ({"scores": {"x": 1.01}}, "scores.x: must be a number from 0 to 1, got 1.01"),
        ({"scores": {"x": -0.01}}, "scores.x: must be a number from 0 to 1, got -0.01"),
        ({"scores": {"x": True}}, "scores.x: must be a number from 0 to 1, got True"),
        ({"scores": {"x": "1"}}, "scores.x: must be a number from 0 to 1, got '1'"),
        ({"scores": {"x": None}}, "scores.x: must be a number from 0 to 1, got None"),
        ({"scores": {"x": float("nan")}}, "scores.x: must be a number from 0 to 1, got nan"),
        ({"tokens": {"x": -1}}, "tokens.x: must be a whole number, 0 or more, got -1"),
        ({"tokens": {"x": 1.5}}, "tokens.x: must be a whole number, 0 or more, got 1.5"),
        ({"texts": {"x": 1}}, "texts.x: must be text, got 1"),
        ({"reference": float("nan")}, "reference: must be a JSON value"),
        ({"reference": ["\ud800"]}, "reference: must be a JSON value"),
        ({"split": "valid"}, "split: must be train or test, got 'valid'"),
        ({"split": "train"}, "split: give every row a split, or none"),
        ({"spilt": "train"}, "unknown field spilt; allowed: id, question"),
        ({"id": "a"}, "id 'a' is that of row 1: ids must differ"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_row(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = write(tmp_path, GOOD, GOOD | {"id": "b"}, GOOD | {"id": "c"} | change)
    with pytest.raises(DataError) as caught:
        read_outcomes(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: row 3: ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "line, said",
    [
        ("{'id': 1}", "row 2: not JSON"),
        (b'{"id": "\xff"}', "row 2: not UTF-8"),
        ("[1]", "row 2: must be an object with id"),
        ("[" * 100_000, "row 2: not JSON"),
    ],
)
def test_a_line_that_is_no_row(tmp_path: Path, line: str | bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_outcomes(write(tmp_path, GOOD, line))


def test_a_file_cut_short_is_said_so(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, GOOD | {"id": "b"})
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match=r"row 2: not JSON: .* \(the file seems to be cut short here\)"):
        read_outcomes(path)


def test_an_unusable_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.jsonl: no such file: make it with"):
        read_outcomes(tmp_path / "absent.jsonl")
    with pytest.raises(DataError, match=r"ends in \.jsonl or \.parquet"):
        read_outcomes(tmp_path / "table.csv")
    with pytest.raises(DataError, match="no rows"):
        read_outcomes(write(tmp_path, ""))
    with pytest.raises(DataError, match=r"name end in \.jsonl"):
        write_outcomes(tmp_path / "table.parquet", [])
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"table\.jsonl: cannot be written"):
        write_outcomes(tmp_path / "file" / "table.jsonl", [OutcomeRow("a", "q", "k", {"x": 1.0})])


def test_the_writer_refuses_what_the_reader_refuses(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    with pytest.raises(DataError, match=r"row 1: scores\.x"):
        write_outcomes(path, [OutcomeRow("a", "q", "k", {"x": 2.0})])
    assert not path.exists()


def test_a_whole_number_is_an_id(tmp_path: Path) -> None:
    assert read_outcomes(write(tmp_path, GOOD | {"id": 7}))[0].id == "7"


def test_a_missing_score_is_never_a_zero() -> None:
    table = [OutcomeRow("a", "q", "k", {"x": 1.0, "y": 0.0}), OutcomeRow("b", "q", "k", {"x": 1.0})]
    require_scores(Path("t.jsonl"), table, ["x"])
    with pytest.raises(DataError, match=r"t\.jsonl: id 'b': no score of y"):
        require_scores(Path("t.jsonl"), table, ["x", "y"])
    with pytest.raises(DataError, match=r"no scores of w; models of the table: x, y"):
        require_scores(Path("t.jsonl"), table, ["x", "w"])


@pytest.mark.parametrize("field", ["id", "task"])
def test_a_name_with_a_control_character_is_refused(tmp_path: Path, field: str) -> None:
    row = {"id": "a", "question": "q", "task": "t", "scores": {"x": 1}} | {field: "c\rd"}
    path = tmp_path / "table.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"row 1: {field}: must hold no control characters"):
        read_outcomes(path)
