import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes import SANDBOX
from trinity.errors import RewardError
from trinity.rewards.child import Child, Limits
from trinity.rewards.sandbox.levels import command, this_interpreter
from trinity.rewards.sandbox.runner import Sandbox
from trinity.rewards.sandbox.wire import decode, encode

SHORT = SANDBOX.model_copy(update={"cpu_seconds": 1, "memory_mb": 256, "file_mb": 1, "workers": 1})
LIMITS = Limits(cpu_seconds=1, wall_seconds=30, memory_bytes=1 << 28, file_bytes=1 << 16)


@pytest.fixture(scope="module")
def runner() -> Iterator[Sandbox]:
    made = Sandbox(SHORT)
    yield made
    made.close()


def printed(runner: Sandbox, program: str, data: str = "") -> str:
    execution = runner.run(program, None, data)
    assert execution.finished, execution.detail
    return execution.output


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("while True: pass", "cpu time limit"),
        ("x = bytearray(1 << 29)", "MemoryError"),
        ("while True: print('x' * 10000)", "File too large"),
        ("open('big', 'wb').write(bytes(1 << 21))", "File too large"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("import os; os.killpg(0, 9)", "signal 9"),
        ("raise ValueError('why\\nnot')", "ValueError: why not"),
        ("\0", "null bytes"),
        ("x = '\ud800'", "surrogates not allowed"),
        ("import os; os._exit(0)", "ended early"),
    ],
)
def test_what_does_not_end_well_is_said(runner: Sandbox, program: str, detail: str) -> None:
    execution = runner.run(program, None, "")
    assert not execution.finished
    assert detail in execution.detail
    assert printed(runner, "print(1)") == "1\n"


def test_a_program_that_only_waits_ends_too() -> None:
    runner = Sandbox(SHORT.model_copy(update={"wall_seconds": 1}))
    try:
        assert runner.run("import time; time.sleep(60)", None, "").detail == "ran over its wall time limit"
    finally:
        runner.close()


def test_the_environment_is_empty_and_stdin_is_the_data(runner: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "1")
    with Once() as fresh:
        assert printed(fresh, "import os; print(dict(os.environ))") == "{}\n"
    assert printed(runner, "import sys; print(sys.stdin.read())", "ä\n€") == "ä\n€\n"
    assert runner.run("input()", None, "").detail.startswith("EOFError")


class Once:
    def __enter__(self) -> Sandbox:
        self.runner = Sandbox(SHORT)
        return self.runner

    def __exit__(self, *exception: object) -> None:
        self.runner.close()


def test_runs_share_nothing(runner: Sandbox) -> None:
    program = "import os, json; print(os.getcwd(), len(os.listdir('.'))); open('left', 'w').write('x'); json.left = 1"
    folders = set()
    for _ in range(2):
        folder, files = printed(runner, program).split()
        assert files == "0"
        assert not Path(folder).exists()
        folders.add(folder)
    assert len(folders) == 2
    assert printed(runner, "import json; print(hasattr(json, 'left'))") == "False\n"


def test_the_order_of_a_set_is_the_same_in_every_child() -> None:
    program = "print(list({'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}))"
    outputs = set()
    for _ in range(3):
        with Once() as runner:
            outputs.add(printed(runner, program))
    assert len(outputs) == 1


def test_an_argument_and_a_result_are_json(runner: Sandbox) -> None:
    execution = runner.run("def f(a, b):\n    return [b, a, (1,), {1: None}]", "f", '"ä"\n{"x": [1.5, true]}')
    assert json.loads(execution.output) == [{"x": [1.5, True]}, "ä", [1], {"1": None}]


