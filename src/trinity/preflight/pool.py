"""What the agents of a litellm pool need before they can be asked."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.llm.client import key_name, known_provider, table_price
from trinity.llm.keys import key_of, key_problem, model_line

CONNECT_SECONDS = 2.0


def pool_lines(config: Config) -> Iterator[str]:
    """A line for each model, key (of the well-known providers) and price that is missing."""
    pool = config.pool
    if pool.kind != "litellm":
        return
    for agent in pool.agents:
        if not agent.model:
            yield model_line(agent)
    if pool.responses != "replay":
        names = {name for agent in pool.agents for name in [key_of(agent)] if name}
        yield from (problem for name in sorted(names) for problem in [key_problem(name)] if problem)
        yield from (_price_line(agent) for agent in pool.agents if agent.model and _lacks_price(config, agent))


def _lacks_price(config: Config, agent: Agent) -> bool:
    """Whether the budget needs a price that is not known. litellm's table is opened for a provider's price alone."""
    return config.pool.budget_usd is not None and table_price(agent, 1, 1) is None


def _price_line(agent: Agent) -> str:
    return (
        f"missing price of agent {agent.name}: pool.budget_usd needs one: set pool.agents: price (US dollars per "
        "million tokens of input and output), or budget_usd: null"
    )


def agent_lines(config: Config, agent: Agent, *, connect: bool) -> dict[str, str]:
    """What keeps one agent from being asked, by all that litellm knows.

    Args:
        config: Of params.yaml.
        agent: One of its pool.
        connect: Whether the server of an agent with an `api_base` is to be looked for.

    Returns:
        By what is missing (model, provider, key, price, server), its line.
    """
    if not agent.model:
        return {"model": model_line(agent)}
    if known_provider(agent) is None:
        return {
            "provider": f"missing provider of agent {agent.name}: litellm knows none for {agent.model}: write "
            "PROVIDER/MODEL, openai/MODEL for a server of your own"
        }
    if config.pool.responses == "replay":
        return {}
    lines = {}
    name = key_name(agent)
    if name is not None and (problem := key_problem(name)) is not None:
        lines["key"] = problem
    if _lacks_price(config, agent):
        lines["price"] = _price_line(agent)
    if connect and agent.api_base is not None and not _answers(agent.api_base):
        lines["server"] = f"missing server of agent {agent.name}: does not answer at {agent.api_base}: start it"
    return lines


def _answers(address: str) -> bool:
    """Whether something takes a connection at an address; nothing is sent."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except (OSError, ValueError):  # ValueError: no port, or no name
        return False
    return True
