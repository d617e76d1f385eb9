"""What a hostile program tries on the sandbox. Standard library only, so that any user's interpreter can run it.

`python attacks.py LEVEL` runs them all as the user who calls it.
"""

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from trinity.errors import RewardError
from trinity.rewards.execution import Execution
from trinity.rewards.sandbox.runner import Sandbox

SECRET = "sk-attack-51d2c7"
EXPECTED = "expected-8e41b09c"
LIMITS = {"cpu_seconds": 1, "wall_seconds": 3, "memory_mb": 256, "processes": 8, "file_mb": 2, "workers": 2}

Attack = Callable[[Sandbox], None]
ATTACKS: list[Attack] = []


def attack(function: Attack) -> Attack:
    ATTACKS.append(function)
    return function


@contextmanager
def opened(level: str, **changes: Any) -> Iterator[Sandbox]:
    os.environ["OPENROUTER_API_KEY"] = SECRET
    section: Any = SimpleNamespace(levels=[level], bigcodebench_python=sys.executable, **{**LIMITS, **changes})
    sandbox = Sandbox(section)
    try:
        yield sandbox
    finally:
        sandbox.close()


def run(sandbox: Sandbox, program: str, data: str = "") -> Execution:
    return sandbox.run(program, None, data)


def output(sandbox: Sandbox, program: str) -> str:
    execution = run(sandbox, program)
    assert execution.finished, execution.detail
    return execution.output


def tried(sandbox: Sandbox, *statements: str) -> list[str]:
    """Runs each statement by itself; the outcomes, `done` or the name of the exception."""
    program = "import ctypes, json, os, resource, socket, sys\noutcomes = []\n"
    for statement in statements:
        program += f"try:\n    {statement}\n    outcomes.append('done')\n"
        program += "except BaseException as error:\n    outcomes.append(type(error).__name__)\n"
    return output(sandbox, program + "print('\\n'.join(outcomes))").split()


def still_works(sandbox: Sandbox) -> None:
    assert output(sandbox, "print(6 * 7)") == "42\n"


# --- taking all there is


@attack
def endless_loop(sandbox: Sandbox) -> None:
    assert run(sandbox, "while True: pass").detail == "ran over its cpu time limit"
    caught = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert not run(sandbox, caught).finished
    still_works(sandbox)


@attack
def sleep(sandbox: Sandbox) -> None:
    start = time.monotonic()
    assert run(sandbox, "import time\ntime.sleep(1000)").detail == "ran over its wall time limit"
    assert time.monotonic() - start < 20
    still_works(sandbox)


@attack
def fork_bomb(sandbox: Sandbox) -> None:
    count = "import os, time\nn = 1\ntry:\n    while n < 100:\n        if os.fork() == 0: time.sleep(3); os._exit(0)\n"
    count += "        n += 1\nexcept OSError: pass\nprint(n)"
    assert int(output(sandbox, count)) <= LIMITS["processes"]
    run(sandbox, "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass")
    still_works(sandbox)


@attack
def thread_bomb(sandbox: Sandbox) -> None:
    bomb = "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()"
    assert not run(sandbox, bomb).finished
    still_works(sandbox)


