"""Climbing the ladder: each rung says what it saw; the first that fails is named, and stops all that costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trinity.errors import PoolError, TrinityError


class RungFailed(TrinityError):
    """A rung saw what it must not see."""


@dataclass(frozen=True)
class Rung:
    """One check.

    Attributes:
        name: S1 to S8, or a gate.
        proves: What it proves, in a line.
        climb: Returns what it saw (JSON-able); raises `RungFailed` otherwise.
        asks: Whether it asks the pool: not tried once the pool failed a rung before.
    """

    name: str
    proves: str
    climb: Callable[[], dict[str, Any]]
    asks: bool = False


def require(condition: bool, message: str) -> None:
    """Raises `RungFailed` unless the condition holds."""
    if not condition:
        raise RungFailed(message)


def climb(rungs: Sequence[Rung], say: Callable[[str], None]) -> tuple[list[dict[str, Any]], str | None]:
    """Climbs in order, and on after a failure, so that one run shows all that is wrong.

    What would ask a pool that has failed is left out: it would wait for the same failure once more.

    Returns:
        A record a rung (name, proves, passed, saw), and one line naming the failed ones, or None.
    """
    records: list[dict[str, Any]] = []
    failures = []
    pool_failed = False
    for rung in rungs:
        verdict = "FAILED"
        if rung.asks and pool_failed:
            saw, verdict = {"failure": "not tried: the pool failed before"}, "not tried"
        else:
            try:
                saw, verdict = rung.climb(), "passed"
            except TrinityError as error:
                saw = {"failure": str(error)}
                failures.append(f"{rung.name} ({rung.proves}): {error}")
                pool_failed = pool_failed or isinstance(error, PoolError)
        records.append({"name": rung.name, "proves": rung.proves, "passed": verdict == "passed", "saw": saw})
        say(f"{rung.name:5} {verdict}  {rung.proves}")
    return records, "\n".join(f"ladder: {line}" for line in failures) or None
