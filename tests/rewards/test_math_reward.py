"""Whole replies in maths: where the answer is found, and the verdict."""

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.errors import RewardError
from trinity.rewards.child import Limits
from trinity.rewards.maths.answer import last_box, stated_answer
from trinity.rewards.maths.reward import MathReward
from trinity.types import Item, Response


@pytest.fixture(scope="module")
def reward() -> Iterator[MathReward]:
    made = MathReward()
    yield made
    made.close()


@pytest.fixture(scope="module")
def official() -> Iterator[MathReward]:
    made = MathReward("official")
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
        (r"\fbox{5}", "5"),
        (r"\boxed 5", "5"),
        (r"\boxed{\boxed{6}}", "6"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{7} and then cut \boxed{8", "7"),
        (r"\boxed{\}}", r"\}"),
        (r"\boxed{7}: put yours in \boxed{}", "7"),
        (r"$\boxed{1}$ and $\boxed{2}$", "1, 2"),
        (r"\boxed{1},\boxed{2}, \boxed{3}", "1, 2, 3"),
        (r"\boxed{(2,2)} \quad \text{and} \quad \boxed{(6,2)}", "(2,2), (6,2)"),
        (r"\(x = \boxed{1}\) or \(x = \boxed{2}\)", "1, 2"),
        (r"\boxed{3}, so the sum is \boxed{7}", "7"),
        ("\\boxed{3}\nWait, \\boxed{4}", "4"),
        (r"\boxed{3} \boxed{4}", "4"),
        ("the answer is 4", None),
        (r"\boxed{cut", None),
        (r"\boxed{}", None),
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
    if balanced and depth == 0 and not escaped and content.strip(" $}"):
        assert last_box("first \\boxed{0} then \\boxed{" + content + "}" + after) == content.strip()


REPLIES = [
    (True, "42", "So the final result comes out as 42."),
    (True, "42", "**42**"),
    (True, "42", "x = 42"),
    (True, "42", "Thus $x = 42$."),
    (False, "42", "There are 42 cats and 17 dogs."),
    (True, "\\frac{3}{4}", "The probability is 3/4."),
    (True, "\\frac{3}{4}", "The probability is \\(\\frac{3}{4}\\)."),
    (True, "3", "Answer: $3$\n\nI hope this helps! Let me know if you need 100 more."),
    (True, "-5", "The answer is -5."),
    (True, "-5", "= -5"),
    (True, "x^2+1", "f(x) = x^2 + 1"),
    (True, "12", "The area is 12 square units."),
    (True, "1,234,567", "There are 1234567 ways"),
    (True, "0.5", "The answer is .5"),
    (True, "50", "the answer is 50%."),
    (True, "\\text{Evelyn}", "The answer is Evelyn."),
    (True, "\\text{Evelyn}", "\\boxed{\\text{Evelyn}}"),
    (True, "\\text{Evelyn}", "$\\textbf{Evelyn}$"),
    (True, "(3,4)", "The point is $(3, 4)$."),
    (True, "(3,4)", "The answer is (3, 4)"),
    (True, "(3,4)", "The point is (3, 4)."),
    (True, "3, 4", "The answers are 3 and 4."),
    (True, "3, 4", "The solutions are $3$ and $4$."),
    (True, "3, 4", "The solutions are $x=3$ and $x=4$."),
    (False, "5", "The answer is 5, but \\boxed{6}"),
    (True, "2", "$\\boxed{2}$ is the number of $5$-cycles"),
    (True, "10", "The answer is $10$ dollars."),
    (True, "10", "The answer is 10 dollars because 5+5."),
    (True, "\\$18.90", "It costs \\$18.90."),
    (True, "\\$18.90", "It costs $18.90."),
    (True, "18.90", "The total is $18.90."),
    (True, "7", "### Final Answer\n\n7"),
    (True, "7", "**Final Answer**: \\[7\\]"),
    (True, "7", "<answer>7</answer>"),
    (True, "6", "Final answer: 2 * 3 = 6"),
    (True, "6", "Answer: x = 6"),
    (True, "1/2", "The answer is one half, i.e. $\\frac12$"),
    (True, "8", "2^3 = 8"),
    (True, "x=5", "5"),
    (True, "9", "The answer is: **9**"),
    (True, "9", "answer = 9"),
    (True, "9", "Answer - 9"),
    (True, "16", "Thus, the sum is $7+9 = 16$."),
    (True, "16", "Thus, the sum is $7+9 = \\boxed{16}$."),
    (True, "2\\sqrt{3}", "we have 2√3."),
    (True, "2\\sqrt{3}", "we have $2\\sqrt3$ cm."),
    (True, "3:15", "The time is 3:15."),
    (True, "90", "The angle is 90°."),
    (True, "90^\\circ", "so $\\angle A = 90^\\circ$."),
    (True, "1000", "The answer is 1 000."),
    (False, "2", "The answer is 1."),
    (False, "2", "AZYUK2A"),
    (False, "2", "Room B2"),
    (True, "(-\\infty, 3]", "$x \\le 3$"),
    (True, "5", "\\boxed{5\\text{ apples}}"),
    (True, "5", "\\boxed{5.}"),
    (True, "5", "\\boxed{5.0}"),
    (True, "5", "\\boxed{ 5 }"),
    (True, "5", "$$\\boxed{5}$$"),
    (True, "5", "\\boxed{\\textbf{5}}"),
    (True, "5", "\\boxed{\\$5}"),
    (True, "5", "\\boxed{\\mathbf{5}}"),
    (True, "5", "\\boxed{n = 5}"),
    (True, "5", "\\boxed{\\text{The answer is } 5}"),
    (True, "5", "\\fbox{5}"),
    (True, "-3", "\\boxed{−3}"),
    (True, "\\frac{1}{2}", "\\boxed{\\\\frac{1}{2}}"),
    (True, "120", "\\boxed{5! = 120}"),
    (True, "15", "\\boxed{15 \\text{ ways}}"),
    (True, "2^{10}", "\\boxed{1024}"),
    (True, "A", "\\boxed{\\text{A}}"),
    (
        True,
        "\\begin{pmatrix}1 & 2 \\\\ 3 & 4\\end{pmatrix}",
        "The matrix is $\\begin{pmatrix}1 & 2 \\\\ 3 & 4\\end{pmatrix}$",
    ),
    (True, "3", "\\boxed{3}\\n\\nHence the answer is \\boxed{3}"),
    (True, "\\{1,2\\}", "\\boxed{\\{2, 1\\}}"),
    (True, "11", "\\boxed{11}$ where $x=2$"),
    (True, "6+9i", "\\boxed{6+9\\mathrm{i}}"),
    (True, "4", "Let's see: \\boxed{\\text{answer: } 4}"),
    (True, "25\\%", "\\boxed{25\\%}"),
    (True, "0.25", "\\boxed{25\\%}"),
    (True, "17", "So we have $\\boxed{17}$ ways."),
    (True, "y = 2x+3", "The line is $y=2x+3$."),
    (True, "y = 2x+3", "The line is y = 2x + 3."),
    (True, "\\pi", "The answer is π"),
    (True, "10\\pi", "The area is $10\\pi \\approx 31.4$."),
    (True, "7", "Answer: 7 (since 3+4=7)"),
    (True, "7", "My final answer is therefore 7"),
    (True, "3", "The answer is 3.\n\nNote that 3 = 6/2."),
    (True, "12", "I get twelve.\n\nThe answer is $12$, since $3\\cdot4=12$"),
    (False, "12", "The answer is $13$, not $12$"),
]

# By kind: the maths on lines of its own, a sentence where the answer should be, units and powers in prose, a conclusion
# in words behind maths, what is said not to be the answer, cut and abstaining replies.
PROSE = [
    (True, "15", "The answer is:\n\n$$\n15\n$$"),
    (True, "15", "Therefore, the answer is:\n\n\\[\n15\n\\]"),
    (False, "16", "The answer is:\n\n$$\n15\n$$\n\nNote: $16$"),
    (True, "34", "Final Answer: The largest $n$ is 34."),
    (True, "34", "**Final Answer:** The largest value of $n$ is $34$."),
    (True, "120", "Final Answer: The volume of $ABCDEFGH$ is 120. I hope it is correct."),
    (True, "12", "The answer is: There are $12$ ways such that the sum is even."),
    (True, "3", "Final Answer: Jane started growing Sphere 3 hours ago."),
    (True, "\\text{Sunday}", "The answer is: It will be Sunday."),
    (True, "1 \\text{ hour}", "The answer is: it takes 60 minutes in total."),
    (True, "3/8", "Answer: 3/8 (or 37.5%)"),
    (True, "25", "The area is 25 m^2."),
    (True, "25", "The area is 25 cm^2."),
    (True, "25", "The area is 25 m²."),
    (False, "2", "The area is 25 cm^2."),
    (True, "2\\sqrt{13}", "The distance is 2*sqrt(13)."),
    (True, "x^3-1", "x**3 - 1"),
    (True, "72", "**Step 1** 48/2 = 24.\n\n**Step 2** 48 + 24 = 72 clips."),
    (True, "12", "$d=\\frac{90}{n}$ for each $n$. Therefore, there are 12 distinct sequences."),
    (True, "4", "Let $S = \\{1,2,3,4\\}$. The number of elements is 4."),
    (True, "42", "Thus $x = 42$. This uses Theorem 3."),
    (True, "42", "Thus $x = 42$. So we used Theorem 3."),
    (True, "1, 3", "The solutions are x = 1 and x = 3."),
    (True, "(2,-1)", "They meet at x = 2, y = -1."),
    (True, "\\text{Sunday}", "So the day is **Sunday**."),
    (False, "7", "The answer is not 7."),
    (False, "7", "It is not 7."),
    (False, "3", "$x = 3$ is not a solution, so there are no solutions."),
    (True, "-3", "Thus $x = -3$ (we reject $x = 3$)."),
    (False, "7", "I could not find the answer. 7 was my first guess."),
    (False, "7", "Question 7: find x. I do not know."),
    (True, "3", "I cannot find any other solutions, so $x = 3$."),
    (True, "15", "so we have \\boxed{15"),
    (False, "7", "it may be \\boxed{8"),
    (True, "6,8", "\\boxed{6} and \\boxed{8}"),
    (False, "8", "\\boxed{6} and \\boxed{8}"),
]


@pytest.mark.parametrize(("right", "gold", "text"), REPLIES + PROSE)
def test_replies(reward: MathReward, right: bool, gold: str, text: str) -> None:
    assert bool(grade(reward, gold, text)) is right


@given(st.text(max_size=80))
def test_any_text_has_at_most_one_answer(text: str) -> None:
    answer = stated_answer(text)
    assert answer is None or answer


HUGE = [
    "\\boxed{" * 150_000, "{" * 10**6, "$" * 10**6, "1" * 10**6, "1 000 " * 170_000, "answer is " * 100_000,
    "\\(" * 500_000, "a" * 10**6, "-" * 10**6, "1,234" * 200_000, "$a " * 300_000, "\\[x" * 300_000, " " * 10**6,
    "1/" * 500_000, "(" * 10**6, "1 1/" * 250_000, "x^" * 500_000, "$$ x" * 200_000, "answer (" * 100_000,
    "1a" * 500_000, "1,111," * 160_000, "111," * 250_000,
    "\\boxed{1}," * 100_000, "answer is it is " * 60_000, "{1\\over " * 100_000, "sqrt(" * 200_000, "**a**" * 200_000,
    "<answer>" * 120_000, "(a" * 500_000, "\\text{" * 140_000,
]  # fmt: skip


@pytest.mark.parametrize("text", HUGE, ids=lambda text: repr(text[:10]))
def test_a_megabyte_is_read_in_linear_time(reward: MathReward, text: str) -> None:
    started = time.process_time()
    assert grade(reward, "x^2+7", text) == 0
    assert time.process_time() - started < 5


NESTED = "\\boxed{" * 1000 + "1" + "}" * 1000


@pytest.mark.parametrize(
    "answer",
    [
        "9**9**9",
        "9^{9^{9^9}}",
        "(10^{10})!",
        "100000!",
        "3" + "!" * 50,
        "(x+1)^{100000}",
        "10^{-999999999}",
        "1e999999999",
        "\\binom{10^9}{5\\cdot 10^8}",
        "\\frac{1}{" * 1000 + "1" + "}" * 1000,
        "(" * 3000 + "1" + ")" * 3000,
        "1," * 4999 + "1",
        "\\pm 1," * 500,
        "(a+b+c+d)^{50}(a-b)^{50}",
        "\\sqrt{" * 300 + "2" + "}" * 300,
        "\\ud800",
        "\ud800",
        "x \\frac{ ??}",
        "$$",
    ],
    ids=lambda answer: repr(answer[:12]),
)
def test_an_answer_that_cannot_be_compared_is_a_0(reward: MathReward, answer: str) -> None:
    assert grade(reward, "x^2+7", f"\\boxed{{{answer}}}") == 0


def test_nesting_of_a_thousand_is_read(reward: MathReward) -> None:
    assert grade(reward, "1", NESTED) == 1
    assert grade(reward, "2", NESTED) == 0


@pytest.mark.parametrize("mode", ["robust", "official"])
def test_a_comparison_without_end_ends_and_the_next_one_works(mode: str) -> None:
    made = MathReward("robust" if mode == "robust" else "official", Limits(1, 30, 2 << 30))
    try:
        assert grade(made, "1/2", r"\boxed{e^{e^{e^{e^{e}}}}}") == 0
        assert grade(made, "1/2", r"\boxed{0.5}") == 1
    finally:
        made.close()


def test_a_reference_in_a_box_is_what_is_in_it(reward: MathReward) -> None:
    assert grade(reward, r"\(\boxed{6 \text{ and } 8}\)", r"\boxed{8, 6}") == 1
    assert grade(reward, r"\boxed{6}", r"\boxed{8}") == 0


def test_a_reference_without_content_is_an_error(reward: MathReward) -> None:
    with pytest.raises(RewardError, match="item 'one' of t: the reference is empty"):
        grade(reward, " $ $ ", r"\boxed{1}")


@pytest.mark.parametrize(
    ("gold", "text", "robust", "reported"),
    [
        (r"\frac{1}{2^{99}}", r"\boxed{\frac{1}{2^{98}}}", 0, 1),
        ("4", "\\boxed{3}\nNo: \\boxed{4}", 1, 0),
        ("(0, 12.5)", "$0 < x < 12.5$", 1, 0),
        (r"\frac{1}{3}", r"\boxed{0.333333}", 0, 1),
        ("7", r"\boxed{7}", 1, 1),
    ],
)
def test_official_is_the_verdict_of_math_verify(
    reward: MathReward, official: MathReward, gold: str, text: str, robust: int, reported: int
) -> None:
    assert grade(reward, gold, text) == robust
    assert grade(official, gold, text) == reported
