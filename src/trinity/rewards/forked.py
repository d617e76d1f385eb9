"""The child's side of `trinity.rewards.child`: a small server that forks once a request.

A request is one JSON line on stdin, `{"limits": {...}, "work": {...}}`; the reply is one JSON line on stdout,
`{"text": what the fork wrote as its result, "ending": "exit" | "cpu" | "wall" | "signal N"}`.

Each fork is a session of its own in an empty temporary folder, with limits. It is killed with its process group when it
ends or runs out of time, so that no request sees anything of another.
"""

import ctypes
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

STARTED = "started\n"
RESULT_DESCRIPTOR = 3
SET_PARENT_DEATH_SIGNAL = 1  # prctl(2)
LIBC = ctypes.CDLL(None)

Work = Callable[[Mapping[str, Any]], None]


def serve(work: Work) -> None:
    """Answers requests until stdin closes.

    Args:
        work: Runs in the fork. It calls `begin` when all is set up, so that what fails before is known to be no fault
            of what is run, and then writes its result with `finish`.
    """
    os.environ.clear()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for line in sys.stdin.buffer:
        request = json.loads(line)
        reply = _answer(work, request["work"], request["limits"])
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


def begin() -> None:
    """Marks the result: from here on, what happens is due to what is run."""
    finish(STARTED.encode())


def finish(result: bytes) -> None:
    """Appends to the result."""
    with open(RESULT_DESCRIPTOR, "wb", closefd=False) as file:
        file.write(result)


def _answer(work: Work, task: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, str]:
    folder = tempfile.mkdtemp(prefix="trinity-")
    result = os.memfd_create("result")
    try:
        process = os.fork()
        if process == 0:
            _run(work, task, limits, folder, result)
        ending = _end_of(process, limits["wall_seconds"])
        text = os.pread(result, os.fstat(result).st_size, 0).decode(errors="replace")
        return {"text": text, "ending": ending}
    finally:
        os.close(result)
        shutil.rmtree(folder, ignore_errors=True)


def _run(work: Work, task: Mapping[str, Any], limits: Mapping[str, Any], folder: str, result: int) -> None:
    """The fork's life; never returns."""
    try:
        LIBC.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        os.chdir(folder)
        tempfile.tempdir = folder
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        if result != RESULT_DESCRIPTOR:
            os.dup2(result, RESULT_DESCRIPTOR)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.closerange(RESULT_DESCRIPTOR + 1, 256)
        _limit(resource.RLIMIT_CPU, limits["cpu_seconds"], limits["cpu_seconds"] + 1)
        _limit(resource.RLIMIT_AS, limits["memory_bytes"], limits["memory_bytes"])
        _limit(resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"])
        _limit(resource.RLIMIT_CORE, 0, 0)
        work(task)
    except BaseException as error:
        finish(f"{type(error).__name__}: {error}".encode(errors="replace"))
    finally:
        os._exit(0)


def _limit(kind: int, soft: int, hard: int) -> None:
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _end_of(process: int, wall_seconds: float) -> str:
    deadline = time.monotonic() + wall_seconds
    in_time = True
    # WNOWAIT leaves the process unreaped, so that its group's number cannot be another's when the group is killed.
    while os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        left = deadline - time.monotonic()
        if left <= 0:
            in_time = False
            break
        signal.sigtimedwait({signal.SIGCHLD}, left)
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:  # it did not come as far as to have a group
        os.kill(process, signal.SIGKILL)
    status = os.waitpid(process, 0)[1]
    if not in_time:
        return "wall"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "cpu" if number == signal.SIGXCPU else f"signal {number}"
    return "exit"
