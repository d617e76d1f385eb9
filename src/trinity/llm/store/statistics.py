"""What a store holds, what its calls cost, and what of the budget is left."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trinity.config.pool import Pool
from trinity.llm.store.database import Database
from trinity.llm.store.packs import pack_files, progress, unread_packs
from trinity.llm.store.versioning import absent_packs
from trinity.types import CAUSES, Cause, Response


@dataclass(frozen=True)
class Fresh:
    """Calls that were made, under one agent, role and stage.

    Attributes:
        usd: Of the replies whose price is known.
        unpriced: Replies whose price is not known.
        mean_seconds: From the first try to the reply.
        p95_seconds: Of 100 calls 95 took no longer (nearest rank).
        retried: Calls that took more than one try.
    """

    agent: str
    role: str
    stage: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    usd: float
    unpriced: int
    mean_seconds: float
    p95_seconds: float
    retried: int


@dataclass(frozen=True)
class Saved:
    """Calls that were answered from the store; `usd` counts a price that is not known as 0."""

    agent: str
    role: str
    stage: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float


@dataclass(frozen=True)
class Left:
    """A budget of params.yaml and what is left of it; None: no limit."""

    usd: float | None
    usd_left: float | None
    calls: int | None
    calls_left: int | None


@dataclass(frozen=True)
class Statistics:
    """What `trinity responses stats` says.

    Attributes:
        entries: Stored responses.
        bytes: Size of the store.
        packs: Packs in the repository.
        packs_bytes: Their size.
        packs_unread: Packs that the store has not taken in yet.
        packs_absent: Packs that DVC tracks and that `dvc pull` has not brought yet.
        causes: By model, how many replies it has, and how many of them are amiss by cause.
        left: None where params.yaml could not be read.
    """

    entries: int
    bytes: int
    packs: int
    packs_bytes: int
    packs_unread: int
    packs_absent: int
    fresh: tuple[Fresh, ...]
    reused: tuple[Saved, ...]
    causes: Mapping[str, Mapping[str, int]]
    left: Left | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def gather(database: Database | None, packs: Path, pool: Pool | None) -> Statistics:
    """Counts everything.

    Args:
        database: None if there is no store yet.
        packs: The folder of packs.
        pool: Whose budget it is; None if it is not known.

    Raises:
        StoreError: a stored response is damaged.
    """
    files = pack_files(packs)
    spent = database.rows("SELECT usd, calls FROM totals")[0] if database else (0.0, 0)
    return Statistics(
        entries=database.rows("SELECT count(*) FROM replies")[0][0] if database else 0,
        bytes=store_size(database),
        packs=len(files),
        packs_bytes=sum(path.stat().st_size for path in files),
        packs_unread=len(unread_packs(database)) if database else len(files),
        packs_absent=len(absent_packs(packs)),
        fresh=tuple(_fresh(database)) if database else (),
        reused=tuple(_reused(database)) if database else (),
        causes=_causes(database) if database else {},
        left=_left(pool, *spent) if pool else None,
    )


def store_size(database: Database | None) -> int:
    """Bytes of the store on disk; 0 if there is none."""
    if database is None:
        return 0
    names = (database.path, database.path.with_name(f"{database.path.name}-wal"))
    return sum(path.stat().st_size for path in names if path.exists())


def _fresh(database: Database) -> Iterator[Fresh]:
    seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for agent, role, stage, value in database.rows("SELECT agent, role, stage, seconds FROM spent ORDER BY seconds"):
        seconds[agent, role, stage].append(value)
    rows = database.rows(
        "SELECT agent, role, stage, count(*), sum(prompt_tokens), sum(completion_tokens), sum(reasoning_tokens), "
        "total(usd), sum(usd IS NULL), sum(tries > 1) FROM spent GROUP BY agent, role, stage ORDER BY 1, 2, 3"
    )
    for *counted, retried in rows:
        taken = seconds[counted[0], counted[1], counted[2]]
        rank = math.ceil(0.95 * len(taken))
        yield Fresh(*(*counted, sum(taken) / len(taken), taken[rank - 1], retried))


def _reused(database: Database) -> Iterator[Saved]:
    rows = database.rows(
        "SELECT agent, role, stage, calls, prompt_tokens, completion_tokens, usd FROM reused "
        "ORDER BY agent, role, stage"
    )
    return (Saved(*row) for row in rows)


def _causes(database: Database) -> dict[str, dict[str, int]]:
    replies: Counter[str] = Counter()
    amiss: dict[str, Counter[Cause]] = defaultdict(Counter)
    for entry in progress(database.entries(), "reading the store"):
        reply = entry.reply
        cause = Response(reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens).cause
        replies[entry.call.model] += 1
        if cause:
            amiss[entry.call.model][cause] += 1
    return {
        model: {"replies": replies[model], **{cause: amiss[model][cause] for cause in CAUSES}}
        for model in sorted(replies)
    }


def _left(pool: Pool, usd: float, calls: int) -> Left:
    return Left(
        pool.budget_usd,
        None if pool.budget_usd is None else pool.budget_usd - usd,
        pool.budget_calls,
        None if pool.budget_calls is None else pool.budget_calls - calls,
    )
