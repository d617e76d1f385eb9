"""The child's side of `trinity.rewards.child`: a small server that forks for every request.

A request is one message on the socket that is standard input: a JSON header with the limits and the names of the works,
and for each work two descriptors, its payload and its result. The server never reads a payload: the fork does, so that
no fork finds in its memory what another was given. The reply is one message, how each fork ended: `exit`, `cpu`, `wall`
or `signal N`.

Works of one request run at the same time, each in a fork of its own, and are joined by a socket (`LINK`). The last
named is the one that is waited for; then all are killed. Each fork is a session in an empty folder, with limits. That
it began its work is said on a pipe, which is closed before anything is run: what is run cannot unsay it.

This module runs in interpreters other than the project's too: standard library, Python 3.10.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

RESULT, LINK = 3, 4
WIPE_SECONDS = 4.0
LIBC = ctypes.CDLL(None, use_errno=True)
SET_PARENT_DEATH_SIGNAL, SET_DUMPABLE = 1, 4  # prctl(2)

Work = Callable[[Mapping[str, Any]], None]
_began: list[int] = []


class Walls:
    """What surrounds a fork besides its limits: here nothing; the sandbox has more."""

    def own(self, folder: str) -> None:
        """Called in the server: makes the folder the fork's own."""

    def close(self, folder: str) -> None:
        """Called in the fork, last of all before its work: from here on it is shut in."""

    def sweep(self, forks: Sequence[int]) -> dict[int, int]:
        """Called in the server when the work is done: kills what is left, and gives the status of each fork.

        The forks are not waited for before, so that no number of theirs can be another's.
        """
        for fork in forks:
            try:
                os.killpg(fork, signal.SIGKILL)
            except ProcessLookupError:  # it did not come as far as to have a group
                os.kill(fork, signal.SIGKILL)
        return {fork: os.waitpid(fork, 0)[1] for fork in forks}

    def wipe(self, folders: Sequence[str]) -> None:
        """Called in the server at the end: removes what the forks can have written."""
        for folder in folders:
            empty(folder)
            os.rmdir(folder)


def serve(
    works: Work | Mapping[str, Work], walls: Walls | None = None, prepare: Mapping[str, Work] | None = None
) -> None:
    """Answers requests until the socket closes.

    Args:
        works: By name (or one, named `work`), a function of a payload. It runs in the fork, calls `begin` when all is
            set up, so that what fails before is known to be no fault of what is run, and writes its result with
            `finish`.
        walls: What surrounds each fork.
        prepare: By name of a work, what is done in its fork before the limits and the walls.
    """
    by_name = works if isinstance(works, Mapping) else {"work": works}
    walls = walls or Walls()
    os.environ.clear()
    LIBC.prctl(SET_DUMPABLE, 0, 0, 0, 0)
    connection = socket.socket(fileno=0)
    while True:
        header, descriptors, _, _ = socket.recv_fds(connection, 1 << 16, 16)
        if not header:
            return
        request = json.loads(header)
        if "quit" in request:
            return
        reply = _answer(by_name, walls, prepare or {}, request, descriptors, connection)
        if reply is None:
            return
        connection.send(json.dumps(reply).encode())
        if not reply["clean"]:
            return


def begin() -> None:
    """From here on, what happens is due to what is run."""
    os.write(_began[0], b".")
    os.close(_began[0])


def finish(result: bytes) -> None:
    """Appends bytes to the result."""
    with open(RESULT, "wb", closefd=False) as file:
        file.write(result)


def empty(folder: str, kept: Sequence[str] = ()) -> None:
    """Removes all that is in a folder but what is kept, however deep: what lies two levels down is moved up.

    Raises:
        OSError: something cannot be removed, or it takes longer than `WIPE_SECONDS`.
    """
    deadline = time.monotonic() + WIPE_SECONDS
    while entries := [entry for entry in os.scandir(folder) if entry.path not in kept]:
        for entry in entries:
            if time.monotonic() > deadline:
                raise OSError(errno.ETIMEDOUT, "wiping takes too long", folder)
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            _open_up(entry.path)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    _open_up(inner.path)
                    os.rename(inner.path, os.path.join(folder, f".{os.urandom(8).hex()}"))
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)


