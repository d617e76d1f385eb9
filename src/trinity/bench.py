"""Measurements of speed, as ratios to a rival timed in the same run."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trinity.errors import TrinityError

ROUNDS = 7
CANDIDATES, TRANSCRIPTS = 21, 24
RUNS, BARE_RUNS = 200, 40


def coordinator() -> dict[str, Any]:
    """States of a population on shared transcripts: the engine against one Hugging Face forward a pair.

    On the encoder of params.yaml, one thread, rounds of both in turn; medians.
    """
    import numpy as np

    from trinity.config import load_config
    from trinity.coordinator.slm import load_encoder
    from trinity.coordinator.threads import use_threads
    from trinity.rng import generator

    use_threads(1)
    config = load_config()
    encoder = load_encoder(config.slm)
    texts = [f"Question {number}: " + "how much is seven times six? " * 6 for number in range(TRANSCRIPTS)]
    count = sum(encoder.svf_counts.values())
    scales = 1 + 0.1 * generator("bench").standard_normal((CANDIDATES, count))
    owner = [candidate for candidate in range(CANDIDATES) for _ in texts]

    def shared() -> np.ndarray:
        return encoder.adapted_many(texts * CANDIDATES, owner, scales)

    def alone() -> np.ndarray:
        return np.concatenate([encoder.compute(texts, candidate) for candidate in scales])

    difference = float(np.abs(shared() - alone()).max() / np.abs(alone()).max())
    ours, rival = _in_turn(shared, alone)
    return {
        "encoder": encoder.name,
        "candidates": CANDIDATES,
        "transcripts": TRANSCRIPTS,
        "tokens": sum(len(encoder.ids(text)) for text in texts) // len(texts),
        "engine_ms": round(1000 * ours, 1),
        "forward_ms": round(1000 * rival, 1),
        "ratio": round(rival / ours, 2),
        "max_rel_diff": float(f"{difference:.1e}"),
    }


def sandbox(count: int = RUNS, bare_count: int = BARE_RUNS) -> dict[str, Any]:
    """Small programs in the sandbox against a bare `python` process for each, `sandbox.workers` at once.

    Rounds of both in turn; medians. A run reads a number and prints it plus one.
    """
    from trinity.config import load_config
    from trinity.rewards.sandbox.runner import Sandbox

    section = load_config().sandbox
    program = "print(int(input()) + 1)"
    shut_in = Sandbox(section)

    def inside(number: int) -> str:
        return shut_in.run(program, None, str(number)).output

    def bare(number: int) -> str:
        command = [sys.executable, "-I", "-c", program]
        return subprocess.run(command, input=str(number), capture_output=True, text=True, check=True).stdout

    def runs(run: Callable[[int], str], number_of: int) -> Callable[[], None]:
        def all_runs() -> None:
            if list(pool.map(run, range(number_of))) != [f"{number + 1}\n" for number in range(number_of)]:
                raise TrinityError("bench: a run printed something else than it should")

        return all_runs

    try:
        with ThreadPoolExecutor(section.workers) as pool:
            runs(inside, 2 * section.workers)()  # starts the servers
            ours, rival = _in_turn(runs(inside, count), runs(bare, bare_count))
        rate, bare_rate = count / ours, bare_count / rival
        return {
            "level": shut_in.level,
            "workers": section.workers,
            "runs_per_s": round(rate, 1),
            "bare_runs_per_s": round(bare_rate, 1),
            "ratio": round(rate / bare_rate, 2),
        }
    finally:
        shut_in.close()


def _in_turn(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Median seconds of each, timed in turn so that a machine that slows down slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for function, kept in zip((first, second), times, strict=True):
            start = time.perf_counter()
            function()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])
