"""Whether two answers are the same: by form, and by exact values. Imported in the child process alone."""

import itertools
import re
from fractions import Fraction

import sympy

from trinity.rewards.maths.forms import Form, Items, Ordered, Relation, Union, Value, forms_of, parse_form
from trinity.rewards.maths.latex import normalised
from trinity.rewards.maths.numerals import is_decimal_of, with_decimal_point
from trinity.rewards.maths.reading import in_radians, read_value
from trinity.rewards.maths.regions import region_of
from trinity.rewards.maths.units import Unit, split_unit, summed
from trinity.rewards.maths.values import same_value

_CHOICE = re.compile(r"(?:\((?P<a>[A-Ja-j])\)|(?P<b>[A-Ja-j])[).:]?)(?:[ .:].*)?", re.DOTALL)
_LETTERED = re.compile(r"\s*(?:\\(?:text|textbf|mathrm|mathbf)\{\s*)?\(([A-J])\)[}\s\\]+[^}\s\\]")
_BASE = re.compile(r"[({]?([0-9A-Fa-f]+)[)}]?_(?:\{?(\d{1,2})\}?)")
_RATIO = re.compile(r"[\d.]+(?: ?: ?[\d.]+)+")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?: ?\\text\{([ap])\.?m\.?\}| ?([ap]) ?m)?", re.IGNORECASE)
_LETTER_UNIT = r"(?:\\text\{\w{1,20}\}|[mgshLNJKVWA])"
# Units of one letter that are not marked as text ("5 m", "5 m/s^2"): symbols, unless the other side says otherwise.
_PLAIN_UNIT = re.compile(rf"(?<=[\d}}]) {_LETTER_UNIT}(?:\^\{{?\d\}}?)?(?:/{_LETTER_UNIT}(?:\^\{{?\d\}}?)?)?$")
_EMPTY = re.compile(r"\\emptyset|\\\{ ?\\\}|(?:the )?(?:none|empty set|no (?:\w+ )?solutions?)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+")
_ARTICLES = frozenset(("a", "an", "the"))


def equal_answers(gold: str, answer: str) -> bool:
    """Whether an answer is the reference, as a careful reader sees it.

    Not quite symmetric: only a reference that is a lettered choice makes `(C) 12` mean C.
    """
    chosen = _LETTERED.match(answer)
    if chosen and re.fullmatch(r"[A-J]", gold.strip()):
        return chosen[1] == gold.strip()
    if "," in gold or "," in answer:
        pair = (normalised(gold), normalised(answer))
        gold, answer = (gold, answer) if with_decimal_point(*pair) == pair else with_decimal_point(*pair)
    references = forms_of(gold)
    if len(references) == 1 and isinstance(references[0], Value) and _is_choice(gold, references[0].text):
        return _same_choice(references[0].text, answer)
    return any(_same(expected, given) for expected, given in itertools.product(references, forms_of(answer)))


def _is_choice(gold: str, text: str) -> bool:
    return bool(re.fullmatch(r"\(?[A-J]\)?", text)) and text.strip("()") != gold.strip()


def _same_choice(text: str, answer: str) -> bool:
    match = _CHOICE.fullmatch(normalised(answer))
    return match is not None and (match["a"] or match["b"]).upper() == text.strip("()")


def _same(gold: Form, answer: Form) -> bool:
    if isinstance(gold, Value) and isinstance(answer, Value):
        return _same_text_value(gold.text, answer.text)
    if isinstance(gold, Relation) and isinstance(answer, Relation):
        return _same_relation(gold, answer) or _same_region(gold, answer)
    if isinstance(gold, Relation) or isinstance(answer, Relation):
        return _same_assigned(gold, answer) or _same_region(gold, answer)
    if isinstance(gold, Union) or isinstance(answer, Union):
        return _same_region(gold, answer)
    if isinstance(gold, Ordered) and isinstance(answer, Ordered):
        return _same_brackets(gold, answer) and _same_in_order(gold.items, answer.items)
    if isinstance(gold, Items) and isinstance(answer, Items):
        return _same_items(gold, answer) or _same_region(gold, answer)
    if isinstance(gold, Items) or isinstance(answer, Items):
        return _same_mixed(gold, answer) or _same_region(gold, answer)
    return _same_vector(gold, answer) or _same_region(gold, answer)


def _same_brackets(gold: Ordered, answer: Ordered) -> bool:
    # Only of two numbers do square brackets make an interval; angles are another way to write a vector.
    if len(gold.items) != 2 or len(answer.items) != 2:
        return True
    return (gold.opening, gold.closing) == (answer.opening, answer.closing) or (
        {gold.opening, answer.opening} == {"(", "\\langle"} and {gold.closing, answer.closing} == {")", "\\rangle"}
    )


def _same_in_order(gold: tuple[Form, ...], answer: tuple[Form, ...]) -> bool:
    return len(gold) == len(answer) and all(map(_same, gold, answer))


