"""The most recently used values, up to a number of bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """The most recently used values, up to a number of bytes; the newest always stays.

    Attributes:
        nbytes: Of all values here.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self.nbytes = limit, 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value of a key, now the most recently used; None if absent."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keeps a value of so many bytes, dropping the least recently used ones beyond the limit."""
        if key in self._entries:
            self.nbytes -= self._entries.pop(key)[1]
        self._entries[key] = (value, size)
        self.nbytes += size
        while self.nbytes > self._limit and len(self._entries) > 1:
            self.nbytes -= self._entries.popitem(last=False)[1][1]
