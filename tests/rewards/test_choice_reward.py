import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rewards.choice import ChoiceReward, first_letter, last_letter
from trinity.types import Item, Response


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B", "B"),
        ("the answer is (C).", "C"),
        ("so I choose D", "D"),
        ("It cannot be A, so I choose D", "D"),
        ("Option C", "C"),
        ("The correct option is C)", "C"),
        ("Answer: Copper", None),
        ("answer: c", "C"),
        ("A because it fits", "A"),
        ("I think", None),
        ("A or B", None),
        ("not A", None),
        ("The answer is not A", None),
        ("The answer is definitely not (A)", None),
        ("**C**", "C"),
        ("\\text{C}", "C"),
        ("\\boxed{\\text{C}}", "C"),
        ("\\boxed{C) 12}", "C"),
        ("$\\boxed{\\textbf{(C)}\\ 12}$", "C"),
        ("C) 12 metres", "C"),
        ("The best answer among the options is C.", "C"),
        ("Therefore, C.", "C"),
        ("If the answer is A, then it fails. Hence B.", "B"),
        ("(C) is the correct answer.", "C"),
        ("Option A is incorrect. Option B is correct.", "B"),
        ("A is not correct.", None),
        ("Answer: A\n\nA) x\nB) y", "A"),
        ("A) x\nB) y\nC) z\nD) w", None),
        ("The correct answer is: **(D) 5 m**", "D"),
        ("Answer - C", "C"),
        ("Final Answer\n\n(C)", "C"),
        ("I'd go with B.", "B"),
        ("Answer: K", None),
        ("The answer is B, not C.", "B"),
        ("Answer: B. The option C is wrong", "B"),
        ("The answer would be C", "C"),
        ("we choose option (E)", "E"),
        ("The answer is A and B", None),
        ("Answer: A/B", None),
        ("The answer is I", "I"),
        ("Answer: I think it is hard", None),
        ("The answer is A bit unclear", None),
        ("C", "C"),
        ("c", None),
        ("[C]", "C"),
        ("Answer: [[C]]", None),
        ("The answer is C: mitochondria", "C"),
        ("Answer:C", "C"),
        ("ANSWER: C", "C"),
        ("Answer is D since A, B and C are wrong", "D"),
        ("Thus the correct choice is B (not A)", "B"),
        ("The answer isn't A", None),
        ("my answer is d.", "D"),
        ("Answer: option D", "D"),
        ("The letter is C", None),
        ("I would not choose A", None),
        ("A. The answer is A", "A"),
        ("Answer: \\mathbf{C}", "C"),
        ("So the answer is \\(C\\).", "C"),
        ("The answer is\n\nC", "C"),
        ("the answer is $C$", "C"),
        ("The correct answer is option C, 12 m", "C"),
        ("Correct answer: C", "C"),
        ("Answer: D) none of A, B or C", "D"),
        ("Answer: **B**\n\nExplanation: A is wrong because...", "B"),
        ("Answer: A\nWait. The answer is C because A is wrong.", "C"),
        ("Answer: A, or rather \\boxed{J}", "J"),
        ("Answer:\nB", "B"),
        ("", None),
        ("The answer is a bit unclear", None),
        ("Option B is tempting, A too", None),
        ("Answer: (A) and (C)", None),
        ("Answer: Because", None),
        ("\\boxed{12}", None),
        ("\\[ \\boxed{\\mathrm{(D)}} \\]", "D"),
        ("Answer: A\nWait, on reflection that is wrong.\nAnswer: B", "B"),
        ("It is not the case that the answer is A", None),
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


@pytest.mark.parametrize(
    "piece", ["answer ", "answer is the the ", "A ", "(", "I'd say ", "not ", "\\boxed{A)", "\n", "A is ", "\\text{"]
)
def test_a_megabyte_is_read_in_linear_time(piece: str) -> None:
    text = piece * (10**6 // len(piece))
    started = time.process_time()
    last_letter(text)
    first_letter(text)
    assert time.process_time() - started < 5


def test_letters_that_the_question_does_not_have_are_none() -> None:
    text = "Answer: B\n\nE"
    assert last_letter(text) == "E"
    assert last_letter(text, "ABCD") == "B"
    for choices in (4, ["w", "x", "y", "z"]):
        item = Item("one", "t", "d", "q", "choice", "B", {"choices": choices})
        assert ChoiceReward()(item, Response(text, "stop", 1, 1)).value == 1


@pytest.mark.parametrize(
    ("text", "robust", "official"),
    [
        ("Answer: B", 1, 1),
        ("Answer: $\\boxed{B}$", 1, 1),
        ("Answer: A\nNo: \nAnswer: B", 1, 0),
        ("answer: b", 1, 0),
        ("The answer is B", 1, 0),
        ("Answer: Bronze", 0, 1),
        ("Answer: C", 0, 0),
        ("no idea", 0, 0),
    ],
)
def test_modes(text: str, robust: int, official: int) -> None:
    item = Item("one", "t", "d", "q", "choice", "B")
    reply = Response(text, "stop", 1, 1)
    assert ChoiceReward()(item, reply).value == robust
    assert ChoiceReward("official")(item, reply).value == official