def _same_items(gold: Items, answer: Items) -> bool:
    named, given = _assignments(gold), _assignments(answer)
    if named is not None and given is not None:
        return named.keys() == given.keys() and all(_same(named[name], given[name]) for name in named)
    expected, left = _plain_items(gold), list(_plain_items(answer))
    if gold.kind == answer.kind == "set":
        expected, left = _distinct(expected), _distinct(left)
    if len(expected) != len(left):
        return False
    for item in expected:
        match = next((index for index, other in enumerate(left) if _same(item, other)), None)
        if match is None:
            return False
        del left[match]
    return True


def _distinct(items: list[Form]) -> list[Form]:
    kept: list[Form] = []
    for item in items:
        if not any(_same(item, other) for other in kept):
            kept.append(item)
    return kept


def _plain_items(items: Items) -> list[Form]:
    """The items, without the name that the first or all of them are given (`n = 1, 2`, `x = 1 or x = 2`)."""
    names = {item.sides[0] for item in items.items if isinstance(item, Relation) and item.assigned is not None}
    if len(names) != 1 or any(isinstance(item, Relation) and item.assigned is None for item in items.items):
        return list(items.items)
    return [parse_form(item.assigned or "") if isinstance(item, Relation) else item for item in items.items]


def _assignments(items: Items) -> dict[str, Form] | None:
    """By name, the value, where each item is an assignment to a name of its own."""
    found: dict[str, Form] = {}
    for item in items.items:
        if not isinstance(item, Relation) or item.assigned is None or item.operators[-1] == "in":
            return None
        found[item.sides[0]] = parse_form(item.assigned)
    return found if len(found) == len(items.items) > 1 else None


def _same_mixed(gold: Form, answer: Form) -> bool:
    """A list against something that is none."""
    items, other = (gold, answer) if isinstance(gold, Items) else (answer, gold)
    assert isinstance(items, Items)
    if isinstance(other, Value) and _is_empty(other.text) and not items.items:
        return True
    if isinstance(other, Ordered) and items.kind == "list":
        named = _assignments(items)
        values = [named[name] for name in sorted(named)] if named else _plain_items(items)
        round_brackets = len(other.items) != 2 or (other.opening, other.closing) == ("(", ")")
        return round_brackets and _same_in_order(other.items, tuple(values))
    return len(items.items) == 1 and _same(items.items[0], other)


def _same_vector(gold: Form, answer: Form) -> bool:
    """A tuple against a matrix of one column or row."""
    ordered, other = (gold, answer) if isinstance(gold, Ordered) else (answer, gold)
    if not isinstance(ordered, Ordered) or not isinstance(other, Value) or "\\begin" not in other.text:
        return False
    matrix = read_value(other.text)
    if not isinstance(matrix, sympy.MatrixBase) or 1 not in matrix.shape or len(matrix) != len(ordered.items):
        return False
    values = [read_value(item.text) if isinstance(item, Value) else None for item in ordered.items]
    return all(value is not None and same_value(value, entry) for value, entry in zip(values, matrix, strict=True))


def _same_assigned(gold: Form, answer: Form) -> bool:
    relation, other = (gold, answer) if isinstance(gold, Relation) else (answer, gold)
    assert isinstance(relation, Relation)
    if relation.assigned is not None and _same(parse_form(relation.assigned), other):
        return True
    if set(relation.operators) <= {"=", "~"} and all(_is_constant(side) for side in relation.sides):
        sides = relation.sides if "~" in relation.operators else relation.sides[-1:]
        return any(_same(parse_form(side), other) for side in sides)
    return "~" in relation.operators and any(_same(parse_form(side), other) for side in relation.sides)


def _is_constant(text: str) -> bool:
    value = read_value(split_unit(text)[0])
    return value is not None and not value.free_symbols


def _same_relation(gold: Relation, answer: Relation) -> bool:
    if gold.sides == answer.sides and gold.operators == answer.operators:
        return True
    if gold.assigned is not None and answer.assigned is not None:
        functions = any("(" in side or "text" in side for side in (gold.sides[0], answer.sides[0]))
        if gold.sides[0] == answer.sides[0] or functions:
            return _same(parse_form(gold.assigned), parse_form(answer.assigned))
    if len(gold.sides) != 2 or len(answer.sides) != 2:
        return False
    expected, given = _difference(gold), _difference(answer)
    if expected is None or given is None:
        return False
    return _proportional(expected, given, gold.operators[0], answer.operators[0])


def _difference(relation: Relation) -> sympy.Expr | None:
    left, right = (read_value(side) for side in relation.sides)
    if left is None or right is None or isinstance(left, sympy.MatrixBase) or isinstance(right, sympy.MatrixBase):
        return None
    return sympy.numer(sympy.together(left - right)) if relation.operators[0] == "=" else left - right


