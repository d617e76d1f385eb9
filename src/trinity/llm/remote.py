"""The pool of real models: what is stored is not asked again, what is asked is stored before it is used."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.errors import NotStored, PoolError
from trinity.llm.call import Call, Reply
from trinity.llm.client import Client, table_price
from trinity.llm.failures import CallFailed, Limits
from trinity.llm.keys import model_line
from trinity.llm.retries import FIRST_WAIT, persistently
from trinity.llm.store.database import Database, store_directory
from trinity.llm.store.ledger import Budget, Claimed, Ledger, Purpose, Reused
from trinity.llm.store.packs import read_new_packs
from trinity.llm.underway import Underway
from trinity.types import Decoding, Request, Response

POLL_SECONDS = 0.5
UNCAPPED_TOKENS = 65_536
"""What a reply without a cap is reserved for."""
TEMPLATE_TOKENS = 64
"""At most this many tokens of a chat template a message."""


def call_of(agent: Agent, request: Request) -> Call:
    """What is sent to an agent's model for a request, its store key included.

    At temperature 0 the sample index has no effect on a reply, and no part in the call.
    """
    decoding = effective_decoding(agent, request.decoding)
    params: dict[str, Any] = dict(agent.params)
    params["temperature"], params["top_p"] = decoding.temperature, decoding.top_p
    if decoding.max_tokens is not None:
        params["max_tokens"] = decoding.max_tokens
    sample = request.sample_index if decoding.temperature > 0 else 0
    return Call(agent.model or "", request.messages, params, sample)


def effective_decoding(agent: Agent, decoding: Decoding) -> Decoding:
    """An agent's own decoding where params.yaml gives one, else that of the request."""
    own = agent.decoding
    if own is None:
        return decoding
    return Decoding(
        decoding.max_tokens if own.max_tokens is None else own.max_tokens,
        decoding.temperature if own.temperature is None else own.temperature,
        decoding.top_p if own.top_p is None else own.top_p,
    )


def most_tokens(call: Call) -> tuple[int, int]:
    """Upper bounds of the prompt's and the reply's tokens: a token of text is at least a byte."""
    read = sum(len(message.content.encode("utf-8", "replace")) + TEMPLATE_TOKENS for message in call.messages)
    return read, int(call.params.get("max_tokens", UNCAPPED_TOKENS))


