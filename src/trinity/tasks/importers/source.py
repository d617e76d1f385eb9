"""What the importers share: reading a source, a question's text with its options, model names, and what was dropped."""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trinity.errors import DataError
from trinity.tasks.outcomes import OutcomeRow

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass
class Converted:
    """A source as outcome rows.

    Attributes:
        dropped: By cause, the source's rows that the table leaves out.
        chance: By id of a multiple-choice question, the score of a blind guess.
        notes: What a reader of the figures should know.
    """

    rows: list[OutcomeRow] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    chance: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def source_file(folder: Path, name: str) -> Path:
    """The file of that name in a source folder.

    Raises:
        DataError: there is none.
    """
    path = folder / name
    if not path.is_file():
        raise DataError(f"{path}: no such file: the folder must be the form's, with {name} in it")
    return path


def read_jsonl(path: Path) -> Iterator[tuple[int, Any]]:
    """Line numbers and objects of a JSONL file, gzipped where its name ends in .gz.

    Raises:
        DataError: the file is cut short or a line is not JSON.
    """
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: row {number}: not JSON: {error}") from None


@contextmanager
def row_of(path: Path, number: int) -> Iterator[None]:
    """Turns what a malformed row raises into one line naming file and row."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, SyntaxError, RecursionError) as error:
        raise DataError(f"{path}: row {number}: not of the expected form: {type(error).__name__} {error}") from None


def with_options(question: str, options: Sequence[str], labels: Sequence[str] = LETTERS) -> str:
    """A question's text with its options, one a line: what the models were shown."""
    lines = [f"{label}. {option}" for label, option in zip(labels, options, strict=False)]
    return "\n".join([question.strip(), *lines])


def agent_name(model: str) -> str:
    """A model's name as params.yaml allows it: letters, digits, `_`, `.` and `-`."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", model).strip("-_.")


def choose_models(available: Mapping[str, str], wanted: Sequence[str] | None, path: Path) -> dict[str, str]:
    """Table name -> source name of the models to import: those wanted, or all.

    Raises:
        DataError: a wanted model is not in the source; lists those that are.
    """
    if wanted is None:
        return dict(available)
    unknown = [name for name in wanted if name not in available]
    if unknown or not wanted:
        wrong = f"no model {', '.join(unknown)}" if unknown else "no model chosen"
        raise DataError(f"{path}: {wrong}; models: {', '.join(sorted(available))}")
    return {name: available[name] for name in wanted}
