"""Small programs in the sandbox against a bare `python` process for each."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trinity.bench.timing import ROUNDS, in_turn
from trinity.errors import TrinityError

RUNS, BARE_RUNS = 200, 40


def measure(count: int = RUNS, bare_count: int = BARE_RUNS, rounds: int = ROUNDS) -> dict[str, Any]:
    """`sandbox.workers` programs at once, rounds of both in turn; medians.

    A run reads a number and prints it plus one.
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
            ours, rival = in_turn(runs(inside, count), runs(bare, bare_count), rounds)
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
