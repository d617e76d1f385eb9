"""What the tests of the pool of real models share: its configuration, its requests, and processes of their own."""

import asyncio
import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from trinity.config import Config
from trinity.llm.remote import RemotePool
from trinity.llm.store.database import Database
from trinity.types import Decoding, Message, Request, RequestMeta, Response, Role

FIRST_WAIT = 0.001
"""Seconds before a second attempt in the tests."""
KEYLESS = {"name": "alpha", "model": "openai/tiny"}


def pool_config(
    configure: Callable[..., Config], url: str, agent: Mapping[str, Any] | None = None, **pool: Any
) -> Config:
    """One agent, `alpha`, on a server; more keys of the agent and of section `pool`."""
    changes = {f"pool.{name}": value for name, value in pool.items()}
    agents = [{**KEYLESS, "api_base": url, **(agent or {})}]
    return configure({"pool.kind": "litellm", "pool.agents": agents, "pool.read_seconds": 20.0, **changes})


def request(text: str, sample: int = 0, max_tokens: int | None = 100, temperature: float = 0.0) -> Request:
    """A request to `alpha`."""
    return Request(
        "alpha", (Message("user", text),), Decoding(max_tokens, temperature), sample, RequestMeta(text, Role.WORKER)
    )


async def ask_together(
    pool: RemotePool, requests: Sequence[Request], concurrency: int = 64
) -> list[Response | BaseException]:
    """What becomes of each request."""
    limit = asyncio.Semaphore(concurrency)

    async def one(what: Request) -> Response:
        async with limit:
            return await pool.generate(what)

    return await asyncio.gather(*(one(what) for what in requests), return_exceptions=True)


def ask(
    config: Config, directory: Path, requests: Sequence[Request], concurrency: int = 64
) -> list[Response | BaseException]:
    """Opens a pool, asks, closes it."""
    pool = RemotePool(config, "test", directory, first_wait=FIRST_WAIT)
    try:
        return asyncio.run(ask_together(pool, requests, concurrency))
    finally:
        pool.close()


def answers(outcomes: Sequence[Response | BaseException]) -> list[str]:
    """The texts, where all were answered."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return [outcome.text for outcome in outcomes if isinstance(outcome, Response)]


def stored(directory: Path) -> dict[str, str]:
    """By the last message of a call, the stored text; every entry is checked on the way."""
    database = Database(directory)
    try:
        return {entry.call.messages[-1].content: entry.reply.text for entry in database.entries()}
    finally:
        database.close()


def figure(directory: Path, query: str) -> Any:
    """The one value of a query."""
    database = Database(directory)
    try:
        return database.rows(query)[0][0]
    finally:
        database.close()


def processes() -> ForkServerContext:
    """Makes processes that have litellm loaded already."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["litellm", "trinity.llm.remote", "trinity.config.load"])
    return context
