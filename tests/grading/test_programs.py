"""A code benchmark's own programs pass its tests, and one-token mutants of them fail: the graders notice."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes import SANDBOX
from shared_files import shared
from trinity.config import load_config
from trinity.errors import RewardError
from trinity.grading.mutants import fates, mutants, own_solutions
from trinity.tasks.registry import get_task
from trinity.types import SPLITS, Item

ROOT = Path(__file__).parents[2]
ADD = "def add(a, b):\n    return a + b\n"


def item(identity: str, program: str, checks: str, **extra: Any) -> Item:
    reference = {"prelude": "", "names": ["add"], "checks": checks}
    return Item(identity, "t", "d", "q", "code", reference, {"canonical": program, **extra})


@given(st.lists(st.sampled_from(["x = 1 + 2", "y = 3 if x < 2 else 4", "z = not (x and y)", "w = 'a + 1'  # + 1"])))
def test_a_mutant_differs_in_one_token_and_compiles(lines: list[str]) -> None:
    program = "x = y = 0\n" + "\n".join(lines)
    made = list(mutants(program, 0))
    assert len(set(made)) == len(made)
    for mutant in made:
        compile(mutant, "<mutant>", "exec")
        differing = [(old, new) for old, new in zip(program.split("\n"), mutant.split("\n"), strict=True) if old != new]
        assert len(differing) == 1
        assert "a + 1" in mutant or "'a + 1'" not in program


def test_mutants_are_the_same_each_time_and_others_by_another_key() -> None:
    program = "\n".join(f"x{n} = {n} + {n}" for n in range(9))
    assert list(mutants(program, 0)) == list(mutants(program, 0)) != list(mutants(program, 1))


def test_what_becomes_of_mutants() -> None:
    strict = item("strict", ADD, "assert add(1, 2) == 3")
    lax = item("lax", ADD, "assert add(1, 2)")  # takes any number but 0
    blind = item("blind", ADD, "assert add(1, 0) == 1")  # 1 + 0 and 1 - 0 are the same
    broken = item("broken", ADD, "assert add(1, 2) == 4")
    found = fates([strict, lax, blind, broken], SANDBOX, 5, 0)
    assert (found.failed, found.unnoticed, found.unchanged) == (1, 1, 1)
    assert found.of == {"lax": ["def add(a, b):\n    return a - b\n"]}
    assert found.rate == 0.5


def test_own_solutions_that_fail_are_named() -> None:
    items = [item("right", ADD, "assert add(1, 2) == 3"), item("wrong", ADD, "assert add(1, 2) == 4")]
    assert own_solutions(items, SANDBOX) == {"wrong": "AssertionError:"}
    bare = Item("bare", "t", "d", "q", "code", items[0].reference)
    with pytest.raises(RewardError, match="task t: item 'bare': the benchmark gives no solution of its own"):
        own_solutions([bare], SANDBOX)


def real(task: str, path: str) -> list[Item]:
    source = shared(f"data/{path}")
    config = load_config(ROOT / "params.yaml")
    data = config.data.model_copy(update={"source": {task: str(source)}})
    items = get_task(config.model_copy(update={"data": data}), task).load().items
    return [one for split in SPLITS for one in items[split]]


HUMANEVAL, MBPP = "humaneval_mbpp/humaneval-python.jsonl", "humaneval_mbpp/mbpp_test.jsonl"


@pytest.mark.parametrize("task, path", [("humaneval", HUMANEVAL), ("mbpp", MBPP)])
def test_real_solutions_pass(task: str, path: str) -> None:
    assert own_solutions(real(task, path), SANDBOX) == {}


@pytest.mark.parametrize("task, path", [("humaneval", HUMANEVAL), ("mbpp", MBPP)])
def test_mutants_of_real_solutions_fail(task: str, path: str) -> None:
    found = fates(real(task, path)[::8], SANDBOX, 2, 0)
    assert found.failed > 30
    assert found.rate >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("task, path", [("humaneval", HUMANEVAL), ("mbpp", MBPP)])
def test_three_mutants_of_every_real_solution_fail(task: str, path: str) -> None:
    found = fates(real(task, path), SANDBOX, 3, 0)
    assert found.failed > 300
    assert found.rate >= 0.95
