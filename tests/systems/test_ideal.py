"""What the simulated pool makes possible, against enumerations on the pool, the rules and the grader themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from sandboxes import SANDBOX
from trinity.config import load_config
from trinity.config.pool import Simulated, SimulatedAgent, SimulatedLength, SimulatedVerifier
from trinity.coordinator.base import Policy, State
from trinity.coordinator.fixed import FixedPolicy
from trinity.llm.simulated import SimulatedPool
from trinity.orchestration.exact import expected_rewards
from trinity.orchestration.rules import EpisodeRules, make_rules
from trinity.rewards.grader import Grader
from trinity.rng import generator
from trinity.systems.ideal import IdealValues, domain_shares, ideal_values
from trinity.tasks.demo.task import KINDS, DemoTask
from trinity.types import Decision, Item, Role, Transcript

CONFIG = load_config(Path(__file__).parents[2] / "params.yaml")
assert CONFIG.pool.simulated is not None
DEMO = CONFIG.pool.simulated
RULES = make_rules(CONFIG)
T, W, V = Role.THINKER, Role.WORKER, Role.VERIFIER
DOMAINS = ("sums", "maps")


def static(values: IdealValues) -> float:
    assert values.best_static is not None
    return values.best_static


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(SANDBOX) as opened:
        yield opened


def rules_of(agents: Sequence[str], max_turns: int, roles: tuple[Role, ...] = (T, W, V)) -> EpisodeRules:
    return replace(RULES, agents=tuple(agents), roles=roles, max_turns=max_turns)


def some_pool(seed: int, agents: int = 3) -> Simulated:
    """Agents whose every number is drawn."""
    draw = generator("some pool", seed)
    return Simulated(
        seed=0,
        agents={
            f"a{number}": SimulatedAgent(
                skill={domain: round(float(draw.uniform()), 2) for domain in DOMAINS},
                malformed=round(float(draw.uniform(0, 0.6)), 2),
                plan=round(float(draw.uniform(0, 0.8)), 2),
                verifier=SimulatedVerifier(
                    hit=round(float(draw.uniform(0.5, 1)), 2), false_alarm=round(float(draw.uniform(0, 0.5)), 2)
                ),
                length=SimulatedLength(median=round(float(draw.uniform(100, 900))), sigma=0.6),
            )
            for number in range(agents)
        },
    )


def one_agent(skill: float, hit: float, false_alarm: float, malformed: float = 0.0, plan: float = 0.0) -> Simulated:
    return Simulated(
        seed=0,
        agents={
            "ann": SimulatedAgent(
                skill={"sums": skill},
                malformed=malformed,
                plan=plan,
                verifier=SimulatedVerifier(hit=hit, false_alarm=false_alarm),
                length=SimulatedLength(median=10, sigma=0),
            )
        },
    )


def twins(domain: str) -> tuple[Item, Item]:
    """Two items that nobody can tell apart, each with the other's right answer as its wrong one."""
    red, blue, none = "It is said.\nAnswer: red", "It is said.\nAnswer: blue", "It is said, or not."
    question = f"Red or blue, in {domain}?"
    return (
        Item(
            f"{domain}-red",
            "toy",
            domain,
            question,
            "freeform",
            "red",
            {"right": red, "wrong": blue, "malformed": none},
        ),
        Item(
            f"{domain}-blue",
            "toy",
            domain,
            question,
            "freeform",
            "blue",
            {"right": blue, "wrong": red, "malformed": none},
        ),
    )


def best_value(simulated: Simulated, rules: EpisodeRules, domain: str, grader: Grader) -> float:
    """The best policy by trying every choice after every transcript, blind to which of the twins is asked."""
    pair = twins(domain)
    pool = SimulatedPool(simulated, rules.agents, pair)
    actions = [Decision(agent, role) for agent, role in product(range(len(rules.agents)), rules.roles)]

    def graded(masses: Sequence[float], transcript: Transcript) -> float:
        work = transcript.latest_work
        return sum(m * grader.grade(item, work).value for m, item in zip(masses, pair, strict=True)) if work else 0.0

    def value(masses: Sequence[float], transcript: Transcript) -> float:
        return max(after(masses, transcript, action) for action in actions)

    def after(masses: Sequence[float], transcript: Transcript, action: Decision) -> float:
        seen: dict[str, tuple[list[float], Transcript]] = {}
        for index, (mass, item) in enumerate(zip(masses, pair, strict=True)):
            for share, response in pool.distribution(rules.request(item.id, transcript, action, 0)):
                successor = rules.advance(transcript, action, response)
                seen.setdefault(successor.text, ([0.0, 0.0], successor))[0][index] += mass * share
        return sum(
            graded(split, successor) if rules.finished(successor) else value(split, successor)
            for split, successor in seen.values()
        )

    return value([0.5, 0.5], Transcript(pair[0].question))


