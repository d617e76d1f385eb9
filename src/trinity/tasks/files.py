"""Reading a data file row by row, strictly: whatever is wrong is one line that names the file and the row."""

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trinity.errors import DataError

SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".parquet", ".csv")

Located = tuple[str, Mapping[str, Any]]


def is_data_file(path: Path) -> bool:
    """Whether `read_file` takes a file of this name."""
    return path.name.endswith(SUFFIXES)


def read_file(path: Path, shown: str) -> tuple[Located, ...]:
    """The rows of a file, each with the words `SHOWN: row N` for messages.

    JSONL (also gzipped; N is the line), JSON (one list of objects), CSV (N counts the rows below the header; every
    value is text) or Parquet.

    Args:
        path: The file.
        shown: What messages call it.

    Raises:
        DataError: the name has another ending, the file cannot be read, is cut short or holds no row, or a row is not
            UTF-8, not JSON, no object or has a key twice.
    """
    if path.name.endswith(".parquet"):
        rows = _parquet(path, shown)
    elif path.name.endswith((".jsonl", ".jsonl.gz")):
        rows = _jsonl(path, shown)
    elif path.name.endswith(".json"):
        rows = _json_list(_text(_content(path, shown), shown), shown)
    elif path.name.endswith(".csv"):
        rows = _csv(_text(_content(path, shown), shown), shown)
    else:
        raise DataError(f"{shown}: a data file ends in {', '.join(SUFFIXES)}")
    located = []
    for number, row in rows:
        if not isinstance(row, dict):
            raise DataError(f"{shown}: row {number}: must be an object, got {type(row).__name__}")
        located.append((f"{shown}: row {number}", row))
    if not located:
        raise DataError(f"{shown}: no rows")
    return tuple(located)


def json_line(line: bytes, where: str) -> Any:
    """One line of JSONL.

    Raises:
        DataError: it is not UTF-8, not JSON, or an object in it has a key twice; begins with `where`.
    """
    try:
        return _DECODER.decode(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: not UTF-8: {error.reason}") from None
    except (ValueError, RecursionError) as error:
        cut = "" if line.endswith(b"\n") else " (the file seems to be cut short here)"
        raise DataError(f"{where}: not JSON: {error}{cut}") from None


def sha256_of(path: Path) -> str:
    """Checksum of a file's bytes, in hexadecimal."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _content(path: Path, shown: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{shown}: cannot be read: {error.strerror}") from None


def _text(content: bytes, shown: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + content.count(b"\n", 0, error.start)
        raise DataError(f"{shown}: line {line}: not UTF-8: {error.reason}") from None


def _jsonl(path: Path, shown: str) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as source:
            for number, line in enumerate(source, 1):
                if line.strip():
                    yield number, json_line(line, f"{shown}: row {number}")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{shown}: row {number + 1}: cannot be read: {error} (is the file complete?)") from None


def _json_list(text: str, shown: str) -> Iterator[tuple[int, Any]]:
    """One element after the other, so that a fault has a row."""
    position = _after_space(text, 0)
    if text[position : position + 1] != "[":
        raise DataError(f"{shown}: must be a JSON list of objects")
    cut = "" if text.rstrip().endswith("]") else " (the file seems to be cut short here)"
    position = _after_space(text, position + 1)
    number, separator = 0, ","
    while separator == "," and text[position : position + 1] != "]":
        number += 1
        try:
            row, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{shown}: row {number}: not JSON: {error}{cut}") from None
        yield number, row
        position = _after_space(text, position)
        separator = text[position : position + 1]
        if separator == ",":
            position = _after_space(text, position + 1)
    if text[position : position + 1] != "]":
        raise DataError(f"{shown}: row {number}: neither a comma nor the end of the list after it{cut}")
    if _after_space(text, position + 1) < len(text):
        raise DataError(f"{shown}: something stands after the list")


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _csv(text: str, shown: str) -> Iterator[tuple[int, Any]]:
    number = 0
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, [])
        _all_different(header, shown)
        for values in reader:
            if not values:
                continue
            number += 1
            if len(values) != len(header):
                raise DataError(f"{shown}: row {number}: {len(values)} values under a header of {len(header)}")
            yield number, dict(zip(header, values, strict=True))
    except csv.Error as error:
        raise DataError(f"{shown}: row {number + 1}: not CSV: {error}") from None


def _parquet(path: Path, shown: str) -> Iterator[tuple[int, Any]]:
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as source:
            _all_different(source.schema_arrow.names, shown)
            for batch in source.iter_batches():
                for index in range(batch.num_rows):
                    number += 1
                    yield number, batch.slice(index, 1).to_pylist()[0]
    except UnicodeDecodeError as error:
        raise DataError(f"{shown}: row {number}: not UTF-8: {error.reason}") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{shown}: not a readable Parquet file: {str(error).splitlines()[0]}") from None
    except (ValueError, OverflowError, LookupError) as error:  # dates out of range, unknown time zones, twin names
        raise DataError(f"{shown}: row {number}: a value that Python cannot hold: {error}") from None


def _all_different(names: Iterable[str], shown: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"{shown}: column {name!r} is there twice")
        seen.add(name)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key!r} is there twice")
            seen.add(key)
    return row


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(object_pairs_hook=_distinct_keys, parse_constant=_no_constant)
