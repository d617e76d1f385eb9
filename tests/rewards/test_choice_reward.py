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


@pytest.mark.parametrize(
    "text",
    [
        "A is correct.",
        "**A** is correct because it is prime.",
        "Option A is correct.",
        "A is the answer.",
        "So A is the best answer.",
        "Answer: A is the only prime.",
        "The answer is A when n is odd",
        "A seems to be the best option.",
        "A would be correct.",
    ],
)
def test_a_is_a_letter_too(text: str) -> None:
    assert last_letter(text) == "A"


@pytest.mark.parametrize(
    "text",
    [
        "The answer is not A but C",
        "The answer is not A or B, but C.",
        "The answer isn't A, it's C.",
        "The answer is neither A nor B, it is C.",
        "It is not A. It is C.",
        "Answer: A. No wait, C.",
        "Answer: A → corrected: C",
        "The answer is A... no, it's C.",
        "A is the correct answer? No, C is.",
        "The answer is A.\n\nWait, that is incorrect. It should be C.",
        "A, B and D can be ruled out, leaving C.",
        "By elimination, only C remains.",
        "Definitely C.",
        "Choose C.",
        "I'm going with C.",
        "This corresponds to C.",
        "The answer is none of the above, i.e. C.",
    ],
)
def test_corrections_and_eliminations_state_the_letter_behind(text: str) -> None:
    assert last_letter(text) == "C"


@pytest.mark.parametrize(
    "text",
    [
        "<answer>C</answer>",
        "<answer>\n(C) 5\n</answer>",
        '{"answer": "C"}',
        "The answer is “C”.",
        "The answer is 'C'.",
        "The answer is <C>.",
        "Answer: ${C}$",
        "\\boxed{{C}}",
        "✅ **C**",
        "=> C",
        "(c)",
        "c) 5",
        "The answer is: c) 5",
        "The answer is:\n\nC) 5\n\nbecause it fits.",
        "C. 5\n\nExplanation: A is too small; B is even.",
        "C - 5",
        "Ans: C",
        "Final: C",
        "Antwort: C",
        "答案：Ｃ",
        "A. Incorrect.\nB. Incorrect.\nC. Correct, since 2+3=5.\nD. Incorrect.",
        "Let's see:\nA) 3\nB) 4\nC) 5\nD) 6\n\nC) 5",
    ],
)
def test_what_stands_around_the_letter_does_not_matter(text: str) -> None:
    assert last_letter(text) == "C"


@pytest.mark.parametrize(
    "text",
    [
        "Answer: B\n\nA common mistake is to answer A.",
        "The answer is B.\n\nNote: A student who forgets the sign would choose A.",
        "Answer: B\n\nMany students choose A.",
        "The correct answer is B.\n\nIf the question asked for the least, the correct answer would be A.",
        "Answer: B\n\nNote that A would be right if the question asked for the sum.",
        "The answer is B, while A is the answer to the reverse question",
        "The correct answer is B. A is true for n = 1 only.",
        "There are 40 students and 12 of them left so the answer is B",
        "If we drop it, the answer would be B",
        "These are human mistakes\nAnswer: B",
        "B) False, True",
        "B) It is not possible to say.",
    ],
)
def test_a_remark_is_no_statement(text: str) -> None:
    assert last_letter(text) == "B"


@pytest.mark.parametrize(
    "text",
    [
        "The answer is C++.",
        "The answer is C#.",
        "The answer is C-14.",
        "The answer is E = mc^2",
        "Answer: C D",
        "Is it C?",
        "It isn't C.",
        "No, not C.",
        "Incorrect: C",
        "A, B and C are all wrong.",
        "A, while tempting, is wrong.",
        "A - incorrect",
        "A. Analysis\n\nB. Result",
        "A) Incorrect.\nB) Correct.\nC) Correct.",
        "Answer:\nA) 3\nB) 4\nC) 5",
        "A) because it is round\nB) because it is flat",
        "Take care to\nA) heat it\nB) correct for the pressure",
        "Vitamin A is best known for vision.",
    ],
)
def test_states_no_letter(text: str) -> None:
    assert last_letter(text) is None


@given(st.sampled_from("ABCDEFGHIJ"), st.text(max_size=60))
def test_a_closing_statement_wins_over_all_before(letter: str, before: str) -> None:
    assert last_letter(f"{before}\nAnswer: {letter}") == letter


@given(st.text(max_size=200))
def test_any_text_has_at_most_one_letter(text: str) -> None:
    letter = last_letter(text)
    assert letter is None or letter in "ABCDEFGHIJ"


@pytest.mark.parametrize(
    "piece",
    [
        "answer ",
        "answer is the the ",
        "A ",
        "(",
        "I'd say ",
        "not ",
        "\\boxed{A)",
        "\n",
        "A is ",
        "\\text{",
        "A)\n",
        "answer:\nA) ",
        "students ",
        "=> ",
        "C) correct\n",
        "if it would be A ",
        "not A or B ",
        "no, ",
        "<a",
    ],
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
        ("Answer: $\\boxed{\\text{B}}$", 1, 1),
        ("Answer: \\boxed{B}", 1, 1),
    ],
)
def test_modes(text: str, robust: int, official: int) -> None:
    item = Item("one", "t", "d", "q", "choice", "B")
    reply = Response(text, "stop", 1, 1)
    assert ChoiceReward()(item, reply).value == robust
    assert ChoiceReward("official")(item, reply).value == official
