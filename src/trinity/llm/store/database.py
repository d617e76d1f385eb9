"""The response store: one SQLite file, written by several processes at once.

A process that is killed in the middle of a write leaves the store as it was before that write (write-ahead log). After
a power cut the last seconds may be missing; the file stays sound.
"""

import contextlib
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from trinity.errors import StoreError
from trinity.llm.call import Call, Reply

FORMAT = 1
_APPLICATION = 0x7472696E
_SCHEMA = """
CREATE TABLE replies (
    key BLOB PRIMARY KEY, call BLOB NOT NULL, reply TEXT NOT NULL, digest BLOB NOT NULL, created REAL NOT NULL);
CREATE TABLE spent (
    key BLOB NOT NULL, agent TEXT NOT NULL, role TEXT NOT NULL, stage TEXT NOT NULL, model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    usd REAL, seconds REAL NOT NULL, tries INTEGER NOT NULL, created REAL NOT NULL);
CREATE TABLE totals (usd REAL NOT NULL, calls INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
CREATE TABLE reused (
    agent TEXT, role TEXT, stage TEXT, calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, usd REAL NOT NULL, PRIMARY KEY (agent, role, stage));
CREATE TABLE claims (key BLOB PRIMARY KEY, owner TEXT NOT NULL, usd REAL NOT NULL);
CREATE TABLE packs (name TEXT PRIMARY KEY);
"""


class DamagedEntry(StoreError):
    """One stored response is not what was written."""


def store_directory() -> Path:
    """Where responses are kept: in the repository that DVC runs for, also from its temporary copies."""
    return Path(os.environ.get("DVC_ROOT") or ".") / ".trinity" / "responses"


@dataclass(frozen=True)
class Entry:
    """A stored call and reply.

    Attributes:
        created: Seconds since 1970 at which the reply came.
    """

    call: Call
    reply: Reply
    created: float

    @property
    def digest(self) -> bytes:
        """SHA-256 over key, reply and time: what tells damage, and orders two replies of one time."""
        return _digest(self.call.key, self.reply.canonical.decode("ascii"), self.created)


class Database:
    """The SQLite file. All methods are quick; one connection a process.

    Args:
        directory: Holds `store.sqlite`; made if absent.

    Raises:
        StoreError: by every method, where the file is damaged, of another format, locked for a minute or not writable.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / "store.sqlite"
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{directory}: the response store cannot be opened: {error.strerror}") from None
        with self.errors():
            self.connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            self._prepare()

    def _prepare(self) -> None:
        if self._format() == (0, 0):
            self.connection.execute("PRAGMA journal_mode=WAL")
            with self.transaction():
                if self._format() == (0, 0):  # no other process was quicker
                    for statement in _SCHEMA.split(";"):
                        self.connection.execute(statement)
                    self.connection.execute(f"PRAGMA application_id={_APPLICATION}")
                    self.connection.execute(f"PRAGMA user_version={FORMAT}")
        application, version = self._format()
        if (application, version) != (_APPLICATION, FORMAT):
            raise StoreError(
                f"{self.path}: no response store of format {FORMAT} (it says {version}): move it away, then "
                "`trinity responses import` reads packs into a new one"
            )
        self.connection.execute("PRAGMA synchronous=NORMAL")

    def _format(self) -> tuple[int, int]:
        (application,) = self.connection.execute("PRAGMA application_id").fetchone()
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        return application, version

    def close(self) -> None:
        """Closes the file."""
        self.connection.close()

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turns what SQLite refuses into one line."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self.path}: the response store cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self.path}: the response store is damaged ({error}): move it away, then `trinity responses import` "
                "reads packs into a new one"
            ) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside happens or nothing; other processes wait."""
        with self.errors():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
                raise

    def get(self, key: bytes) -> Reply | None:
        """The reply to a call; None if it is not stored.

        Raises:
            StoreError: the stored row is damaged.
        """
        with self.errors():
            row = self.connection.execute("SELECT reply, digest, created FROM replies WHERE key=?", (key,)).fetchone()
        if row is None:
            return None
        reply, digest, created = row
        try:
            if digest == _digest(key, reply, created):
                return Reply.parse(reply.encode())
        except (ValueError, TypeError, AttributeError):
            pass
        raise self._damage(key)

    def holds(self, keys: Sequence[bytes]) -> set[bytes]:
        """Which of these calls are answered."""
        found: set[bytes] = set()
        with self.errors():
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                marks = ",".join("?" * len(part))
                found.update(
                    key for (key,) in self.connection.execute(f"SELECT key FROM replies WHERE key IN ({marks})", part)
                )
        return found

    def insert(self, entry: Entry) -> bool:
        """Keeps a reply, inside a transaction; of two replies to one call the earlier, whatever came first.

        Returns:
            Whether the store changed.
        """
        key = entry.call.key
        row = self.connection.execute("SELECT digest, created FROM replies WHERE key=?", (key,)).fetchone()
        if row is not None and (row[1], row[0]) <= (entry.created, entry.digest):
            return False
        self.connection.execute(
            "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)",
            (
                key,
                zlib.compress(entry.call.canonical, 1),
                entry.reply.canonical.decode("ascii"),
                entry.digest,
                entry.created,
            ),
        )
        return True

    def entries(self) -> Iterator[Entry]:
        """All entries in the order of their keys.

        Raises:
            StoreError: one is damaged.
        """
        for key in self.keys():
            entry = self.entry(key)
            if entry is not None:
                yield entry

    def keys(self) -> list[bytes]:
        """The keys of all entries, sorted."""
        with self.errors():
            return [key for (key,) in self.connection.execute("SELECT key FROM replies ORDER BY key")]

    def entry(self, key: bytes) -> Entry | None:
        """The whole entry of a key, checked.

        Raises:
            StoreError: it is damaged.
        """
        with self.errors():
            row = self.connection.execute(
                "SELECT call, reply, digest, created FROM replies WHERE key=?", (key,)
            ).fetchone()
        if row is None:
            return None
        try:
            entry = Entry(Call.parse(zlib.decompress(row[0])), Reply.parse(row[1].encode()), row[3])
            sound = entry.call.key == key and row[2] == _digest(key, row[1], row[3])
        except (ValueError, TypeError, AttributeError, KeyError, zlib.error):
            sound = False
        if not sound:
            raise self._damage(key)
        return entry

    def delete(self, keys: Sequence[bytes]) -> None:
        """Takes entries out."""
        with self.transaction():
            self.connection.executemany("DELETE FROM replies WHERE key=?", [(key,) for key in keys])

    def rows(self, query: str, *values: Any) -> list[Any]:
        """The rows of a query of this package's own."""
        with self.errors():
            return self.connection.execute(query, values).fetchall()

    def _damage(self, key: bytes) -> DamagedEntry:
        return DamagedEntry(
            f"{self.path}: entry {key.hex()[:12]} is damaged: `trinity responses verify` lists what is, "
            "`verify --drop` takes it out, so that it is imported or asked again"
        )


def now() -> float:
    """Seconds since 1970, to the microsecond: when a reply came. Kept in the store and its packs alone."""
    return round(time.time(), 6)


def _digest(key: bytes, reply: str, created: float) -> bytes:
    return sha256(key + f"{created!r} {reply}".encode("utf-8", "surrogatepass")).digest()[:16]
