"""The simulated pool: agents whose skills are numbers in params.yaml, and whose replies are text.

It reads what a real agent reads, the prompt: whether a plan stands there and whose, and what the latest answer was. The
probability of every reply is known (`distribution`), so that the expected reward of any policy can be computed exactly.
Its replies go through the real graders.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from math import exp, log
from statistics import NormalDist

from trinity.config.pool import Simulated, SimulatedAgent
from trinity.errors import ConfigError, PoolError
from trinity.rng import uniform
from trinity.types import Decoding, Item, Request, Response, Role

_NORMAL = NormalDist()
_TOKENS_PER_WORD = 1.3
VERDICT_TEXTS = {True: "It holds.\nVERDICT: ACCEPT", False: "It fails.\nVERDICT: REVISE"}


def plan_text(agent: str) -> str:
    """What a Thinker of this name writes; a later Worker is helped by the latest one in its prompt."""
    return f"Plan by {agent}: split, solve, check."


@dataclass(frozen=True)
class Odds:
    """Probabilities of a Worker's reply; they sum to 1."""

    right: float
    wrong: float
    malformed: float
    cut: float


def worker_odds(agent: SimulatedAgent, domain: str, plan: float, max_tokens: int) -> Odds:
    """Odds of a Worker's reply.

    Args:
        agent: Who answers.
        domain: What the question is about.
        plan: Worth of the plan in the prompt: the share of failures that it turns into right answers; 0 without one.
        max_tokens: A longer reply is cut and holds no answer.
    """
    cut = 1.0 - _share_within(agent, max_tokens)
    skill = agent.skill[domain] + plan * (1.0 - agent.skill[domain])
    failed = (1.0 - cut) * (1.0 - skill)
    return Odds(
        right=(1.0 - cut) * skill,
        wrong=failed * (1.0 - agent.malformed),
        malformed=failed * agent.malformed,
        cut=cut,
    )


def cap(decoding: Decoding) -> int:
    """The cap of a reply in tokens.

    Raises:
        PoolError: there is none.
    """
    if decoding.max_tokens is None:
        raise PoolError("simulated pool: needs a cap of tokens a reply: set episode.max_tokens")
    return decoding.max_tokens


def _share_within(agent: SimulatedAgent, max_tokens: int) -> float:
    """P(length <= max_tokens) of the log-normal length."""
    if agent.length.sigma == 0:
        return float(agent.length.median <= max_tokens)
    return NormalDist(sigma=agent.length.sigma).cdf(_log_ratio(agent, max_tokens))


def _log_ratio(agent: SimulatedAgent, tokens: float) -> float:
    return log(tokens / agent.length.median)


class SimulatedPool:
    """Implements `Pool` from `pool.simulated` of params.yaml.

    Args:
        simulated: The numbers.
        agents: Names in the order of the head's rows.
        items: The questions it can be asked; their `extra` holds the texts of a right, wrong and malformed answer.

    Raises:
        ConfigError: an agent has no skill for a domain of the items.
    """

    def __init__(self, simulated: Simulated, agents: tuple[str, ...], items: Iterable[Item]) -> None:
        self.agents = agents
        self._simulated = simulated
        self._items = {item.id: item for item in items}
        for name in agents:
            lacking = {item.domain for item in self._items.values()} - set(simulated.agents[name].skill)
            if lacking:
                raise ConfigError(
                    f"params.yaml: pool.simulated.agents.{name}.skill: no entry for {', '.join(sorted(lacking))}"
                )

    async def generate(self, request: Request) -> Response:
        """Draws one reply, keyed by the agent, the messages and the sample index."""
        key = (self._simulated.seed, request.agent, _digest(request), request.sample_index)
        point = uniform("simulated", *key)
        outcomes = self.distribution(request)
        reply = outcomes[-1][1]
        for probability, candidate in outcomes:
            point -= probability
            if point < 0:
                reply = candidate
                break
        if request.meta.role is Role.WORKER and reply.finish_reason == "stop":
            agent = self._simulated.agents[request.agent]
            length = _length_within(agent, request.decoding, uniform("length", *key))
            return Response(reply.text, "stop", reply.prompt_tokens, length)
        return reply

    def distribution(self, request: Request) -> tuple[tuple[float, Response], ...]:
        """Every reply that this request can get, with its probability; the zero ones are left out.

        The token count of an uncut Worker's reply is the median: it has no bearing on the reward.
        """
        if request.agent not in self.agents:
            raise PoolError(f"simulated pool: no agent {request.agent!r}; it has {', '.join(self.agents)}")
        item = self._items.get(request.meta.item_id)
        if item is None:
            raise PoolError(
                f"simulated pool: no item {request.meta.item_id!r}: it answers the questions it was made for"
            )
        agent = self._simulated.agents[request.agent]
        prompt = "\n".join(message.content for message in request.messages)
        read = _tokens(prompt)

        def reply(text: str, tokens: int | None = None, *, cut: bool = False) -> Response:
            return Response(text, "length" if cut else "stop", read, _tokens(text) if tokens is None else tokens)

        if request.meta.role is Role.THINKER:
            return ((1.0, reply(plan_text(request.agent))),)
        if request.meta.role is Role.WORKER:
            odds = worker_odds(agent, item.domain, self._plan_in(prompt), cap(request.decoding))
            median = min(int(agent.length.median), cap(request.decoding))
            outcomes = [
                (odds.right, reply(item.extra["right"], median)),
                (odds.wrong, reply(item.extra["wrong"], median)),
                (odds.malformed, reply(item.extra["malformed"], median)),
                (odds.cut, reply(item.extra["malformed"], cap(request.decoding), cut=True)),
            ]
        else:
            verifier = agent.verifier
            revise = verifier.false_alarm if _answer_is_right(prompt, item) else verifier.hit
            outcomes = [(revise, reply(VERDICT_TEXTS[False])), (1.0 - revise, reply(VERDICT_TEXTS[True]))]
        return tuple((probability, response) for probability, response in outcomes if probability > 0)

    def _plan_in(self, prompt: str) -> float:
        """Worth of the latest plan in a prompt; 0 where none stands."""
        positions = {name: prompt.rfind(plan_text(name)) for name in self.agents}
        latest = max(self.agents, key=lambda name: positions[name])
        return self._simulated.agents[latest].plan if positions[latest] >= 0 else 0.0


def _answer_is_right(prompt: str, item: Item) -> bool:
    """Whether the latest of the item's known answers in a prompt is the right one."""
    texts = {kind: item.extra[kind] for kind in ("right", "wrong", "malformed")}
    # Of two answers that begin at one place ("Answer: 4" in "Answer: 42") the longer one was written.
    latest = max(texts, key=lambda kind: (prompt.rfind(texts[kind]), len(texts[kind])))
    return latest == "right" and texts[latest] in prompt


def _length_within(agent: SimulatedAgent, decoding: Decoding, point: float) -> int:
    """A length of a reply that was not cut, in tokens: the log-normal conditioned on max_tokens."""
    share = _share_within(agent, cap(decoding))
    quantile = _NORMAL.inv_cdf(min(max(point * share, 1e-12), 1 - 1e-12))
    length = agent.length.median * exp(agent.length.sigma * quantile)
    return max(1, min(int(length), cap(decoding)))


def _tokens(text: str) -> int:
    return max(1, int(len(text.split()) * _TOKENS_PER_WORD))


def _digest(request: Request) -> str:
    digest = blake2b(digest_size=16)
    for message in request.messages:
        digest.update(f"{message.role}\x00{message.content}\x00".encode())
    return digest.hexdigest()
