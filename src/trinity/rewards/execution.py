"""What running a program says of it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Execution:
    """How a program fared on one input, or under one set of tests.

    Attributes:
        finished: It ran to its end, or passed its tests; proven by a nonce, never by an exit code.
        output: What it wrote on standard output; where a function was called, its result as JSON; under asserts, a
            digest of all that it returned.
        detail: Why it did not finish, in a few words; else empty.
    """

    finished: bool
    output: str
    detail: str = ""


class Runner(Protocol):
    """Runs programs, each in a process of its own and within limits.

    Every method raises `RewardError` if the program could not be run for a reason that is not its own.
    """

    def run(self, program: str, function: str | None, data: str, seconds: int | None = None) -> Execution:
        """Runs a program once.

        Args:
            program: Python source.
            function: Name of the function to call (a method, where the program has a class `Solution`), or None to run
                the program as a script.
            data: The script's standard input, or the function's arguments as JSON values, one a line.
            seconds: Of CPU time; None takes the runner's own limit.
        """
        ...

    def check(self, program: str, prelude: str, names: list[str], checks: str) -> Execution:
        """Runs a program under asserts that call it from another process.

        Args:
            program: Python source.
            prelude: Source that the tests run first: their imports and helpers.
            names: What the tests take from the program.
            checks: Source of the tests.
        """
        ...

    def unittest(self, program: str, tests: str) -> Execution:
        """Runs a program and a unittest module in one interpreter, as BigCodeBench does."""
        ...

    def close(self) -> None:
        """Ends what the runner keeps alive."""
        ...
