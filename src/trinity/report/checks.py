"""What was checked before anything cost: the ladder (`reports/smoke.json`) and the headroom of each task.

`reports/smoke.json`: {"simulated": bool, "rungs": [{"name": text, "passed": bool, "saw": {name: anything}}, ...]}.
`reports/headroom/TASK.json`: an object; its leaves are printed under their dotted names, and an object with value, low
and high as one interval.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trinity.errors import DataError
from trinity.report.reading import RERUN, read_json


@dataclass(frozen=True)
class Rung:
    """One rung of the ladder (spec section 11) and what it saw, by dotted name."""

    name: str
    passed: bool
    saw: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Ladder:
    """The rungs in the order they were climbed, and whether the last one's rewards were simulated."""

    rungs: tuple[Rung, ...]
    simulated: bool


def read_ladder(path: Path) -> Ladder:
    """Reads the ladder's JSON.

    Raises:
        DataError: absent, or not in the form above.
    """
    raw = read_json(path)
    try:
        rungs = tuple(Rung(str(rung["name"]), bool(rung["passed"]), flattened(rung["saw"])) for rung in raw["rungs"])
        return Ladder(rungs, bool(raw["simulated"]))
    except (KeyError, TypeError) as error:
        message = f"{path}: needs simulated and rungs with name, passed and saw ({error!r}): remove it and {RERUN}"
        raise DataError(message) from None


def read_headroom(path: Path) -> tuple[tuple[str, str], ...]:
    """Reads a task's headroom as names and values to print.

    Raises:
        DataError: absent or no object.
    """
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise DataError(f"{path}: must be an object: remove it and {RERUN}")
    return flattened(raw)


def flattened(tree: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The leaves of nested objects as (dotted name, printed value), in their order."""
    return tuple(_leaves("", tree))


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and {"value", "low", "high"} <= set(value):
        yield name, f"{_printed(value['value'])} [{_printed(value['low'])}, {_printed(value['high'])}]"
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(f"{name}.{key}" if name else str(key), part)
    elif isinstance(value, list):
        yield name, ", ".join(_printed(part) for part in value)
    else:
        yield name, _printed(value)


def _printed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
