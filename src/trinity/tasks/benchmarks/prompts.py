r"""How a benchmark's question is asked: the stem, and the form of answer that its grader reads."""

from collections.abc import Sequence

LETTERS = "ABCDEFGHIJ"


def boxed(stem: str) -> str:
    r"""A maths problem; the answer stands in `\boxed{}`."""
    return f"{stem.strip()}\n\nPut the final answer in \\boxed{{}}."


def with_choices(stem: str, choices: Sequence[str]) -> str:
    """A question with at most ten options, one a line; the answer is a letter."""
    options = "\n".join(f"{letter}. {choice.strip()}" for letter, choice in zip(LETTERS, choices, strict=False))
    return f'{stem.strip()}\n\n{options}\n\nFinish with a line "Answer: X", where X is the letter of the right option.'


def short_answer(stem: str) -> str:
    """A question with a short answer on a line of its own."""
    return f'{stem.strip()}\n\nFinish with a line "Answer: X", where X is the final answer alone.'
