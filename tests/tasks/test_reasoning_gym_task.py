"""Generators of reasoning-gym as tasks: the same seed draws the same items, and none that is graded wrongly."""

import json
import random
import subprocess
import sys
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

import pytest

import trinity.rewards.reasoning_gym as library
import trinity.tasks.reasoning_gym as module
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.rewards.packed import unpack
from trinity.tasks.reasoning_gym import SIZES, ReasoningGymTask

needs_library = pytest.mark.skipif(
    find_spec("reasoning_gym") is None, reason="the optional extra reasoning-gym is not installed"
)

PRINT = """
import json
from dataclasses import asdict
from trinity.config.tasks import Data
from trinity.tasks.reasoning_gym import ReasoningGymTask
splits = ReasoningGymTask({name!r}, Data.model_validate({data!r})).load()
print(json.dumps([asdict(item) for items in splits.items.values() for item in items]))
"""


def data(seed: int = 0, train: int | None = 30, valid: int | None = 8, test: int | None = 12) -> dict[str, Any]:
    sections: dict[str, Any] = {"caps": {}, "outcomes": {}, "source": {}, "revision": {}, "decontaminate": []}
    return {"seed": seed, "n_train": train, "n_valid": valid, "n_test": test, **sections}


def task(generator: str, **changes: Any) -> ReasoningGymTask:
    return ReasoningGymTask(f"reasoning_gym.{generator}", Data.model_validate(data(**changes)))


@needs_library
def test_sizes_are_those_asked_for_and_no_question_stands_twice() -> None:
    splits = task("leg_counting")
    items = splits.load().items
    assert {split: len(of_split) for split, of_split in items.items()} == {"train": 30, "valid": 8, "test": 12}
    everything = [item for of_split in items.values() for item in of_split]
    assert len({item.question for item in everything}) == len({item.id for item in everything}) == 50
    item = everything[0]
    assert (item.task, item.domain, item.reward) == ("reasoning_gym.leg_counting", "arithmetic", "reasoning_gym")
    assert item.question.startswith(item.extra["stem"])
    assert "<answer>" in item.question
    assert unpack(item.reference["entry"])["answer"] == item.extra["canonical"]


@needs_library
def test_without_sizes_there_are_defaults_and_more_training_items_move_no_test_item() -> None:
    default = task("count_bits", train=None, valid=None, test=None).load().items
    assert {split: len(of_split) for split, of_split in default.items()} == SIZES
    more = task("count_bits", train=450, valid=None, test=None).load().items
    assert (more["test"], more["valid"]) == (default["test"], default["valid"])
    assert more["train"][:400] == default["train"]


@needs_library
def test_another_seed_draws_other_items() -> None:
    assert task("leg_counting", seed=1).load().items["test"] != task("leg_counting").load().items["test"]


# The first follows the order of a set, the second draws from the global generator.
@needs_library
@pytest.mark.parametrize("generator", ["word_ladder", "list_functions"])
def test_items_hang_on_the_seed_alone(generator: str) -> None:
    random.seed(1)
    state = random.getstate()
    here = task(generator, train=5, valid=2, test=2).load().items
    assert random.getstate() == state
    program = PRINT.format(name=f"reasoning_gym.{generator}", data=data(train=5, valid=2, test=2))
    elsewhere = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONHASHSEED": "5"}, capture_output=True, text=True, check=True
    )
    assert [asdict(item) for items in here.values() for item in items] == json.loads(elsewhere.stdout)


@needs_library
def test_entries_that_their_scorer_grades_wrongly_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "REFUSED", {})
    with pytest.raises(DataError, match=r"0 of 2 test items .* left out: any text is scored as right"):
        task("game_of_life_halting", train=1, valid=1, test=2).load()


@needs_library
def test_a_generator_with_too_few_questions_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAWS_PER_ITEM", 1)
    with pytest.raises(DataError, match=r"self_reference: \d+ of 400 test items .* left out: asked before\).*n_test"):
        task("self_reference", test=400).load()


@needs_library
def test_an_unknown_generator_lists_the_known() -> None:
    with pytest.raises(DataError, match=r"reasoning_gym\.leg_count: no such generator; there are: ab, .*leg_counting"):
        task("leg_count").load()


@pytest.mark.parametrize("generator", sorted(library.REFUSED))
def test_refused_generators_say_why(generator: str) -> None:
    with pytest.raises(DataError, match=rf"reasoning_gym\.{generator}: .*: choose another generator"):
        task(generator).load()


def test_without_the_library_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "PACKAGE", "no-such-package-is-installed")
    with pytest.raises(DataError, match=r"is not installed: pip install -e '\.\[reasoning-gym\]'"):
        task("leg_counting").load()


@needs_library
def test_another_version_is_refused_since_nobody_read_its_scorers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "VERSION", "0.0.1")
    with pytest.raises(DataError, match=r"only the scorers of 0\.0\.1 are known not to run answers"):
        task("leg_counting").load()
