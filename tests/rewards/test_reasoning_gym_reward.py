"""Puzzles of reasoning-gym: full scores count, nothing else does, and no answer is ever run."""

import ast
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.errors import RewardError
from trinity.rewards.child import Limits
from trinity.rewards.packed import pack, unpack
from trinity.rewards.reasoning_gym import REFUSED, ReasoningGymReward, refusal, tagged_answer
from trinity.types import Item, Response

needs_library = pytest.mark.skipif(
    find_spec("reasoning_gym") is None, reason="the optional extra reasoning-gym is not installed"
)


@pytest.fixture(scope="module")
def reward() -> Iterator[ReasoningGymReward]:
    made = ReasoningGymReward()
    yield made
    made.close()


def item(generator: str, entry: Any = None) -> Item:
    if entry is None:
        entry = import_module("reasoning_gym.factory").create_dataset(generator, seed=3, size=1)[0]
    packed = json.loads(json.dumps(pack(entry)))
    reference = {"generator": generator, "entry": packed}
    return Item("a", f"reasoning_gym.{generator}", "d", "q", "reasoning_gym", reference, {"answer": entry["answer"]})


def reply(answer: str) -> Response:
    return Response(f"Let me think. <answer>\n{answer}\n</answer>\n", "stop", 1, 1)


@needs_library
@pytest.mark.parametrize("generator", ["leg_counting", "sudoku", "arc_agi", "cryptarithm", "complex_arithmetic"])
def test_the_own_answer_counts_and_another_does_not(reward: ReasoningGymReward, generator: str) -> None:
    puzzle = item(generator)
    assert reward(puzzle, reply(puzzle.extra["answer"])).value == 1
    assert reward(puzzle, reply("17 apples")).value == 0


@needs_library
def test_a_partial_score_is_no_score(reward: ReasoningGymReward) -> None:
    puzzle = item("leg_counting")
    grade = reward(puzzle, reply(f"about {puzzle.extra['answer']}"))
    assert grade.value == 0
    assert grade.reason.startswith("scored 0.")


def test_a_reply_without_tags_is_no_answer(reward: ReasoningGymReward) -> None:
    if refusal("leg_counting") is not None:
        pytest.skip("the optional extra reasoning-gym is not installed")
    for text in ("The answer is 4.", "<answer></answer>", "<answer>4", ""):
        grade = reward(item("leg_counting", {"answer": "4", "metadata": {}}), Response(text, "stop", 1, 1))
        assert (grade.value, grade.reason) == (0, "no tagged answer")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>1</answer> no, <answer> 2 </answer> done", "2"),
        ("<answer>1 2\n3 4</answer>", "1 2\n3 4"),
        ("<answer> I doubt <answer>3</answer>", "3"),
        ("<answer>1</answer> and <answer>2", "1"),
        ("</answer>", None),
        ("<answer>", None),
    ],
)
def test_the_last_tagged_answer_is_read(text: str, answer: str | None) -> None:
    assert tagged_answer(text) == answer


@needs_library
@pytest.mark.parametrize("answer", ["x" * 1_000_000, "(" * 100_000, "[" * 100_000, "\x00", "9" * 100_000])
def test_absurd_answers_get_nothing(reward: ReasoningGymReward, answer: str) -> None:
    for generator in ("leg_counting", "game_of_life"):
        assert reward(item(generator), reply(answer)).value == 0


@needs_library
def test_an_answer_that_takes_too_long_gets_nothing() -> None:
    reward = ReasoningGymReward(Limits(cpu_seconds=1, wall_seconds=60, memory_bytes=2 << 30))
    grade = reward(item("coin_flip"), reply("1e99999999"))
    reward.close()
    assert grade.value == 0
    assert grade.reason == "could not be scored (cpu)"


@needs_library
def test_a_scorer_that_fails_on_the_answer_gives_nothing(reward: ReasoningGymReward) -> None:
    grade = reward(item("prime_factorization"), reply("two and three"))
    assert grade.value == 0
    assert "ValueError" in grade.reason


@needs_library
@pytest.mark.parametrize("generator", sorted(REFUSED))
def test_refused_generators_are_not_scored(reward: ReasoningGymReward, generator: str) -> None:
    with pytest.raises(RewardError, match=rf"item 'a' of .*: reasoning_gym\.{generator}: "):
        reward(item(generator, {"answer": "4"}), reply("4"))


EXECUTES = {"eval", "exec", "parse_expr", "sympify"}
# They evaluate text of their own making, never the answer.
OWN_TEXT = {"basic_arithmetic", "bitwise_arithmetic", "number_sorting", "propositional_logic"}


@needs_library
def test_no_other_scorer_of_this_version_can_run_an_answer() -> None:
    datasets = import_module("reasoning_gym.factory").DATASETS
    executing = {name for name, (made, _) in datasets.items() if _calls(made) & EXECUTES}
    assert executing - REFUSED.keys() == OWN_TEXT
    assert {name for name, reason in REFUSED.items() if "runs code" in reason} <= executing


def _calls(made: type) -> set[str]:
    source = Path(inspect.getfile(made)).read_text(encoding="utf-8")
    functions = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {function.id for function in functions if isinstance(function, ast.Name)} | {
        function.attr for function in functions if isinstance(function, ast.Attribute)
    }


@needs_library
@pytest.mark.slow
def test_no_allowed_generator_runs_what_is_answered(tmp_path: Path) -> None:
    factory = import_module("reasoning_gym.factory")
    mark = tmp_path / "ran"
    code = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    for generator in sorted(factory.DATASETS.keys() - REFUSED.keys()):
        dataset = factory.create_dataset(generator, seed=3, size=1)
        for answer in (code, f"[{code}]", f"{{{code}}}", f"({code},)"):
            try:
                dataset.score_answer(answer, dataset[0])
            except Exception:
                continue  # some scorers raise on text that they cannot read
        assert not mark.exists(), generator
    unsafe = factory.create_dataset("n_queens", seed=3, size=1)
    unsafe.score_answer(code, unsafe[0])
    assert mark.exists()


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.fractions(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(["__tuple__", "__pairs__", "__fraction__"]), inner)
        | st.dictionaries(st.integers() | st.tuples(st.integers(), st.text()), inner)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_packed_comes_back_from_json_as_it_was(value: Any) -> None:
    assert repr(unpack(json.loads(json.dumps(pack(value))))) == repr(value)


def test_what_json_cannot_hold_is_not_packed() -> None:
    with pytest.raises(TypeError, match="set cannot be packed"):
        pack({"a": {1, 2}})
