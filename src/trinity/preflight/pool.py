"""What the agents of a litellm pool need before they can be asked."""

import os
from collections.abc import Iterator

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.llm.client import known_provider, missing_keys, table_price

KEY_BY_PROVIDER = {"openrouter": "OPENROUTER_API_KEY", "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""Spares the stages the import of litellm, which knows them all."""

NO_MODEL = "missing model of agent {}: set pool.agents: model to PROVIDER/MODEL as litellm does"


def pool_lines(config: Config) -> Iterator[str]:
    """A line for each model and key that is missing, as far as can be told without litellm."""
    pool = config.pool
    if pool.kind != "litellm":
        return
    for agent in pool.agents:
        if not agent.model:
            yield NO_MODEL.format(agent.name)
    if pool.responses != "replay":
        names = [name for agent in pool.agents for name in [key_of(agent)] if name and not os.environ.get(name)]
        yield from map(key_line, sorted(set(names)))


def key_line(name: str) -> str:
    """What is said of a key that is not set."""
    return f"missing key {name}: export {name}=... in the shell that runs dvc"


def agent_lines(config: Config, agent: Agent) -> list[str]:
    """What keeps one agent from being asked, by all that litellm knows: its model, key and price."""
    pool = config.pool
    if not agent.model:
        return [NO_MODEL.format(agent.name)]
    if known_provider(agent) is None:
        return [
            f"missing provider of agent {agent.name}: litellm knows none for {agent.model}: write PROVIDER/MODEL, "
            "openai/MODEL for a server of your own"
        ]
    if pool.responses == "replay":
        return []
    lines = [key_line(name) for name in missing_keys(agent)[:1]]
    if pool.budget_usd is not None and table_price(agent, 1, 1) is None:
        lines.append(
            f"missing price of agent {agent.name}: pool.budget_usd needs one: set pool.agents: price (US dollars per "
            "million tokens of input and output), or budget_usd: null"
        )
    return lines


def key_of(agent: Agent) -> str | None:
    """The environment variable that an agent's key is taken from, where it is one of the well-known."""
    if agent.key_env is not None:
        return agent.key_env
    if agent.api_base is not None or not agent.model:
        return None
    return KEY_BY_PROVIDER.get(agent.model.partition("/")[0])
