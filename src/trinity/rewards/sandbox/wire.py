"""Inside: values on their way between a program and its tests, which run in two processes that do not trust each other.

A value of a plain type crosses as itself. Anything else stays where it is and crosses as a number that stands for it:
so an object whose `__eq__` always says yes is, on the other side, equal to nothing.
"""

from __future__ import annotations

import base64
import collections
import datetime
import decimal
import fractions
import json
import numbers
import socket
import struct
from collections.abc import Callable
from typing import Any

LARGEST = 64 << 20

Keep = Callable[[Any], Any]


def send(link: socket.socket, message: Any) -> None:
    """One message; the values in it are encoded already."""
    body = json.dumps(message).encode()
    link.sendall(struct.pack("!I", len(body)) + body)


def receive(link: socket.socket) -> Any:
    """The next message.

    Raises:
        EOFError: the other side has ended.
        ValueError: it is larger than `LARGEST`, or no JSON.
    """
    size = struct.unpack("!I", _exactly(link, 4))[0]
    if size > LARGEST:
        raise ValueError("a message is too large")
    return json.loads(_exactly(link, size))


def _exactly(link: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        try:
            part = link.recv(min(count, 1 << 20))
        except ConnectionError:
            part = b""
        if not part:
            raise EOFError("the program ended")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def encode(value: Any, keep: Keep) -> Any:
    """A JSON value; `keep` gives what stands for an object that cannot cross."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return {"int": hex(value)} if value.bit_length() > 64 else value
    if kind is float:
        return {"float": value.hex()}
    if kind is list:
        return [encode(one, keep) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(one, keep) for one in tuple.__iter__(value)]}
    if kind in (set, frozenset):
        return {kind.__name__: [encode(one, keep) for one in value]}
    if kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter):
        return {"dict": [[encode(key, keep), encode(one, keep)] for key, one in dict.items(value)]}
    if kind is collections.deque:
        return {"deque": [encode(one, keep) for one in value]}
    if kind in (bytes, bytearray):
        return {kind.__name__: base64.b64encode(value).decode()}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind is decimal.Decimal:
        return {"decimal": str(value)}
    if kind is fractions.Fraction:
        return {"fraction": [hex(value.numerator), hex(value.denominator)]}
    if kind in (datetime.date, datetime.datetime):
        return {kind.__name__: value.isoformat()}
    if isinstance(value, numbers.Integral):
        return encode(int(value), keep)
    if isinstance(value, numbers.Real):
        return encode(float(value), keep)
    return keep(value)


def decode(value: Any, stands_for: Callable[[Any], Any]) -> Any:
    """The value of a JSON value; `stands_for` gives what a kept object is on this side."""
    if isinstance(value, list):
        return [decode(one, stands_for) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind in _SCALARS:
        return _SCALARS[kind](content)
    if kind in _MANY:
        return _MANY[kind](decode(one, stands_for) for one in content)
    if kind == "dict":
        return {decode(key, stands_for): decode(one, stands_for) for key, one in content}
    return stands_for(value)


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "int": lambda text: int(text, 16),
    "float": float.fromhex,
    "bytes": base64.b64decode,
    "bytearray": lambda text: bytearray(base64.b64decode(text)),
    "complex": lambda parts: complex(*map(float.fromhex, parts)),
    "decimal": decimal.Decimal,
    "fraction": lambda parts: fractions.Fraction(*(int(part, 16) for part in parts)),
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
}
_MANY: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "deque": collections.deque,
}
