"""Numbers that are written in words, with a decimal comma, or as a decimal of many digits."""

import re

import sympy

from trinity.rewards.maths.units import is_unit

_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_IN_WORDS = re.compile(r"(?:(negative|minus) )?([a-z]+)(?:(?:-| )([a-z]+))?(?: ?\((\d+)\))?", re.IGNORECASE)
_LARGE = re.compile(r"(?<=\d) ?\\text\{(thousand|million|billion|trillion)s?\}")
_ZEROS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_DECIMAL = re.compile(r"-?\d{1,40}\.\d{1,40}")
_COMMA = re.compile(r"(-?)(\d{1,40}),(\d{1,40})")
_LONG = re.compile(r"-?\d{0,200}\.\d{1,200}")
MANY_DIGITS = 12


def without_number_words(text: str) -> str:
    r"""A normalised text that is a number in words as digits (`\text{forty-two} (42)`); any other as it is."""
    plain = " ".join(re.sub(r"\\text\{([^{}]*)\}", r" \1 ", text).replace(" -", "-").replace("- ", "-").split())
    match = _IN_WORDS.fullmatch(plain) if len(text) <= 80 else None
    if match is None:
        return text
    first, second, digits = match[2].lower(), (match[3] or "").lower(), match[4]
    value = _SMALL.get(first, _TENS.get(first))
    unit = ""
    if value is None:
        return text
    if first in _TENS and 0 < _SMALL.get(second, 0) < 10:
        value += _SMALL[second]
    elif second and is_unit(second):
        unit = f" \\text{{{second}}}"
    elif second:
        return text
    return text if digits and int(digits) != value else ("-" if match[1] else "") + str(value) + unit


def with_powers_of_ten(text: str) -> str:
    r"""A normalised text with the million of `2.5 \text{million}` as a power of ten."""
    return _LARGE.sub(lambda match: f"\\times 10^{{{_ZEROS[match[1]]}}}", text)


def with_decimal_point(gold: str, answer: str) -> tuple[str, str]:
    """A reference and an answer of which one has a decimal comma and the other a point, both with a point.

    `1,22` answers 1.22. As a reference it may be a list, and is read so; `0,22` is a number. 1,220 is a thousand.
    """
    in_gold, in_answer = _COMMA.fullmatch(gold), _COMMA.fullmatch(answer)
    if in_gold and in_gold[2] == "0" and _DECIMAL.fullmatch(answer):
        return gold.replace(",", "."), answer
    grouped = in_answer and len(in_answer[3]) == 3 and in_answer[2] != "0" and len(in_answer[2]) < 4
    if in_answer and not grouped and _DECIMAL.fullmatch(gold):
        return gold, answer.replace(",", ".")
    return gold, answer


def is_decimal_of(text: str, value: sympy.Expr) -> bool:
    """Whether a text is a decimal of at least `MANY_DIGITS` significant digits and those of a number, or rounded."""
    if not _LONG.fullmatch(text) or len(text.lstrip("-0.").replace(".", "").rstrip("0")) < MANY_DIGITS:
        return False
    if value.free_symbols or not value.is_real:
        return False
    step = sympy.Rational(1, 10 ** len(text.partition(".")[2]))
    missing = (value - sympy.Rational(text)).evalf(30, maxn=250) * (-1 if text.startswith("-") else 1)
    return bool(-step / 2 <= missing < step)
