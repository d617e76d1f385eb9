"""A long-lived child interpreter that forks once a request: some milliseconds each, limited, and never a hang.

It keeps what may loop, crash or eat memory (a program under test, a symbolic comparison) out of this process, where
neither signals nor threads could stop it. It is no sandbox: the fork has the rights of this user.
"""

import contextlib
import json
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any

from trinity.errors import RewardError
from trinity.rewards.forked import STARTED

START_SECONDS = 120.0
REPLY_SECONDS = 15.0


@dataclass(frozen=True)
class Limits:
    """Of one request. What decides is CPU time, which a busy machine does not change; wall time only ends waiting.

    Attributes:
        file_bytes: Of any file that is written, standard output among them.
    """

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int
    file_bytes: int = 4 << 20


@dataclass(frozen=True)
class Reply:
    """What the fork wrote as its result, and how it ended: exit, cpu, wall, or `signal N`."""

    text: str
    ending: str


@dataclass(frozen=True)
class _Running:
    process: subprocess.Popen[bytes]
    requests: IO[bytes]
    replies: IO[bytes]
    complaints: IO[bytes]


class Child:
    """Runs a module whose main calls `trinity.rewards.forked.serve`; starts with the first request.

    Usable from several threads: requests are answered one at a time.
    """

    def __init__(self, module: str, limits: Limits) -> None:
        self._module = module
        self._limits = limits
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def call(self, work: Mapping[str, Any]) -> Reply:
        """One request.

        Raises:
            RewardError: the child could not be started, died, does not answer, or could not begin the work; the next
                call starts a new one if need be.
        """
        with self._lock:
            patience = self._limits.wall_seconds + REPLY_SECONDS
            if self._running is None:
                self._running = self._start()
                patience += START_SECONDS
            line = self._exchange(self._running, {"work": work, "limits": asdict(self._limits)}, patience)
        reply = json.loads(line)
        text = reply["text"]
        if not text.startswith(STARTED):
            raise RewardError(f"{self._module}: could not begin ({reply['ending']}): {text or 'no reason given'}")
        return Reply(text.removeprefix(STARTED), reply["ending"])

    def close(self) -> None:
        """Ends the child; a later call would start a new one."""
        with self._lock:
            self._stop()

    def _start(self) -> _Running:
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _stop)
        # Isolated as by -I, but for a fixed hash seed: else the order of a set would differ from run to run.
        # In a session of its own: an interrupt ends this process, and then the child sees its stdin close.
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-X", "utf8", "-m", self._module],
            env={"PYTHONHASHSEED": "0"},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        return _Running(process, process.stdin, process.stdout, complaints)

    def _exchange(self, running: _Running, request: Mapping[str, Any], patience: float) -> bytes:
        poll = select.poll()
        poll.register(running.replies, select.POLLIN)
        try:
            running.requests.write(json.dumps(request).encode() + b"\n")
            running.requests.flush()
            if not poll.poll(patience * 1000):
                raise RewardError(f"{self._module}: no answer within {patience:.0f} s: is the machine overloaded?")
            line = running.replies.readline()
        except BrokenPipeError:
            line = b""
        except BaseException:
            self._stop()  # an interrupted exchange must not leave its reply to the next one
            raise
        if not line.endswith(b"\n"):
            reason = self._last_complaint(running)
            self._stop()
            raise RewardError(f"{self._module}: the child process ended: {reason}")
        return line

    def _last_complaint(self, running: _Running) -> str:
        code = running.process.wait(REPLY_SECONDS)
        running.complaints.seek(0)
        lines = running.complaints.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {code}")

    def _stop(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        running.process.kill()
        running.process.wait()
        running.replies.close()
        running.complaints.close()
        with contextlib.suppress(BrokenPipeError):
            running.requests.close()
