import sys
from collections.abc import Iterator
from typing import Any

import pytest

from sandboxes import SANDBOX
from trinity.errors import RewardError
from trinity.rewards.code import CodeReward, pack_tests, same_output
from trinity.rewards.sandbox.runner import Sandbox
from trinity.types import Item, Response

ADD: dict[str, Any] = {
    "function": "add",
    "tests": [{"input": "1\n2", "output": "3"}, {"input": "[1]\n[2]", "output": "[1, 2]"}],
}
DOUBLE: dict[str, Any] = {
    "function": None,
    "tests": [{"input": "4\n", "output": "8\n"}, {"input": "0.25\n", "output": "0.5\n"}],
}


@pytest.fixture(scope="module")
def reward() -> Iterator[CodeReward]:
    made = CodeReward(Sandbox(SANDBOX))
    yield made
    made.close()


def grade(reward: CodeReward, reference: dict[str, Any], program: str) -> float:
    item = Item("one", "t", "d", "q", "code", reference)
    return reward(item, Response(f"Here:\n```python\n{program}\n```\nDone.", "stop", 1, 1)).value


@pytest.mark.parametrize(
    "program",
    [
        "def add(a, b):\n    return a + b",
        "def add(a, b):\n    print('noise')\n    return a + b",
        "class Solution:\n    def add(self, a, b):\n        return a + b",
        "import numpy\ndef add(a, b):\n    return numpy.int64(a + b) if isinstance(a, int) else a + b",
        "add = lambda a, b: tuple(a + b) if isinstance(a, list) else float(a + b)",
    ],
)
def test_right_functions(reward: CodeReward, program: str) -> None:
    assert grade(reward, ADD, program) == 1


@pytest.mark.parametrize(
    "program",
    [
        "def add(a, b):\n    return 3",
        "def add(a, b):\n    return str(a + b)",
        "def add(a):\n    return a",
        "def sub(a, b):\n    return a + b",
        "def add(a, b):\n    return {a, b}",
        "def add(a, b)\n    return a + b",
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "def add(a, b):\n    raise SystemExit(0)",
        "class Always:\n    __eq__ = lambda self, other: True\ndef add(a, b):\n    return Always()",
        "def add(a, b):\n    x = []\n    for _ in range(100000):\n        x = [x]\n    return x",
        "x = '\\ud800'\ndef add(a, b):\n    return x",
    ],
)
def test_wrong_functions(reward: CodeReward, program: str) -> None:
    assert grade(reward, ADD, program) == 0


@pytest.mark.parametrize(
    "program",
    [
        "print(float(input()) * 2)",
        "import sys\nfor line in sys.stdin:\n    print(2 * float(line))\nsys.exit(1)",
        "import sys\nprint(2 * float(sys.stdin.buffer.readline()))",
        "print(2 * float(open(0).read()))",
        "import os\nos.write(1, str(2 * float(input())).encode())",
        "def main():\n    print(2 * float(input()))\nif __name__ == '__main__':\n    main()",
        "import sys\nsys.stdout.buffer.write(str(2 * float(input())).encode())",
        "print(2 * float(open('/dev/stdin').read()))",
        "import threading\nthreading.Thread(target=lambda: print(2 * float(input()))).start()",
        "import atexit\natexit.register(lambda: print(buffer))\nbuffer = 2 * float(input())",
        "with open('/dev/stdout', 'w') as out: out.write(str(2 * float(input())))",
        "import sys\nx = float(input())\nsys.stdout.write(str(2 * x))\nsys.stdout.close()",
    ],
)
def test_right_scripts(reward: CodeReward, program: str) -> None:
    assert grade(reward, DOUBLE, program) == 1


@pytest.mark.parametrize(
    "program",
    [
        "print(8)",
        "print('sNaN')",
        "print(float(input()) * 2, 'is it')",
        "print(float(input()) * 2)\nprint()\nprint(1)",
        "print(float(input()) * 2)\nraise ValueError",
        "print(8.0)\nimport os\nos.kill(os.getpid(), 9)",
        "",
    ],
)
def test_wrong_scripts(reward: CodeReward, program: str) -> None:
    assert grade(reward, DOUBLE, program) == 0


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("3\n", "3", True),
        ("  a b \n c\n\n", "a b\nc", True),
        ("0.50 1e3 007", "0.5 1000 7", True),
        ("1  2", "1 2", True),
        ("a  b", "a b", False),
        ("Yes", "YES", False),
        ("0.3000000004", "0.3", False),
        ("1\n2", "1 2", False),
        ("1 2", "1 2 3", False),
        ("", "0", False),
        ("nan", "1", False),
    ],
)
def test_same_output(output: str, expected: str, same: bool) -> None:
    assert same_output(output, expected) is same


