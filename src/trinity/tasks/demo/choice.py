"""Domains of demo_choice: calendar, units, sequences. Four options; the answer is the letter A to D."""

from collections.abc import Sequence

import numpy as np

from trinity.tasks.demo.question import Question, between, pick

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
UNITS = (
    ("kilometres", "metres", 1000),
    ("kilograms", "grams", 1000),
    ("litres", "millilitres", 1000),
    ("metres", "centimetres", 100),
    ("hours", "minutes", 60),
    ("minutes", "seconds", 60),
)


def calendar(draw: np.random.Generator) -> Question:
    """A weekday or month some steps later or earlier."""
    unit, names, far = pick(draw, [("days", WEEKDAYS, 99), ("months", MONTHS, 60)])
    kind = "weekday" if unit == "days" else "month"
    start, steps, sign = pick(draw, range(len(names))), between(draw, len(names) + 1, far), pick(draw, [1, -1])
    direction = "after" if sign == 1 else "before"
    right = names[(start + sign * steps) % len(names)]
    text = pick(
        draw,
        [
            f"On the calendar, which {kind} falls {steps} {unit} {direction} {names[start]}?",
            f"Turning calendar pages, which {kind} comes {steps} {unit} {direction} {names[start]}?",
            f"The calendar shows {names[start]}. Which {kind} lies {steps} {unit} {direction} today's date?",
        ],
    )
    explanation = (
        f"Turning the calendar {steps} {unit} {'forward' if sign == 1 else 'back'} from {names[start]} falls on"
    )
    return _question(draw, f"{start} {steps} {sign} {kind}", text, right, _others(draw, names, right), explanation)


def units(draw: np.random.Generator) -> Question:
    """A conversion into a smaller unit."""
    large, small, factor = pick(draw, UNITS)
    amount = between(draw, 2, 99)
    right = f"{amount * factor} {small}"
    text = pick(
        draw,
        [
            f"Convert the measurement {amount} {large} into {small}. Which conversion is exact?",
            f"A gauge measures {amount} {large}. How much is this measurement when converted into {small}?",
            f"Which quantity of {small} equals the measurement {amount} {large} after unit conversion?",
        ],
    )
    amounts = [amount * factor // 10, amount * factor * 10, (amount + 1) * factor, (amount - 1) * factor]
    others = _others(draw, [f"{other} {small}" for other in amounts], right)
    explanation = f"The conversion factor from {large} to {small} is {factor}, so the measurement converts to"
    return _question(draw, f"{amount} {large} {small}", text, right, others, explanation)


def sequences(draw: np.random.Generator) -> Question:
    """The next term of an arithmetic or a geometric progression."""
    if pick(draw, [True, True, False]):
        first, step = between(draw, 1, 60), between(draw, 2, 25)
        terms = [first + step * index for index in range(5)]
        wrong = [terms[4] + other for other in (-2, -1, 1, 2)]
    else:
        first, ratio = between(draw, 1, 30), pick(draw, [2, 3])
        terms = [first * ratio**index for index in range(5)]
        wrong = [terms[4] + other * first for other in (-2, -1, 1, 2)]
    shown = ", ".join(str(term) for term in terms[:4])
    text = pick(
        draw,
        [
            f"The sequence {shown} continues by a fixed pattern. Which term is next in the progression?",
            f"Find the pattern behind the progression {shown}. Which next term extends the sequence?",
            f"Consecutive terms of a sequence are {shown}. Which next term keeps the pattern of the progression?",
        ],
    )
    others = _others(draw, [str(term) for term in wrong], str(terms[4]))
    explanation = "Following the pattern between consecutive terms, the next term of the progression is"
    return _question(draw, shown, text, str(terms[4]), others, explanation)


def _others(draw: np.random.Generator, values: Sequence[str], right: str) -> list[str]:
    """Three of the values that are not the right one."""
    candidates = [value for value in values if value != right]
    return [candidates[index] for index in draw.permutation(len(candidates))[:3]]


def _question(
    draw: np.random.Generator, key: str, text: str, right: str, others: Sequence[str], explanation: str
) -> Question:
    place = between(draw, 0, 3)
    options = [*others[:place], right, *others[place:]]
    letters = "ABCD"
    missed = pick(draw, [index for index in range(4) if index != place])
    listed = " ".join(f"{letter}) {option}" for letter, option in zip(letters, options, strict=True))
    return Question(
        key=key,
        text=f"{text} {listed} Give the letter.",
        reference=letters[place],
        right=f"{explanation} {options[place]}.\nAnswer: {letters[place]}",
        wrong=f"{explanation} {options[missed]}.\nAnswer: {letters[missed]}",
        malformed=f"{explanation} one of the options, though it is hard to say which.",
    )
