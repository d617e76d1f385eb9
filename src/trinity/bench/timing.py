"""Two things timed in turn."""

import statistics
import time
from collections.abc import Callable

ROUNDS = 7


def in_turn(first: Callable[[], object], second: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Median seconds of each, timed in turn so that a machine that slows down slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for function, kept in zip((first, second), times, strict=True):
            start = time.perf_counter()
            function()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])
