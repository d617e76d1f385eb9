r"""The form of an answer: a list, a set, a tuple or interval, a union, a relation, or one value.

Works on what `trinity.rewards.maths.latex.normalised` gives; only the outermost structure of each part is read, and
values stay text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from trinity.rewards.maths.latex import FUNCTIONS, normalised
from trinity.rewards.maths.numerals import with_powers_of_ten

RELATIONS = {
    "=": "=", "\\le": "<=", "\\ge": ">=", "<": "<", ">": ">", "\\ne": "!=", "\\in": "in", "\\approx": "~",
    "\\equiv": "=", "<=": "<=", ">=": ">=",
}  # fmt: skip
_CLOSING = {"(": (")", "]"), "[": ("]", ")"), "\\{": ("\\}",), "{": ("}",), "\\langle": ("\\rangle",)}
_OPENERS = frozenset((*_CLOSING, "\\lfloor", "\\lceil"))
_CLOSERS = frozenset((")", "]", "\\}", "}", "\\rangle", "\\rfloor", "\\rceil"))
_TOKEN = re.compile(r"\\text\{[^{}]*\}|\\(?:begin|end)\{[^{}]*\}|\\[A-Za-z]+|\\.|[<>]=|.", re.DOTALL)
_JOINT = re.compile(r"\\text\{\s*,?\s*(and|or)\s*\}", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d,.])(\d{1,3}(?:,\d{3})+)(?!\d|,\d)")
_NAMED = re.compile(rf"[+*/^\d]|(?<!^)-|\\(?:frac|sqrt|cdot|times|div|pm|mp|{'|'.join(FUNCTIONS)})(?![A-Za-z])")
_SET_BUILDER = re.compile(r"^ ?[a-z] ?(?:\\in ?\\reals ?)?[|:] ?(?=[^|]*$)")
_LEADING_SIGN = re.compile(r"^(?:(?:=|\\approx(?![A-Za-z])) ?)+")
_LABEL = re.compile(r"^(?:\\text\{[^{}]*\} ?)+:? ?(?=.)")

_LENGTH = r"\{ ?(?:\\text\{)?[A-Za-z]{1,3}\}?'{0,2} ?\}"
_RATIO_OF_NAMES = re.compile(rf"\\frac ?{_LENGTH} ?{_LENGTH}")
_MATRIX_POWER = re.compile(r"(?:\\text\{)?[A-Za-z]\}? ?\^ ?(?:\{ ?-? ?[\dTn] ?\}|\d|T)")


@dataclass(frozen=True)
class Value:
    """One number, expression or word."""

    text: str


@dataclass(frozen=True)
class Items:
    """Several answers in any order: a list, or a set in braces.

    Attributes:
        joint: The word between them, where there is one; else a comma.
    """

    items: tuple["Form", ...]
    kind: Literal["list", "set"]
    joint: str = ","


@dataclass(frozen=True)
class Ordered:
    """A tuple, a point, a vector or an interval: which of them cannot always be told from the text."""

    opening: str
    items: tuple["Form", ...]
    closing: str


@dataclass(frozen=True)
class Union:
    """Sets joined by cup or setminus signs, which stand in `operators`."""

    parts: tuple["Form", ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """An equation, an inequality or a chain of them: `sides` with `operators` between."""

    sides: tuple[str, ...]
    operators: tuple[str, ...]

    @property
    def assigned(self) -> str | None:
        """The value in `name = value`, or after the last sign of `name = ... = value`; None for any other relation."""
        if not set(self.operators) <= {"=", "~"} and self.operators != ("in",):
            return None
        value = self.sides[-1]
        power_of_matrix = "\\begin" in value and _MATRIX_POWER.fullmatch(self.sides[0])
        return value if power_of_matrix or is_name(self.sides[0]) else None


Form = Value | Items | Ordered | Union | Relation


def forms_of(answer: str) -> list[Form]:
    """The readings of an answer: two where a comma may separate thousands or items, or a million be a unit."""
    text = normalised(answer)
    joined = _THOUSANDS.sub(_without_commas, text) if _commas_group(text) else text
    readings = [joined, text, with_powers_of_ten(joined)]
    return [parse_form(reading) for reading in dict.fromkeys(readings)]


def parse_form(text: str) -> Form:
    """The form of one normalised text."""
    text = text.strip(" ,;")
    parts, joints = _split(text, _separator)
    parts = [part for part in parts if part.strip()]
    if len(parts) > 1:
        joint = next((joint for joint in joints if joint in {"and", "or"}), ",")
        items = [form for part in parts for form in _expanded(part)]
        return Items(tuple(items), "list", joint)
    expanded = _expanded(text)
    return expanded[0] if len(expanded) == 1 else Items(tuple(expanded), "list", "or")


def is_name(text: str) -> bool:
    r"""Whether a side of an equation names what is asked for.

    `x`, `f(x)`, `S_1:S`, `\text{Area}`, `(x, y)`, and a ratio of lengths or a derivative, `\frac{AB}{CD}`.
    """
    if _RATIO_OF_NAMES.fullmatch(text):
        return True
    if text.startswith("(") and text.endswith(")") and not re.search(r"[()]", text[1:-1]):
        return all(part.strip() and is_name(part) for part in text[1:-1].split(","))
    bare = re.sub(r"_(?:\{[^{}]*\}|.)|\([^()]*\)|'", "", text).strip()
    return bool(bare) and len(bare) <= 60 and not _NAMED.search(bare)


def _expanded(text: str) -> list[Form]:
    """The form of one item; two where it holds a plus-minus sign."""
    text = text.strip()
    if ("\\pm" in text or "\\mp" in text) and not (text.startswith("\\{") or (text.startswith("{") and "," in text)):
        plus = re.sub(r"\\pm(?![A-Za-z])", "+", re.sub(r"\\mp(?![A-Za-z])", "-", text))
        minus = re.sub(r"\\pm(?![A-Za-z])", "-", re.sub(r"\\mp(?![A-Za-z])", "+", text))
        return [_single(plus), _single(minus)]
    return [_single(text)]


def _single(text: str) -> Form:
    text = _LEADING_SIGN.sub("", text)
    sets, operators = _split(text, lambda token: token if token in {"\\cup", "\\setminus"} else None)
    relation, relators = _split(text, RELATIONS.get)
    if relators and all(side.strip() for side in relation):
        return Relation(tuple(side.strip() for side in relation), tuple(relators))
    if operators and all(part.strip() for part in sets):
        return Union(tuple(parse_form(part) for part in sets), tuple(operators))
    return _bracketed(text) or _labelled(text)


def _labelled(text: str) -> Form:
    label = _LABEL.match(text)
    rest = text[label.end() :] if label else ""
    if rest and rest[0] in "([\\{" and not rest.startswith("\\text"):
        return _bracketed(rest) or Value(text)
    return Value(text)


def _bracketed(text: str) -> Form | None:
    tokens = _TOKEN.findall(text)
    if len(tokens) < 2 or tokens[0] not in _CLOSING or tokens[-1] not in _CLOSING[tokens[0]]:
        return None
    depth = 0
    for number, token in enumerate(tokens):
        depth += (token in _OPENERS) - (token in _CLOSERS)
        if depth == 0 and number < len(tokens) - 1:
            return None
    inner = "".join(tokens[1:-1])
    parts, _ = _split(inner, lambda token: token if token in {",", ";"} else None)
    if tokens[0] in {"\\{", "{"}:
        inner = _SET_BUILDER.sub("", inner)
        content = parse_form(inner) if inner.strip() else None
        if isinstance(content, Items):
            return Items(content.items, "set")
        if tokens[0] == "{" and content is not None:
            return content
        if isinstance(content, Relation) and content.assigned is None:
            return content  # { x | x > 2 }
        return Items((content,) if content is not None else (), "set")
    if len(parts) > 1:
        items = tuple(form for part in parts if part.strip() for form in (_single(part.strip()),))
        return Ordered(tokens[0], items, tokens[-1])
    return parse_form(inner) if tokens[0] == "(" and tokens[-1] == ")" and inner.strip() else None


def _separator(token: str) -> str | None:
    joint = _JOINT.fullmatch(token)
    return joint.group(1).lower() if joint else token if token in {",", ";"} else None


def _split(text: str, kind: Callable[[str], str | None]) -> tuple[list[str], list[str]]:
    """The parts between separators outside all brackets, and the kinds of these."""
    parts: list[str] = []
    kinds: list[str] = []
    current: list[str] = []
    depth = 0
    for token in _TOKEN.findall(text):
        depth += (token in _OPENERS or token.startswith("\\begin")) - (token in _CLOSERS or token.startswith("\\end"))
        depth = max(depth, 0)
        found = kind(token) if depth == 0 else None
        if found is None:
            current.append(token)
        else:
            parts.append("".join(current))
            kinds.append(found)
            current = []
    return [*parts, "".join(current)], kinds


def _commas_group(text: str) -> bool:
    """Whether commas between digits may separate thousands: not in brackets, unless other commas there have spaces."""
    return (text[:1] not in {"(", "["} and not text.startswith("\\{")) or ", " in text


def _without_commas(match: re.Match[str]) -> str:
    return match.group().replace(",", "")
