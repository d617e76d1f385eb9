"""Short free-form answers: normalised text, or a number within a relative tolerance, as RLPR's rules do."""

import re
import unicodedata
from fractions import Fraction
from typing import Literal

from trinity.rewards.base import Grade
from trinity.rewards.maths.answer import last_box, last_statement
from trinity.rewards.maths.latex import normalised as normalised_latex
from trinity.rewards.maths.units import Unit, split_unit
from trinity.types import Item, Response

RELATIVE_TOLERANCE = Fraction(1, 1000)
LONGEST = 2_000  # characters of an answer that is read as a number

_ANSWER_LINE = re.compile(
    r"^[ \t>#*_\-]{0,20}(?:the[ \t]+)?(?:final[ \t]+|correct[ \t]+)?answer[*_ \t]{0,9}:(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_OPEN, _CLOSE = "<answer>", "</answer>"
_WRAPPED = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\s{0,9}\{([^{}]*)\}")
_NUMBER = re.compile(
    r"([+-]?)((?:\d{1,3}(?:,\d{3}){1,9}|\d{1,400})?(?:\.\d{0,400})?)(?: ?\\times ?10\^\{?([+-]?\d{1,3})\}?)?"
)
_FRACTION = re.compile(r"([+-]?)(?:\\frac\{(\d{1,40})\}\{(\d{1,40})\}|(\d{1,40}) ?/ ?(\d{1,40}))")
_PLAIN_UNIT = re.compile(r"(?<=\d)[ \t]{1,9}([A-Za-zµ°][A-Za-z0-9.·/^*-]{0,20})$")
_DECORATION = " \"'`*_$"
_ARTICLE = re.compile(r"^(?:an?|the) (?=\S)")


def last_answer(text: str) -> str | None:
    """What follows the last line that begins with "Answer:", on that line or, if it is empty there, on the next."""
    matches = list(_ANSWER_LINE.finditer(text))
    if not matches:
        return None
    here = matches[-1].group(1).strip("*_ \t")
    return here or text[matches[-1].end() :].strip().split("\n")[0]


def tagged_answer(text: str) -> str | None:
    """What stands in the one pair of answer tags; None where there is no such pair, or more than one.

    RLPR's format (format reward of its reward manager): each tag exactly once, in this order.
    """
    if text.count(_OPEN) != 1 or text.count(_CLOSE) != 1:
        return None
    inside, separator, _ = text.partition(_OPEN)[2].partition(_CLOSE)
    return inside.strip() if separator else None


def normalised(answer: str) -> str:
    """The answer without case, Markdown, LaTeX wrappers, outer punctuation and doubled spaces."""
    text = " ".join(unicodedata.normalize("NFKC", answer).split())
    for _ in range(9):
        text, found = _WRAPPED.subn(r"\1", text)
        if not found:
            break
    return text.lstrip(_DECORATION).rstrip(_DECORATION + ".,;:!?").casefold()


class FreeformReward:
    """A `Reward` for items whose reference is a short text or a number.

    Args:
        mode: robust: finds the answer in tags, in a box, after "answer" or on the last line; whole numbers must be
            equal, other numbers within the tolerance; units that contradict the reference's are wrong. official: RLPR's
            format alone, or where a reply has no tags the last line "Answer: ..."; every number within the tolerance.
    """

    def __init__(self, mode: Literal["robust", "official"] = "robust") -> None:
        self._mode = mode

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the stated answer is the reference as text, or as a number within `RELATIVE_TOLERANCE`."""
        text, reference = response.text, str(item.reference)
        stated = _stated(text) if self._mode == "robust" else _stated_in_format(text)
        answer, gold = normalised(stated or ""), normalised(reference)
        if not answer:
            return Grade(0.0, "no answer stated")
        if answer == gold:
            return Grade(1.0, "equal as text")
        if self._mode == "robust" and _ARTICLE.sub("", answer) == _ARTICLE.sub("", gold):
            return Grade(1.0, "equal as text")
        if len(answer) > LONGEST:
            return Grade(0.0, "different text")
        return self._by_number(reference, stated or "")

    def _by_number(self, reference: str, stated: str) -> Grade:
        (expected, unit), (number, other) = _quantity(reference), _quantity(stated)
        if expected is None or number is None:
            return Grade(0.0, "different text")
        if self._mode == "robust":
            if unit and other and not (unit.percent or other.percent):
                if unit.dimensions != other.dimensions:
                    return Grade(0.0, "another unit")
                number *= other.size / unit.size
            elif (unit is not None and unit.percent) != (other is not None and other.percent) and number != expected:
                number *= 100 if unit is not None and unit.percent else Fraction(1, 100)
            if expected.denominator == number.denominator == 1:
                return Grade(float(expected == number), "compared as whole numbers")
        return Grade(float(abs(number - expected) <= RELATIVE_TOLERANCE * abs(expected)), "compared as numbers")


def _stated_in_format(text: str) -> str | None:
    return tagged_answer(text) if _OPEN in text or _CLOSE in text else last_answer(text)


def _stated(text: str) -> str | None:
    _, opened, behind = text.rpartition(_OPEN)
    if opened and behind.partition(_CLOSE)[0].strip():
        inside = behind.partition(_CLOSE)[0].strip()
        return last_box(inside) or last_answer(inside) or inside
    lines = [line for line in text.strip().split("\n") if line.strip()]
    # A box in the text of an answer line is part of it; elsewhere it is the answer by itself.
    return last_box(text) or last_answer(text) or last_statement(text) or (lines[-1] if lines else None)


def _quantity(text: str) -> tuple[Fraction | None, Unit | None]:
    body, unit = split_unit(normalised_latex(_PLAIN_UNIT.sub(r"\\text{\1}", text.strip().rstrip("."))))
    return _value(body), unit


def _value(text: str) -> Fraction | None:
    """The number that a text is, with thousands separators, as a fraction or in scientific notation; None if none."""
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        numerator, denominator = (int(part) for part in fraction.groups()[1:] if part is not None)
        return Fraction(int(fraction.group(1) + "1") * numerator, denominator) if denominator else None
    match = _NUMBER.fullmatch(text)
    if match is None or not any(character.isdigit() for character in match.group(2)):
        return None
    sign, digits, exponent = match.groups()
    value = Fraction(digits.replace(",", "").rstrip(".") or 0)
    return value * Fraction(10) ** int(exponent or 0) * (-1 if sign == "-" else 1)
