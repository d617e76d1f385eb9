"""Random numbers keyed by what they are for, so that no order of events can change them.

Every draw names its purpose: `uniform("policy", seed, task, item, iteration, turn, "agent")`. The same key gives the
same number on every machine; two keys give independent numbers.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Key = str | int | None


def _digest(parts: tuple[Key, ...], size: int) -> int:
    return int.from_bytes(blake2b(json.dumps(parts).encode(), digest_size=size).digest(), "big")


def uniform(*parts: Key) -> float:
    """One number in [0, 1) with 53 random bits."""
    return (_digest(parts, 8) >> 11) / (1 << 53)


def integer(below: int, *parts: Key) -> int:
    """One integer in 0 .. below - 1."""
    return int(uniform(*parts) * below)


def generator(*parts: Key) -> np.random.Generator:
    """A counter-based generator (Philox) for many draws under one key."""
    return np.random.Generator(np.random.Philox(key=_digest(parts, 16)))


def shuffled(items: Sequence[T], *parts: Key) -> list[T]:
    """The items in a keyed random order; a prefix of it is a keyed draw without replacement."""
    return [items[i] for i in generator(*parts).permutation(len(items))]