def static_values(
    simulated: Simulated, rules: EpisodeRules, items: Sequence[Item], grader: Grader
) -> dict[tuple[tuple[str, str], ...], float]:
    """Expected reward of every constant sequence."""
    pool = SimulatedPool(simulated, rules.agents, items)
    actions = [Decision(agent, role) for agent, role in product(range(len(rules.agents)), rules.roles)]
    return {
        tuple((rules.agents[decision.agent], decision.role.value) for decision in sequence): float(
            expected_rewards(FixedPolicy((sequence,)), items, pool, grader, rules).mean()
        )
        for sequence in product(actions, repeat=rules.max_turns)
    }


@pytest.mark.parametrize("seed", range(3))
def test_static_and_random_values_are_those_of_all_sequences(seed: int, grader: Grader) -> None:
    simulated, rules = some_pool(seed), rules_of(("a0", "a1", "a2"), 2)
    items = [*twins("sums")[:1], *twins("maps")]
    values = static_values(simulated, rules, items, grader)
    ideal = ideal_values(simulated, rules, domain_shares(items))
    assert len(values) == 81
    assert static(ideal) == pytest.approx(max(values.values()), abs=1e-12)
    assert values[ideal.best_sequence] == pytest.approx(static(ideal), abs=1e-12)
    assert ideal.random == pytest.approx(np.mean(list(values.values())), abs=1e-12)
    assert ideal.best_policy >= static(ideal) - 1e-12
    for name in rules.agents:
        # One call is the value of asking once, then only thinking.
        assert ideal.single[name] == pytest.approx(values[(name, "worker"), (name, "thinker")], abs=1e-12)


def test_static_values_of_three_turns(grader: Grader) -> None:
    simulated, rules = some_pool(7, agents=2), rules_of(("a0", "a1"), 3)
    items = [twins("sums")[0], twins("maps")[0]]
    values = static_values(simulated, rules, items, grader)
    ideal = ideal_values(simulated, rules, domain_shares(items))
    assert static(ideal) == pytest.approx(max(values.values()), abs=1e-12)
    assert ideal.random == pytest.approx(np.mean(list(values.values())), abs=1e-12)


@pytest.mark.parametrize("seed, agents, max_turns", [(0, 3, 2), (1, 3, 2), (2, 2, 3), (3, 2, 3), (4, 1, 4)])
def test_the_best_policy_is_the_best_of_all_policies(seed: int, agents: int, max_turns: int, grader: Grader) -> None:
    simulated = some_pool(seed, agents)
    rules = rules_of(tuple(simulated.agents), max_turns)
    found = {domain: best_value(simulated, rules, domain, grader) for domain in DOMAINS}
    for domain, value in found.items():
        assert ideal_values(simulated, rules, {domain: 1.0}).best_policy == pytest.approx(value, abs=1e-9)
    mixed = ideal_values(simulated, rules, {"sums": 0.25, "maps": 0.75}).best_policy
    assert mixed == pytest.approx(0.25 * found["sums"] + 0.75 * found["maps"], abs=1e-9)


def test_the_demos_best_policy_is_confirmed(grader: Grader) -> None:
    found = best_value(DEMO, RULES, "equations", grader)
    assert ideal_values(DEMO, RULES, {"equations": 1.0}).best_policy == pytest.approx(found, abs=1e-9)


def ideal_of(simulated: Simulated, max_turns: int, roles: tuple[Role, ...] = (W, V)) -> IdealValues:
    return ideal_values(simulated, rules_of(("ann",), max_turns, roles), {"sums": 1.0})