def _open_up(folder: str) -> None:
    with contextlib.suppress(PermissionError):  # root without the right to change modes does not need them either
        os.chmod(folder, 0o700)


def _answer(
    works: Mapping[str, Work],
    walls: Walls,
    prepare: Mapping[str, Work],
    request: Mapping[str, Any],
    descriptors: Sequence[int],
    connection: socket.socket,
) -> dict[str, Any] | None:
    """How each fork ended, and whether nothing is left of them; None if the other side hung up."""
    names, limits = request["works"], request["limits"]
    folders: list[str] = []
    forks: list[int] = []
    readers: list[int] = []
    links: tuple[socket.socket | None, ...] = socket.socketpair() if len(names) == 2 else (None, None)
    try:
        for name, link, payload, result in zip(names, links, descriptors[::2], descriptors[1::2], strict=False):
            folder = tempfile.mkdtemp(prefix="trinity-")
            folders.append(folder)
            walls.own(folder)
            reader, writer = os.pipe()
            readers.append(reader)
            fork = os.fork()
            if fork == 0:
                _live(works[name], walls, prepare.get(name), limits, folder, payload, result, link, writer)
            os.close(writer)
            forks.append(fork)
        for end in links:
            if end is not None:
                end.close()
        connected, in_time = _wait(forks[-1], connection, limits["wall_seconds"])
        statuses = walls.sweep(forks)
        endings = [_ending(statuses[fork]) for fork in forks]
        begun = [os.read(reader, 1) == b"." for reader in readers]  # all that could hold the other end are dead
        if not in_time:
            endings[-1] = "wall"
        try:
            walls.wipe(folders)
            clean = True
        except OSError:  # this server must not serve again
            clean = False
        return {"endings": endings, "begun": begun, "clean": clean} if connected else None
    finally:
        for descriptor in [*descriptors, *readers]:
            os.close(descriptor)


def _wait(fork: int, connection: socket.socket, wall_seconds: float) -> tuple[bool, bool]:
    """Until a fork ends, time is up, or the other side hangs up: (still connected, in time)."""
    ended = os.pidfd_open(fork)
    try:
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(connection, select.POLLRDHUP)
        events = poll.poll(wall_seconds * 1000)
        return all(descriptor != connection.fileno() for descriptor, _ in events), bool(events)
    finally:
        os.close(ended)


def _live(
    work: Work,
    walls: Walls,
    prepare: Work | None,
    limits: Mapping[str, Any],
    folder: str,
    payload: int,
    result: int,
    link: socket.socket | None,
    began: int,
) -> None:
    """The fork's life; never returns."""
    try:
        LIBC.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.setsid()
        os.chdir(folder)
        tempfile.tempdir = folder
        with open(payload, "rb") as file:
            task = json.load(file)
        kept = [result] if link is None else [result, link.fileno()]
        _place([*kept, began])
        _began[:] = [RESULT + len(kept)]
        if prepare is not None:
            prepare(task)
        for kind, soft, hard in (
            (resource.RLIMIT_CPU, limits["cpu_seconds"], limits["cpu_seconds"] + 1),
            (resource.RLIMIT_AS, limits["memory_bytes"], limits["memory_bytes"]),
            (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_NPROC, limits["processes"], limits["processes"]),
            (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        ):
            _limit(kind, soft, hard)
        walls.close(folder)
        work(task)
    except BaseException as error:
        finish(f"{type(error).__name__}: {error}".encode(errors="replace"))
    finally:
        os._exit(0)


def _place(kept: Sequence[int]) -> None:
    """Leaves open: nothing on 0, 1, 2, and from 3 on the descriptors kept."""
    copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64) for descriptor in kept]
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate([nothing, nothing, nothing, *copies]):
        os.dup2(descriptor, number)
    os.closerange(RESULT + len(kept), 1024)


def _limit(kind: int, soft: int | None, hard: int | None) -> None:
    if soft is None or hard is None:
        return
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _ending(status: int) -> str:
    if not os.WIFSIGNALED(status):
        return "exit"
    number = os.WTERMSIG(status)
    return "cpu" if number == signal.SIGXCPU else f"signal {number}"