def _proportional(gold: sympy.Expr, answer: sympy.Expr, sign: str, other: str) -> bool:
    """Whether one side is the other times a number that keeps the relation's sign, or turns it round."""
    if gold.free_symbols != answer.free_symbols or not gold.free_symbols:
        return False
    quotient = sympy.simplify(gold / answer)
    if quotient.free_symbols or not quotient.is_finite or quotient.is_zero:
        return False
    if sign in {"=", "!="}:
        return sign == other
    turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(other)
    return sign == (other if quotient.is_positive else turned)


def _same_region(gold: Form, answer: Form) -> bool:
    expected = region_of(gold)
    given = region_of(answer) if expected is not None else None
    if expected is None or given is None:
        return False
    return bool(expected == given or expected.symmetric_difference(given).is_empty)


def _same_text_value(gold: str, answer: str) -> bool:
    marked = tuple(_PLAIN_UNIT.sub(_marked, text) for text in (gold, answer))
    return _same_quantity(gold, answer) or (marked != (gold, answer) and _same_quantity(*marked))


def _marked(match: re.Match[str]) -> str:
    return re.sub(r"(?<![A-Za-z{])([A-Za-z])(?![A-Za-z}])", r"\\text{\1}", match.group())


def _same_quantity(gold: str, answer: str) -> bool:
    if gold == answer or (_is_empty(gold) and _is_empty(answer)):
        return True
    based = _same_in_base(gold, answer)
    if based is not None:
        return based
    if any(":" in re.sub(r"\\text\{[^{}]*\}", "", text) for text in (gold, answer)):
        return _same_ratio(gold, answer)
    gold, answer = in_radians(gold), in_radians(answer)
    (expected, unit), (given, other) = (summed(text) or split_unit(text) for text in (gold, answer))
    if "\\text" in expected or "\\text" in given or _are_words(gold, answer):
        return _same_words(gold, answer)
    factors = _factors(unit, other)
    left, right = read_value(expected), read_value(given)
    if left is None or right is None:
        return expected == given and 1 in factors
    same = any(same_value(left, right * sympy.Rational(factor.numerator, factor.denominator)) for factor in factors)
    return same or (1 in factors and "." not in expected and is_decimal_of(given, left))


def _factors(gold: Unit | None, answer: Unit | None) -> list[Fraction]:
    """By what the answer's number may be multiplied to be compared; empty where the units cannot agree."""
    if gold and answer and not (gold.percent or answer.percent):
        return [answer.size / gold.size] if gold.dimensions == answer.dimensions else []
    percent, other = gold is not None and gold.percent, answer is not None and answer.percent
    if percent == other:
        return [Fraction(1)]
    return [Fraction(1), Fraction(100) if percent else Fraction(1, 100)]


def _same_in_base(gold: str, answer: str) -> bool | None:
    """Numerals with a base as subscript; without one on one side the digits count. None where neither has a base."""
    expected, given = (_BASE.fullmatch(text.replace("\\text", "")) for text in (gold, answer))
    if expected and given:
        try:
            return int(expected[1], int(expected[2])) == int(given[1], int(given[2]))
        except ValueError:
            return False
    if expected or given:
        digits = (expected or given or [""])[1]
        return digits.upper() == (answer if expected else gold).strip("() ").upper()
    return None


def _same_ratio(gold: str, answer: str) -> bool:
    """Ratios by value, times of day by hour and minute; a fraction with the same value answers a ratio."""
    clock, other = _CLOCK.fullmatch(gold), _CLOCK.fullmatch(answer)
    if clock and other and int(clock[2]) < 60 and int(other[2]) < 60:
        halves = [(match[3] or match[4] or "").lower() for match in (clock, other)]
        agree = "" in halves or halves[0] == halves[1]
        return agree and (int(clock[1]), int(clock[2])) == (int(other[1]), int(other[2]))
    parts = [
        [read_value(part) for part in text.split(":")]
        if _RATIO.fullmatch(text) or ":" in text
        else [read_value(text), sympy.S.One]
        for text in (gold, answer)
    ]
    if len(parts[0]) != len(parts[1]) or any(part is None or part == 0 for part in itertools.chain(*parts)):
        return _same_words(gold, answer)
    first, second = parts
    return all(same_value(a * second[0], b * first[0]) for a, b in zip(first, second, strict=True))


def _is_empty(text: str) -> bool:
    return bool(_EMPTY.fullmatch(re.sub(r"\\text\{([^{}]*)\}", r"\1", text)))


def _are_words(gold: str, answer: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z]{3,}", gold) and re.fullmatch(r"[A-Za-z]{3,}", answer))


def _same_words(gold: str, answer: str) -> bool:
    words = [
        [word.lower() for word in _WORD.findall(text.replace("\\text", " ")) if word.lower() not in _ARTICLES]
        for text in (gold, answer)
    ]
    return bool(words[0]) and words[0] == words[1]
