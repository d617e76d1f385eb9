"""What a generator of the demo makes, and the draws that generators share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """One generated question with three replies.

    Right and wrong differ in the answer alone, not in form: nothing but the answer can give them away.

    Attributes:
        key: The numbers and words that make the problem what it is: no two questions of a task share it.
        text: What is asked, 15 to 45 words.
        reference: As the task's grader wants it.
        right: A reply that is graded 1.
        wrong: A well-formed reply that is graded 0.
        malformed: A reply without a usable answer.
    """

    key: str
    text: str
    reference: Any
    right: str
    wrong: str
    malformed: str


Generator = Callable[[np.random.Generator], Question]


def pick(draw: np.random.Generator, options: Sequence[T]) -> T:
    """One of the options."""
    return options[int(draw.integers(len(options)))]


def between(draw: np.random.Generator, low: int, high: int) -> int:
    """An integer, both ends included."""
    return int(draw.integers(low, high + 1))


def near(draw: np.random.Generator, value: int, reach: int, least: int = 1) -> int:
    """Another integer at most `reach` away, not below `least`; above and below are equally likely where both can be."""
    others = [value + step for step in range(-reach, reach + 1) if step and value + step >= least]
    return pick(draw, others)
