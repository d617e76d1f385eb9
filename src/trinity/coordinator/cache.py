"""Unadapted states on disk, kept over runs."""

import contextlib
import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from trinity.errors import TrinityError

DIRECTORY = Path(".trinity") / "hidden"
_SELECT = 500


def cache_directory() -> Path:
    """Where unadapted states are kept: in the repository that DVC runs for, also from its temporary copies."""
    return Path(os.environ.get("DVC_ROOT") or ".") / DIRECTORY


class HiddenCache:
    """Unadapted states of one encoder on disk, shared by processes (SQLite, write-ahead log).

    A file that cannot be read is set aside with a line on stderr; states are then computed again.

    Args:
        directory: Made if absent.
        name: Of the file: the encoder's fingerprint, and the engine.
        hidden_size: Length of a state; a stored row of another length counts as damage.

    Raises:
        TrinityError: by every method, where the file is locked, in the way or cannot be written.
    """

    def __init__(self, directory: Path, name: str, hidden_size: int) -> None:
        self.path = directory / f"{name}.sqlite"
        self._hidden_size = hidden_size
        directory.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            self._set_aside(error)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """The states that are kept, by the key of their reading; float64 of shape [d]."""
        try:
            return self._read(keys)
        except (sqlite3.DatabaseError, ValueError) as error:
            self._set_aside(error)
            return {}

    def put(self, states: Mapping[bytes, np.ndarray]) -> None:
        """Keeps states by the key of their reading, all or none."""
        rows = [(key, np.asarray(state, "<f8").tobytes()) for key, state in states.items()]
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
                "CREATE TABLE IF NOT EXISTS states (reading BLOB PRIMARY KEY, h BLOB NOT NULL) WITHOUT ROWID"
            )
            connection.commit()
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        found = {}
        for start in range(0, len(keys), _SELECT):
            part = keys[start : start + _SELECT]
            marks = ",".join("?" * len(part))
            for key, blob in self._connection.execute(
                f"SELECT reading, h FROM states WHERE reading IN ({marks})", part
            ):
                state = np.frombuffer(blob, "<f8").astype(np.float64)
                if state.shape != (self._hidden_size,) or not np.isfinite(state).all():
                    raise ValueError("a stored state has the wrong length or is not finite")
                found[key] = state
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
