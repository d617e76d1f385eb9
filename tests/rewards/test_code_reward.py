from collections.abc import Iterator
from typing import Any

import pytest

from trinity.errors import RewardError
from trinity.rewards.code import CodeReward, last_program, same_output
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
    made = CodeReward(trusted=True)
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
        "import sys\nx = float(input())\nsys.stdout.write(str(2 * x))\nsys.stdout.close()",
    ],
)
def test_right_scripts(reward: CodeReward, program: str) -> None:
    assert grade(reward, DOUBLE, program) == 1


@pytest.mark.parametrize(
    "program",
    [
        "print(8)",
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
    ("text", "program"),
    [
        ("a\n```python\nx\n```\nb", "x"),
        ("```\nold\n```\nthen\n```py\nnew\nnewer\n```", "new\nnewer"),
        ("no fence", ""),
        ("```python\ncut", ""),
        ("```python\n```", ""),
    ],
)
def test_last_program(text: str, program: str) -> None:
    assert last_program(text) == program


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


def test_code_that_is_not_trusted_is_refused() -> None:
    with pytest.raises(RewardError, match="needs the sandbox, which is not built yet"):
        CodeReward(trusted=False)


def test_no_tests_are_no_pass(reward: CodeReward) -> None:
    with pytest.raises(RewardError, match="'one' of t: no tests"):
        grade(reward, {"function": None, "tests": []}, "print(1)")
