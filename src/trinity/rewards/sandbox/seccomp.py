"""A filter of system calls (seccomp): what is on the list fails with EPERM, for this process and all that it starts."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable

from trinity.rewards.forked import LIBC

# (x86_64, aarch64); None: the machine has no such call.
SOCKETS: dict[str, tuple[int, int]] = {
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
}
CALLS: dict[str, tuple[int | None, int | None]] = {
    # reaching others: their memory, their descriptors, their priority
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    # outliving the run, or the limit on memory: shared memory, queues, semaphores, keys
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # leaving the walls, or reaching the kernel
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "fanotify_init": (300, 262),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "personality": (135, 92),
    "syslog": (103, 116),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
}
# Where no namespace keeps processes and files apart: no other process, none started, no file's rights changed.
ALONE: dict[str, tuple[int | None, int | None]] = {
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
}
# Allowed where the first argument is 0 or this process.
ONLY_SELF: dict[str, tuple[int, int]] = {
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "prlimit64": (302, 261),
}
# Signals that arrive by way of a descriptor: fcntl's F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY; ioctl's
# FIOSETOWN and SIOCSPGRP.
COMMANDS: dict[tuple[int, int], tuple[int, ...]] = {
    (72, 25): (8, 10, 15, 1024, 1026),
    (16, 29): (0x8901, 0x8902),
}
SIGNALS = {"kill": (62, 129), "tgkill": (234, 131)}
CLONE, CLONE3, SOCKETPAIR = (56, 220), (435, 435), (53, 199)
NEW_NAMESPACE, CLONE_THREAD, SOCK_STREAM = 0x7E020000, 0x00010000, 1
FAMILIES = (1, 2, 10)  # Unix, IPv4, IPv6

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24  # offsets in struct seccomp_data, low words of the arguments
LOAD, AND, EQUAL, NOT_BELOW, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2

Instruction = tuple[int, int, int, int]


def available() -> bool:
    """Whether the filter knows this machine's calls."""
    return platform.machine() in ARCHITECTURES


def shut(*, alone: bool = False, sockets: bool = False) -> None:
    """Sets the filter; nothing can take it off.

    Args:
        alone: No namespace keeps this process apart: it may start no other, signal no other, change no file's rights.
        sockets: Sockets may be made: a namespace holds no network but their own.

    Raises:
        OSError: the kernel refuses.
    """
    program = _filter(os.getpid(), alone, sockets)
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(buffer)))
    if LIBC.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or LIBC.prctl(SET_SECCOMP, FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def _filter(process: int, alone: bool, sockets: bool) -> list[Instruction]:
    machine, architecture = ARCHITECTURES[platform.machine()]
    refuse = (RETURN, 0, 0, FAIL | errno.EPERM)
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (NOT_BELOW, 0, 1, 0x40000000),  # the x32 calls, which are the same ones under other numbers
        refuse,
    ]

    def answer(calls: Iterable[tuple[int | None, int | None]], *verdict: Instruction) -> None:
        for call in calls:
            if call[machine] is not None:
                program.append((EQUAL, 0, len(verdict), call[machine] or 0))
                program.extend(verdict)

    answer(CALLS.values(), refuse)
    if sockets:  # the families that a network namespace holds; others reach the machine (vsock, netlink)
        tests = [(EQUAL, len(FAMILIES) - number, 0, family) for number, family in enumerate(FAMILIES)]
        answer([SOCKETS["socket"]], (LOAD, 0, 0, FIRST), *tests, refuse, (RETURN, 0, 0, ALLOW))
    else:
        answer(SOCKETS.values(), refuse)
        # a pair of datagram sockets could send elsewhere than to each other
        stream = (LOAD, 0, 0, SECOND), (AND, 0, 0, 0xF), (EQUAL, 0, 1, SOCK_STREAM), (RETURN, 0, 0, ALLOW), refuse
        answer([SOCKETPAIR], *stream)
    # glibc falls back to clone, whose flags a filter can read
    answer([CLONE3], (RETURN, 0, 0, FAIL | errno.ENOSYS))
    own = ((LOAD, 0, 0, FIRST), (EQUAL, 1, 0, process), (EQUAL, 0, 1, 0), (RETURN, 0, 0, ALLOW), refuse)
    answer(ONLY_SELF.values(), *own)
    if alone:
        answer(ALONE.values(), refuse)
        answer(SIGNALS.values(), *own)
        for call, commands in COMMANDS.items():
            tests = [(EQUAL, len(commands) - number, 0, command) for number, command in enumerate(commands)]
            answer([call], (LOAD, 0, 0, SECOND), *tests, (RETURN, 0, 0, ALLOW), refuse)
        answer(
            [CLONE],
            (LOAD, 0, 0, FIRST),
            (AND, 0, 0, CLONE_THREAD),
            (EQUAL, 0, 1, CLONE_THREAD),
            (RETURN, 0, 0, ALLOW),
            refuse,
        )
    else:
        answer(
            [CLONE], (LOAD, 0, 0, FIRST), (AND, 0, 0, NEW_NAMESPACE), (EQUAL, 0, 1, 0), (RETURN, 0, 0, ALLOW), refuse
        )
    program.append((RETURN, 0, 0, ALLOW))
    return program
