import time
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rewards.freeform import FreeformReward, last_answer, normalised
from trinity.types import Item, Response


def grade(gold: str, text: str, mode: Literal["robust", "official"] = "robust") -> float:
    return FreeformReward(mode)(Item("one", "t", "d", "q", "freeform", gold), Response(text, "stop", 1, 1)).value


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
        ("Paris", "Paris"),
        ("Paris", "It is easy.\n\nParis."),
        ("Paris", "<answer>Paris</answer>"),
        ("Paris", "<answer> no </answer> wait <answer>\nParis\n</answer>"),
        ("Paris", "So the answer is Paris."),
        ("the ellipse", "Answer: an ellipse"),
        ("5", "\\boxed{5}"),
        ("50400 N", "Answer: 5.04e4 N"),
        ("50400 N", "Answer: $5.04 \\times 10^{4}$"),
        ("1.5 km", "Answer: 1500 m"),
        ("0.103", "Answer: 10.3%"),
        ("10.3%", "Answer: 0.103"),
        ("1/3", "Answer: 0.3333"),
        ("\\frac{1}{4}", "Answer: 0.25"),
        ("120000 N", "Answer: 120 kN"),
        ("1.2e5 N", "Answer: 120 kN"),
        ("5 V", "Answer: 5000 mV"),
        ("5 m/s", "Answer: 5.001 m/s"),
        ("5 m/s", "Answer: 18 km/h"),
        ("5 m/s", "Answer: 5"),
        ("5", "Answer: 5 m/s"),
        ("5 m/s", r"\boxed{5 \text{ m/s}}"),
        ("5 m/s", r"\boxed{5\ \mathrm{m\,s^{-1}}}"),
        ("5.0 m/s", "Answer: 5.001 meters per second"),
        ("9.8 m/s^2", r"Answer: $9.8 \, \text{m/s}^2$"),
        ("9.8 m/s^2", "<answer>9.8 m/s²</answer>"),
        ("10 kg·m/s", "Answer: 10 kg m/s"),
        ("100 °C", "Answer: 100 degrees Celsius"),
        ("4.2 J", "**Answer:** 4.2 J (joules)"),
        ("5 apples", "Answer: 5 Apples"),
        ("5 apples", "Answer: 5"),
        ("5", "Answer: 5 red apples in total"),
        ("5 kg", "Answer: 5 kg of rice"),
        ("12 years", "Answer: 12 years old"),
        ("6.02e23", "Answer: 6.022e23"),
        (r"6.02 \times 10^{23}", "Answer: 6.022e23"),
        ("3.00e8", "Answer: 299792458"),
        ("3e8 m/s", "Answer: 2.998e8 m/s"),
        ("10000", "Answer: 10005"),
        ("12 million", "Answer: 12,000,000"),
        ("four", "Answer: 4"),
        ("0.25", "Answer: ≈ 0.25"),
        ("0.25", "Answer: $x = 0.25$"),
        ("1789", "Answer: in 1789"),
        ("sin(x)", r"Answer: $\sin(x)$"),
        ("x^2 + 1", "Answer: $x^2+1$"),
        (r"\pi/2", "Answer: π/2"),
        ("1, 2, 3", "Answer: 1,2,3"),
        ("(1, 2)", "Answer: (1,2)"),
        ("H2O", "Answer: $H_2O$"),
        ("Newton's second law", "Answer: Newton’s second law"),
        ("A and B", "Answer: A & B"),
        ("Yes", "Answer: Yes, because it converges."),
    ],
)
def test_right(gold: str, text: str) -> None:
    assert grade(gold, text) == 1


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("Paris", "Answer: London"),
        ("1999", "Answer: 2000"),
        ("5 kg", "Answer: 5 m"),
        ("5 km", "Answer: 5 m"),
        ("0.1", "Answer: 1/0"),
        ("Paris", "<answer>London</answer> Paris"),
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
        ("5 N", "Answer: 5 kN"),
        ("5 V", "Answer: 5 mV"),
        ("5 J", "Answer: 5 eV"),
        ("10 MHz", "Answer: 10 mHz"),
        ("10%", "Answer: 10 m"),
        ("5 apples", "Answer: 5 oranges"),
        ("5 N", "Answer: 5 apples"),
        ("5 m/s", "Answer: 5 m/s^2"),
        ("5 m/s", "Answer: 5 km/h"),
        ("5 kg", "Answer: 5 lbs of rice"),
        ("5", "Answer: 5 or more"),
        ("120", "Answer: 5!"),
        ("5", "Answer: 5 to ten"),
        ("2m", "Answer: 2"),
        ("2", "Answer: 2x"),
        ("1999", "Answer: 2000.0"),
        ("9999", "Answer: 9998"),
        ("10000", "Answer: 10020"),
        ("6.02e23", "Answer: 6.2e23"),
        ("x = 5", "Answer: y = 5"),
        ("12", "Answer: 1 2"),
        ("1 2", "Answer: 12"),
        ("1, 2", "Answer: 2, 1"),
        ("Yes", "Answer: Yes, no"),
        ("Yes", "Answer: No, because it converges. Yes"),
        ("x^2", "Answer: $x_2$"),
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


@pytest.mark.parametrize(
    ("gold", "text", "value"),
    [
        ("Paris", "<think>...</think> <answer>Paris</answer>", 1),
        ("Paris", "<answer>Paris</answer> <answer>Paris</answer>", 0),
        ("Paris", "<answer>Paris", 0),
        ("Paris", "</answer>Paris<answer>", 0),
        ("Paris", "Answer: Paris", 1),
        ("Paris", "Paris", 0),
        ("Paris", "The answer is Paris", 0),
        ("1999", "Answer: 2000", 1),
        ("100", "Answer: 100.2", 0),
        ("5 kg", "Answer: 5 m", 1),
        ("5", "\\boxed{5}", 0),
        ("ellipse", "Answer: an ellipse", 0),
        ("Yes", "Answer: Yes, because it converges.", 0),
    ],
)
def test_official_wants_the_format(gold: str, text: str, value: int) -> None:
    assert grade(gold, text, "official") == value


def test_a_megabyte_is_read_in_linear_time() -> None:
    started = time.process_time()
    for piece in ("<answer>", "Answer:", " ", "1", "\\text{", "answer is ", "1,234", "\n", "²", "1 m ", "_", "a & "):
        assert grade("7.5", piece * (10**6 // len(piece))) == 0
    assert time.process_time() - started < 20
