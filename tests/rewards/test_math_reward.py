from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rewards.child import Limits
from trinity.rewards.math import MathReward, last_box
from trinity.types import Item, Response


@pytest.fixture(scope="module")
def reward() -> Iterator[MathReward]:
    made = MathReward()
    yield made
    made.close()


def grade(reward: MathReward, gold: str, text: str) -> float:
    item = Item("one", "t", "d", "q", "math", gold)
    return reward(item, Response(text, "stop", 1, 1)).value


@pytest.mark.parametrize(
    ("text", "box"),
    [
        (r"so \boxed{3}, no, \boxed{4}", "4"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed {5}", "5"),
        (r"\boxed{\boxed{6}}", "6"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{7} and then cut \boxed{8", "7"),
        (r"\boxed{\}}", r"\}"),
        ("the answer is 4", None),
        (r"\boxed{cut", None),
        (r"\boxed 5", None),
        ("", None),
    ],
)
def test_last_box(text: str, box: str | None) -> None:
    assert last_box(text) == box


@given(st.text(alphabet=r"ab{}\$ ", max_size=12), st.text(alphabet="ab ", max_size=5))
def test_a_box_holds_what_was_put_in(content: str, after: str) -> None:
    balanced, depth, escaped = True, 0, False
    for character in content:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            depth += {"{": 1, "}": -1}.get(character, 0)
            balanced &= depth >= 0
    if balanced and depth == 0 and not escaped:
        assert last_box("first \\boxed{0} then \\boxed{" + content + "}" + after) == content.strip()


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("7", "7"),
        ("7", "+07"),
        ("1/2", "0.5"),
        (r"\frac{1}{2}", r"\dfrac{2}{4}"),
        ("x^2+2x+1", "(x+1)^2"),
        (r"\text{Evelyn}", "Evelyn"),
        ("$12$", "12"),
        (r"2\sqrt{2}", r"\sqrt{8}"),
    ],
)
def test_equal_answers(reward: MathReward, gold: str, answer: str) -> None:
    assert grade(reward, gold, rf"hence \boxed{{{answer}}}.") == 1


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("7", r"\boxed{8}"),
        ("1/2", r"\boxed{0.4}"),
        ("7", "7"),
        ("7", r"\boxed{}"),
        ("7", r"\boxed{$$}"),
        ("7", r"\boxed{7} no: \boxed{8}"),
        ("{3, 4}", r"\boxed{3} and \boxed{4}"),
        (r"\text{Evelyn}", r"\boxed{Carla}"),
        ("7", r"\boxed{x \frac{ ??}"),
        ("7", "\\boxed{\ud800}"),
    ],
)
def test_other_answers(reward: MathReward, gold: str, text: str) -> None:
    assert grade(reward, gold, text) == 0


def test_an_endless_comparison_ends_and_the_next_one_works() -> None:
    reward = MathReward(Limits(cpu_seconds=1, wall_seconds=30, memory_bytes=2 << 30))
    try:
        assert grade(reward, "1/2", r"\boxed{9^{9^{9^9}}}") == 0
        assert grade(reward, "1/2", r"\boxed{0.5}") == 1
    finally:
        reward.close()
