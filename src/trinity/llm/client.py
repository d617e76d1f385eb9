"""One attempt at one call through litellm: a reply, or a typed failure that says whether another attempt can help."""

import logging
import os
import sys
from collections.abc import AsyncGenerator
from typing import Any

from trinity.config.pool import Agent
from trinity.llm.call import Call, Reply
from trinity.llm.diagnosis import failure_of, is_filtered
from trinity.llm.failures import Limits, Malformed, NoKey
from trinity.llm.keys import key_of, key_problem
from trinity.llm.replies import clean, read_reply, said_price

NO_KEY = "none"
"""Sent to a server of one's own, so that no provider's key ever reaches it."""
FILTERED_PROMPT = Reply("", "content_filter", 0, 0, usd=0.0)
"""The reply to a prompt that the provider's filter refuses: it would be refused for ever, and costs nothing."""


def library() -> Any:
    """litellm, set up so that importing it asks no network and it prints and reports nothing of its own."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = False
    return litellm


class Client:
    """Calls one agent.

    Args:
        agent: Its server, key and price.
        limits: Of connecting and reading.

    Raises:
        NoKey: by `attempt`, where its key is not in the environment.
    """

    def __init__(self, agent: Agent, limits: Limits) -> None:
        import httpx

        self.agent = agent
        self._litellm = library()
        self._timeout = httpx.Timeout(limits.read, connect=limits.connect)
        self._limits = limits

    async def attempt(self, call: Call) -> Reply:
        """Asks once.

        Raises:
            CallFailed: no reply came; a `Transient` one is worth another attempt.
        """
        server = self._server()
        try:
            response = await self._litellm.acompletion(
                model=call.model,
                messages=[{"role": message.role, "content": clean(message.content)} for message in call.messages],
                timeout=self._timeout,
                num_retries=0,
                max_retries=0,
                **server,
                **call.params,
            )
        except Exception as error:  # litellm raises whatever its code for a provider raises
            if is_filtered(error):
                return FILTERED_PROMPT
            raise failure_of(error, self.agent, self._limits) from None
        try:
            return read_reply(response, call, self.price)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise Malformed(f"malformed reply ({error})") from None

    def _server(self) -> dict[str, Any]:
        agent = self.agent
        name = key_name(agent)
        if name is not None and (problem := key_problem(name)) is not None:
            raise NoKey(f"agent {agent.name}: {problem}")
        if agent.key_env is not None:
            key = os.environ[agent.key_env]
        elif agent.api_base is not None:
            key = NO_KEY
        else:
            return {}
        return {"api_key": key} | ({"api_base": agent.api_base} if agent.api_base else {})

    def price(self, prompt_tokens: int, completion_tokens: int, response: Any = None) -> float | None:
        """US dollars of a reply; None where nobody says.

        The override of params.yaml goes before what the provider says, and that before litellm's table.
        """
        said = None if self.agent.price is not None else said_price(response)
        return table_price(self.agent, prompt_tokens, completion_tokens) if said is None else said


async def closing_connections() -> AsyncGenerator[None]:
    """Open while a loop uses litellm: closes the connections that litellm keeps for reuse.

    asyncio closes asynchronous generators that were begun in a loop when it shuts down (`asyncio.run`,
    `asyncio.Runner`), which is the last moment at which connections can be closed cleanly.
    """
    try:
        yield
    finally:
        if "litellm" in sys.modules:  # replay does without
            litellm = library()
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()


def table_price(agent: Agent, prompt_tokens: int, completion_tokens: int) -> float | None:
    """What params.yaml, or litellm's table, says that tokens cost; None where neither does."""
    if agent.price is not None:
        return (prompt_tokens * agent.price.input + completion_tokens * agent.price.output) / 1e6
    if agent.api_base is not None:
        return None
    litellm = library()
    try:
        read, written = litellm.cost_per_token(
            model=agent.model, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens
        )
    except Exception:  # litellm raises bare Exception for a model that its table lacks
        return None
    return float(read + written)


def missing_keys(agent: Agent) -> list[str]:
    """Environment variables that the provider of an agent needs and that are not set."""
    if agent.key_env is not None:
        return [] if os.environ.get(agent.key_env) else [agent.key_env]
    if agent.api_base is not None:
        return []
    found = library().validate_environment(model=agent.model)
    return [] if found["keys_in_environment"] else list(found["missing_keys"])


def key_name(agent: Agent) -> str | None:
    """The environment variable of an agent's key: named by params.yaml, or what litellm reads for its provider."""
    name = key_of(agent) or next(iter(missing_keys(agent)), None)
    if name is None and agent.api_base is None and (provider := known_provider(agent)) is not None:
        usual = f"{provider.upper()}_API_KEY"
        name = usual if usual in os.environ else None
    return name


def known_provider(agent: Agent) -> str | None:
    """Who serves the model of an agent, as litellm reads its name; None if it cannot tell."""
    litellm = library()
    try:
        return str(litellm.get_llm_provider(agent.model)[1])
    except litellm.BadRequestError:
        return None
