"""The seam between the code reward and whatever runs a program."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Execution:
    """How a program fared on one input.

    Attributes:
        finished: It ran to its end, proven by a nonce that the runner got back: an exit code proves nothing.
        output: What it wrote on standard output or, where a function was called, its result as JSON.
        detail: Why it did not finish, in a few words; else empty.
    """

    finished: bool
    output: str
    detail: str = ""


class Runner(Protocol):
    """Runs a program on one input in a process of its own, within limits."""

    def run(self, program: str, function: str | None, data: str) -> Execution:
        """Runs a program once.

        Args:
            program: Python source.
            function: Name of the function to call (a method, where the program has a class `Solution`), or None to run
                the program as a script.
            data: The script's standard input, or the function's arguments as JSON values, one a line.

        Raises:
            RewardError: the program could not be run for a reason that is not its own.
        """
        ...

    def close(self) -> None:
        """Ends what the runner keeps alive."""
        ...
