"""Short free-form answers: normalised text, or a number within a relative tolerance, as RLPR's rules do."""

import re
import unicodedata

from trinity.rewards.base import Grade
from trinity.types import Item, Response

RELATIVE_TOLERANCE = 1e-3

_ANSWER_LINE = re.compile(r"^[\s>#*_\-]*(?:the\s+)?(?:final\s+)?answer[*_\s]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_WRAPPED = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\s*\{([^{}]*)\}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d{1,3})?")
_DECORATION = " \"'`*_$"


def last_answer(text: str) -> str | None:
    """What follows the last line that begins with "Answer:", on that line or, if it is empty there, on the next."""
    matches = list(_ANSWER_LINE.finditer(text))
    if not matches:
        return None
    here = matches[-1].group(1).strip("*_ \t")
    return here or text[matches[-1].end() :].strip().split("\n")[0]


def normalised(answer: str) -> str:
    """The answer without case, Markdown, LaTeX wrappers, outer punctuation and doubled spaces."""
    text = " ".join(unicodedata.normalize("NFKC", answer).split())
    while (unwrapped := _WRAPPED.sub(r"\1", text)) != text:
        text = unwrapped
    return text.lstrip(_DECORATION).rstrip(_DECORATION + ".,;:!?").casefold()


class FreeformReward:
    """A `Reward` for items whose reference is a short text or a number."""

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the last stated answer is the reference as text, or as a number within `RELATIVE_TOLERANCE`."""
        answer = normalised(last_answer(response.text) or "")
        if not answer:
            return Grade(0.0, "no answer line")
        gold = normalised(str(item.reference))
        if answer == gold:
            return Grade(1.0, "equal as text")
        expected, number = _number(gold), _number(answer)
        if expected is None or number is None:
            return Grade(0.0, "different text")
        return Grade(float(abs(number - expected) <= RELATIVE_TOLERANCE * abs(expected)), "compared as numbers")


def _number(text: str) -> float | None:
    if not any(character.isdigit() for character in text) or not _NUMBER.fullmatch(text):
        return None
    return float(text.replace(",", ""))
