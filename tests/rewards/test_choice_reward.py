import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rewards.choice import ChoiceReward, last_letter
from trinity.types import Item, Response


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B", "B"),
        ("the answer is (C).", "C"),
        ("The correct answer is **D**", "D"),
        ("**Answer:** B", "B"),
        ("Answer: **(B)**", "B"),
        (r"The answer is $\boxed{B}$.", "B"),
        (r"\boxed{\text{C}}", "C"),
        (r"\[ \boxed{\mathrm{(D)}} \]", "D"),
        (r"Answer: \(B\)", "B"),
        ("answer: b", "B"),
        ("answer is (b)", "B"),
        ("Reasoning about A and B.\nC", "C"),
        ("... so\n(D)\n", "D"),
        ("Answer: A\nWait. The answer is C because A is wrong.", "C"),
        (r"Answer: A, or rather \boxed{J}", "J"),
        ("The answer is A because it fits", "A"),
        ("The correct option is B", "B"),
        ("Answer: option B", "B"),
        ("Final answer: B) 12 metres", "B"),
        ("Answer:\nB", "B"),
        ("", None),
        ("The answer is not B", None),
        ("The answer is a bit unclear", None),
        ("The answer is I think unclear", None),
        ("Option B is tempting, A too", None),
        ("Answer: A or B", None),
        ("Answer: (A) and (C)", None),
        ("Answer: K", None),
        ("Answer: Because", None),
        (r"\boxed{12}", None),
    ],
)
def test_last_letter(text: str, letter: str | None) -> None:
    assert last_letter(text) == letter


@given(st.sampled_from("ABCDEFGHIJ"), st.text(max_size=60))
def test_a_closing_statement_wins_over_all_before(letter: str, before: str) -> None:
    assert last_letter(f"{before}\nAnswer: {letter}") == letter


@given(st.text(max_size=200))
def test_any_text_has_at_most_one_letter(text: str) -> None:
    letter = last_letter(text)
    assert letter is None or letter in "ABCDEFGHIJ"


@pytest.mark.parametrize(("text", "value"), [("Answer: B", 1), ("Answer: C", 0), ("no idea", 0)])
def test_reward(text: str, value: float) -> None:
    item = Item("one", "t", "d", "q", "choice", "B")
    assert ChoiceReward()(item, Response(text, "stop", 1, 1)).value == value
