"""Measurements of speed, each against a rival in the same run."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

BENCHES: Mapping[str, str] = {
    "coordinator": "candidates on a shared trunk against one by one",
    "sandbox": "small programs against a bare process for each",
    "rollout": "episodes at latency against the bound, and against one candidate after another",
    "store": "the response store as it grows against a dict and a JSON lines file",
}


def measure(name: str) -> dict[str, Any]:
    """The figures of one of `BENCHES`, in the order in which they are shown."""
    figures: dict[str, Any] = import_module(f"trinity.bench.{name}").measure()
    return figures


def table(figures: Mapping[str, Any]) -> str:
    """A line a figure; a list of rows is a table of its own below."""
    lines = [f"{name:28} {value}" for name, value in figures.items() if not isinstance(value, list)]
    return "\n".join(lines + [line for value in figures.values() if isinstance(value, list) for line in _rows(value)])


def _rows(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    cells = [list(rows[0]), *([f"{value:,}" for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
