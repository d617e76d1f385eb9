"""Runs programs that the simulated pool answers with: texts that this package generated itself.

A process a run, an empty environment, a temporary folder, limits on CPU and wall time, memory and files, and a nonce
that only a run to the end returns. That stops accidents, not attacks: the program has this user's rights, network
and files. Code from any other pool must not come here.
"""

import secrets

from trinity.rewards.child import Child, Limits
from trinity.rewards.execution import Execution

# LiveCodeBench gives 6 s a test (testing_util.py); memory is unlimited there.
LIMITS = Limits(cpu_seconds=6, wall_seconds=30, memory_bytes=1 << 30)


class TrustedRunner:
    """A `Runner` for trusted programs: a forking child interpreter, some 3 ms a run."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._child = Child("trinity.rewards.program_child", limits)

    def run(self, program: str, function: str | None, data: str) -> Execution:
        """See `Runner`."""
        nonce = secrets.token_hex(16)
        reply = self._child.call({"program": program, "function": function, "data": data, "nonce": nonce})
        if reply.ending in {"cpu", "wall"}:
            return Execution(False, "", f"ran over its {reply.ending} time limit")
        head, separator, output = reply.text.partition("\n")
        if head == nonce and separator and reply.ending == "exit":
            return Execution(True, output)
        return Execution(False, "", head[:200] or f"ended early ({reply.ending})")

    def close(self) -> None:
        """Ends the child."""
        self._child.close()
