"""How strong the sandbox can be on this machine: each level is tried, by attacks of its own, before it is trusted."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import trinity
from trinity.errors import RewardError
from trinity.rewards.child import Child, Limits
from trinity.rewards.sandbox import landlock, seccomp

PACKAGE = str(Path(trinity.__file__).parent)
INSIDE = "/trinity"  # where the package lies in bwrap's file system
START = "import sys; sys.path[0] = {!r}; from trinity.rewards.sandbox.walls import main; main()"
FIRST_USER = 2_000_000_000  # numbers that no account has
KEPT = ("CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_FOWNER")
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
LOADER = ("/etc/ld.so.cache", "/etc/localtime")
MEGABYTE = 1 << 20
WRITABLE, TMP_MEGABYTES = ("/tmp", "/dev/shm"), 256
_NUMBERS = itertools.count()
HOW = {
    "bwrap": "apt-get install bubblewrap, on a machine that lets this user make namespaces",
    "landlock": "a Linux kernel of version 6.2 or newer with Landlock, on x86_64 or aarch64",
}


@dataclass(frozen=True)
class Interpreter:
    """A Python whose programs run in the sandbox.

    Attributes:
        path: The executable.
        folders: What it reads to run: its installation and that of its environment.
    """

    path: str
    folders: tuple[str, ...]


def this_interpreter() -> Interpreter:
    """The interpreter that runs this."""
    stdlib = sysconfig.get_path("stdlib")
    return Interpreter(sys.executable, tuple(dict.fromkeys((sys.prefix, sys.base_prefix, stdlib))))


def read_interpreter(path: str) -> Interpreter:
    """Another interpreter.

    Raises:
        RewardError: it cannot be run, or is older than Python 3.10.
    """
    ask = (
        "import json, sys, sysconfig; assert sys.version_info >= (3, 10), 'it is older than Python 3.10'; "
        "print(json.dumps([sys.prefix, sys.base_prefix, sysconfig.get_path('stdlib')]))"
    )
    try:
        done = subprocess.run([path, "-c", ask], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
        raise RewardError(f"sandbox.bigcodebench_python: {path}: cannot be used: {said}") from None
    return Interpreter(path, tuple(dict.fromkeys(json.loads(done.stdout))))


@cache
def best_level(levels: tuple[str, ...]) -> str:
    """The first level whose walls hold here; tried once a process.

    Raises:
        RewardError: none does; says why, and what to do.
    """
    reasons = []
    for level in levels:
        problem = missing(level) or _breach(level)
        if problem is None:
            return level
        reasons.append(f"{level}: {problem} (needs {HOW[level]})" if level in HOW else f"{level}: {problem}")
    raise RewardError(
        f"no sandbox, and code from a model runs nowhere else: {'; '.join(reasons)}. Mend one of them, leave the code "
        "tasks out of `tasks`, or, if you trust the code, set sandbox.levels: [unsafe]"
    )


# What no program may see or do, tried before a level is trusted; `unsafe` promises nothing of it.
PROBE = """
import os, socket
open("here", "w").write("x")
def reaches(what):
    try:
        what()
        return True
    except OSError:
        return False
held = not any(map(reaches, [
    lambda: socket.socket(),
    lambda: open({file!r}).read(),
    lambda: os.listdir("/proc/{process}/fd"),
    lambda: open({file!r}, "r+"),
]))
print(6 * 7 if held else "open")
"""


def _breach(level: str) -> str | None:
    """What is wrong with a level when it is tried; None if its walls hold."""
    child = Child(level, Limits(5, 20, 1 << 29, 1 << 20, 8), command(level, this_interpreter()))
    with tempfile.NamedTemporaryFile() as file:
        program = PROBE.format(file=file.name, process=os.getpid())
        if level == "unsafe":
            program = "print(42)"
        try:
            reply = child.call_all([("program", {"program": program, "function": None, "data": "", "nonce": "end"})])
        except RewardError as error:
            return str(error)
        finally:
            child.close()
    said = reply[0].text.removeprefix("end\n").strip()
    return None if said == "42" else f"its walls do not hold ({said[:100] or reply[0].ending})"


def missing(level: str) -> str | None:
    """Why a level cannot even be tried here; None if it can."""
    if level == "unsafe":
        return None
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    if not seccomp.available():
        return f"no list of system calls for this machine ({os.uname().machine})"
    if level == "bwrap" and shutil.which("bwrap") is None:
        return "bwrap is not installed"
    if level == "landlock" and landlock.version() < landlock.LEAST:
        return f"the kernel has version {landlock.version()} of Landlock, {landlock.LEAST} is needed"
    return None


def command(level: str, interpreter: Interpreter, *, unittest: bool = False) -> list[str]:
    """What starts the server of a level."""
    setup: dict[str, Any] = {"level": level, "user": None, "unittest": unittest}
    python = [interpreter.path, "-s", "-X", "utf8", "-c"]
    outside = START.format(str(Path(PACKAGE).parent))
    if level == "landlock":
        setup["readable"] = [*interpreter.folders, *SYSTEM, *LOADER]
    if level != "bwrap":
        return [*python, outside, json.dumps(setup)]
    setup["wiped"] = WRITABLE
    setup["kept"] = [str(Path(*Path(folder).parts[:3])) for folder in interpreter.folders]  # one may lie in /tmp
    root = os.geteuid() == 0
    if root:
        setup["user"] = FIRST_USER + os.getpid() * 256 + next(_NUMBERS)
    return [*_bwrap(interpreter, root, proc=unittest), *python, START.format(INSIDE), json.dumps(setup)]


def _bwrap(interpreter: Interpreter, root: bool, proc: bool) -> list[str]:
    words = ["bwrap", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    # Root keeps the rights that its server needs and its forks lose; a user namespace would hold no other user.
    kept = [word for name in KEPT for word in ("--cap-add", name)]
    words += ["--cap-drop", "ALL", *kept] if root else ["--unshare-user", "--cap-drop", "ALL"]
    words += ["--as-pid-1", "--new-session", "--clearenv", "--setenv", "PYTHONHASHSEED", "0", "--hostname", "sandbox"]
    for path in SYSTEM:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        else:
            words += ["--ro-bind-try", path, path]
    for path in LOADER:
        words += ["--ro-bind-try", path, path]
    words += ["--ro-bind", PACKAGE, f"{INSIDE}/trinity", "--dev", "/dev"]
    for folder in WRITABLE:
        words += ["--size", str(TMP_MEGABYTES * MEGABYTE), "--perms", "1777", "--tmpfs", folder]
    for folder in interpreter.folders:
        if not folder.startswith("/usr/"):
            for parent in reversed(Path(folder).parents[:-1]):  # else bwrap gives them the modes that they have outside
                words += ["--perms", "0755", "--dir", str(parent)]
            words += ["--ro-bind", folder, folder]
    if proc:
        words += ["--proc", "/proc"]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"]
