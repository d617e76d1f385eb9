"""The outcome table: what real models scored on real questions, one row a question (format: docs/recorded.md)."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trinity.errors import DataError
from trinity.tasks.fields import checked_text

FIELDS = ("id", "question", "task", "reference", "split", "scores", "texts", "tokens")
TABLE_SPLITS = ("train", "test")


@dataclass(frozen=True)
class OutcomeRow:
    """One question and what each model made of it.

    Attributes:
        id: Unique within the table.
        question: What the coordinator reads.
        task: Kind of question: the item's domain.
        scores: By model, a number in [0, 1].
        reference: The right answer in any form; None where the source has none.
        split: `train` or `test` where the source fixes them (all rows or none), else None.
        texts: By model, its reply, where the source keeps it.
        tokens: By model, completion tokens of its reply, where the source keeps them.
    """

    id: str
    question: str
    task: str
    scores: Mapping[str, float]
    reference: Any = None
    split: Literal["train", "test"] | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)


def read_outcomes(path: Path) -> list[OutcomeRow]:
    """Reads and validates a table: `.jsonl` (UTF-8, one object a line) or `.parquet` (nested fields as structs).

    In Parquet a null in a struct is a model without that entry, since all rows of a column share one struct.

    Raises:
        DataError: the file or a row of it is not usable; names file and row (in JSONL the line).
    """
    if path.suffix not in {".jsonl", ".parquet"}:
        raise DataError(f"{path}: an outcome table ends in .jsonl or .parquet")
    if not path.is_file():
        raise DataError(f"{path}: no such file: make it with `trinity import-outcomes` (docs/recorded.md)")
    return _validated(path, _parquet(path) if path.suffix == ".parquet" else _jsonl(path))


def write_outcomes(path: Path, rows: Iterable[OutcomeRow]) -> None:
    """Writes a JSONL table that `read_outcomes` reads back; the same rows give the same bytes.

    Raises:
        DataError: `path` does not end in .jsonl or cannot be written, or `read_outcomes` would refuse a row.
    """
    if path.suffix != ".jsonl":
        raise DataError(f"{path}: a table is written as JSONL: let its name end in .jsonl")
    records = [_as_json(row) for row in rows]
    _validated(path, enumerate(records, 1))
    part = path.with_suffix(".jsonl.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="\n") as sink:
            sink.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def models_of(rows: Iterable[OutcomeRow]) -> tuple[str, ...]:
    """Names of all models with a score in any of the rows, sorted."""
    return tuple(sorted({model for row in rows for model in row.scores}))


def require_scores(path: Path, rows: Sequence[OutcomeRow], agents: Sequence[str]) -> None:
    """Checks that every agent has a score in every row, since a missing one must not become a 0.

    Raises:
        DataError: an agent is in no row (the table's models are listed) or lacks a score in one (its id is named).
    """
    known = models_of(rows)
    unknown = [agent for agent in agents if agent not in known]
    if unknown:
        raise DataError(f"{path}: no scores of {', '.join(unknown)}; models of the table: {', '.join(known)}")
    for row in rows:
        missing = [agent for agent in agents if agent not in row.scores]
        if missing:
            raise DataError(
                f"{path}: id {row.id!r}: no score of {', '.join(missing)}: fill it, drop the row or leave the agent out"
            )


def _validated(path: Path, records: Iterable[tuple[int, Any]]) -> list[OutcomeRow]:
    rows: list[OutcomeRow] = []
    first_at: dict[str, int] = {}
    for number, raw in records:
        where = f"{path}: row {number}"
        row = _parse(raw, where)
        if row.id in first_at:
            raise DataError(f"{where}: id {row.id!r} is that of row {first_at[row.id]}: ids must differ")
        if rows and (row.split is None) != (rows[0].split is None):
            raise DataError(f"{where}: split: give every row a split, or none")
        first_at[row.id] = number
        rows.append(row)
    if not rows:
        raise DataError(f"{path}: no rows")
    return rows


def _as_json(row: OutcomeRow) -> dict[str, Any]:
    record: dict[str, Any] = {"id": row.id, "task": row.task, "question": row.question, "reference": row.reference}
    if row.split is not None:
        record["split"] = row.split
    for name in ("scores", "texts", "tokens"):
        mapping = getattr(row, name)
        if mapping or name == "scores":
            record[name] = {model: mapping[model] for model in sorted(mapping)}
    return record


def _jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    with path.open("rb") as source:
        for number, line in enumerate(source, 1):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise DataError(f"{path}: row {number}: not UTF-8: {error.reason}") from None
            except (ValueError, RecursionError) as error:
                cut = "" if line.endswith(b"\n") else " (the file seems to be cut short here)"
                raise DataError(f"{path}: row {number}: not JSON: {error}{cut}") from None


def _parquet(path: Path) -> Iterator[tuple[int, Any]]:
    import pyarrow
    import pyarrow.parquet

    try:
        records = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file: {str(error).splitlines()[0]}") from None
    for number, record in enumerate(records, 1):
        for name in ("scores", "texts", "tokens"):
            if isinstance(record.get(name), dict):
                record[name] = {model: value for model, value in record[name].items() if value is not None}
        yield number, record


def _parse(raw: Any, where: str) -> OutcomeRow:
    if not isinstance(raw, dict):
        raise DataError(f"{where}: must be an object with {', '.join(FIELDS)}")
    unknown = [str(name) for name in raw if name not in FIELDS]
    if unknown:
        raise DataError(f"{where}: unknown field {', '.join(unknown)}; allowed: {', '.join(FIELDS)}")
    absent = [name for name in ("id", "question", "task", "scores") if raw.get(name) is None]
    if absent:
        raise DataError(f"{where}: {', '.join(absent)}: missing")
    identity = raw["id"]
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    split = raw.get("split")
    if split is not None and split not in TABLE_SPLITS:
        raise DataError(f"{where}: split: must be train or test, got {split!r}")
    scores = _mapping(raw, "scores", where)
    if not scores:
        raise DataError(f"{where}: scores: no model")
    return OutcomeRow(
        id=_line(identity, f"{where}: id"),
        question=checked_text(raw["question"], f"{where}: question"),
        task=_line(raw["task"], f"{where}: task"),
        scores={model: _score(value, f"{where}: scores.{model}") for model, value in scores.items()},
        reference=_reference(raw.get("reference"), f"{where}: reference"),
        split=split,
        texts={
            model: checked_text(value, f"{where}: texts.{model}", empty=True)
            for model, value in _mapping(raw, "texts", where).items()
        },
        tokens={
            model: _count(value, f"{where}: tokens.{model}") for model, value in _mapping(raw, "tokens", where).items()
        },
    )


def _line(value: Any, where: str) -> str:
    """Text without control characters: it names rows of tables and draws."""
    text = checked_text(value, where)
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise DataError(f"{where}: must hold no control characters, got {text!r}")
    return text


def _mapping(raw: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    value = raw.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DataError(f"{where}: {name}: must be an object by model, got {type(value).__name__}")
    return value


def _reference(value: Any, where: str) -> Any:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{where}: must be a JSON value: {error}") from None
    return value


def _score(value: Any, where: str) -> float:
    # `not (0 <= nan <= 1)` holds, so NaN is refused too.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise DataError(f"{where}: must be a number from 0 to 1, got {value!r}")
    return float(value)


def _count(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DataError(f"{where}: must be a whole number, 0 or more, got {value!r}")
    return value
