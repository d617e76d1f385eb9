"""Rung S6, one call to each real model: its parameters are accepted, max_tokens holds, the reply is stored."""

import asyncio
from dataclasses import dataclass
from typing import Any

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.errors import TrinityError
from trinity.llm.remote import RemotePool, effective_decoding
from trinity.smoke.ladder import Rung, require
from trinity.types import Decoding, Message, Request, RequestMeta, Response, Role

MOST_TOKENS = 64
TEXT = "Count from 1 to 100, one number a line. Write nothing else."
"""Asks for more than `MOST_TOKENS`, so that a limit that is not honoured shows."""


@dataclass(frozen=True)
class Asked:
    """What one model answered.

    Attributes:
        most: Tokens that the reply may have; None where `pool.agents: decoding` lifts the limit.
        response: The reply.
        model: The version that answered, as the provider names it; "" where it does not, or nothing is stored.
        was_stored: Whether the store held the reply before, so that no call was made.
        read_back: Whether the store gave the same reply back; None in mode live, where nothing is stored.
    """

    most: int | None
    response: Response
    model: str
    was_stored: bool
    read_back: bool | None

    def check(self) -> None:
        """Raises `RungFailed` where the limit or the store does not hold."""
        written = self.response.completion_tokens
        require(
            self.most is None or written <= self.most,
            f"wrote {written} tokens where max_tokens is {self.most}: the limit, hence the budget, does not hold: "
            "choose another provider of this model (docs/pool.md)",
        )
        require(self.read_back is not False, "the reply that was stored is not the reply that was read back")

    def other_model(self, agent: Agent) -> str | None:
        """The model that answered at an agent's own server, where its name is another than what was asked for.

        Servers of one model often answer whatever they are asked for; a reply is kept under what was asked for.
        """
        asked = (agent.model or "").rpartition("/")[2].lower()
        said = self.model.rpartition("/")[2].lower()
        if agent.api_base is None or not said or asked in said or said in asked:
            return None
        return self.model

    def saw(self) -> dict[str, Any]:
        """What follows from the stored reply alone: no time, no price, and not whether it was stored before."""
        return {
            "model": self.model,
            "max_tokens": self.most,
            "tokens": self.response.completion_tokens,
            "reasoning_tokens": self.response.reasoning_tokens,
            "finish_reason": self.response.finish_reason,
            "cause": self.response.cause or "none",
            "read_back": self.read_back,
        }


def pool_rungs(config: Config) -> list[Rung]:
    """Rung S6 where the pool is of real models; none otherwise."""
    if config.pool.kind != "litellm":
        return []

    def s6() -> dict[str, Any]:
        asked = ask_each(config, "smoke")
        failures = [f"{name}: {failure}" for name, failure in asked.items() if isinstance(failure, TrinityError)]
        require(not failures, "; ".join(failures))
        return {name: reply.saw() for name, reply in asked.items() if isinstance(reply, Asked)}

    return [Rung("S6", "each model of the pool answers as asked, and its reply is stored", s6)]


def ask_each(config: Config, stage: str) -> dict[str, Asked | TrinityError]:
    """Asks each agent of a litellm pool once, all at the same time, through the pool and its store.

    Args:
        config: Of params.yaml.
        stage: What the calls are accounted under.

    Returns:
        By agent, what it answered, or why it did not or not as it should.

    Raises:
        TrinityError: the store cannot be opened.
    """
    pool = RemotePool(config, stage, together=False)
    try:
        asked = asyncio.run(_ask_all(pool, config))
    finally:
        pool.close()
    return dict(zip(pool.agents, asked, strict=True))


def request_to(agent: Agent, config: Config) -> Request:
    """What the rung asks an agent."""
    decoding = Decoding(MOST_TOKENS, config.episode.temperature, config.episode.top_p)
    return Request(agent.name, (Message("user", TEXT),), decoding, 0, RequestMeta("S6", Role.WORKER))


async def _ask_all(pool: RemotePool, config: Config) -> list[Asked | TrinityError]:
    return list(await asyncio.gather(*(_ask(pool, config, agent) for agent in config.pool.agents)))


async def _ask(pool: RemotePool, config: Config, agent: Agent) -> Asked | TrinityError:
    request = request_to(agent, config)
    most = effective_decoding(agent, request.decoding).max_tokens
    live = config.pool.responses == "live"
    try:
        was_stored = not live and pool.stored(request) is not None
        response = await pool.generate(request)
        stored = None if live else pool.stored(request)
        read_back = None if live else stored is not None and stored.text == response.text
        asked = Asked(most, response, stored.model if stored else "", was_stored, read_back)
        asked.check()
        return asked
    except TrinityError as error:
        return error
