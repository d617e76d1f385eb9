"""What an agent needs before it can be asked, its key and its model, and what is said where one is missing."""

import os

from trinity.config.pool import Agent

KEY_BY_PROVIDER = {"openrouter": "OPENROUTER_API_KEY", "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
"""Spares the stages the import of litellm, which knows them all."""


def key_of(agent: Agent) -> str | None:
    """The environment variable that an agent's key is taken from, where it is one of the well-known."""
    if agent.key_env is not None:
        return agent.key_env
    if agent.api_base is not None or not agent.model:
        return None
    return KEY_BY_PROVIDER.get(agent.model.partition("/")[0])


def key_problem(name: str) -> str | None:
    """What keeps a key from being sent; None if nothing does."""
    key = os.environ.get(name)
    if not key:
        return f"missing key {name}: export {name}=... in the shell that runs dvc"
    if not (key.isascii() and key.isprintable() and " " not in key):
        return f"key {name} holds a blank, a line break or a letter beyond ASCII, which no key does: export it again"
    return None


def model_line(agent: Agent) -> str:
    """What is said of an agent without a model."""
    return f"missing model of agent {agent.name}: set pool.agents: model to PROVIDER/MODEL as litellm does"
