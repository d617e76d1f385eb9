"""HumanEval and MBPP: the solutions of the sets pass their tests in the form that the code reward reads."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shared_files import shared
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.humaneval import HumanEval
from trinity.tasks.benchmarks.mbpp import Mbpp
from trinity.types import Item

# Trusted programs: each runs in names of its own, as the program does that a reward runs in another process.
RUN_ALL = """
import json, os, sys
failed = []
for item in map(json.loads, sys.stdin):
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        reference = item["reference"]
        program, checks = {"__name__": "program"}, {"__name__": "checks"}
        try:
            exec(item["program"], program)
            exec(reference["prelude"], checks)
            checks.update((name, program[name]) for name in reference["names"])
            exec(reference["checks"], checks)
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        failed.append(item["id"])
print(json.dumps(failed))
"""


def data(**source: Path) -> Data:
    sections: dict[str, Any] = {"caps": {}, "outcomes": {}, "revision": {}, "decontaminate": []}
    return Data.model_validate({"seed": 0, "source": {name: str(path) for name, path in source.items()}, **sections})


def failing(items: list[Item], program: Any) -> list[str]:
    lines = [json.dumps({"id": item.id, "reference": item.reference, "program": program(item)}) for item in items]
    run = subprocess.run(
        [sys.executable, "-c", RUN_ALL], input="\n".join(lines), capture_output=True, text=True, timeout=100, check=True
    )
    failed: list[str] = json.loads(run.stdout)
    return failed


def everything(task: Benchmark) -> list[Item]:
    return [item for items in task.load().items.values() for item in items]


def real(file: str) -> Path:
    return shared(f"data/humaneval_mbpp/{file}")


def test_every_solution_of_humaneval_passes_and_no_stub_does() -> None:
    items = everything(HumanEval(data(humaneval=real("humaneval-python.jsonl"))))
    assert len(items) == 164
    assert failing(items, lambda item: item.extra["canonical"]) == []
    # Whatever the prelude defines, the tests must use the program's own function.
    assert len(failing(items, lambda item: f"def {item.reference['names'][0]}(*_): return [object()]")) == 164


def test_every_solution_of_mbpp_passes_but_for_the_row_that_lacks_its_setup() -> None:
    items = everything(Mbpp(data(mbpp=real("mbpp_test.jsonl"))))
    assert {str(number) for number in range(11, 511)} - {item.id for item in items} == {"367"}
    assert failing(items, lambda item: item.extra["canonical"]) == []
    stubs = failing(
        items, lambda item: "".join(f"def {name}(*_): return [object()]\n" for name in item.reference["names"])
    )
    assert len(stubs) == 499


def humaneval(row: dict[str, Any]) -> Question:
    return HumanEval(data()).question(row, "f: row 4")


STUB: dict[str, Any] = {
    "task_id": "HumanEval/0",
    "prompt": 'import math\n\ndef helper(x):\n    return x\n\ndef area(r):\n    """The area of a circle."""\n',
    "canonical_solution": "    return math.pi * r**2\n",
    "entry_point": "area",
    "test": "def check(candidate):\n    assert candidate(1) == helper(math.pi)\n",
}


def test_the_layout_of_the_hub_calls_check_itself() -> None:
    question = humaneval(STUB)
    assert question.reference["names"] == ["area"]
    assert question.reference["checks"].endswith("check(area)\n")
    assert question.reference["prelude"] == STUB["prompt"]
    assert question.extra["canonical"] == STUB["prompt"] + STUB["canonical_solution"]
    item = Item("a", "humaneval", "d", "q", "code", question.reference, question.extra)
    assert failing([item], lambda one: one.extra["canonical"]) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entry_point": "volume"}, "prompt: does not define the entry point volume"),
        ({"entry_point": None}, r"entry_point: missing, and test does not end in check\(ENTRY_POINT\)"),
        ({"prompt": "def area(r:\n"}, "prompt: not Python"),
        ({"prompt": "(" * 5000}, "prompt: not Python"),
        ({"test": "assert True"}, "test: does not define check"),
        ({"test": ""}, "test: is empty"),
        ({"canonical_solution": None}, "canonical_solution: missing"),
    ],
)
def test_a_bad_row_of_humaneval_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^f: row 4: {message}"):
        humaneval({**STUB, **changes})


def mbpp(**changes: Any) -> Question | None:
    row = {
        "task_id": 5,
        "text": "Write a function to add.",
        "code": "import math\r\ndef add(a, b):\r\n    return a + b",
        "test_list": ["assert add(1, 2) == 3", "assert add(2, 2) == 4"],
        "test_setup_code": "",
    }
    return Mbpp(data()).question({**row, **changes}, "f: row 8")


def test_names_of_the_tests_are_the_programs_a_builtins_or_a_modules() -> None:
    plain = mbpp()
    assert plain is not None
    assert plain.reference == {
        "prelude": "",
        "names": ["add"],
        "checks": "assert add(1, 2) == 3\nassert add(2, 2) == 4\n",
    }
    assert plain.id == "5"
    assert "\r\n" in plain.extra["canonical"]
    close = mbpp(test_list=["assert math.isclose(add(1, 2), float(3)) and all(x for x in [add(1, 1)])"])
    assert close is not None
    # A program that does not import math, as this solution happens to, must pass too.
    assert close.reference["names"] == ["add"]
    assert close.reference["prelude"] == "import math\n"


def test_a_builtin_that_the_solution_redefines_is_the_programs() -> None:
    question = mbpp(code="def sum(a, b):\n    return a - b", test_list=["assert sum(3, 1) == 2"])
    assert question is not None
    assert question.reference["names"] == ["sum"]


def test_setup_code_runs_with_the_tests_and_is_shown() -> None:
    code = "class Node:\n    def __init__(self, x):\n        self.x = x\ndef value(node):\n    return node.x"
    question = mbpp(code=code, test_setup_code="root = Node(3)", test_list=["assert value(root) == 3"])
    assert question is not None
    assert question.reference["names"] == ["Node", "value"]
    assert question.reference["checks"] == "root = Node(3)\nassert value(root) == 3\n"
    assert "root = Node(3)" in question.prompt


def test_the_first_test_alone_is_shown() -> None:
    question = mbpp()
    assert question is not None
    assert "assert add(1, 2) == 3" in question.prompt
    assert "add(2, 2)" not in question.prompt


def test_a_row_whose_tests_nothing_can_pass_is_left_out() -> None:
    assert mbpp(test_list=["assert add(root) == 3"]) is None
    assert mbpp(test_list=["assert 1 + 2 == 3"]) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_list": []}, "test_list: must be a list of texts that is not empty"),
        ({"test_list": ["assert add(1"]}, "tests: not Python"),
        ({"code": "def add(a b): pass"}, "code: not Python"),
        ({"text": None}, "text: missing"),
    ],
)
def test_a_bad_row_of_mbpp_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"^f: row 8: {message}"):
        mbpp(**changes)