@attack
def memory_bomb(sandbox: Sandbox) -> None:
    assert "MemoryError" in run(sandbox, "x = bytearray(1 << 30)").detail
    assert not run(sandbox, "x = []\nwhile True: x.append(bytes(1 << 20))").finished
    raised = tried(sandbox, "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "resource.setrlimit(0, (99, 99))")
    assert "done" not in raised
    still_works(sandbox)


@attack
def flood_of_output(sandbox: Sandbox) -> None:
    for target in ("1", "os.open('file', os.O_WRONLY | os.O_CREAT)", "os.memfd_create('file')"):
        flood = f"import os\ntarget = {target}\nblock = bytes(1 << 20)\nfor _ in range(1024): os.write(target, block)"
        execution = run(sandbox, flood)
        assert not execution.finished
        assert len(execution.output) <= 2 << 20
    assert len(run(sandbox, "import os\nfor _ in range(1024): os.write(3, b'x' * (1 << 20))").detail) <= 300
    still_works(sandbox)


@attack
def memory_outside_the_limit(sandbox: Sandbox) -> None:
    hoard = "import os\nfor _ in range(100): os.write(os.memfd_create('more'), bytes(1 << 20))"
    assert not run(sandbox, hoard).finished
    many = "import os\ntry:\n    while True: last = os.open('/dev/null', 0)\nexcept OSError: print(last)"
    assert int(output(sandbox, many)) < 64


@attack
def flood_of_files(sandbox: Sandbox) -> None:
    flood = "import itertools\nfor number in itertools.count(): open(str(number), 'w').close()"
    assert not run(sandbox, flood).finished
    still_works(sandbox)


@attack
def flood_of_stderr(sandbox: Sandbox) -> None:
    assert output(sandbox, "import os\nfor _ in range(1024): os.write(2, bytes(1 << 20))\nprint(1)") == "1\n"


# --- reaching what is not its own


@attack
def files_outside(sandbox: Sandbox) -> None:
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "secret"
        secret.write_text(SECRET)
        repository = Path(__file__).resolve().parents[2]
        before = Path(__file__).read_bytes()
        home = Path.home()
        outcomes = tried(
            sandbox,
            f"open({str(secret)!r}).read()",
            f"open({str(secret)!r}, 'r+').write('x')",
            f"os.unlink({str(secret)!r})",
            f"os.chmod({str(secret)!r}, 0o777)",
            f"os.truncate({str(secret)!r}, 0)",
            f"os.link({str(secret)!r}, 'here')",
            f"open({str(home / 'attack')!r}, 'w')",
            f"open({str(repository / 'attack')!r}, 'w')",
            f"open({__file__!r}, 'a').write('#')",
            f"os.listdir({str(home / '.ssh')!r})",
            "os.listdir('/root/.ssh')",
            "os.listdir('/home')",
            "open('/etc/shadow').read()",
            "open('/etc/passwd').read()",
        )
        assert outcomes == [outcome for outcome in outcomes if outcome != "done"], outcomes
        assert secret.read_text() == SECRET
        assert not (home / "attack").exists()
        assert not (repository / "attack").exists()
        assert Path(__file__).read_bytes() == before


@attack
def processes_outside(sandbox: Sandbox) -> None:
    outcomes = tried(
        sandbox,
        f"open('/proc/{os.getpid()}/environ').read()",
        "open(f'/proc/{os.getppid()}/environ').read()",
        "open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
        "open('/proc/1/environ').read()",
        "open('/proc/self/environ').read()",
        f"os.kill({os.getpid()}, 0)",
        "libc = ctypes.CDLL(None, use_errno=True); assert libc.ptrace(16, os.getppid(), 0, 0) == 0",
        "assert libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0) == 0",
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 5)",
        "os.sched_setaffinity(os.getppid(), {0})",
        "assert libc.syscall(31, 0, 0, 0) >= 0",
        "assert libc.syscall(71, 0, 0, 0) >= 0",
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (4, 4))",
    )
    assert "done" not in outcomes, outcomes
    run(sandbox, "import os\nfor target in (os.getppid(), 1, -1): os.kill(target, 9)")
    still_works(sandbox)


@attack
def signals_by_descriptor(sandbox: Sandbox) -> None:
    """A pipe can be made to signal a process when it is written to: where processes stand beside each other."""
    victim = subprocess.Popen(["sleep", "60"])
    try:
        program = f"import fcntl, os\nr, w = os.pipe()\nfcntl.fcntl(r, 8, {victim.pid})\nfcntl.fcntl(r, 10, 9)\n"
        run(sandbox, program + "fcntl.fcntl(r, 4, fcntl.fcntl(r, 3) | 0o20000)\nos.write(w, b'x')\nos.read(r, 1)")
        time.sleep(0.1)
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


