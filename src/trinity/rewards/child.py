"""A long-lived child interpreter that forks once a request: some milliseconds each, limited, and never a hang.

It keeps what may loop, crash or eat memory (a symbolic comparison) out of this process, where neither signals nor
threads could stop it. By itself it is no sandbox: the fork has the rights of this user. `trinity.rewards.sandbox`
builds walls around it.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from trinity.errors import RewardError

START_SECONDS = 120.0
REPLY_SECONDS = 15.0


@dataclass(frozen=True)
class Limits:
    """Of one fork. What decides is CPU time, which a busy machine does not change; wall time only ends waiting.

    Attributes:
        file_bytes: Of any file that is written, standard output among them.
        processes: At once, threads among them, where the system can count them; None is no limit.
        open_files: Descriptors of one process; None is no limit.
    """

    cpu_seconds: int
    wall_seconds: float
    memory_bytes: int
    file_bytes: int = 4 << 20
    processes: int | None = None
    open_files: int | None = None


@dataclass(frozen=True)
class Reply:
    """What the fork wrote as its result, and how it ended: exit, cpu, wall, or `signal N`."""

    text: str
    ending: str


@dataclass(frozen=True)
class _Running:
    owner: int
    process: subprocess.Popen[bytes]
    connection: socket.socket
    complaints: IO[bytes]


class Child:
    """Runs a module whose main calls `trinity.rewards.forked.serve`; starts with the first request.

    Usable from several threads: requests are answered one at a time.

    Args:
        module: What is run by `python -m`, unless a command is given.
        limits: Of each fork.
        command: What is run in its stead.
    """

    def __init__(self, module: str, limits: Limits, command: Sequence[str] | None = None) -> None:
        self._module = module
        self._limits = limits
        self._command = command or [sys.executable, "-P", "-s", "-X", "utf8", "-m", module]
        self._lock = threading.Lock()
        self._running: _Running | None = None

    def call(self, work: Mapping[str, Any]) -> Reply:
        """One request to a child that has one work, named `work`; see `call_all`."""
        return self.call_all([("work", work)])[0]

    def call_all(self, works: Sequence[tuple[str, Mapping[str, Any]]], limits: Limits | None = None) -> list[Reply]:
        """One request: a fork for each work, with its payload; the last one is waited for.

        Args:
            works: Names and payloads.
            limits: Of these forks; None takes the child's own.

        Raises:
            RewardError: the child could not be started, died, does not answer, or could not begin a work; the next
                call starts a new one if need be.
        """
        limits = limits or self._limits
        files = [(_memory(json.dumps(payload).encode()), _memory()) for _, payload in works]
        try:
            header = {"limits": asdict(limits), "works": [name for name, _ in works]}
            with self._lock:
                patience = limits.wall_seconds + REPLY_SECONDS
                if self._running is not None and self._running.owner != os.getpid():
                    self._running = None  # this is a fork of the process that talks to it
                if self._running is None:
                    self._running = self._start()
                    patience += START_SECONDS
                descriptors = [one for pair in files for one in pair]
                endings, begun = self._exchange(self._running, header, descriptors, patience)
            texts = [os.pread(result, os.fstat(result).st_size, 0).decode(errors="replace") for _, result in files]
        finally:
            for pair in files:
                for descriptor in pair:
                    os.close(descriptor)
        replies = []
        for number, (text, ending, started) in enumerate(zip(texts, endings, begun, strict=True)):
            # A later fork can have been killed by what an earlier one runs: that is no fault of this machine's.
            if not started and (number == 0 or ending == "exit"):
                raise RewardError(f"{self._module}: could not begin ({ending}): {text or 'no reason given'}")
            replies.append(Reply(text, ending))
        return replies

    def close(self) -> None:
        """Ends the child; a later call would start a new one."""
        with self._lock:
            self._stop()

    def _start(self) -> _Running:
        complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _stop)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Isolated as by -I, but for a fixed hash seed: else the order of a set would differ from run to run.
        # In a session of its own: an interrupt ends this process, and then the child sees its socket close.
        process = subprocess.Popen(
            self._command,
            env={"PYTHONHASHSEED": "0"},
            cwd="/",
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )
        theirs.close()
        return _Running(os.getpid(), process, ours, complaints)

    def _exchange(
        self, running: _Running, header: Mapping[str, Any], descriptors: Sequence[int], patience: float
    ) -> tuple[list[str], list[bool]]:
        poll = select.poll()
        poll.register(running.connection, select.POLLIN)
        try:
            socket.send_fds(running.connection, [json.dumps(header).encode()], descriptors)
            if not poll.poll(patience * 1000):
                raise RewardError(f"{self._module}: no answer within {patience:.0f} s: is the machine overloaded?")
            reply = running.connection.recv(1 << 16)
        except (BrokenPipeError, ConnectionResetError):
            reply = b""
        except BaseException:
            self._stop()  # an interrupted exchange must not leave its reply to the next one
            raise
        if not reply:
            reason = self._last_complaint(running)
            self._stop()
            raise RewardError(f"{self._module}: the child process ended: {reason}")
        answer = json.loads(reply)
        if not answer["clean"]:
            self._stop()
        return answer["endings"], answer["begun"]

    def _last_complaint(self, running: _Running) -> str:
        code = running.process.wait(REPLY_SECONDS)
        running.complaints.seek(0)
        lines = running.complaints.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {code}")

    def _stop(self) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        with contextlib.suppress(OSError):  # closing alone would not tell it while a fork of this process lives
            running.connection.send(json.dumps({"quit": True}).encode())
        running.connection.close()
        try:
            running.process.wait(REPLY_SECONDS)
        except subprocess.TimeoutExpired:
            _kill(running.process)
        running.complaints.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those that it started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    with contextlib.suppress(OSError):
        for child in children.read_text().split():
            os.kill(int(child), signal.SIGKILL)
    process.kill()
    process.wait()


def _memory(content: bytes = b"") -> int:
    descriptor = os.memfd_create("trinity")
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
