"""Python values as JSON that come back as they were: JSON alone turns tuples into lists and keys into text."""

from fractions import Fraction
from typing import Any

_TUPLE, _PAIRS, _FRACTION = "__tuple__", "__pairs__", "__fraction__"
_TAGS = (_TUPLE, _PAIRS, _FRACTION)


def pack(value: Any) -> Any:
    """The value as JSON values: lists, dicts with text keys, text, numbers, booleans and None stay as they are.

    Raises:
        TypeError: it holds a value of another type.
    """
    if isinstance(value, tuple):
        return {_TUPLE: [pack(one) for one in value]}
    if isinstance(value, list):
        return [pack(one) for one in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and key not in _TAGS for key in value):
            return {key: pack(one) for key, one in value.items()}
        return {_PAIRS: [[pack(key), pack(one)] for key, one in value.items()]}
    if isinstance(value, Fraction):
        return {_FRACTION: str(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} cannot be packed as JSON")


def unpack(value: Any) -> Any:
    """The value that `pack` was given."""
    if isinstance(value, list):
        return [unpack(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_TUPLE}:
        return tuple(unpack(one) for one in value[_TUPLE])
    if value.keys() == {_PAIRS}:
        return {unpack(key): unpack(one) for key, one in value[_PAIRS]}
    if value.keys() == {_FRACTION}:
        return Fraction(value[_FRACTION])
    return {key: unpack(one) for key, one in value.items()}
