"""Packs: files of stored responses that DVC versions, each written once and named by what it holds.

A pack is gzip-compressed JSON lines, an entry a line in the order of keys; its name is the hash of its content. New
responses go into a new pack, so that only they are uploaded, and the packs of two people lie side by side.
"""

import fcntl
import gzip
import io
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TypeVar

from trinity.errors import StoreError
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database, Entry

PACKS = Path("data") / "responses"
SUFFIX = ".jsonl.gz"
PART = ".part"
LATEST = 1e11
"""Seconds since 1970 that no reply can have come after."""
BATCH = 1000
"""Entries a transaction: other processes wait for one batch, not for a pack."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Taken:
    """What became of the entries of packs that were taken in.

    Attributes:
        new: Their calls had no reply here.
        known: Their replies stood here already.
        replaced: Another reply stood here, a later one: it gave way.
        left_out: Another reply stands here, an earlier one: it stays.
    """

    new: int = 0
    known: int = 0
    replaced: int = 0
    left_out: int = 0

    def plus(self, other: "Taken") -> "Taken":
        """Both together."""
        return Taken(
            self.new + other.new,
            self.known + other.known,
            self.replaced + other.replaced,
            self.left_out + other.left_out,
        )


def packs_directory(store: Path) -> Path:
    """Where the packs of a store's repository lie: `data/responses` beside the `.trinity` that holds the store."""
    return store.parents[1] / PACKS


def pack_files(directory: Path) -> list[Path]:
    """The packs in a folder, sorted by name."""
    return sorted(directory.glob(f"*{SUFFIX}"))


def read_pack(path: Path) -> Iterator[Entry]:
    """The entries of a pack, in the order of their keys.

    Raises:
        StoreError: it is cut off, damaged, or not what its name says, which only its end tells.
    """
    digest = sha256()
    with _errors(path), gzip.open(path, "rb") as source:
        for number, line in enumerate(source, 1):
            digest.update(line)
            yield _entry(line, path, number)
    _check_name(path, digest.hexdigest())


def write_pack(directory: Path, entries: Iterable[Entry]) -> Path | None:
    """Writes entries into a new pack; the same entries give the same file.

    Args:
        directory: Of packs; made if absent. One process at a time may write there (`alone`).
        entries: In the order of their keys.

    Returns:
        The pack; None if there was no entry.
    """
    directory.mkdir(parents=True, exist_ok=True)
    part = directory / PART
    digest = sha256()
    last = b""
    try:
        with part.open("wb") as file:
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed, io.BufferedWriter(packed, 1 << 20) as lines:
                for entry in entries:
                    if entry.call.key <= last:
                        raise ValueError("entries must be in the order of their keys")
                    last, line = entry.call.key, _line(entry)
                    digest.update(line)
                    lines.write(line)
            file.flush()
            os.fsync(file.fileno())
        if not last:
            return None
        return part.rename(directory / f"{digest.hexdigest()[:16]}{SUFFIX}")
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Waits until no other process changes the packs of a folder, and keeps others waiting; makes the folder."""
    directory.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_new_packs(database: Database) -> Taken:
    """Takes in the packs of the repository that the store has not seen.

    Raises:
        StoreError: one is damaged.
    """
    taken = Taken()
    for path in unread_packs(database):
        taken = taken.plus(take_in(database, path))
    return taken


def unread_packs(database: Database) -> list[Path]:
    """The packs of the repository that the store has not taken in."""
    seen = {name for (name,) in database.rows("SELECT name FROM packs")}
    return [path for path in pack_files(packs_directory(database.path.parent)) if path.name not in seen]


def take_in(database: Database, path: Path) -> Taken:
    """Takes in one pack; of two replies to one call the earlier stays, so that no order of packs matters.

    A process that is killed in the middle has taken in a part, and takes in the pack again.

    Raises:
        StoreError: the pack is damaged; nothing of it is taken in.
    """
    _check(path)
    taken = Taken()
    entries = read_pack(path)
    bar = progress(entries, f"reading {path.name}")
    while batch := list(islice(bar, BATCH)):
        with database.transaction():
            for entry in batch:
                taken = taken.plus(_take_in(database, entry))
    mark_read(database, path)
    return taken


def mark_read(database: Database, path: Path) -> None:
    """Notes that all entries of a pack stand in the store."""
    with database.transaction():
        database.connection.execute("INSERT OR IGNORE INTO packs VALUES (?)", (path.name,))


def progress(values: Iterable[Value], what: str, total: int | None = None) -> Iterator[Value]:
    """The values, counted on a terminal."""
    from tqdm import tqdm

    return iter(tqdm(values, what, total, unit=" responses", leave=False, disable=not sys.stderr.isatty()))


def _take_in(database: Database, entry: Entry) -> Taken:
    row = database.connection.execute("SELECT reply FROM replies WHERE key=?", (entry.call.key,)).fetchone()
    changed = database.insert(entry)
    if row is None:
        return Taken(new=1)
    if row[0] == entry.reply.canonical.decode("ascii"):
        return Taken(known=1)
    return Taken(replaced=1) if changed else Taken(left_out=1)


def _check(path: Path) -> None:
    if not path.name.endswith(SUFFIX):
        raise StoreError(f"{path}: not a pack ({SUFFIX})")
    digest = sha256()
    with _errors(path), gzip.open(path, "rb") as source:
        while block := source.read(1 << 20):
            digest.update(block)
    _check_name(path, digest.hexdigest())


def _check_name(path: Path, digest: str) -> None:
    if path.name != f"{digest[:16]}{SUFFIX}":
        raise StoreError(f"{path}: its content is not what its name says: {_mend(path)}")


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"{path}: cannot be read ({error}): {_mend(path)}") from None


def _mend(path: Path) -> str:
    """What to do about a damaged pack: only one of the repository may be removed, as DVC has it still."""
    if path.absolute().parent.parts[-2:] == PACKS.parts:
        return "remove it and `dvc pull`, or copy it again"
    return "copy it again from where it was made"


def _line(entry: Entry) -> bytes:
    value = {
        "call": json.loads(entry.call.canonical),
        "reply": json.loads(entry.reply.canonical),
        "created": entry.created,
    }
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


def _entry(line: bytes, path: Path, number: int) -> Entry:
    try:
        value = json.loads(line)
        call = Call.parse(json.dumps(value["call"]).encode())
        reply = Reply.parse(json.dumps(value["reply"]).encode())
        created = value["created"]
        if type(created) not in (int, float) or not 0 <= created <= LATEST or not call.key:
            raise ValueError("not an entry")
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise StoreError(f"{path}: line {number}: no stored response: {_mend(path)}") from None
    return Entry(call, reply, float(created) + 0.0)  # SQLite knows no -0.0
