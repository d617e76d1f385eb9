"""What is damaged in store and packs, and what of them nobody can need any more."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trinity.config.pool import Agent
from trinity.errors import StoreError
from trinity.llm.call import Call
from trinity.llm.store.database import DamagedEntry, Database
from trinity.llm.store.packs import pack_files, progress, read_pack
from trinity.llm.store.versioning import pointer

DECODING = frozenset(("temperature", "top_p", "max_tokens"))


@dataclass(frozen=True)
class Checked:
    """What stands in a store.

    Attributes:
        entries: How many responses it holds.
        damaged: Their row numbers in SQLite's table, each with the start of its key.
        problems: What SQLite finds wrong with the file itself.
    """

    entries: int
    damaged: Mapping[int, str]
    problems: tuple[str, ...]


def check_store(database: Database) -> Checked:
    """Reads every response: its call must have its key, its reply its digest; and SQLite checks the file."""
    problems = [line for (line,) in database.rows("PRAGMA integrity_check") if line != "ok"]
    rows = database.rows("SELECT rowid, key FROM replies ORDER BY key")
    damaged: dict[int, str] = {}
    for row, key in progress(rows, "checking the store", len(rows)):
        if not isinstance(key, bytes):
            damaged[row] = repr(key)
        elif not _sound(database, key):
            damaged[row] = key.hex()[:12]
    return Checked(len(rows), damaged, tuple(problems))


def _sound(database: Database, key: bytes) -> bool:
    try:
        return database.entry(key) is not None
    except DamagedEntry:
        return False


def drop(database: Database, rows: Sequence[int]) -> None:
    """Takes rows out; all packs will be read again, since they may hold what was damaged."""
    with database.transaction():
        database.connection.executemany("DELETE FROM replies WHERE rowid=?", [(row,) for row in rows])
        database.connection.execute("DELETE FROM packs")


def damaged_packs(directory: Path) -> Iterator[str]:
    """One line for each pack of a folder that cannot be read."""
    for path in pack_files(directory):
        try:
            for _ in progress(read_pack(path), f"checking {path.name}"):
                pass
        except StoreError as error:
            yield str(error)


@dataclass(frozen=True)
class Garbage:
    """What can go.

    Attributes:
        keys: Responses in the store that no agent can ask for.
        models: How many of them, by model.
        unpacked: How many of them stand in no pack.
        packs: Packs whose every response stands in another pack, or loses there to an earlier reply.
    """

    keys: tuple[bytes, ...]
    models: Mapping[str, int]
    unpacked: int
    packs: tuple[Path, ...]


def find_garbage(database: Database | None, directory: Path, agents: Sequence[Agent]) -> Garbage:
    """Looks through a store, and the packs of a folder.

    Raises:
        StoreError: something is damaged.
    """
    winners: dict[bytes, tuple[float, bytes]] = {}
    holders: dict[Path, dict[bytes, tuple[float, bytes]]] = {}
    packed: set[bytes] = set()
    for path in pack_files(directory):
        held = {}
        for entry in progress(read_pack(path), f"reading {path.name}"):
            order = (entry.created, entry.digest)
            held[entry.call.key] = order
            winners[entry.call.key] = min(order, winners.get(entry.call.key, order))
            packed.add(entry.digest)
        holders[path] = held
    keys: list[bytes] = []
    models: Counter[str] = Counter()
    unpacked = 0
    sets = [(agent.model, _plain(agent.params)) for agent in agents]
    for entry in progress(database.entries(), "reading the store") if database else ():
        if not _askable(entry.call, sets):
            keys.append(entry.call.key)
            models[entry.call.model] += 1
            unpacked += entry.digest not in packed
    return Garbage(tuple(keys), models, unpacked, tuple(_superfluous(holders, winners)))


def _superfluous(
    holders: Mapping[Path, Mapping[bytes, tuple[float, bytes]]], winners: Mapping[bytes, tuple[float, bytes]]
) -> Iterator[Path]:
    """Packs that can all go together, the smallest first."""
    needed = {path: [key for key, order in held.items() if winners[key] == order] for path, held in holders.items()}
    copies = Counter(key for keys in needed.values() for key in keys)
    for path in sorted(needed, key=lambda path: (len(holders[path]), path.name)):
        if all(copies[key] > 1 for key in needed[path]):
            copies.subtract(needed[path])
            yield path


def _askable(call: Call, sets: Sequence[tuple[str | None, Any]]) -> bool:
    own = {name: value for name, value in call.params.items() if name not in DECODING}
    return (call.model, own) in sets


def _plain(params: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(params))


def take_out(database: Database | None, garbage: Garbage) -> None:
    """Takes out what `find_garbage` found, and gives the space back to the file system."""
    for path in garbage.packs:
        pointer(path).unlink(missing_ok=True)
        path.unlink()
    if database and garbage.keys:
        database.delete(garbage.keys)
        with database.transaction():  # what a pack still holds is there again when it can be asked again
            database.connection.execute("DELETE FROM packs")
        with database.errors():
            database.connection.execute("VACUUM")
            database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
