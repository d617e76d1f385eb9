"""From the text of one value to the value. Imported in the child process alone."""

import re

import sympy

from trinity.rewards.maths.expression import TooLarge, Unreadable, read_expression


def read_value(text: str) -> sympy.Basic | None:
    """The value of an expression; of what only math-verify's parser reads (sums, integrals), its value."""
    try:
        return read_expression(in_radians(text).replace("\\degree", ""))
    except TooLarge:
        return None
    except Unreadable:
        return _read_elsewhere(text) if re.search(r"\\(?:sum|int|prod|lim|log|gcd|max|min)(?![a-z])", text) else None


def in_radians(text: str) -> str:
    """Degrees inside a trigonometric function as radians."""
    if "\\degree" not in text or not re.search(r"\\(?:sin|cos|tan|cot|sec|csc)(?![a-z])", text):
        return text
    return re.sub(r"([\d.]+) ?\\degree", r"(\1\\cdot\\pi/180)", text)


def _read_elsewhere(text: str) -> sympy.Basic | None:
    from math_verify import parse

    found = parse(f"${text}$", parsing_timeout=None)
    return found[0].doit() if found and isinstance(found[0], sympy.Expr) else None