@attack
def forging_what_the_server_reads(sandbox: Sandbox) -> None:
    for forged in ("os.ftruncate(3, 0)", "os.pwrite(3, b'X', 0)", "os.close(3)", "os.closerange(0, 64)"):
        program = f"import os\n{forged}\nos._exit(0)\nf = 1"
        assert not run(sandbox, program).finished
        assert not sandbox.run(program, "f", "1").finished
        assert not sandbox.check(program, "", ["f"], CHECKS).finished
        assert not sandbox.unittest(program, TESTS).finished
    assert not sandbox.unittest("import os\nos.write(3, b'[' * 200000)\nos._exit(0)", TESTS).finished
    still_works(sandbox)


@attack
def keys_in_the_environment(sandbox: Sandbox) -> None:
    assert output(sandbox, "import os\nprint(dict(os.environ))") == "{}\n"
    assert not found_in_memory(sandbox, SECRET)


def heard(wait: Callable[[], Any], reached: list[Any]) -> None:
    with contextlib.suppress(OSError):
        reached.append(wait())


@attack
def the_network(sandbox: Sandbox) -> None:
    reached: list[Any] = []
    name = f"\0attack-{secrets.token_hex(8)}"
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as abstract,
    ):
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(("127.0.0.1", 0))
        abstract.bind(name)
        threads = [
            threading.Thread(target=heard, args=(wait, reached), daemon=True)
            for wait in (tcp.accept, lambda: udp.recv(1), lambda: abstract.recv(1))
        ]
        for thread in threads:
            thread.start()
        outcomes = tried(
            sandbox,
            f"socket.create_connection({tcp.getsockname()!r}, 1)",
            f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', {udp.getsockname()!r})",
            f"socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {name!r})",
            f"socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', {name!r})",
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
            "socket.getaddrinfo('example.org', 80)",
        )
        assert "done" not in outcomes, outcomes
        time.sleep(0.1)
        assert not reached


@attack
def the_kernel(sandbox: Sandbox) -> None:
    outcomes = tried(
        sandbox,
        "libc = ctypes.CDLL(None, use_errno=True); assert libc.unshare(0x10000000) == 0",
        "assert libc.syscall(435, ctypes.create_string_buffer(88), 88) >= 0",
        "assert libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0) >= 0",
        "assert libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
        "assert libc.chroot(b'.') == 0",
        "assert libc.shmget(0, 4096, 0o1600) >= 0",
        "assert libc.syscall(425, 1, ctypes.create_string_buffer(256)) >= 0",
        "os.setuid(0); os.seteuid(0); assert os.getuid() and 0",
        "os.mknod('device', 0o60600, os.makedev(254, 0)); open('device', 'rb').read(1)",
    )
    assert "done" not in outcomes, outcomes


# --- outliving the run


@attack
def a_daemonised_grandchild(sandbox: Sandbox) -> None:
    name = f"late-{os.getpid() % 10**6}"
    daemon = (
        "import ctypes, os, time\ntry:\n    forked = os.fork()\nexcept OSError:\n    forked = 1\n"
        "if forked == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        ctypes.CDLL(None).prctl(15, {name.encode()!r}, 0, 0, 0)\n        time.sleep(60)\n    os._exit(0)\n"
        "time.sleep(0.2)\nprint(1)"
    )
    assert output(sandbox, daemon) == "1\n"
    assert name not in {path.read_text().strip() for path in Path("/proc").glob("[0-9]*/comm") if path.exists()}
    still_works(sandbox)


@attack
def things_left_behind(sandbox: Sandbox) -> None:
    tried(
        sandbox,
        "open('here', 'w')",
        "open('/tmp/left', 'w')",
        "open('/dev/shm/left', 'w')",
        "open('/dev/left', 'w')",
        "open('/left', 'w')",
        "open('/trinity/left', 'w')",
        "os.mkdir('shut'); open('shut/x', 'w'); os.chmod('shut', 0)",
        "[(os.mkdir('d'), os.chdir('d')) for _ in range(700)]",
    )
    listing = "import os\nleft = os.listdir('.')\n"
    listing += "for folder in ('/', '/tmp', '/dev', '/dev/shm', '/trinity'):\n    try: left += os.listdir(folder)\n"
    listing += "    except OSError: pass\nprint([x for x in left if x in ('here', 'left', 'shut', 'd')])"
    assert output(sandbox, listing) == "[]\n"
    assert output(sandbox, "import json\njson.left = 1\nprint(2)") == "2\n"
    assert output(sandbox, "import json\nprint(hasattr(json, 'left'))") == "False\n"