def test_threads_get_their_own_replies(runner: Sandbox) -> None:
    outputs: dict[int, str] = {}

    def work(number: int) -> None:
        outputs[number] = printed(runner, "print(input())", str(number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n" for number in range(12)}


def test_no_file_descriptors_are_lost(runner: Sandbox) -> None:
    program = "import os; print(os.open('/dev/null', os.O_RDONLY))"
    first, ours = printed(runner, program), len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        printed(runner, "print(1)")
        assert runner.check("def f(x): return x", "", ["f"], "assert f(1) == 1").finished
    assert printed(runner, program) == first
    assert len(os.listdir("/proc/self/fd")) == ours


def servers() -> set[str]:
    """Processes of this one's that serve a sandbox."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if b"trinity.rewards.sandbox" in path.read_bytes() and f"PPid:\t{os.getpid()}" in (
                path.with_name("status").read_text()
            ):
                found.add(path.parent.name)
    return found


def test_the_runner_starts_again_after_it_was_closed() -> None:
    before = servers()
    runner = Sandbox(SHORT)
    try:
        printed(runner, "print(1)")
        first = servers() - before
        assert first
        runner.close()
        runner.close()
        assert not first & servers()
        printed(runner, "print(1)")
        assert servers() - before - first
    finally:
        runner.close()
    assert servers() <= before


def test_servers_end_with_the_process_that_started_them() -> None:
    script = (
        "import sys, os, signal\nfrom sandboxes import SANDBOX\nfrom trinity.rewards.sandbox.runner import Sandbox\n"
        "runner = Sandbox(SANDBOX)\nassert runner.run('print(1)', None, '').finished\nprint('up', flush=True)\n"
        "runner.run('import time; time.sleep(20)', None, '')"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    children = {path.name for path in Path("/proc").glob("[0-9]*") if parent_of(path) == process.pid}
    assert children
    time.sleep(0.2)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while any(Path("/proc", child).exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [child for child in children if Path("/proc", child).exists()]


def parent_of(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        return int(re.findall(r"PPid:\t(\d+)", (path / "status").read_text())[0])
    return None


def test_a_child_that_dies_is_an_error_and_then_replaced() -> None:
    runner = Sandbox(SHORT.model_copy(update={"levels": ["unsafe"]}))
    try:
        with pytest.raises(RewardError, match="the child process ended"):
            runner.run("import os; os.kill(os.getppid(), 9); import time; time.sleep(9)", None, "")
        assert printed(runner, "print(1)") == "1\n"
    finally:
        runner.close()


def test_a_program_that_kills_its_tests_fails_and_stops_nothing(runner: Sandbox) -> None:
    for _ in range(5):
        execution = runner.check("import os\nos.kill(-1, 9)\nf = 1", "", ["f"], "assert f(1) == 1")
        assert not execution.finished
    assert printed(runner, "print(1)") == "1\n"


def test_closing_ends_the_server_though_a_fork_of_this_process_lives() -> None:
    before = servers()
    runner = Sandbox(SHORT)
    printed(runner, "print(1)")
    fork = os.fork()
    if fork == 0:
        time.sleep(60)
        os._exit(0)
    try:
        started = time.monotonic()
        runner.close()
        assert time.monotonic() - started < 5
        assert servers() <= before
    finally:
        os.kill(fork, 9)
        os.waitpid(fork, 0)


def test_a_fork_of_this_process_gets_a_server_of_its_own() -> None:
    runner = Sandbox(SHORT)
    try:
        printed(runner, "print(1)")
        fork = os.fork()
        if fork == 0:
            outputs = {runner.run("print(input())", None, str(number)).output for number in range(20)}
            os._exit(0 if outputs == {f"{number}\n" for number in range(20)} else 1)
        assert [printed(runner, "print(input())", str(-number)) for number in range(20)] == [
            f"{-number}\n" for number in range(20)
        ]
        assert os.waitpid(fork, 0)[1] == 0
    finally:
        runner.close()


def test_a_child_that_cannot_start_is_an_error_that_says_why() -> None:
    child = Child("trinity.no_such_module", LIMITS)
    with pytest.raises(RewardError, match="No module named"):
        child.call({})


def test_what_fails_before_the_program_begins_is_an_error_and_no_grade() -> None:
    child = Child("the sandbox", LIMITS, command("unsafe", this_interpreter()))
    try:
        with pytest.raises(RewardError, match=r"could not begin.*KeyError"):
            child.call_all([("program", {"program": "print(1)"})])
    finally:
        child.close()


def test_a_run_costs_milliseconds(runner: Sandbox) -> None:
    printed(runner, "print(1)")
    start = time.perf_counter()
    for _ in range(100):
        printed(runner, "print(input())", "1")
    elapsed = time.perf_counter() - start
    assert elapsed < 10  # about 0.4 s on a quiet machine; a fresh interpreter a run takes far more


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0)),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
)


@given(PLAIN)
def test_a_plain_value_crosses_as_itself(value: Any) -> None:
    def refuse(kept: Any) -> Any:
        raise AssertionError(f"not plain: {kept!r}")

    crossed = decode(json.loads(json.dumps(encode(value, refuse))), refuse)
    assert repr(crossed) == repr(value)
