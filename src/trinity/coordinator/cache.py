"""Keeping what the encoder has computed: in memory up to so many bytes, and on disk over runs."""

import contextlib
import os
import sqlite3
import sys
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from trinity.errors import TrinityError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

DIRECTORY = Path(".trinity") / "hidden"
_SELECT = 500


class Lru(Generic[K, V]):
    """The most recently used values, up to a number of bytes; the newest always stays."""

    def __init__(self, limit: int) -> None:
        self._limit, self._bytes = limit, 0
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
            self._bytes -= self._entries.pop(key)[1]
        self._entries[key] = (value, size)
        self._bytes += size
        while self._bytes > self._limit and len(self._entries) > 1:
            self._bytes -= self._entries.popitem(last=False)[1][1]


def cache_directory() -> Path:
    """Where unadapted states are kept: in the repository that DVC runs for, also from its temporary copies."""
    return Path(os.environ.get("DVC_ROOT") or ".") / DIRECTORY


class HiddenCache:
    """Unadapted states of one encoder on disk, shared by processes (SQLite, write-ahead log).

    A file that cannot be read is set aside with a line on stderr; states are then computed again.

    Args:
        directory: Made if absent.
        fingerprint: Of the encoder; names the file.
        hidden_size: Length of a state; a stored row of another length counts as damage.

    Raises:
        TrinityError: by every method, where the file is locked, in the way or cannot be written.
    """

    def __init__(self, directory: Path, fingerprint: str, hidden_size: int) -> None:
        self.path = directory / f"{fingerprint[:32]}.sqlite"
        self._hidden_size = hidden_size
        directory.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            self._set_aside(error)

    def get(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The states that are kept, by text; float64 of shape [d]."""
        by_key = {_key(text): text for text in texts}
        try:
            return self._read(by_key)
        except (sqlite3.DatabaseError, ValueError) as error:
            self._set_aside(error)
            return {}

    def put(self, states: Mapping[str, np.ndarray]) -> None:
        """Keeps states by text, all or none."""
        rows = [(_key(text), np.asarray(state, "<f8").tobytes()) for text, state in states.items()]
        try:
            self._write(rows)
        except sqlite3.DatabaseError as error:
            self._set_aside(error)
            self._write(rows)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS states (text BLOB PRIMARY KEY, h BLOB NOT NULL) WITHOUT ROWID"
            )
            connection.commit()
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _read(self, by_key: Mapping[bytes, str]) -> dict[str, np.ndarray]:
        found, keys = {}, list(by_key)
        for start in range(0, len(keys), _SELECT):
            part = keys[start : start + _SELECT]
            marks = ",".join("?" * len(part))
            for key, blob in self._connection.execute(f"SELECT text, h FROM states WHERE text IN ({marks})", part):
                state = np.frombuffer(blob, "<f8").astype(np.float64)
                if state.shape != (self._hidden_size,) or not np.isfinite(state).all():
                    raise ValueError("a stored state has the wrong length or is not finite")
                found[by_key[key]] = state
        return found

    def _write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO states VALUES (?, ?)", rows)

    def _set_aside(self, error: Exception) -> None:
        if isinstance(error, sqlite3.OperationalError):
            # Locked, full or not writable: the file itself is sound.
            raise TrinityError(f"{self.path}: the cache of hidden states cannot be used: {error}") from None
        if hasattr(self, "_connection"):
            self._connection.close()
        aside = self.path.with_suffix(".damaged")
        with contextlib.suppress(FileNotFoundError):
            os.replace(self.path, aside)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        print(f"{self.path}: damaged ({error}): set aside as {aside.name}, states are computed again", file=sys.stderr)
        self._connection = self._open()


def _key(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
