"""Climbing the ladder: each rung says what it saw; the first that fails is named, and stops all that costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trinity.errors import TrinityError


class RungFailed(TrinityError):
    """A rung saw what it must not see."""


@dataclass(frozen=True)
class Rung:
    """One check.

    Attributes:
        name: S1 to S8, or a gate.
        proves: What it proves, in a line.
        climb: Returns what it saw (JSON-able); raises `RungFailed` otherwise.
    """

    name: str
    proves: str
    climb: Callable[[], dict[str, Any]]


def require(condition: bool, message: str) -> None:
    """Raises `RungFailed` unless the condition holds."""
    if not condition:
        raise RungFailed(message)


def climb(rungs: Sequence[Rung], say: Callable[[str], None]) -> tuple[list[dict[str, Any]], str | None]:
    """Climbs in order, and on after a failure, so that one run shows all that is wrong.

    Returns:
        A record a rung (name, proves, passed, saw), and one line naming the failed ones, or None.
    """
    records: list[dict[str, Any]] = []
    failures = []
    for rung in rungs:
        try:
            saw, passed = rung.climb(), True
        except TrinityError as error:
            saw, passed = {"failure": str(error)}, False
            failures.append(f"{rung.name} ({rung.proves}): {error}")
        records.append({"name": rung.name, "proves": rung.proves, "passed": passed, "saw": saw})
        say(f"{rung.name:5} {'passed' if passed else 'FAILED'}  {rung.proves}")
    return records, "\n".join(f"ladder: {line}" for line in failures) or None
