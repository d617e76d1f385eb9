"""What a store holds, what its calls cost, and what of the budget is left."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trinity.config.pool import Pool
from trinity.llm.client import table_price
from trinity.llm.store.database import DamagedEntry, Database
from trinity.llm.store.packs import pack_files, progress, unread_packs
from trinity.llm.store.versioning import absent_packs
from trinity.types import CAUSES, Cause, Response


@dataclass(frozen=True)
class Fresh:
    """Calls that were made, under one agent, role and stage; "" where all are summed.

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
    """Calls that were answered from the store, under one agent, role and stage; "" where all are summed.

    Attributes:
        usd: What they would have cost at least.
        unpriced: Calls under an agent, role and stage of which no price is known.
    """

    agent: str
    role: str
    stage: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float
    unpriced: int


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
        fresh: By agent, role and stage.
        fresh_sums: By agent, then of all.
        reused: By agent, role and stage.
        reused_sums: By agent, then of all.
        causes: By model, how many replies it has, and how many of them are amiss by cause; damaged ones left out.
        damaged: A line for each stored response that is damaged.
        left: None where params.yaml could not be read.
    """

    entries: int
    bytes: int
    packs: int
    packs_bytes: int
    packs_unread: int
    packs_absent: int
    fresh: tuple[Fresh, ...]
    fresh_sums: tuple[Fresh, ...]
    reused: tuple[Saved, ...]
    reused_sums: tuple[Saved, ...]
    causes: Mapping[str, Mapping[str, int]]
    damaged: tuple[str, ...]
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
        StoreError: the store cannot be read.
    """
    causes, damaged = _causes(database) if database else ({}, ())
    reused = _reused(database, pool) if database else ()
    files = pack_files(packs)
    spent = database.rows("SELECT usd, calls FROM totals")[0] if database else (0.0, 0)
    return Statistics(
        entries=database.rows("SELECT count(*) FROM replies")[0][0] if database else 0,
        bytes=store_size(database),
        packs=len(files),
        packs_bytes=sum(path.stat().st_size for path in files),
        packs_unread=len(unread_packs(database)) if database else len(files),
        packs_absent=len(absent_packs(packs)),
        fresh=tuple(_fresh(database, "agent, role, stage")) if database else (),
        fresh_sums=(*_fresh(database, "agent, '', ''"), *_fresh(database, "'', '', ''")) if database else (),
        reused=reused,
        reused_sums=_sums(reused),
        causes=causes,
        damaged=damaged,
        left=budget_left(pool, *spent) if pool else None,
    )


def store_size(database: Database | None) -> int:
    """Bytes of the store on disk; 0 if there is none."""
    if database is None:
        return 0
    names = (database.path, database.path.with_name(f"{database.path.name}-wal"))
    return sum(path.stat().st_size for path in names if path.exists())


def _fresh(database: Database, by: str) -> Iterator[Fresh]:
    """Rows by three columns of SQL."""
    seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for agent, role, stage, value in database.rows(f"SELECT {by}, seconds FROM spent ORDER BY seconds"):
        seconds[agent, role, stage].append(value)
    rows = database.rows(
        f"SELECT {by}, count(*), sum(prompt_tokens), sum(completion_tokens), sum(reasoning_tokens), "
        f"total(usd), sum(usd IS NULL), sum(tries > 1) FROM spent GROUP BY {by} ORDER BY 1, 2, 3"
    )
    for *counted, retried in rows:
        taken = seconds[counted[0], counted[1], counted[2]]
        rank = math.ceil(0.95 * len(taken))
        yield Fresh(*(*counted, sum(taken) / len(taken), taken[rank - 1], retried))


def _reused(database: Database, pool: Pool | None) -> tuple[Saved, ...]:
    """The ledger counts a reply without a price as 0: such a sum is known where calls of the agent do cost nothing."""
    free = {agent for (agent,) in database.rows("SELECT DISTINCT agent FROM spent WHERE usd = 0")}
    rows = database.rows(
        "SELECT agent, role, stage, calls, prompt_tokens, completion_tokens, usd FROM reused "
        "ORDER BY agent, role, stage"
    )
    if any(usd == 0 and agent not in free for agent, *_, usd in rows):
        free |= {agent.name for agent in (pool.agents if pool else ()) if table_price(agent, 1, 1) == 0}
    return tuple(
        Saved(agent, role, stage, calls, prompt, completion, usd, 0 if usd > 0 or agent in free else calls)
        for agent, role, stage, calls, prompt, completion, usd in rows
    )


def _sums(rows: Sequence[Saved]) -> tuple[Saved, ...]:
    """By agent, then of all."""

    def summed(agent: str, some: Sequence[Saved]) -> Saved:
        return Saved(
            agent,
            "",
            "",
            sum(row.calls for row in some),
            sum(row.prompt_tokens for row in some),
            sum(row.completion_tokens for row in some),
            sum(row.usd for row in some),
            sum(row.unpriced for row in some),
        )

    by_agent = [
        summed(agent, [row for row in rows if row.agent == agent]) for agent in dict.fromkeys(row.agent for row in rows)
    ]
    return (*by_agent, summed("", rows)) if rows else ()


def _causes(database: Database) -> tuple[dict[str, dict[str, int]], tuple[str, ...]]:
    """Replies by model and what is amiss, and a line for each entry that is damaged."""
    replies: Counter[str] = Counter()
    amiss: dict[str, Counter[Cause]] = defaultdict(Counter)
    damaged = []
    keys = database.keys()
    for key in progress(keys, "reading the store", len(keys)):
        if not isinstance(key, bytes):
            damaged.append(f"{database.path}: entry {key!r} is damaged: `trinity responses verify --drop` takes it out")
            continue
        try:
            entry = database.entry(key)
        except DamagedEntry as error:
            damaged.append(str(error))
            continue
        if entry is None:
            continue
        reply = entry.reply
        cause = Response(reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens).cause
        replies[entry.call.model] += 1
        if cause:
            amiss[entry.call.model][cause] += 1
    by_model = {
        model: {"replies": replies[model], **{cause: amiss[model][cause] for cause in CAUSES}}
        for model in sorted(replies)
    }
    return by_model, tuple(damaged)


def budget_left(pool: Pool, usd: float, calls: int) -> Left:
    """What is left of a pool's budget after so many US dollars and calls."""
    return Left(
        pool.budget_usd,
        None if pool.budget_usd is None else pool.budget_usd - usd,
        pool.budget_calls,
        None if pool.budget_calls is None else pool.budget_calls - calls,
    )
