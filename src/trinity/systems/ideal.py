"""What the simulated pool makes possible: exact values of the best constant choices and of the best policy.

The best policy knows a question's domain and its transcript, and never whether a well-formed answer is right: that is
kept as a belief, the probability that the latest one is right given all that was seen. Two answers that agree raise it,
since a question has one right and one wrong text. Computed from `pool.simulated` of params.yaml alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from trinity.config.pool import Simulated, SimulatedAgent
from trinity.llm.simulated import cap, worker_odds
from trinity.orchestration.rules import EpisodeRules
from trinity.types import Item, Role

MOST_SEQUENCES = 100_000  # 9 choices a turn: up to five turns, a second


@dataclass(frozen=True)
class IdealValues:
    """Expected rewards on a set of questions, by what may be chosen.

    Attributes:
        single: One Worker call, by agent.
        single_by_domain: The same, by agent and domain.
        best_domain_agent: One Worker call, the agent chosen by domain.
        best_static: The best constant sequence of (agent, role), the same for every question; None where there are
            more than `MOST_SEQUENCES` to try.
        best_sequence: That sequence, as (agent, role) names.
        best_policy: The best choice given domain and transcript.
        random: Uniform agent and role every turn.
    """

    single: Mapping[str, float]
    single_by_domain: Mapping[str, Mapping[str, float]]
    best_domain_agent: float
    best_static: float | None
    best_sequence: tuple[tuple[str, str], ...]
    best_policy: float
    random: float

    @property
    def best_single(self) -> float:
        """The best agent for all questions, one Worker call."""
        return max(self.single.values())

    def summary(self) -> dict[str, float | str | None]:
        """The values by name, and the best constant sequence as text."""
        return {
            **{f"single_{name}": value for name, value in self.single.items()},
            "best_single": self.best_single,
            "best_domain_agent": self.best_domain_agent,
            "best_static": self.best_static,
            "best_sequence": ", ".join(f"{agent} as {role}" for agent, role in self.best_sequence),
            "best_policy": self.best_policy,
            "random": self.random,
        }


def domain_shares(items: Sequence[Item]) -> dict[str, float]:
    """Share of each domain among some items."""
    counts = Counter(item.domain for item in items)
    return {domain: counts[domain] / len(items) for domain in sorted(counts)}


def ideal_values(simulated: Simulated, rules: EpisodeRules, domains: Mapping[str, float]) -> IdealValues:
    """Exact values for questions whose domains occur with the given shares (summing to 1)."""
    games = {domain: _Game(simulated, rules, domain) for domain in domains}

    def mean(value_by_domain: Mapping[str, float]) -> float:
        return sum(share * value_by_domain[domain] for domain, share in domains.items())

    one_call = {name: {domain: game.work(name, 0.0)[0] for domain, game in games.items()} for name in rules.agents}
    best_static, sequence = _best_static(games, rules, domains)
    return IdealValues(
        single={name: mean(values) for name, values in one_call.items()},
        single_by_domain=one_call,
        best_domain_agent=mean({d: max(one_call[name][d] for name in rules.agents) for d in domains}),
        best_static=best_static,
        best_sequence=tuple((rules.agents[agent], role.value) for agent, role in sequence),
        best_policy=mean({domain: game.best() for domain, game in games.items()}),
        random=mean({domain: game.random() for domain, game in games.items()}),
    )


class _Game:
    """The episode of one domain, reduced to what bears on its value: turn, plan, belief, what stands."""

    def __init__(self, simulated: Simulated, rules: EpisodeRules, domain: str) -> None:
        self._agents: dict[str, SimulatedAgent] = {name: simulated.agents[name] for name in rules.agents}
        self._rules = rules
        self._domain = domain

    def work(self, agent: str, plan: float) -> tuple[float, float]:
        """P(right) and P(wrong but well formed) of one Worker turn."""
        odds = worker_odds(self._agents[agent], self._domain, plan, cap(self._rules.decoding))
        return odds.right, odds.wrong

    def best(self) -> float:
        """Value of the best policy, by dynamic programming over (turns left, plan, belief, what stands)."""
        return self._value(choose_best=True)

    def random(self) -> float:
        """Value of uniform choices."""
        return self._value(choose_best=False)

    def _value(self, *, choose_best: bool) -> float:
        """Value of the best, or of uniform, choices.

        The belief is that of the latest well-formed answer, None before there is one. `stands` says whether that answer
        is the latest Worker's reply, which is what is graded; None before any Worker has spoken.
        """

        @cache
        def value(left: int, plan: float, belief: float | None, stands: bool | None) -> float:
            if left == 0:
                return belief if stands and belief is not None else 0.0
            actions = product(self._agents, self._rules.roles)
            options = [act(left - 1, plan, belief, stands, agent, role) for agent, role in actions]
            return max(options) if choose_best else sum(options) / len(options)

        def act(left: int, plan: float, belief: float | None, stands: bool | None, agent: str, role: Role) -> float:
            if role is Role.THINKER:
                return value(left, self._agents[agent].plan, belief, stands)
            if role is Role.WORKER:
                right, wrong = self.work(agent, plan)
                answers = [(right, wrong)]
                if belief is not None:  # the text seen before once more, or the other one
                    doubt = 1.0 - belief
                    answers = [(belief * right, doubt * wrong), (doubt * right, belief * wrong)]
                return (1.0 - right - wrong) * value(left, plan, belief, False) + sum(
                    seen * value(left, plan, round(share / seen, 12), True)
                    for share, seen in ((true, true + false) for true, false in answers)
                    if seen > 0
                )
            if stands is None:
                return value(left, plan, None, None)
            verifier = self._agents[agent].verifier
            if belief is None or not stands:
                return verifier.hit * value(left, plan, belief, stands)
            accept = belief * (1.0 - verifier.false_alarm)
            revise = belief * verifier.false_alarm + (1.0 - belief) * verifier.hit
            after = belief * verifier.false_alarm / revise if revise else 0.0
            return accept + (revise * value(left, plan, round(after, 12), True) if revise else 0.0)

        return value(self._rules.max_turns, 0.0, None, None)

    def step(self, live: "_Live", agent: int, role: Role) -> "_Live":
        """One turn of a constant sequence, from the masses of episodes still running."""
        name = self._rules.agents[agent]
        running = live.right + live.not_right + live.unanswered
        if role is Role.THINKER:
            return _Live(live.done, live.right, live.not_right, live.unanswered, self._agents[name].plan)
        if role is Role.WORKER:
            right = running * self.work(name, live.plan)[0]
            return _Live(live.done, right, running - right, 0.0, live.plan)
        verifier = self._agents[name].verifier
        return _Live(
            live.done + live.right * (1.0 - verifier.false_alarm),
            live.right * verifier.false_alarm,
            live.not_right * verifier.hit,
            live.unanswered,
            live.plan,
        )


@dataclass(frozen=True)
class _Live:
    """Probability mass of a constant sequence's episodes: accepted and right, or running by their latest answer."""

    done: float = 0.0
    right: float = 0.0
    not_right: float = 0.0
    unanswered: float = 1.0
    plan: float = 0.0


def _best_static(
    games: Mapping[str, _Game], rules: EpisodeRules, domains: Mapping[str, float]
) -> tuple[float | None, tuple[tuple[int, Role], ...]]:
    """The best of all constant sequences of K (agent, role) pairs, first in order where several are best."""
    actions: Sequence[tuple[int, Role]] = list(product(range(len(rules.agents)), rules.roles))
    if len(actions) ** rules.max_turns > MOST_SEQUENCES:
        return None, ()

    def best(live: Mapping[str, _Live], left: int) -> tuple[float, tuple[tuple[int, Role], ...]]:
        if left == 0:
            return sum(share * (live[d].done + live[d].right) for d, share in domains.items()), ()
        top: tuple[float, tuple[tuple[int, Role], ...]] = (-1.0, ())
        for action in actions:
            value, rest = best({d: games[d].step(live[d], *action) for d in domains}, left - 1)
            if value > top[0]:
                top = (value, (action, *rest))
        return top

    return best({domain: _Live() for domain in domains}, rules.max_turns)
