"""Inside: the server that stands in the sandbox, and the walls around each of its forks."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import struct
import sys
from collections.abc import Sequence

from trinity.rewards.forked import LIBC, Walls, empty, serve
from trinity.rewards.sandbox import landlock, seccomp
from trinity.rewards.sandbox.checks import run_checks, serve_program
from trinity.rewards.sandbox.program import give_streams, run_program

CAPABILITIES = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", 0, 0, 0, 0, 0, 0)  # none at all


class Namespaces(Walls):
    """In bwrap: this server is process 1 of a namespace that holds nothing else, so it can kill and wipe everything.

    Args:
        user: Who the forks become where this server is root: root has no limit on processes.
        wiped: Folders in which a fork can write.
        kept: What stands in them and is no fork's.
        sockets: A fork may make some; they reach what the namespace holds, which is nothing.
    """

    def __init__(self, user: int | None, wiped: Sequence[str], kept: Sequence[str], sockets: bool) -> None:
        self._user = user
        self._wiped = wiped
        self._kept = kept
        self._sockets = sockets

    def own(self, folder: str) -> None:
        """See `Walls.own`."""
        if self._user is not None:
            os.chown(folder, self._user, self._user)

    def close(self, folder: str) -> None:
        """See `Walls.close`."""
        if self._user is not None:
            os.setgroups([])
            os.setresgid(self._user, self._user, self._user)
            os.setresuid(self._user, self._user, self._user)
        seccomp.shut(sockets=self._sockets)

    def sweep(self, forks: Sequence[int]) -> dict[int, int]:
        """See `Walls.sweep`: every process of the namespace but this one."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        statuses = {}
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, 0)
                statuses[process] = status
        return statuses

    def wipe(self, folders: Sequence[str]) -> None:
        """See `Walls.wipe`: every file that a run can have written anywhere."""
        for folder in self._wiped:
            empty(folder, self._kept)


class Landlock(Walls):
    """Without namespaces: files by Landlock, everything else by the filter of system calls, one process a fork."""

    def __init__(self, readable: Sequence[str]) -> None:
        self._readable = readable

    def close(self, folder: str) -> None:
        """See `Walls.close`."""
        landlock.shut(self._readable, folder)
        if LIBC.capset(*CAPABILITIES):
            raise OSError(ctypes.get_errno(), "capset")
        seccomp.shut(alone=True)


def main() -> None:
    """Serves with the walls that the first argument describes."""
    setup = json.loads(sys.argv[1])
    walls = {
        "bwrap": lambda: Namespaces(setup["user"], setup["wiped"], setup["kept"], setup["unittest"]),
        "landlock": lambda: Landlock(setup["readable"]),
        "unsafe": Walls,
    }[setup["level"]]()
    works = {"program": run_program, "serve": serve_program, "checks": run_checks}
    if setup["unittest"]:
        from trinity.rewards.sandbox.unittests import run_unittest

        works["unittest"] = run_unittest
    serve(works, walls, {"program": give_streams})


if __name__ == "__main__":
    main()
