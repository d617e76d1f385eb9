"""Section `pool` of params.yaml: the agents, how real ones are called, what may be spent, and the simulated ones."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from trinity.config.values import Count, Name, NotNegative, Positive, Section, Share

_DECODED = "set by episode, or by `decoding` of the agent"
_KEYED = "the key is named by `key_env` of the agent"
_NOT_SET = "set by trinity alone"
OWN_PARAMS = {
    "model": "set by `model` of the agent", "messages": _NOT_SET, "n": _NOT_SET, "stream": _NOT_SET,
    "api_base": "set by `api_base` of the agent", "base_url": "set by `api_base` of the agent",
    "max_tokens": _DECODED, "temperature": _DECODED, "top_p": _DECODED,
    "max_completion_tokens": _DECODED, "max_output_tokens": _DECODED,
    "timeout": "set by `pool.read_seconds`", "request_timeout": "set by `pool.read_seconds`",
    "num_retries": "set by `pool.tries`", "max_retries": "set by `pool.tries`",
    **dict.fromkeys(("mock_response", "fallbacks", "context_window_fallback_dict", "custom_llm_provider", "client",
                     "cache", "caching", "drop_params"), _NOT_SET),
    "api_key": _KEYED, "headers": _KEYED, "extra_headers": _KEYED, "default_headers": _KEYED,
}  # fmt: skip
"""What may not stand among an agent's params, and where it is set."""


def _name_of_a_variable(value: str) -> str:
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*_(KEY|TOKEN|SECRET)", value):
        raise ValueError(
            "must be the NAME of an environment variable (capitals, digits, _) that ends in _KEY, _TOKEN or "
            "_SECRET, not the key itself"
        )
    return value


def _address(value: str) -> str:
    if not re.match(r"https?://[^/\s]", value):
        raise ValueError("must begin with http:// or https://, such as http://127.0.0.1:8101/v1")
    return value


def _json(value: dict[str, Any]) -> dict[str, Any]:
    try:
        same = json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ValueError("must be what JSON can say: text, numbers, true, false, null, lists and mappings by text")
    return value


class AgentDecoding(Section):
    """What one agent decodes otherwise than `episode` says."""

    max_tokens: Count | None = None
    temperature: NotNegative | None = None
    top_p: Share | None = None


class Price(Section):
    """US dollars per million tokens."""

    input: NotNegative
    output: NotNegative


class Agent(Section):
    """One LLM of the pool. All but the name is read by the litellm pool alone.

    Attributes:
        model: As litellm names it: PROVIDER/MODEL.
        api_base: An OpenAI-compatible server in place of the provider's own; no part of a stored response's key.
        key_env: The environment variable that holds the key. Null: the provider's own; none is sent to an `api_base`.
        decoding: In place of `episode.max_tokens`, `temperature`, `top_p`.
        params: Sent with every call besides: how this model is told to reason least (docs/pool.md).
        price: In place of what the provider or litellm's table says.
    """

    name: Name
    model: str | None = None
    api_base: Annotated[str, AfterValidator(_address)] | None = None
    key_env: Annotated[str, AfterValidator(_name_of_a_variable)] | None = None
    decoding: AgentDecoding | None = None
    params: Annotated[dict[str, Any], AfterValidator(_json)] = Field(default_factory=dict)
    price: Price | None = None


class SimulatedVerifier(Section):
    """P(REVISE | the latest answer is wrong), P(REVISE | it is right)."""

    hit: Share
    false_alarm: Share


class SimulatedLength(Section):
    """Log-normal length of a Worker's reply in tokens; a reply longer than max_tokens is cut."""

    median: Positive
    sigma: NotNegative


class SimulatedAgent(Section):
    """What one simulated agent can do.

    Attributes:
        skill: By domain, P(right answer) of an uncut Worker reply without a plan.
        malformed: Share of the failures that are visibly malformed rather than wrong.
        plan: Share of a later Worker's failures that this agent's plan turns into right answers.
    """

    skill: dict[str, Share]
    malformed: Share
    plan: Share
    verifier: SimulatedVerifier
    length: SimulatedLength


class Simulated(Section):
    """The simulated pool."""

    seed: int
    agents: dict[Name, SimulatedAgent]


class Pool(Section):
    """The agents that are coordinated. What follows `simulated` is for the litellm pool and changes no result.

    Attributes:
        responses: record: what the store holds is not asked again, what is asked is stored. replay: the store alone; a
            request that it does not hold is an error. live: every request is asked, nothing is stored or read.
        budget_usd: All that this store's calls may cost together; null: no limit.
        budget_calls: All the calls that may be made for this store; null: no limit.
        concurrency: By agent, requests in flight at once; `run.concurrency` limits all together.
        tries: Attempts a call, over which a transport failure may pass.
        connect_seconds: Until a connection must stand.
        read_seconds: Longest silence while a reply is awaited.
    """

    kind: Literal["simulated", "recorded", "litellm"]
    agents: Annotated[list[Agent], Field(min_length=1)]
    simulated: Simulated | None = None
    responses: Literal["record", "replay", "live"] = "record"
    budget_usd: NotNegative | None = None
    budget_calls: Annotated[int, Field(ge=0)] | None = None
    concurrency: dict[Name, Count] = Field(default_factory=dict)
    tries: Count = 8
    connect_seconds: Positive = 10.0
    read_seconds: Positive = 300.0

    @model_validator(mode="after")
    def _names_agree(self) -> "Pool":
        names = [agent.name for agent in self.agents]
        if len(set(names)) != len(names):
            raise ValueError(f"agents: names must differ, got {names}")
        if self.kind == "simulated":
            if self.simulated is None:
                raise ValueError("simulated: needed when pool.kind is simulated")
            missing = [name for name in names if name not in self.simulated.agents]
            if missing:
                raise ValueError(f"simulated.agents: no entry for {', '.join(missing)}")
        unknown = [name for name in self.concurrency if name not in names]
        if unknown:
            raise ValueError(f"concurrency: no agent {', '.join(unknown)}; agents: {', '.join(names)}")
        if self.kind == "litellm":
            places: dict[str | None, str | None] = {}
            for agent in self.agents:
                # The place is no part of a reply's key: these two would share replies.
                if places.setdefault(agent.model, agent.api_base) != agent.api_base:
                    raise ValueError(
                        f"agents: {agent.name}: model {agent.model} stands at two addresses: name them apart"
                    )
                body = agent.params.get("extra_body")
                given = {*agent.params, *(body if isinstance(body, dict) else ())}
                taken = [f"{name}: {OWN_PARAMS[name]}" for name in sorted(given & set(OWN_PARAMS))]
                if taken:
                    raise ValueError(f"agents: {agent.name}: params: {'; '.join(taken)}: take it out")
        return self
