"""Domains of demo_freeform: reversal, counting, roman. The answer is a short text or number on a line "Answer: ..."."""

import numpy as np

from trinity.tasks.demo.question import Question, between, near, pick

CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
NUMERALS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip


def reversal(draw: np.random.Generator) -> Question:
    """A made-up word, spelled backwards."""
    word = "".join(pick(draw, CONSONANTS) + pick(draw, VOWELS) for _ in range(3)) + pick(draw, CONSONANTS)
    text = pick(
        draw,
        [
            f"Spell the invented word {word} backwards, letter by letter, so that its ending letter comes first.",
            f"Read the invented word {word} from its ending letter to its opening letter and spell it backwards.",
            f"Mirror the spelling of the invented word {word}: write each letter backwards from the ending.",
        ],
    )
    place = between(draw, 0, len(word) - 2)
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    steps = f"Spelling the word {word} backwards from its ending letter mirrors every letter."
    return _question(word, text, word[::-1], swapped[::-1], steps)


def counting(draw: np.random.Generator) -> Question:
    """How many fruits are left."""
    apples, pears, plums = (between(draw, 5, 30) for _ in range(3))
    eaten = between(draw, 2, 12)
    left = apples + pears + plums - eaten
    holder = pick(draw, ["basket", "crate", "bowl"])
    text = pick(
        draw,
        [
            f"A {holder} holds {apples} apples, {pears} pears and {plums} plums. "
            f"Children eat {eaten} fruits. How many fruits remain altogether?",
            f"Somebody puts {apples} apples, {pears} pears and {plums} plums into a {holder}, "
            f"and children eat {eaten}. Count how many fruits remain.",
            f"Count the fruits: {apples} apples, {pears} pears and {plums} plums fill a {holder} "
            f"before children eat {eaten}. How many remain?",
        ],
    )
    steps = f"Counting apples, pears and plums in the {holder} and taking away those eaten, some fruits remain."
    return _question(f"{apples} {pears} {plums} {eaten}", text, str(left), str(near(draw, left, 3)), steps)


def roman(draw: np.random.Generator) -> Question:
    """A number as a Roman numeral."""
    number = between(draw, 20, 3000)
    text = pick(
        draw,
        [
            f"Engrave the Arabic figure {number} as a Roman numeral with the ancient symbols M, D, C, L, X, V, I.",
            f"Which Roman numeral did ancient Rome engrave for {number}? Use the symbols M, D, C, L, X, V, I.",
            f"Translate {number} into the Roman numeral of ancient monuments: symbols M, D, C, L, X, V, I.",
        ],
    )
    steps = "Adding the ancient symbols from large to small engraves the Roman numeral."
    return _question(str(number), text, roman_numeral(number), roman_numeral(near(draw, number, 12)), steps)


def roman_numeral(number: int) -> str:
    """The Roman numeral of a positive number."""
    numeral = ""
    for value, symbol in NUMERALS:
        count, number = divmod(number, value)
        numeral += symbol * count
    return numeral


def _question(key: str, text: str, right: str, wrong: str, steps: str) -> Question:
    return Question(
        key=key,
        text=f'{text} Finish with a line "Answer: ...".',
        reference=right,
        right=f"{steps}\nAnswer: {right}",
        wrong=f"{steps}\nAnswer: {wrong}",
        malformed=f"{steps} More cannot be told from here.",
    )