def test_no_tests_are_no_pass(reward: CodeReward) -> None:
    with pytest.raises(RewardError, match="'one' of t: no tests"):
        grade(reward, {"function": None, "tests": []}, "print(1)")
    with pytest.raises(RewardError, match="'one' of t: no tests"):
        grade(reward, {"prelude": "", "names": ["f"], "checks": ""}, "f = 1")


def test_packed_tests_are_the_same_tests(reward: CodeReward) -> None:
    packed = {**ADD, "tests": pack_tests(ADD["tests"])}
    assert grade(reward, packed, "def add(a, b): return a + b") == 1
    assert grade(reward, packed, "def add(a, b): return a - b") == 0


def test_names_that_livecodebench_imports_are_there(reward: CodeReward) -> None:
    program = "class Solution:\n    def add(self, a: List[int], b: Any):\n        return reduce(operator.add, [a, b])"
    assert grade(reward, ADD, program) == 1


ASSERTS: dict[str, Any] = {
    "prelude": "import math\ndef near(a, b): return math.isclose(a, b)",
    "names": ["half"],
    "checks": "assert near(half(3), 1.5)\nassert half((4, {1: 2})) == (2, {1: 1})\nassert half(None) is None",
}


def test_asserts_call_the_program_from_another_process(reward: CodeReward) -> None:
    program = "def half(x):\n    if isinstance(x, tuple): return x[0] / 2, {1: x[1][1] // 2}\n    return x and x / 2"
    assert grade(reward, ASSERTS, program) == 1
    assert grade(reward, ASSERTS, program.replace("/ 2, {", "/ 2.1, {")) == 0
    assert grade(reward, ASSERTS, program.replace("x and", "")) == 0
    assert grade(reward, ASSERTS, program.replace("half", "halve")) == 0


UNITTEST: dict[str, Any] = {
    "prefix": "import json\ndef task_func(x):",
    "entry_point": "task_func",
    "unittest": "import unittest\nfrom unittest.mock import patch\nclass TestCases(unittest.TestCase):\n"
    "    def test_value(self): self.assertEqual(task_func([1]), '[1]')\n"
    "    @patch('json.dumps', return_value='patched')\n"
    "    def test_patched(self, _): self.assertEqual(task_func([1]), 'patched')\n",
}


def test_a_unittest_module_needs_an_interpreter_of_its_own(reward: CodeReward) -> None:
    with pytest.raises(RewardError, match=r"requirements-eval.*sandbox\.bigcodebench_python"):
        grade(reward, UNITTEST, "def task_func(x): return json.dumps(x)")


def test_a_unittest_module_can_patch_what_the_program_imports() -> None:
    with_python = CodeReward(Sandbox(SANDBOX.model_copy(update={"bigcodebench_python": sys.executable})))
    try:
        assert grade(with_python, UNITTEST, "def task_func(x): return json.dumps(x)") == 1
        assert grade(with_python, UNITTEST, "def task_func(x): return str(x)") == 0
        assert grade(with_python, UNITTEST, "def task_func(x): return {}[x]") == 0
    finally:
        with_python.close()


def test_an_interpreter_that_is_none_is_named() -> None:
    without = CodeReward(Sandbox(SANDBOX.model_copy(update={"bigcodebench_python": "/no/python"})))
    with pytest.raises(RewardError, match=r"sandbox\.bigcodebench_python: /no/python: cannot be used: "):
        grade(without, UNITTEST, "def task_func(x): return x")


def test_a_test_may_skip_itself_and_a_program_may_not_skip_it() -> None:
    skipping = {**UNITTEST, "unittest": UNITTEST["unittest"] + "    @unittest.skip('no')\n    def test_c(self): fail\n"}
    with_python = CodeReward(Sandbox(SANDBOX.model_copy(update={"bigcodebench_python": sys.executable})))
    try:
        assert grade(with_python, skipping, "def task_func(x): return json.dumps(x)") == 1
        assert grade(with_python, UNITTEST, "import unittest\ndef task_func(x): raise unittest.SkipTest") == 0
    finally:
        with_python.close()


def test_an_input_may_be_larger_than_what_a_program_may_write() -> None:
    small = CodeReward(Sandbox(SANDBOX.model_copy(update={"file_mb": 1})))
    try:
        tests = [{"input": "x" * (3 << 20), "output": str(3 << 20)}]
        assert grade(small, {"function": None, "tests": tests}, "print(len(input()))") == 1
    finally:
        small.close()
