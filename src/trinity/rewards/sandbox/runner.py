"""The sandbox from outside: picks a level, keeps its servers, and runs programs in them (docs/sandbox.md)."""

from __future__ import annotations

import contextlib
import json
import queue
import secrets
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from trinity.errors import RewardError
from trinity.rewards.child import Child, Limits, Reply
from trinity.rewards.execution import Execution
from trinity.rewards.sandbox.controls import controls, judged, may_skip, shuffled, tests_of
from trinity.rewards.sandbox.levels import (
    MEGABYTE,
    Interpreter,
    best_level,
    command,
    read_interpreter,
    this_interpreter,
)

if TYPE_CHECKING:
    from trinity.config.tasks import Sandbox as Section

# BigCodeBench's own (its docs: 240 s a task, for all tests together); its libraries want more room than a program.
UNITTEST_SECONDS = 240
UNITTEST_MEMORY = 8 << 30
UNITTEST_PROCESSES = 64
OPEN_FILES, UNITTEST_OPEN_FILES = 64, 1024
# Not the user's: what the pinned libraries would look for, and one thread each.
UNITTEST_ENVIRONMENT = {"HOME": "/tmp", "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Sandbox:
    """A `Runner` for code from a model. Usable from several threads, `workers` runs at once.

    Nothing starts before the first run; then the level is picked, once a process, and printed on stderr.

    Args:
        section: The section `sandbox` of params.yaml.
    """

    def __init__(self, section: Section) -> None:
        self._section = section
        self._lock = threading.Lock()
        self._started: list[Child] = []
        self._idle: dict[str, queue.LifoQueue[Child]] = {}
        self._places = threading.BoundedSemaphore(section.workers)

    @property
    def level(self) -> str:
        """The level that programs run at.

        Raises:
            RewardError: none of those in params.yaml holds on this machine; says why, and what to do.
        """
        return best_level(tuple(self._section.levels))

    def run(self, program: str, function: str | None, data: str, seconds: int | None = None) -> Execution:
        """See `Runner`."""
        limits = self._limits()
        if seconds is not None:
            limits = replace(limits, cpu_seconds=seconds, wall_seconds=max(limits.wall_seconds, 5 * seconds))
        nonce = secrets.token_hex(16)
        task = {"program": program, "function": function, "data": data, "nonce": nonce}
        return _proven(self._call("program", ("program", task), limits=limits)[-1], nonce)

    def check(self, program: str, prelude: str, names: list[str], checks: str) -> Execution:
        """See `Runner`."""
        nonce = secrets.token_hex(16)
        tests = {"prelude": prelude, "names": names, "checks": checks, "nonce": nonce}
        served, checked = self._call("program", ("serve", {"program": program}), ("checks", tests))
        execution = _proven(checked, nonce)
        if not execution.finished and served.ending in {"cpu", "wall"}:
            return Execution(False, "", f"ran over its {served.ending} time limit")
        return Execution(False, "", served.text[:200]) if served.text and not execution.finished else execution

    def unittest(self, program: str, tests: str) -> Execution:
        """See `Runner`.

        Raises:
            RewardError: also if no interpreter with BigCodeBench's libraries is named in params.yaml.
        """
        found = tests_of(tests)
        name, source, wanted = controls()
        task = {
            "program": program,
            "tests": tests,
            "controls": source,
            "cases": shuffled([name, *found]),
            "environment": UNITTEST_ENVIRONMENT,
        }
        (reply,) = self._call("unittest", ("unittest", task))
        if reply.ending in {"cpu", "wall"}:
            return Execution(False, "", f"ran over its {reply.ending} time limit")
        try:
            outcomes = json.loads(reply.text)
        except (ValueError, RecursionError):
            return Execution(False, "", reply.text[:200] or f"ended early ({reply.ending})")
        if not isinstance(outcomes, dict):
            return Execution(False, "", "the program tampered with the tests")
        problem = judged(outcomes, found, wanted, may_skip(tests))
        return Execution(not problem, "", problem)

    def close(self) -> None:
        """Ends the servers; a later run would start new ones."""
        with self._lock:
            started, self._started = self._started, []
            self._idle.clear()
        for child in started:
            child.close()

    def _call(self, kind: str, *works: tuple[str, Mapping[str, Any]], limits: Limits | None = None) -> list[Reply]:
        with self._places, self._child(kind) as child:
            return child.call_all(works, limits)

    @contextlib.contextmanager
    def _child(self, kind: str) -> Iterator[Child]:
        with self._lock:
            idle = self._idle.setdefault(kind, queue.LifoQueue())
        try:
            child = idle.get_nowait()
        except queue.Empty:
            child = self._new(kind)
        try:
            yield child
        finally:  # one that failed has ended its server, and starts another when it is called again
            idle.put(child)

    def _new(self, kind: str) -> Child:
        level = self.level
        _announce(level)
        if kind == "unittest":
            interpreter, limits = self._bigcodebench(), self._unittest_limits()
        else:
            interpreter, limits = this_interpreter(), self._limits()
        child = Child("the sandbox", limits, command(level, interpreter, unittest=kind == "unittest"))
        with self._lock:
            self._started.append(child)
        return child

    def _limits(self) -> Limits:
        section = self._section
        return Limits(
            cpu_seconds=section.cpu_seconds,
            wall_seconds=section.wall_seconds,
            memory_bytes=section.memory_mb * MEGABYTE,
            file_bytes=section.file_mb * MEGABYTE,
            # With Landlock alone nothing can be started, and the limit would count what else this user runs.
            processes=None if self.level == "landlock" else section.processes,
            open_files=OPEN_FILES,
        )

    def _unittest_limits(self) -> Limits:
        limits = self._limits()
        return replace(
            limits,
            cpu_seconds=UNITTEST_SECONDS,
            wall_seconds=UNITTEST_SECONDS,
            memory_bytes=max(UNITTEST_MEMORY, limits.memory_bytes),
            processes=limits.processes and max(UNITTEST_PROCESSES, limits.processes),
            open_files=UNITTEST_OPEN_FILES,
        )

    def _bigcodebench(self) -> Interpreter:
        path = self._section.bigcodebench_python
        if path is None:
            raise RewardError(
                "BigCodeBench's tests need the libraries that it pins (requirements-eval.txt of bigcode-project/"
                "bigcodebench): install them for an interpreter of their own and name it in sandbox.bigcodebench_python"
            )
        return read_interpreter(path)


@cache
def _announce(level: str) -> None:
    print(f"sandbox: {level}", file=sys.stderr)


def _proven(reply: Reply, nonce: str) -> Execution:
    if reply.ending in {"cpu", "wall"}:
        return Execution(False, "", f"ran over its {reply.ending} time limit")
    head, separator, output = reply.text.partition("\n")
    if head == nonce and separator and reply.ending == "exit":
        return Execution(True, output)
    return Execution(False, "", head[:200] or f"ended early ({reply.ending})")
