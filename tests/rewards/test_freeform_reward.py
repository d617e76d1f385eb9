import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rewards.freeform import FreeformReward, last_answer, normalised
from trinity.types import Item, Response


def grade(gold: str, text: str) -> float:
    return FreeformReward()(Item("one", "t", "d", "q", "freeform", gold), Response(text, "stop", 1, 1)).value


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("Paris", "It is Paris.\nAnswer: paris."),
        ("New York", "Answer:   new   york"),
        ("42", "**Answer:** 42"),
        ("42", "### Final Answer: `42`"),
        ("42", r"Answer: $\boxed{42}$"),
        ("blue", r"Answer: \text{Blue}"),
        ("42", "Answer: 41\nNo.\nAnswer: 42"),
        ("42", "Answer:\n42"),
        ("1234.5", "Answer: 1,234.5"),
        ("3.1416", "Answer: 3.1415"),
        ("-0.5", "Answer: -.5"),
        ("1e-3", "Answer: 0.001"),
        ("0", "Answer: 0.0"),
    ],
)
def test_right(gold: str, text: str) -> None:
    assert grade(gold, text) == 1


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("Paris", "Paris"),
        ("Paris", "Answer: London"),
        ("Paris", ""),
        ("Paris", "Answer:"),
        ("Paris", "Answer: Paris\nAnswer: London"),
        ("42", "Answer: 43"),
        ("42", "Answer: -42"),
        ("100", "Answer: 100.2"),
        ("0", "Answer: 0.0005"),
        ("5", "Answer: nan"),
        ("5", "Answer: inf"),
        ("5", "Answer: 5 or 6"),
        ("[0, 1)", "Answer: (0, 1]"),
        ("1e999", "Answer: 2e999"),
        ("5", "The Answer: 5 is not at the start of a line? it is: Answer: 6"),
    ],
)
def test_wrong(gold: str, text: str) -> None:
    assert grade(gold, text) == 0


@given(st.text(st.characters(codec="ascii", exclude_characters="\\"), max_size=40))
def test_normalising_twice_changes_nothing_for_plain_text(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(st.floats(min_value=-1e9, max_value=1e9).filter(lambda x: abs(x) > 1e-6), st.floats(-0.0009, 0.0009))
def test_numbers_within_the_tolerance_are_equal(gold: float, error: float) -> None:
    assert grade(repr(gold), f"Answer: {gold * (1 + error)!r}") == 1


@given(st.text(max_size=80))
def test_no_answer_line_is_no_answer(text: str) -> None:
    if "answer" not in text.casefold():
        assert last_answer(text) is None
