r"""Answers that are sets of real numbers: intervals, unions, inequalities. Imported in the child process alone."""

import itertools
import re

import sympy
from sympy import S, Symbol

from trinity.rewards.maths.expression import Unreadable, read_expression
from trinity.rewards.maths.forms import Form, Items, Ordered, Relation, Union, Value, parse_form

_ALL = ("\\reals", "\\text{all} \\text{real} \\text{numbers}", "\\text{all reals}", "\\text{all real numbers}")
_OPERATORS = {"<": sympy.Lt, ">": sympy.Gt, "<=": sympy.Le, ">=": sympy.Ge, "!=": sympy.Ne}


def region_of(form: Form) -> sympy.Set | None:
    """The set of real numbers that an answer describes; None where it describes none, or not one that is read here."""
    try:
        return _region(form)
    except (Unreadable, NotImplementedError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def _region(form: Form) -> sympy.Set | None:
    if isinstance(form, Value):
        return S.Reals if form.text in _ALL else S.EmptySet if form.text == "\\emptyset" else None
    if isinstance(form, Ordered):
        return _interval(form)
    if isinstance(form, Union):
        return _union(form)
    if isinstance(form, Relation):
        return _solutions(form)
    if form.kind == "set":
        return sympy.FiniteSet(*(_number(item.text) for item in form.items if isinstance(item, Value)))
    return _combined(form)


def _interval(form: Ordered) -> sympy.Set | None:
    if len(form.items) != 2 or "\\langle" in form.opening:
        return None
    low, high = (_number(item.text) if isinstance(item, Value) else None for item in form.items)
    if low is None or high is None:
        return None
    return sympy.Interval(low, high, form.opening == "(", form.closing == ")")


def _union(form: Union) -> sympy.Set | None:
    regions = [region for part in form.parts if (region := _region(part)) is not None]
    if len(regions) < len(form.parts):
        return None
    total = regions[0]
    for operator, region in zip(form.operators, regions[1:], strict=True):
        total = total | region if operator == "\\cup" else total - region
    return total


def _combined(form: Items) -> sympy.Set | None:
    """Inequalities side by side: "or" joins, "and" and a comma restrict, unless nothing would be left."""
    if not all(isinstance(item, Relation) for item in form.items):
        return None
    regions = [_region(item) for item in form.items]
    if any(region is None for region in regions):
        return None
    common = sympy.Intersection(*regions)
    return sympy.Union(*regions) if form.joint == "or" or common.is_empty else common


def _solutions(form: Relation) -> sympy.Set | None:
    if form.operators == ("in",):
        return _region(parse_form(form.sides[1]))
    if not set(form.operators) <= _OPERATORS.keys():
        return None
    sides = [read_expression(re.sub(r"^[A-Za-z] ?\([a-z]\)$", "y", side)) for side in form.sides]
    symbols = set().union(*(side.free_symbols for side in sides))
    if len(symbols) != 1:
        return None
    (symbol,) = symbols
    regions = [
        _half(operator, *pair, symbol) for operator, pair in zip(form.operators, itertools.pairwise(sides), strict=True)
    ]
    return sympy.Intersection(*regions)


def _half(operator: str, left: sympy.Expr, right: sympy.Expr, symbol: Symbol) -> sympy.Set:
    if right == symbol and not left.free_symbols:
        turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(operator, operator)
        return _half(turned, right, left, symbol)
    if left == symbol and not right.free_symbols:
        if operator == "!=":
            return S.Reals - sympy.FiniteSet(right)
        below = operator in {"<", "<="}
        low, high = (-sympy.oo, right) if below else (right, sympy.oo)
        return sympy.Interval(low, high, not below and operator == ">", below and operator == "<")
    return _OPERATORS[operator](left, right).as_set()


def _number(text: str) -> sympy.Expr:
    value = read_expression(text)
    if value.free_symbols or not value.is_extended_real:
        raise Unreadable(text)
    return value
