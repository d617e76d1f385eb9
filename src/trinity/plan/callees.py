"""Whom a first turn can ask, and which of these calls are the same to a pool."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from trinity.config import Config
from trinity.config.pool import Agent
from trinity.llm.call import Call
from trinity.llm.remote import call_of
from trinity.orchestration.rules import make_rules
from trinity.smoke.pool_rung import request_to
from trinity.types import Message, Request, RequestMeta, Role, Transcript

MOST = 2**62
"""Stands for every larger number of requests."""


@dataclass(frozen=True)
class Callee:
    """An agent in a role, with so many times the tokens, asked for one sample."""

    agent: int
    role: Role
    factor: int
    sample: int


@dataclass(frozen=True)
class Same:
    """Calls of a callee: two callees with one of these get one reply to one question."""

    signature: Hashable
    role: Role


class Callees:
    """The callees of params.yaml.

    A real pool's reply depends on model, parameters and messages, and on the sample where the temperature is not 0: two
    agents that are one model are one. A recorded reply does not depend on the sample, a simulated one does. In mode
    `live` nothing is stored, so that only the requests of one run are the same.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._rules = make_rules(config)
        self._stored = config.pool.kind == "litellm" and config.pool.responses != "live"
        self.same = cache(self._same)

    def _same(self, callee: Callee) -> Same:
        """What tells its calls from another's."""
        name = self._rules.agents[callee.agent]
        signature: Hashable = (name, callee.factor, callee.sample)
        if self._stored:
            signature = self._call(callee, ()).key
        elif self._config.pool.kind == "recorded":
            signature = name
        return Same(signature, callee.role)

    def call(self, callee: Callee, question: str) -> Call:
        """Its first call on a question."""
        return self._call(callee, self._rules.prompts.messages(callee.role, Transcript(question)))

    def chosen(self, samples: Iterable[int]) -> dict[Same, Callee]:
        """Whom a policy can choose."""
        agents = range(len(self._rules.agents))
        callees = (Callee(a, role, 1, sample) for sample in samples for a in agents for role in self._rules.roles)
        return self._distinct(callees)

    def each_agent(self, asked: Iterable[tuple[int, int]]) -> dict[Same, Callee]:
        """Every agent as Worker, by pairs of factor and sample."""
        agents = range(len(self._rules.agents))
        return self._distinct(Callee(a, Role.WORKER, factor, sample) for factor, sample in asked for a in agents)

    def width(self, turn: int, samples: Collection[int]) -> int:
        """The most requests that differ in a turn (1, 2, ...): the sequences of callees that can lead to it."""
        by_sample = [set(self.chosen((sample,))) for sample in samples]
        shared: int = len(set.intersection(*by_sample)) ** turn
        own: int = sum(len(callees) ** turn - shared for callees in by_sample)
        return min(MOST, shared + own)

    def least(self, samples: Collection[int]) -> list[Mapping[Same, Callee]]:
        """Groups of callees of which a policy must ask one each: all samples share a reply where one callee can."""
        by_sample = [self.chosen((sample,)) for sample in samples]
        return [self.chosen(samples)] if set.intersection(*map(set, by_sample)) else list(by_sample)

    @staticmethod
    def sent(agent: Agent, request: Request) -> tuple[str, Mapping[str, Any]]:
        """Model and parameters of a request's call."""
        call = call_of(agent, request)
        return call.model, call.params

    def _distinct(self, callees: Iterable[Callee]) -> dict[Same, Callee]:
        found: dict[Same, Callee] = {}
        for callee in callees:
            found.setdefault(self.same(callee), callee)
        return found

    def _call(self, callee: Callee, messages: tuple[Message, ...]) -> Call:
        decoding = self._rules.single_call(callee.factor).decoding
        meta = RequestMeta("", callee.role)
        request = Request(self._rules.agents[callee.agent], messages, decoding, callee.sample, meta)
        return call_of(self._config.pool.agents[callee.agent], request)


def shortest_episode(config: Config) -> int:
    """Turns that every episode has: an ACCEPT counts once a Worker has spoken, so that it can end the second turn."""
    turns = config.episode.max_turns
    return min(2, turns) if Role.VERIFIER in config.episode.roles else turns


def model_calls(config: Config) -> list[Call]:
    """The calls of rung S6, one a model; in mode live one an agent."""
    calls = [call_of(agent, request_to(agent, config)) for agent in config.pool.agents]
    return calls if config.pool.responses == "live" else list({call.key: call for call in calls}.values())