class RemotePool:
    """Answers with real models through litellm (`Pool`), in the mode that `pool.responses` names.

    Identical requests in flight are one request, in this process and over all that share the store.

    Args:
        config: Of params.yaml: agents, modes, limits, budget.
        stage: What calls are accounted under.
        directory: Of the store; by default that of the repository.
        client: Makes what an agent is called with.
        first_wait: Seconds before the second attempt of a call; see `trinity.llm.retries`.
        together: Whether a call that fails for good ends the waits of those that would be tried again.

    Raises:
        PoolError: an agent has no model.
    """

    def __init__(
        self,
        config: Config,
        stage: str,
        directory: Path | None = None,
        client: Callable[[Agent, Limits], Client] = Client,
        first_wait: float = FIRST_WAIT,
        together: bool = True,
    ) -> None:
        self._pool = config.pool
        self._together = together
        self._make_client = client
        self._stage = stage
        self._first_wait = first_wait
        self._by_name: Mapping[str, Agent] = {agent.name: agent for agent in config.pool.agents}
        for agent in config.pool.agents:
            if not agent.model:
                raise PoolError(model_line(agent))
        self._database = Database(directory or store_directory())
        self._ledger = Ledger(self._database, Budget(self._pool.budget_usd, self._pool.budget_calls))
        if self._pool.responses != "live":
            read_new_packs(self._database)
        self._clients: dict[str, Client] = {}
        self._reused: dict[Purpose, Reused] = {}
        self._times: dict[str, float] = {}
        self._loop: Underway | None = None

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents, in the order of the head's rows."""
        return tuple(self._by_name)

    def close(self) -> None:
        """Writes the counts of reused replies and gives back claims."""
        try:
            for purpose in list(self._reused):
                self._ledger.reuse(purpose, self._reused.pop(purpose))
            self._ledger.close()
        finally:
            self._database.close()

    def stored(self, request: Request) -> Reply | None:
        """What the store holds for a request; None if nothing."""
        return self._database.get(call_of(self._by_name[request.agent], request).key)

    async def generate(self, request: Request) -> Response:
        """The stored reply, or a new one; see `Pool`.

        Raises:
            NotStored: in replay, the store has no reply.
            BudgetReached: the call could pass the budget.
            CallFailed: no reply could be had.
        """
        agent = self._by_name.get(request.agent)
        if agent is None:
            raise PoolError(f"no agent {request.agent!r} in the pool; agents: {', '.join(self.agents)}")
        call = call_of(agent, request)
        purpose = Purpose(agent.name, request.meta.role.value, self._stage)
        here = await self._here()
        if self._pool.responses == "live":
            return _response(await self._ask(here, agent, call, purpose, secrets.token_bytes(32)))
        while True:
            reply = self._database.get(call.key)
            if reply is not None:
                self._count_reuse(purpose, reply)
                return _response(reply)
            if self._pool.responses == "replay":
                raise NotStored(
                    f"replay: no stored response of agent {agent.name} (item {request.meta.item_id}, "
                    f"{request.meta.role.value}): {call.describe()}: `dvc pull` what was recorded, or record it with "
                    "pool.responses: record"
                )
            future = here.in_flight.get(call.key)
            if future is not None:
                await asyncio.wait([future])
                if not future.cancelled():
                    self._count_reuse(purpose, future.result())
                    return _response(future.result())
                continue  # whoever asked was stopped
            return _response(await self._ask_once(here, agent, call, purpose))

    async def _here(self) -> Underway:
        """What belongs to the running loop. A pool may serve one loop after another, not two at once."""
        loop = asyncio.get_running_loop()
        if self._loop is None or self._loop.loop is not loop:
            if self._loop is not None and self._loop.in_flight:
                raise RuntimeError("a pool serves one event loop at a time")
            self._loop = Underway(loop, self._pool.concurrency)
            await anext(self._loop.connections)
        return self._loop

    async def _ask_once(self, here: Underway, agent: Agent, call: Call, purpose: Purpose) -> Reply:
        future: asyncio.Future[Reply] = here.loop.create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may be nobody else's concern
        here.in_flight[call.key] = future
        try:
            reply = await self._ask(here, agent, call, purpose, call.key)
            future.set_result(reply)
            return reply
        except Exception as error:
            future.set_exception(error)
            raise
        finally:
            del here.in_flight[call.key]
            if not future.done():
                future.cancel()

    async def _ask(self, here: Underway, agent: Agent, call: Call, purpose: Purpose, claim: bytes) -> Reply:
        with here.asking():
            try:
                async with here.limits.get(agent.name, contextlib.nullcontext()):
                    stored = await self._claim(here, agent, call, claim)
                    if stored is not None:
                        self._count_reuse(purpose, stored)
                        return stored
                    return await self._make(here, agent, call, purpose, claim)
            except Exception:
                if self._together:
                    here.say_failed()
                raise

    async def _make(self, here: Underway, agent: Agent, call: Call, purpose: Purpose, claim: bytes) -> Reply:
        """Makes a call that is claimed, and settles it."""
        client, tries, keep = self._client(agent), self._pool.tries, self._pool.responses == "record"
        started = time.monotonic()

        async def attempt(call: Call) -> Reply:
            here.go_on()
            try:
                return await client.attempt(call)
            except CallFailed as failure:
                if failure.charged is not None:
                    self._ledger.charge(call, failure.charged, purpose, time.monotonic() - started)
                raise

        try:
            reply, tried = await persistently(attempt, call, agent.name, tries, self._first_wait, here.sleep)
            seconds = time.monotonic() - started
            other = self._ledger.settle(claim, call, reply, purpose, seconds, tried, keep=keep)
        except BaseException:
            self._ledger.release(claim)
            raise
        finally:
            here.say_ended()
        self._learn_price(agent, reply.prompt_tokens, reply.completion_tokens, reply.usd)
        # An earlier reply was imported meanwhile: it stays, and a replay will use it.
        return (self._database.get(claim) if other else None) or reply

    async def _claim(self, here: Underway, agent: Agent, call: Call, claim: bytes) -> Reply | None:
        """Waits until the call may be made; the reply if another process made it in the meantime."""
        usd = self._most(agent, call)
        while True:
            outcome = self._ledger.claim(claim, usd)
            if outcome is Claimed.WAIT:
                async with here.turn:
                    while (outcome := self._ledger.claim(claim, usd)) is Claimed.WAIT:
                        await self._another_end(here)
            if outcome is Claimed.MINE:
                return None
            if (reply := self._database.get(claim)) is not None:
                return reply
            await self._another_end(here)

    async def _another_end(self, here: Underway) -> None:
        """Waits until a request of this process has ended, or, as others tell nothing of theirs, a moment."""
        await asyncio.wait([here.ended], timeout=POLL_SECONDS)
        if time.monotonic() - here.looked >= POLL_SECONDS:
            self._ledger.void_claims_of_the_dead()
            here.looked = time.monotonic()

    def _most(self, agent: Agent, call: Call) -> float:
        if self._pool.budget_usd is None:
            return 0.0
        price = table_price(agent, *most_tokens(call))
        if price is None:
            raise PoolError(
                f"pool.budget_usd: the price of agent {agent.name} ({agent.model}) is not known: set its price "
                "(input and output, US dollars per million tokens), or budget_usd: null"
            )
        return price * self._dearer(agent)

    def _dearer(self, agent: Agent) -> float:
        """How many times the table's price the provider has charged this agent at most; at least 1."""
        if agent.name not in self._times:
            self._times[agent.name] = 1.0
            for spent in self._ledger.highest_price(agent.name):
                self._learn_price(agent, *spent)
        return self._times[agent.name]

    def _learn_price(self, agent: Agent, read: int, written: int, usd: float | None) -> None:
        expected = None if usd is None or self._pool.budget_usd is None else table_price(agent, read, written)
        if usd is not None and expected:
            self._times[agent.name] = max(self._times.get(agent.name, 1.0), usd / expected)

    def _client(self, agent: Agent) -> Client:
        if agent.name not in self._clients:
            self._clients[agent.name] = self._make_client(agent, Limits.of(self._pool))
        return self._clients[agent.name]

    def _count_reuse(self, purpose: Purpose, reply: Reply) -> None:
        self._reused[purpose] = self._reused.get(purpose, Reused()).plus(reply)


def _response(reply: Reply) -> Response:
    return Response(
        reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens,
        reasoning_tokens=reply.reasoning_tokens,
    )  # fmt: skip