def test_small_cases_by_hand() -> None:
    good = one_agent(skill=0.8, hit=0.9, false_alarm=0.2)
    assert ideal_of(good, 1).best_policy == pytest.approx(0.8)
    # Two turns: a verdict or a second answer after the last does not make it better.
    assert ideal_of(good, 2).best_policy == pytest.approx(0.8)
    # Three: accepted and right .8 * .8; refused .8 * .2 + .2 * .9 = .34, then a new answer.
    assert ideal_of(good, 3).best_policy == pytest.approx(0.64 + 0.34 * 0.8)
    # A verdict worth nothing: ask twice; equal (.68) keeps .64, unequal (.32) asks a third time.
    assert ideal_of(one_agent(0.8, 0.5, 0.5), 3).best_policy == pytest.approx(0.64 + 0.32 * 0.8)
    # A failure that shows is asked again, twice if need be.
    shown = one_agent(0.6, 0.5, 0.5, malformed=1.0)
    assert ideal_of(shown, 3).best_policy == pytest.approx(1 - 0.4**3)
    assert static(ideal_of(shown, 3)) == pytest.approx(0.6)
    # A plan first, where there is time for one.
    planning = one_agent(0.5, 0.5, 0.5, plan=0.6)
    assert ideal_of(planning, 1, (T, W)).best_policy == pytest.approx(0.5)
    assert ideal_of(planning, 2, (T, W)).best_policy == pytest.approx(0.5 + 0.6 * 0.5)
    assert ideal_of(planning, 2, (T, W)).best_sequence == (("ann", "thinker"), ("ann", "worker"))
    # No agent knows better than never.
    assert ideal_of(one_agent(0.0, 1.0, 0.0), 4).best_policy == 0.0
    assert ideal_of(one_agent(1.0, 1.0, 0.0), 4).best_policy == pytest.approx(1.0)


class ByDomain:
    """Plays one sequence a domain; the domain is read off the question's id."""

    def __init__(self, sequences: dict[str, tuple[Decision, ...]]) -> None:
        self.sequences = sequences

    def decide(self, states: Sequence[State]) -> list[Decision]:
        return [self.sequences[state.item_id.split("-")[1]][state.turn - 1] for state in states]


class Careful(ByDomain):
    """After an answer without a refusal asks for a verdict, else plays its domain's sequence."""

    def decide(self, states: Sequence[State]) -> list[Decision]:
        own = super().decide(states)
        return [
            Decision(2, V) if "[1. worker]" in state.transcript.text and state.turn == 2 else decision
            for state, decision in zip(states, own, strict=True)
        ]


def test_no_policy_that_was_tried_beats_the_best(grader: Grader) -> None:
    items = DemoTask("demo_freeform", CONFIG.data.seed).load().items["test"][:3]
    pool = SimulatedPool(DEMO, CONFIG.agents, items)
    ideal = ideal_values(DEMO, RULES, domain_shares(items))
    best_agent = {
        item.domain: max(range(3), key=lambda a, d=item.domain: DEMO.agents[CONFIG.agents[a]].skill[d])  # type: ignore[misc]
        for item in items
    }
    shapes = [(W, T, T), (T, W, V), (W, V, W), (W, W, W), (T, W, W), (V, W, W)]
    policies: list[Policy] = [
        kind({domain: tuple(Decision(agent, role) for role in shape) for domain, agent in best_agent.items()})
        for kind in (ByDomain, Careful)
        for shape in shapes
    ]
    values = [float(expected_rewards(policy, items, pool, grader, RULES).mean()) for policy in policies]
    assert values[0] == pytest.approx(ideal.best_domain_agent, abs=1e-12)
    assert static(ideal) < max(values) <= ideal.best_policy
    assert ideal.best_policy - max(values) < 0.02


@pytest.mark.parametrize("task", KINDS)
def test_each_demo_task_cannot_be_won_by_a_constant_choice(task: str) -> None:
    splits = DemoTask(task, CONFIG.data.seed).load().items
    domains = set(KINDS[task].domains)
    assert len(domains) >= 3
    wanted = {max(CONFIG.agents, key=lambda name: DEMO.agents[name].skill[domain]) for domain in domains}
    assert wanted == set(CONFIG.agents)
    for split, items in splits.items():
        ideal = ideal_values(DEMO, RULES, domain_shares(items))
        assert static(ideal) <= ideal.best_policy - 0.10, split
        assert ideal.random < ideal.best_single <= ideal.best_domain_agent <= ideal.best_policy
        assert ideal.best_single <= static(ideal)


def test_shares_and_summary() -> None:
    items = DemoTask("demo_math", CONFIG.data.seed).load().items["test"]
    assert domain_shares(items[:6]) == {
        "areas": pytest.approx(1 / 3),
        "equations": pytest.approx(1 / 3),
        "percentages": pytest.approx(1 / 3),
    }
    ideal = ideal_values(DEMO, RULES, domain_shares(items))
    summary = ideal.summary()
    assert summary["best_single"] == ideal.best_single == max(ideal.single.values())
    assert [summary[f"single_{name}"] for name in CONFIG.agents] == [ideal.single[name] for name in CONFIG.agents]
    assert summary["best_sequence"] == ", ".join(f"{agent} as {role}" for agent, role in ideal.best_sequence)