# --- passing without being right

CHECKS = f"assert f(2) == {EXPECTED!r}\nassert f(3) == {EXPECTED[::-1]!r}"
TESTS = f"""
import unittest
class TestCases(unittest.TestCase):
    def test_a(self): self.assertEqual(f(2), {EXPECTED!r})
    def test_b(self): self.assertEqual(f(3), {EXPECTED[::-1]!r})
"""
RIGHT = f"def f(x): return {{2: {EXPECTED!r}, 3: {EXPECTED[::-1]!r}}}[x]"
CHEATS = [
    "def f(x): return None",
    "import sys\nsys.exit(0)",
    "import os\nos._exit(0)",
    "def f(x):\n    import sys\n    sys.exit(0)",
    "def f(x):\n    import os\n    os._exit(0)",
    "def f(x): raise SystemExit(0)",
    "raise SystemExit",
    "def f(x):\n    import os\n    os.write(3, b'x' * 32 + b'\\nok')\n    os._exit(0)",
    "import builtins\nbuiltins.AssertionError = ZeroDivisionError\ndef f(x): return 1",
    "import builtins\nfor name in ('isinstance', 'len', 'all', 'any', 'bool', 'print', 'getattr', 'repr'):\n"
    "    setattr(builtins, name, lambda *a, **k: True)\ndef f(x): return 1",
    "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\ndef f(x): return 1",
    "import unittest\nunittest.TestCase.run = lambda self, result=None: result.addSuccess(self)\ndef f(x): return 1",
    "import unittest\ndef f(x):\n    unittest.TestCase.failureException = KeyboardInterrupt\n    return 1",
    "import unittest\nunittest.TestLoader.loadTestsFromTestCase = lambda *a: unittest.TestSuite()\ndef f(x): return 1",
    "import unittest\nunittest.TestCase._baseAssertEqual = lambda *a, **k: None\n"
    "unittest.TestCase.fail = lambda *a, **k: None\ndef f(x): return 1",
    "import json\njson.dumps = lambda *a, **k: '{}'\ndef f(x): return 1",
    "import unittest\ndef f(x): raise unittest.SkipTest",
    "import sys\ndef f(x): sys._getframe(1).f_locals['self'].skipTest('')",
    "def f(x): raise StopIteration",
    "import sys\nclass Loud(dict):\n    def __missing__(self, key): return 'ok'\ndef f(x): return Loud()",
]
# In one interpreter with the tests, an object that says it is equal to anything is equal to anything.
EQUAL = [
    "class Equal:\n    def __eq__(self, other): return True\ndef f(x): return Equal()",
    "class Equal(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\n"
    "def f(x): return Equal()",
    "class Equal(tuple):\n    def __eq__(self, other): return True\n    __hash__ = tuple.__hash__\n"
    "def f(x): return Equal()",
]


@attack
def cheating_asserts(sandbox: Sandbox) -> None:
    assert sandbox.check(RIGHT, "", ["f"], CHECKS).finished
    for cheat in [*CHEATS, *EQUAL]:
        execution = sandbox.check(cheat, "", ["f"], CHECKS)
        assert not execution.finished, cheat
        assert execution.detail, cheat


@attack
def cheating_a_call(sandbox: Sandbox) -> None:
    """The expected value is out here: what a program says of itself does not matter, only what it returned."""
    assert sandbox.run(RIGHT, "f", "2").output == f'"{EXPECTED}"'
    for cheat in [*CHEATS, *EQUAL]:
        execution = sandbox.run(cheat, "f", "2")
        assert not execution.finished or EXPECTED not in execution.output, cheat


@attack
def cheating_unittest(sandbox: Sandbox) -> None:
    assert sandbox.unittest(RIGHT, TESTS).finished
    for cheat in CHEATS:
        assert not sandbox.unittest(cheat, TESTS).finished, cheat


