"""Packs: files of stored responses that DVC versions, each written once and named by what it holds.

A pack is gzip-compressed JSON lines, an entry a line in the order of keys; its name is the hash of its content. New
responses go into a new pack, so that only they are uploaded, and the packs of two people lie side by side.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from trinity.errors import StoreError
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database, Entry

PACKS = Path("data") / "responses"
SUFFIX = ".jsonl.gz"


def packs_directory(database: Database) -> Path:
    """Where the packs of a store's repository lie: `data/responses` beside its `.trinity`."""
    return database.path.parents[2] / PACKS


def pack_files(directory: Path) -> list[Path]:
    """The packs in a folder, sorted by name."""
    return sorted(directory.glob(f"*{SUFFIX}"))


def read_pack(path: Path) -> Iterator[Entry]:
    """The entries of a pack.

    Raises:
        StoreError: it is cut off, damaged, or not what its name says.
    """
    digest = sha256()
    try:
        with gzip.open(path, "rb") as source:
            for number, line in enumerate(source, 1):
                digest.update(line)
                yield _entry(line, path, number)
    except (OSError, EOFError, zlib.error) as error:
        raise StoreError(f"{path}: cannot be read ({error}): `dvc pull` it again") from None
    if not path.name.startswith(digest.hexdigest()[:16]):
        raise StoreError(f"{path}: its content is not what its name says: `dvc pull` it again")


def write_pack(directory: Path, entries: Iterable[Entry]) -> Path:
    """Writes entries, sorted by key, into a new pack; the same entries give the same file."""
    lines = b"".join(_line(entry) for entry in sorted(entries, key=lambda entry: entry.call.key))
    path = directory / f"{sha256(lines).hexdigest()[:16]}{SUFFIX}"
    directory.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(gzip.compress(lines, mtime=0))
    part.replace(path)
    return path


def read_new_packs(database: Database) -> int:
    """Takes in the packs of the repository that the store has not seen; the number of entries that changed it."""
    seen = {name for (name,) in database.rows("SELECT name FROM packs")}
    return sum(take_in(database, path) for path in pack_files(packs_directory(database)) if path.name not in seen)


def take_in(database: Database, path: Path) -> int:
    """Takes in one pack whole; of two replies to one call the earlier stays. The number of entries that changed."""
    entries = list(read_pack(path))
    with database.transaction():
        changed = sum(database.insert(entry) for entry in entries)
        database.connection.execute("INSERT OR IGNORE INTO packs VALUES (?)", (path.name,))
    return changed


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
        created = value["created"]
        if not isinstance(created, float | int):
            raise ValueError("created")
        call = Call.parse(json.dumps(value["call"]).encode())
        return Entry(call, Reply.parse(json.dumps(value["reply"]).encode()), float(created))
    except (ValueError, TypeError, KeyError):
        raise StoreError(f"{path}: line {number}: no stored response: `dvc pull` it again") from None
