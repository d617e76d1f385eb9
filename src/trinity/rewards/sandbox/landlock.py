"""Landlock: which files a process may read, and the one folder in which it may write, from here on and for good."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

from trinity.rewards.forked import LIBC

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
LEAST = 3  # before it, truncate(2) is not covered
RIGHTS = {3: (1 << 15) - 1, 5: (1 << 16) - 1}  # of the file system, by version
TCP, SCOPES = 0b11, 0b11  # bind and connect, from version 4; abstract sockets and signals, from version 6
SET_NO_NEW_PRIVILEGES = 38
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")


def version() -> int:
    """Of the kernel's Landlock; 0 without one."""
    return max(0, int(LIBC.syscall(CREATE_RULESET, None, 0, 1)))


def shut(readable: Iterable[str], folder: str) -> None:
    """Restricts this process and all that it starts.

    Args:
        readable: Files and folders that may be read.
        folder: The folder in which everything may be done.

    Raises:
        OSError: the kernel refuses.
    """
    kernel = version()
    rights = RIGHTS[5] if kernel >= 5 else RIGHTS[3]
    # An older kernel takes a longer structure if what it does not know is 0.
    attribute = struct.pack("QQQ", rights, TCP if kernel >= 4 else 0, SCOPES if kernel >= 6 else 0)
    ruleset = _checked(LIBC.syscall(CREATE_RULESET, attribute, len(attribute), 0))
    for path in readable:
        _allow(ruleset, path, READ_FILE | READ_DIR if os.path.isdir(path) else READ_FILE)
    for device in DEVICES:
        _allow(ruleset, device, READ_FILE | WRITE_FILE)
    _allow(ruleset, folder, rights)
    _checked(LIBC.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(LIBC.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    rule = struct.pack("=Qi", rights, descriptor)
    _checked(LIBC.syscall(ADD_RULE, ruleset, 1, rule, 0))
    os.close(descriptor)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    return result
