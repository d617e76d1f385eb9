"""Short free-form answers: normalised text, or a number within a relative tolerance, as RLPR's rules do."""

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from trinity.rewards.base import Grade
from trinity.rewards.maths.answer import last_box, last_statement
from trinity.rewards.maths.latex import normalised as normalised_latex
from trinity.rewards.maths.units import Unit, split_unit
from trinity.types import Item, Response

RELATIVE_TOLERANCE = Fraction(1, 1000)
EXACT_BELOW = 10_000  # plain whole numbers below it are years and counts: for them there is no tolerance
LONGEST = 2_000  # characters of an answer that is compared by more than its text

_ANSWER_LINE = re.compile(
    r"^[ \t>#*_\-]{0,20}(?:the[ \t]+)?(?:final[ \t]+|correct[ \t]+)?answer[*_ \t]{0,9}:(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_OPEN, _CLOSE = "<answer>", "</answer>"
_WRAPPED = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\s{0,9}\{([^{}]*)\}")
_SUPERSCRIPT = re.compile("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_SUPERSCRIPTS = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_SIGNS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "−": "-", "⁄": "/"})
_DECORATION = " \"'`*_$"
_ARTICLE = re.compile(r"^(?:an?|the) (?=\S)")

# A quantity: a name or "about", a number, and a unit, with LaTeX's spellings taken out first.
_SPELLINGS = (
    (re.compile(r"(?<=\d)\\(?:text|mathrm)(?=\{)"), r" \\text"),
    (re.compile(r"\^\{?\\circ\}?|\\degree|°"), " degree "),
    (re.compile(r"\^\{([+-]?\d{1,3})\}"), r"^\1"),
    (re.compile(r"\\[,;:! ]|\\quad|\$|(?<=[\w}])~"), " "),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\belectron[ -]volt"), "electronvolt"),
    (re.compile(r"\\mu(?![a-z]) ?"), "µ"),
    (re.compile(r"\\Omega(?![a-z])"), "Ω"),
    (re.compile(r"\\[dt]frac(?=\{)"), r"\\frac"),
)
_NAME = re.compile(r"([A-Za-z](?:_\{?\w{1,9}\}?)?) ?(?:=|≈|\\approx)(?=[^=])")
_ABOUT = re.compile(
    r"(?:=|≈|~|\\approx|\\sim|(?:about|approximately|approx\.?|roughly|around|in(?= \d{4}\b)) ) ?", re.IGNORECASE
)
_NUMBER = re.compile(
    r"([+-]?)(?:\\frac\{(\d{1,40})\}\{(\d{1,40})\}|(\d{1,40}) ?/ ?(\d{1,40})(?![\d.])|(?=[\d.])"
    r"((?:\d{1,3}(?:,\d{3}){1,9}(?!\d)|\d{1,400})?(?:\.\d{0,400})?)"
    r"(?: ?(?:\\times|\\cdot|[×x*·]) ?10 ?\^ ?([+-]?\d{1,3})|[eE]([+-]?\d{1,3})(?!\w)"
    r"|(?<=10)\^([+-]?\d{1,3})| ?(thousand|million|billion|trillion)\b)?)"
)
_WHOLE = re.compile(r"[+-]?[\d,]+(?:\.0*)?")
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_TIMES = re.compile(r"\\cdot|\\times|[·⋅×*]")
_REMARK = re.compile(r" \([A-Za-z ]{1,40}\)$")
# An unknown unit: a few words, not such as join or deny. What says of what the unit is, is none of it.
_UNIT_LIKE = re.compile(
    r"(?!(?:.* )?(?:and|or|not|but|to|plus|minus|times|by|more|less)\b)"
    r"[^\W\d_][^\s\\{},;:=()]{0,20}(?: [a-zA-Z-]{1,20}){0,3}"
)
_OF_WHAT = re.compile(r" (?:of|in|old|long|high|tall|wide|deep|away|apart|left|each)\b[a-zA-Z -]*$")
# Spaces beside signs, and what only sets type; digits that a space parts stay parted.
_IDLE = re.compile(r"(?<=[^\w\s]) (?!\d{3}(?!\d))| (?=[^\w\s])|[$_]|(?<=_)\{|\\[,;! ]")
_SUBSCRIPT = re.compile(r"_\{(\w{1,9})\}")
_VERDICTS = frozenset(("yes", "no", "true", "false"))


@dataclass(frozen=True)
class _Quantity:
    """A number with what stands around it.

    Attributes:
        value: The number.
        unit: What is behind it, where that is a known unit.
        tail: The same as it is written.
        name: What is before "=".
        whole: Whether it is written as a whole number.
        may_be_product: Whether the tail is one letter close behind (`2m`), in algebra no unit.
    """

    value: Fraction
    unit: Unit | None
    tail: str
    name: str
    whole: bool
    may_be_product: bool


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
    return _unwrapped(answer).lstrip(_DECORATION).rstrip(_DECORATION + ".,;:!?").casefold()


class FreeformReward:
    """A `Reward` for items whose reference is a short text or a number.

    Args:
        mode: robust: finds the answer in tags, in a box, after "answer" or on the last line; plain whole numbers below
            `EXACT_BELOW` must be equal, other numbers within the tolerance; another unit is wrong, or is converted.
            official: RLPR's format alone, or where a reply has no tags the last line "Answer: ..."; every number within
            the tolerance.
    """

    def __init__(self, mode: Literal["robust", "official"] = "robust") -> None:
        self._mode = mode

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the stated answer is the reference as text, or as a number within `RELATIVE_TOLERANCE`."""
        text, reference = response.text, str(item.reference)
        robust = self._mode == "robust"
        stated = (_stated(text) if robust else _stated_in_format(text)) or ""
        answer, gold = normalised(stated), normalised(reference)
        if not answer:
            return Grade(0.0, "no answer stated")
        if answer == gold and not robust:
            return Grade(1.0, "equal as text")
        if len(answer) > LONGEST or len(stated) > 2 * LONGEST:
            return Grade(float(answer == gold), "compared as text")
        expected, number = _quantity(reference, robust), _quantity(stated, robust)
        if expected is not None and number is not None:
            return _compared(expected, number) if robust else _within_tolerance(expected.value, number.value)
        same = robust and (_same_text(gold, answer) or _same_latex(reference, stated))
        return Grade(float(same), "equal as text" if same else "different text")


def _compared(expected: _Quantity, number: _Quantity) -> Grade:
    value, unit, other = number.value, expected.unit, number.unit
    if expected.name and number.name and expected.name != number.name:
        return Grade(0.0, "another name")
    if expected.tail and number.tail:
        if unit is not None and other is not None and unit.dimensions == other.dimensions:
            value *= other.size / unit.size
        elif unit is not None or other is not None or not _same_word(expected.tail, number.tail):
            return Grade(0.0, "another unit")
    elif expected.may_be_product or number.may_be_product:
        return Grade(0.0, "different text")
    elif value != expected.value and unit is not None and unit.percent:
        value *= 100
    elif value != expected.value and other is not None and other.percent:
        value /= 100
    converted = value != number.value
    if expected.whole and number.whole and not converted and max(abs(value), abs(expected.value)) < EXACT_BELOW:
        return Grade(float(expected.value == value), "compared as whole numbers")
    return _within_tolerance(expected.value, value)


def _same_word(one: str, other: str) -> bool:
    return one.casefold().rstrip("s") == other.casefold().rstrip("s")


def _within_tolerance(expected: Fraction, number: Fraction) -> Grade:
    return Grade(float(abs(number - expected) <= RELATIVE_TOLERANCE * abs(expected)), "compared as numbers")


def _same_text(gold: str, answer: str) -> bool:
    """Whether two normalised texts are one but for a first article, spaces beside signs, and signs of typesetting."""
    if gold in _VERDICTS and re.match(rf"{gold}[,.;:] ", answer):
        return not (_VERDICTS - {gold}) & set(re.findall(r"\w+", answer))
    plain = [
        _IDLE.sub("", _ARTICLE.sub("", _SUBSCRIPT.sub(r"\1", text.replace("&", "and")))) for text in (gold, answer)
    ]
    return plain[0] == plain[1]


def _same_latex(gold: str, answer: str) -> bool:
    """Whether two texts are one formula in two spellings, with and without LaTeX."""
    spelled = normalised_latex(gold)
    return bool(spelled) and spelled == normalised_latex(answer)


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


def _unwrapped(text: str) -> str:
    r"""The text with single spaces, powers as `^2`, and without `\text{...}` and the like."""
    text = _SUPERSCRIPT.sub(lambda match: f"^{match.group().translate(_SUPERSCRIPTS)}", text)
    text = " ".join(unicodedata.normalize("NFKC", text).translate(_SIGNS).split())
    for _ in range(9):
        text, found = _WRAPPED.subn(r"\1", text)
        if not found:
            break
    return text


def _quantity(text: str, with_name: bool) -> _Quantity | None:
    """The number that a text is, with its unit; None where it is anything else, such as two numbers."""
    for spelling, plain in _SPELLINGS:
        text = spelling.sub(plain, text)
    text = " ".join(_unwrapped(text).strip(_DECORATION).rstrip(".,;").split())
    named = _NAME.match(text) if with_name else None
    name, text = (named.group(1), text[named.end() :].strip()) if named else ("", text)
    about = _ABOUT.match(text)
    text = _REMARK.sub("", text[about.end() :] if about else text)
    if text.casefold() in _WORDS:
        text = str(_WORDS.index(text.casefold()))
    match = _NUMBER.match(text)
    value = _value(match) if match else None
    if match is None or value is None:
        return None
    tail = _OF_WHAT.sub("", text[match.end() :]).strip()
    unit = split_unit(f"1\\text{{{_TIMES.sub(' ', tail)}}}")[1] if tail and not set(tail) & set("{}") else None
    if tail and unit is None and not (_UNIT_LIKE.fullmatch(tail) and text[match.end()] == " "):
        return None
    whole = _WHOLE.fullmatch(match.group()) is not None
    return _Quantity(value, unit, tail, name, whole, len(tail) == 1 and tail.isalpha() and text[match.end()] != " ")


def _value(match: re.Match[str]) -> Fraction | None:
    """The number of a match of `_NUMBER`: a fraction, or with thousands separators, a power of ten or "million"."""
    sign, *fraction, digits, power, exponent, power_of_ten, large = match.groups()
    if digits is None:
        numerator, denominator = (int(part) for part in fraction if part is not None)
        value = Fraction(numerator, denominator) if denominator else None
    elif not any(map(str.isdigit, digits)):
        value = None
    elif power_of_ten:
        value = Fraction(10) ** int(power_of_ten) if digits == "10" else None
    else:
        value = Fraction(digits.replace(",", "").rstrip(".") or 0) * _LARGE.get(large, 1)
        value *= Fraction(10) ** int(power or exponent or 0)
    return -value if value is not None and sign == "-" else value