# The token must not stand in memory because of the search itself: what is sought, and searched, is a permutation of it.
HUNT = """
import ctypes, gc, os, sys
TABLE = bytes((7 * byte + 3) % 256 for byte in range(256))
WANTED = bytes({wanted!r})
def holds(data): return WANTED in data.translate(TABLE)
def found():
    frame = sys._getframe()
    while frame:
        if holds(repr((frame.f_locals, frame.f_code.co_consts)).encode()): return 'frames'
        frame = frame.f_back
    for thing in gc.get_objects():
        for one in list(thing.values()) if type(thing) is dict else thing if type(thing) in (list, tuple) else ():
            if type(one) is bytes and holds(one) or type(one) is str and holds(one.encode('utf-8', 'replace')):
                return 'objects'
    for number in [0, *range(3, 64)]:
        try:
            if holds(os.pread(number, 1 << 20, 0)): return f'descriptor {{number}}'
        except OSError: pass
    for folder, _, names in os.walk('/tmp'):
        for name in names if 'venv' not in folder else ():
            try:
                if holds(open(os.path.join(folder, name), 'rb').read(1 << 20)): return 'disk'
            except OSError: pass
    page, copy = 1 << 16, os.open('copy', os.O_RDWR | os.O_CREAT)
    for start in (id(WANTED), id(bytearray(1 << 12)), ctypes.addressof(ctypes.create_string_buffer(1 << 12))):
        for address in range(max(page, start - (8 << 20)) & -page, start + (8 << 20), page):
            try: os.pwrite(copy, (ctypes.c_char * page).from_address(address), 0)
            except OSError: continue  # an address that is not ours
            if holds(os.pread(copy, page, 0)): return 'memory'
    return ''
"""


def hunting(token: str) -> str:
    """A program whose `found()` says where it finds a text."""
    return HUNT.format(wanted=[(7 * byte + 3) % 256 for byte in token.encode()])


def found_in_memory(sandbox: Sandbox, token: str) -> str:
    return output(sandbox, hunting(token) + "\nprint(found())").strip()


@attack
def the_network_from_unittest(sandbox: Sandbox) -> None:
    """BigCodeBench's items may make sockets where a namespace holds nothing to reach by them."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        reach = "import socket, unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n"
        reach += "        with self.assertRaises(OSError): {}"
        for statement in (
            f"socket.create_connection({tcp.getsockname()!r}, 1)",
            "socket.socket(40, socket.SOCK_STREAM)",
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
            "socket.create_connection(('192.0.2.1', 80), 1)",
        ):
            assert sandbox.unittest("", reach.format(statement)).finished, statement


@attack
def reading_what_is_expected(sandbox: Sandbox) -> None:
    planted = hunting(EXPECTED) + f"\nbox = [{EXPECTED[:9]!r} + {EXPECTED[9:]!r}]\nprint(found())"
    assert output(sandbox, planted).strip() in {"frames", "objects"}  # the hunt finds what is there
    for _ in range(3):  # the servers have seen the tests by now
        assert sandbox.check(RIGHT, "", ["f"], CHECKS).finished
    spy = hunting(EXPECTED) + "\ndef f(x): raise ValueError('found in ' + found())"
    assert sandbox.check(spy, "", ["f"], CHECKS).detail == "ValueError: found in"
    assert found_in_memory(sandbox, EXPECTED) == ""


@attack
def reading_the_nonce(sandbox: Sandbox) -> None:
    """Of asserts: 32 hexadecimal digits that stand nowhere in the program's process."""
    spy = "import gc, re, sys\ndef f(x):\n    frame, texts = sys._getframe(), []\n    while frame:\n"
    spy += "        texts += map(repr, frame.f_locals.values()); frame = frame.f_back\n"
    spy += "    raise ValueError(str(len([t for t in texts for _ in re.findall('[0-9a-f]{32}', t)])))"
    assert sandbox.check(spy, "", ["f"], CHECKS).detail == "ValueError: 0"


def everything(level: str) -> None:
    with opened(level) as sandbox:
        for one in ATTACKS:
            one(sandbox)
            print("held:", one.__name__, flush=True)


if __name__ == "__main__":
    try:
        everything(sys.argv[1])
    except RewardError as error:
        sys.exit(f"unavailable: {error}")
