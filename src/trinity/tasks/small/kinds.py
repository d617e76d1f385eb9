"""The kinds of short questions: letters, words, syllogism, length, arithmetic.

Each is asked in at most 30 words with a short answer line, since small models run where reading is what costs time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from trinity.tasks.demo.question import between, pick
from trinity.tasks.small.words import PLURALS, WORDS

# Premises and a conclusion over subject S, middle term M and predicate P. Whether it follows is the same whether or not
# "all" says that there are some.
FOLLOWS = (
    ("All M are P", "All S are M", "all S are P"),
    ("No M are P", "All S are M", "no S are P"),
    ("All M are P", "Some S are M", "some S are P"),
    ("No M are P", "Some S are M", "some S are not P"),
    ("All P are M", "No S are M", "no S are P"),
    ("Some M are P", "All M are S", "some S are P"),
)
DOES_NOT_FOLLOW = (
    ("All P are M", "All S are M", "all S are P"),
    ("Some M are P", "All S are M", "some S are P"),
    ("All M are P", "No S are M", "no S are P"),
    ("No M are P", "No S are M", "no S are P"),
    ("All M are P", "All S are M", "no S are P"),
    ("Some M are P", "Some S are M", "some S are P"),
)


@dataclass(frozen=True)
class Question:
    """A question, the answer that is right, and which grader reads it."""

    text: str
    reference: str
    reward: str


def letters(draw: np.random.Generator) -> Question:
    """How often a letter that occurs does so in two or three words."""
    text = " ".join(WORDS[index] for index in draw.permutation(len(WORDS))[: between(draw, 2, 3)])
    letter = pick(draw, sorted(set(text) - {" "}))
    return _number(f'How many times is the letter "{letter}" in "{text}"?', text.count(letter))


def words(draw: np.random.Generator) -> Question:
    """The number of words in a list of two to six."""
    listed = [WORDS[index] for index in draw.permutation(len(WORDS))[: between(draw, 2, 6)]]
    return _number(f"How many words are in this list: {', '.join(listed)}?", len(listed))


def syllogism(draw: np.random.Generator) -> Question:
    """Whether a conclusion follows from two premises; as often as not it does."""
    follows = pick(draw, [True, False])
    first, second, conclusion = pick(draw, FOLLOWS if follows else DOES_NOT_FOLLOW)
    terms = dict(zip("SMP", (PLURALS[index] for index in draw.permutation(len(PLURALS))[:3]), strict=True))
    if pick(draw, [True, False]):
        first, second = second, first
    premises = f"{_filled(first, terms)}. {_filled(second, terms)}."
    return _yes_or_no(f"{premises} Does it follow that {_filled(conclusion, terms)}?", follows)


def length(draw: np.random.Generator) -> Question:
    """The number of letters of a word."""
    word = pick(draw, WORDS)
    return _number(f'How many letters are in the word "{word}"?', len(word))


def arithmetic(draw: np.random.Generator) -> Question:
    """The sum or the difference of two numbers of two digits."""
    first, second, sign = between(draw, 10, 99), between(draw, 10, 99), pick(draw, [1, -1])
    return _number(f"What is {first} {'+' if sign == 1 else '-'} {second}?", first + sign * second)


KINDS: Mapping[str, Callable[[np.random.Generator], Question]] = {
    "letters": letters,
    "words": words,
    "syllogism": syllogism,
    "length": length,
    "arithmetic": arithmetic,
}


def _filled(statement: str, terms: Mapping[str, str]) -> str:
    return " ".join(terms.get(word, word) for word in statement.split())


def _number(text: str, answer: int) -> Question:
    return Question(f'{text} End with "Answer: ..." (a number).', str(answer), "math")


def _yes_or_no(text: str, answer: bool) -> Question:
    return Question(f'{text} End with "Answer: ..." (yes or no).', "yes" if answer else "no", "freeform")
