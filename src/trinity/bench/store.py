"""The response store as it grows: lookups, inserts, whole calls and opening, against a dict and a JSON lines file."""

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import Any

from trinity.bench.timing import in_turn
from trinity.errors import TrinityError
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database, Entry
from trinity.llm.store.ledger import Budget, Ledger, Purpose
from trinity.rng import integer
from trinity.types import Message

SIZES = (1_000, 10_000, 100_000)
OPERATIONS, ROUNDS = 2_000, 5
PROMPT, REPLY = "how long does the slower of the two trains take? " * 20, "it leaves an hour later. " * 24
PURPOSE = Purpose("ann", "worker", "bench")
FRESH = 10**9


def measure(sizes: Sequence[int] = SIZES, operations: int = OPERATIONS) -> dict[str, Any]:
    """Operations a second at each number of entries, in one process, rounds of both in turn; medians.

    A lookup is of a random entry. An insert is a transaction of its own, as when one reply comes. A call is a claim
    under a budget and its settlement: reserved, stored, counted.

    The rival is the plain cache of one process: all replies in a dict, a JSON line an entry, flushed. It cannot be
    shared by processes that write, claims and counts nothing, and reads the whole file when it is opened.

    Args:
        sizes: Ascending.
        operations: Of each kind at each size.
    """
    rows: list[dict[str, Any]] = []
    filled, fresh = 0, map(_entry, count(FRESH))
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Database(Path(folder) / "store")) as database,
        closing(_Lines(Path(folder) / "store.jsonl")) as lines,
    ):
        ledger = Ledger(database, Budget(usd=1e6))

        def insert(entry: Entry) -> None:
            with database.transaction():
                database.insert(entry)

        def call(entry: Entry) -> None:
            ledger.claim(entry.call.key, usd=0.01)
            ledger.settle(entry.call.key, entry.call, entry.reply, PURPOSE, seconds=1.0, tries=1, keep=True)

        for size in sizes:
            with database.transaction():
                for entry in map(_entry, range(filled, size)):
                    database.insert(entry)
                    lines.insert(entry)
            filled = size
            known = [_entry(integer(size, "bench", size, number)) for number in range(operations)]
            lookups, line_lookups = _rates(_checked(database.get), _checked(lines.get), known)
            inserts, line_inserts = _rates(insert, lines.insert, list(islice(fresh, operations)))
            calls, _ = _rates(call, lines.insert, list(islice(fresh, operations)))
            opening, line_opening = in_turn(
                lambda: Database(database.path.parent).close(), lambda: _Lines(lines.path).close(), rounds=1
            )
            rows.append(
                {
                    "entries": size,
                    "lookups_per_s": round(lookups),
                    "inserts_per_s": round(inserts),
                    "calls_per_s": round(calls),
                    "open_ms": round(1000 * opening, 1),
                    "rival_lookups_per_s": round(line_lookups),
                    "rival_inserts_per_s": round(line_inserts),
                    "rival_open_ms": round(1000 * line_opening, 1),
                }
            )
        ledger.close()
    return {"rival": "a dict and a JSON lines file", "rows": rows}


def _rates(
    ours: Callable[[Entry], object], rival: Callable[[Entry], object], entries: Sequence[Entry]
) -> tuple[float, float]:
    """Operations a second of both, each over all the entries, an equal part of them a round."""
    keys = [entry.call.key for entry in entries]  # computed now, not by the first who needs it
    part = len(keys) // ROUNDS

    def by_parts(operation: Callable[[Entry], object]) -> Callable[[], None]:
        begins = count(0, part)

        def one_part() -> None:
            begin = next(begins)
            for entry in entries[begin : begin + part]:
                operation(entry)

        return one_part

    seconds, rival_seconds = in_turn(by_parts(ours), by_parts(rival), ROUNDS)
    return part / seconds, part / rival_seconds


def _checked(get: Callable[[bytes], Reply | None]) -> Callable[[Entry], None]:
    def look_up(entry: Entry) -> None:
        if get(entry.call.key) != entry.reply:
            raise TrinityError("bench: a store gave back another reply than it was given")

    return look_up


def _entry(number: int) -> Entry:
    call = Call("openai/ann", (Message("user", f"{number}: {PROMPT}"),), {"temperature": 0.0, "top_p": 1.0}, 0)
    return Entry(call, Reply(f"{number}: {REPLY}", "stop", 500, 150, usd=0.001, model="ann-1"), 1.0)


class _Lines:
    """The rival."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._replies: dict[bytes, Reply] = {}
        self._file = path.open("a+b")
        self._file.seek(0)
        for line in self._file:
            value = json.loads(line)
            self._replies[bytes.fromhex(value["key"])] = Reply(**value["reply"])

    def close(self) -> None:
        self._file.close()

    def get(self, key: bytes) -> Reply | None:
        return self._replies.get(key)

    def insert(self, entry: Entry) -> None:
        key, call, reply = entry.call.key, entry.call.canonical, entry.reply.canonical
        self._file.write(b'{"key":"%b","call":%b,"reply":%b}\n' % (key.hex().encode(), call, reply))
        self._file.flush()
        self._replies[key] = entry.reply
