"""What the response store says to a plan: which first turns it holds, what was spent, what replies were like."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.llm.store.database import Database, store_directory
from trinity.llm.store.packs import pack_files, packs_directory, read_new_packs
from trinity.orchestration.rules import make_rules
from trinity.plan.bounds import Held
from trinity.plan.callees import Callee, Callees, Same, model_calls
from trinity.plan.questions import Questions
from trinity.types import Request, RequestMeta, Role, Split

Place = tuple[str, Split]
LATEST = 300
"""Replies by agent and role that are averaged."""


@dataclass(frozen=True)
class Measured:
    """Means over replies of an agent in a role.

    Attributes:
        visible: Completion tokens without reasoning.
        per_char: Prompt tokens a character.
    """

    replies: int
    completion: float
    visible: float
    seconds: float
    per_char: float


@dataclass(frozen=True, eq=False)
class Stored:
    """A store as a plan sees it.

    Attributes:
        replies: That it holds.
        others: Of these, how many answer no first turn of a question that is known: all that deeper turns can find.
        held: By task and split, which first turns are answered.
        models_held: How many of the calls of rung S6 are answered.
        usd: Spent so far.
        calls: Made so far.
        measured: By agent and role.
    """

    replies: int = 0
    others: int = 0
    held: Mapping[Place, Held] = field(default_factory=dict)
    models_held: int = 0
    usd: float = 0.0
    calls: int = 0
    measured: Mapping[tuple[str, Role], Measured] = field(default_factory=dict)


def read_stored(
    config: Config, callees: Callees, wanted: Mapping[Place, tuple[Questions, Mapping[Same, Callee]]]
) -> Stored:
    """Looks at the store of the repository, which takes in its packs first, as a pool does when it opens.

    Args:
        config: Of params.yaml.
        callees: Make the calls.
        wanted: By task and split, the questions and the first turns that are looked for.

    Raises:
        StoreError: it cannot be read.
    """
    with _store(config) as database:
        if database is None:
            return Stored()
        (usd, calls), replies = database.rows("SELECT usd, calls FROM totals")[0], 0
        held: dict[Place, Held] = {}
        found: set[bytes] = set()
        models_held = 0
        if config.pool.responses != "live":
            replies = database.rows("SELECT count(*) FROM replies")[0][0]
        if replies:
            models = database.holds([call.key for call in model_calls(config)])
            found, models_held = set(models), len(models)
            for place, (questions, asked) in wanted.items():
                if questions.texts is not None:
                    held[place] = {
                        same: _held(database, callees, callee, questions.texts, found) for same, callee in asked.items()
                    }
        return Stored(replies, replies - len(found), held, models_held, usd, calls, _measured(database, config))


@contextmanager
def _store(config: Config) -> Iterator[Database | None]:
    """None where there is none, and none is made."""
    directory = store_directory()
    there = (directory / "store.sqlite").exists() or pack_files(packs_directory(directory))
    if config.pool.kind != "litellm" or not there:
        yield None
        return
    database = Database(directory)
    try:
        if config.pool.responses != "live":
            read_new_packs(database)
        yield database
    finally:
        database.close()


def _held(
    database: Database, callees: Callees, callee: Callee, questions: Iterable[str], found: set[bytes]
) -> np.ndarray:
    keys = [callees.call(callee, question).key for question in questions]
    held = database.holds(keys)
    found |= held
    return np.array([key in held for key in keys], dtype=bool)


def _measured(database: Database, config: Config) -> dict[tuple[str, Role], Measured]:
    measured = {}
    probes = {call.key for call in model_calls(config)}
    for agent in config.pool.agents:
        for role in config.episode.roles:
            mean = _mean(database, config, agent, role, probes)
            if mean is not None:
                measured[agent.name, role] = mean
    return measured


def _mean(database: Database, config: Config, agent: Agent, role: Role, probes: set[bytes]) -> Measured | None:
    """Over the latest replies to calls that are decoded as params.yaml says now; those of rung S6 are no episode's."""
    rules = make_rules(config)
    plain = Callees.sent(agent, Request(agent.name, (), rules.decoding, 0, RequestMeta("", role)))
    rows = database.rows(
        "SELECT prompt_tokens, completion_tokens, completion_tokens - reasoning_tokens, seconds, key, call "
        "FROM spent JOIN replies USING (key) WHERE agent=? AND role=? ORDER BY spent.rowid DESC LIMIT ?",
        agent.name, role.value, LATEST,
    )  # fmt: skip
    chars, kept = 0, []
    for *counts, key, packed in rows:
        call = json.loads(zlib.decompress(packed))
        if (call["model"], call["params"]) == plain and key not in probes:
            kept.append(counts)
            chars += sum(len(message["content"]) for message in call["messages"])
    if not kept:
        return None
    prompt, completion, visible, seconds = np.array(kept, dtype=float).T
    per_char = float(prompt.sum()) / max(1, chars)
    return Measured(len(kept), float(completion.mean()), float(visible.mean()), float(seconds.mean()), per_char)
