"""Reading the files of earlier stages; whatever is wrong with one becomes a line naming file and row."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from trinity.errors import DataError

RERUN = "run `dvc repro`"
FIRST_LINE = 2  # of the first row, under the header


def read_json(path: Path) -> Any:
    """Any JSON file; a file that is absent or is none is one line."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path}: not found: {RERUN}") from None
    except ValueError as error:
        raise DataError(f"{path}: is not JSON ({error}): remove it and {RERUN}") from None


def read_table(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """A CSV as text, with at least the columns named and at least one row."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except FileNotFoundError:
        raise DataError(f"{path}: not found: {RERUN}") from None
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{path}: is not a table ({error}): remove it and {RERUN}") from None
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise DataError(f"{path}: no column {', '.join(missing)}: remove it and {RERUN}")
    if table.empty:
        raise DataError(f"{path}: has no row: remove it and {RERUN}")
    return table


def refuse(path: Path, table: pd.DataFrame, column: str, good: ArrayLike, what: str) -> None:
    """Raises DataError for the first row of a column that is not good ([rows] of bool)."""
    mask = np.asarray(good, dtype=bool)
    if not mask.all():
        row = int(mask.argmin())
        raise DataError(f"{path}: row {row + FIRST_LINE}: {column} {what}, got {table[column].iloc[row]!r}")


def numbers(path: Path, table: pd.DataFrame, column: str, blank: bool = False) -> "pd.Series[float]":
    """A column of a text table as finite numbers; blank cells are refused unless `blank`, then NaN."""
    parsed = pd.to_numeric(table[column], errors="coerce").astype(float)
    refuse(path, table, column, np.isfinite(parsed) | ((table[column] == "") & blank), "must be a number")
    return parsed


def integers(path: Path, table: pd.DataFrame, column: str, least: int | None = None) -> "pd.Series[int]":
    """A column of a text table as whole numbers, not below `least`."""
    refuse(path, table, column, table[column].str.fullmatch(r"-?\d{1,15}"), "must be a whole number")
    parsed = table[column].astype("int64")
    if least is not None:
        refuse(path, table, column, parsed >= least, f"must be {least} or more")
    return parsed
