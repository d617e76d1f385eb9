"""Data files are read strictly: what is wrong is one line with file and row."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.errors import DataError
from trinity.tasks.files import read_file

ROWS: list[dict[str, Any]] = [{"a": "one", "b": 'x,\n"y"'}, {"a": "zwei €", "b": "\u2028"}, {"a": " ", "b": "3"}]


def jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n\n" for row in rows), encoding="utf-8")


def gzipped(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def json_list(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def csv(path: Path, rows: list[dict[str, Any]]) -> None:
    import csv

    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


FORMS: dict[str, Callable[[Path, list[dict[str, Any]]], None]] = {
    "x.jsonl": jsonl, "x.jsonl.gz": gzipped, "x.json": json_list, "x.csv": csv, "x.parquet": parquet,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_the_rows_that_were_written(tmp_path: Path, name: str) -> None:
    FORMS[name](tmp_path / name, ROWS)
    located = read_file(tmp_path / name, "shown")
    assert [dict(row) for _, row in located] == ROWS
    numbers = [1, 3, 5] if name == "x.jsonl" else [1, 2, 3]
    assert [where for where, _ in located] == [f"shown: row {number}" for number in numbers]


@pytest.mark.parametrize("name", FORMS)
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    FORMS[name](path, [{"a": "x" * 100, "b": "y"}] * 20)
    whole = path.read_bytes()
    for size in (len(whole) // 2 + 30, len(whole) - 20):
        path.write_bytes(whole[:size])
        if name == "x.csv":  # a row that ends early is a row with too few values
            path.write_bytes(whole[:size].rstrip(b"\r\ny,") + b"\r\n")
        with pytest.raises(DataError, match="shown: ") as caught:
            read_file(path, "shown")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "shown: row 2: not UTF-8: invalid start byte"),
        ("x.jsonl", b'{"a": 1}\n{"a": \n', "shown: row 2: not JSON: "),
        ("x.jsonl", b'{"a": 1}\n{"a": 2', "(the file seems to be cut short here)"),
        ("x.jsonl", b'{"a": 1}\n[1]\n', "shown: row 2: must be an object, got list"),
        ("x.jsonl", b'{"a": 1, "b": {"c": 1, "c": 2}}\n', "shown: row 1: not JSON: key 'c' is there twice"),
        ("x.jsonl", b'{"a": NaN}\n', "shown: row 1: not JSON: NaN is no JSON value"),
        ("x.jsonl", b"[" * 100_000 + b"\n", "shown: row 1: not JSON: "),
        ("x.jsonl", b'{"a": ' + b"9" * 5000 + b"}\n", "shown: row 1: not JSON: "),
        ("x.jsonl", b"\n \n", "shown: no rows"),
        ("x.jsonl.gz", b"no gzip", "shown: row 1: cannot be read: Not a gzipped file"),
        ("x.json", b'{"a": 1}', "shown: must be a JSON list of objects"),
        ("x.json", b'[{"a": 1}, 2]', "shown: row 2: must be an object, got int"),
        ("x.json", b'[{"a": 1}, {"a": 1, "a": 2}]', "shown: row 2: not JSON: key 'a' is there twice"),
        ("x.json", b'[{"a": 1} {"a": 2}]', "shown: row 1: neither a comma nor the end of the list after it"),
        ("x.json", b'[{"a": 1}, {"a": 2}', "(the file seems to be cut short here)"),
        ("x.json", b'[{"a": 1}] 5', "shown: something stands after the list"),
        ("x.json", b'[{"a": 1},\n{"a": "\xff"}]', "shown: line 2: not UTF-8: invalid start byte"),
        ("x.json", b"[ ]", "shown: no rows"),
        ("x.json", b"", "shown: must be a JSON list of objects"),
        ("x.csv", b"a,b\n1,2\n1,2,3\n", "shown: row 2: 3 values under a header of 2"),
        ("x.csv", b"a,a\n1,2\n", "shown: column 'a' is there twice"),
        ("x.csv", b'a,b\n1,"2\n', "shown: row 1: not CSV: unexpected end of data"),
        ("x.csv", b"a,b\n", "shown: no rows"),
        ("x.parquet", b"PAR1", "shown: not a readable Parquet file: "),
        ("x.txt", b"", "shown: a data file ends in .jsonl, .jsonl.gz, .json, .parquet, .csv"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line_with_its_row(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_file(tmp_path / name, "shown")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_text_in_parquet_that_is_no_unicode_is_refused(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    binary = pyarrow.array([b"fine", b"\xff"], pyarrow.binary())
    text = pyarrow.Array.from_buffers(pyarrow.string(), 2, binary.buffers())
    pyarrow.parquet.write_table(pyarrow.table({"a": text}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="shown: row 2: not UTF-8"):
        read_file(tmp_path / "x.parquet", "shown")


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    for name in FORMS:
        with pytest.raises(DataError, match=r"shown: .*No such file"):
            read_file(tmp_path / name, "shown")


@given(st.lists(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.text())), min_size=1))
def test_any_rows_survive_both_json_forms(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("rows")
    for name in ("x.jsonl", "x.json"):
        FORMS[name](folder / name, rows)
        assert [dict(row) for _, row in read_file(folder / name, "shown")] == rows
