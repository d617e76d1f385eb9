import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trinity.errors import RewardError
from trinity.rewards.child import Child, Limits
from trinity.rewards.trusted import TrustedRunner

SHORT = Limits(cpu_seconds=1, wall_seconds=30, memory_bytes=1 << 28, file_bytes=1 << 16)


@pytest.fixture(scope="module")
def runner() -> Iterator[TrustedRunner]:
    made = TrustedRunner(SHORT)
    yield made
    made.close()


def printed(runner: TrustedRunner, program: str, data: str = "") -> str:
    execution = runner.run(program, None, data)
    assert execution.finished, execution.detail
    return execution.output


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("while True: pass", "cpu time limit"),
        ("x = bytearray(1 << 29)", "MemoryError"),
        ("while True: print('x' * 1000)", "File too large"),
        ("open('big', 'wb').write(bytes(1 << 20))", "File too large"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("import os; os.killpg(0, 9)", "signal 9"),
        ("raise ValueError('why\\nnot')", "ValueError: why not"),
        ("\0", "null bytes"),
        ("x = '\ud800'", "surrogates not allowed"),
        ("import os; os._exit(0)", "ended early"),
    ],
)
def test_what_does_not_end_well_is_said(runner: TrustedRunner, program: str, detail: str) -> None:
    execution = runner.run(program, None, "")
    assert not execution.finished
    assert detail in execution.detail
    assert printed(runner, "print(1)") == "1\n"


def test_a_program_that_only_waits_ends_too() -> None:
    runner = TrustedRunner(Limits(cpu_seconds=1, wall_seconds=0.5, memory_bytes=1 << 28))
    try:
        assert runner.run("import time; time.sleep(60)", None, "").detail == "ran over its wall time limit"
    finally:
        runner.close()


def test_the_environment_is_empty_and_stdin_is_the_data(runner: TrustedRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "1")
    with TrustedOnce() as fresh:
        assert printed(fresh, "import os; print(dict(os.environ))") == "{}\n"
    assert printed(runner, "import sys; print(sys.stdin.read())", "ä\n€") == "ä\n€\n"
    assert runner.run("input()", None, "").detail.startswith("EOFError")


class TrustedOnce:
    def __enter__(self) -> TrustedRunner:
        self.runner = TrustedRunner(SHORT)
        return self.runner

    def __exit__(self, *exception: object) -> None:
        self.runner.close()


def test_runs_share_nothing(runner: TrustedRunner) -> None:
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
        with TrustedOnce() as runner:
            outputs.add(printed(runner, program))
    assert len(outputs) == 1


def test_descendants_are_killed(runner: TrustedRunner, tmp_path: Path) -> None:
    late = tmp_path / "late"
    program = (
        f"import os, time\nif os.fork() == 0:\n    time.sleep(0.5)\n    open({str(late)!r}, 'w')\nelse:\n    print(1)"
    )
    assert printed(runner, program) == "1\n"
    time.sleep(0.8)
    assert not late.exists()


def test_an_argument_and_a_result_are_json(runner: TrustedRunner) -> None:
    execution = runner.run("def f(a, b):\n    return [b, a, (1,), {1: None}]", "f", '"ä"\n{"x": [1.5, true]}')
    assert json.loads(execution.output) == [{"x": [1.5, True]}, "ä", [1], {"1": None}]


def test_threads_get_their_own_replies(runner: TrustedRunner) -> None:
    outputs: dict[int, str] = {}

    def work(number: int) -> None:
        outputs[number] = printed(runner, "print(input())", str(number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n" for number in range(12)}


def test_no_file_descriptors_are_lost(runner: TrustedRunner) -> None:
    program = "import os; print(len(os.listdir('/proc/self/fd')), len(os.listdir(f'/proc/{os.getppid()}/fd')))"
    first = printed(runner, program)
    for _ in range(20):
        printed(runner, "print(1)")
    assert printed(runner, program) == first


def test_the_runner_starts_again_after_it_was_closed() -> None:
    runner = TrustedRunner(SHORT)
    try:
        first = printed(runner, "import os; print(os.getppid())")
        runner.close()
        runner.close()
        assert not Path(f"/proc/{int(first)}").exists()
        assert printed(runner, "import os; print(os.getppid())") != first
    finally:
        runner.close()


def test_a_child_that_dies_is_an_error_and_then_replaced() -> None:
    runner = TrustedRunner(SHORT)
    try:
        with pytest.raises(RewardError, match="the child process ended"):
            runner.run("import os; os.kill(os.getppid(), 9); import time; time.sleep(9)", None, "")
        assert printed(runner, "print(1)") == "1\n"
    finally:
        runner.close()


def test_a_child_that_cannot_start_is_an_error_that_says_why() -> None:
    child = Child("trinity.no_such_module", SHORT)
    with pytest.raises(RewardError, match="No module named"):
        child.call({})


def test_what_fails_before_the_program_begins_is_an_error_and_no_grade() -> None:
    child = Child("trinity.rewards.program_child", SHORT)
    try:
        with pytest.raises(RewardError, match=r"could not begin.*KeyError"):
            child.call({"program": "print(1)"})
    finally:
        child.close()


def test_a_run_costs_milliseconds(runner: TrustedRunner) -> None:
    printed(runner, "print(1)")
    start = time.perf_counter()
    for _ in range(100):
        printed(runner, "print(input())", "1")
    elapsed = time.perf_counter() - start
    assert elapsed < 10  # about 0.3 s on a quiet machine; a fresh interpreter a run takes far more
