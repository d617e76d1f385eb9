"""The exact expected reward: what a mean over many samples of the same policy tends to."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sandboxes import SANDBOX
from trinity.config import load_config
from trinity.coordinator.base import Policy, State
from trinity.coordinator.fixed import FixedPolicy, RandomPolicy
from trinity.coordinator.slm import Encoder
from trinity.llm.registry import make_pool
from trinity.llm.simulated import SimulatedPool, worker_odds
from trinity.orchestration.exact import expected_rewards
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.rules import make_rules
from trinity.rewards.base import Grade
from trinity.rewards.grader import Grader
from trinity.tasks.demo.task import DemoTask
from trinity.types import Decision, Episode, Item, Response, Role

CONFIG = load_config(Path(__file__).parents[2] / "params.yaml")
RULES = make_rules(CONFIG)
ITEMS = DemoTask("demo_choice", CONFIG.data.seed).load().items["test"][:9]
KEY = ("exact", 1)
SAMPLES = 300
T, W, V = Role.THINKER, Role.WORKER, Role.VERIFIER


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(SANDBOX) as opened:
        yield opened


@pytest.fixture(scope="module")
def pool() -> SimulatedPool:
    made = make_pool(CONFIG, ITEMS)
    assert isinstance(made, SimulatedPool)
    return made


def fixed(*turns: tuple[int, Role]) -> FixedPolicy:
    return FixedPolicy((tuple(Decision(agent, role) for agent, role in turns),))


def sampled(policy: Policy, pool: SimulatedPool, grader: Grader, samples: int = SAMPLES) -> list[list[Episode]]:
    """Episodes by item and sample index."""
    jobs = [Job(item, sample_index=index, key=KEY) for item in ITEMS for index in range(samples)]
    with Rollouts(pool, grader, RULES, 64) as rollouts:
        episodes = rollouts.run(policy, jobs)
    return [episodes[start : start + samples] for start in range(0, len(episodes), samples)]


def require_agreement(exact: np.ndarray, episodes: Sequence[Sequence[Episode]]) -> None:
    """Each item's mean lies within its own binomial error of the exact value, and so does the mean of all."""
    means = np.array([np.mean([episode.reward for episode in of_item]) for of_item in episodes])
    assert exact.shape == (len(ITEMS),)
    assert np.all((exact >= -1e-12) & (exact <= 1 + 1e-12))
    variance = np.clip(exact * (1 - exact), 0, None) / len(episodes[0])
    assert np.all(np.abs(means - exact) <= 4 * np.sqrt(variance) + 1e-9)
    assert abs(means.mean() - exact.mean()) <= 3.5 * np.sqrt(variance.mean() / len(ITEMS)) + 1e-9


@pytest.mark.parametrize(
    "turns",
    [
        [(0, T), (1, W), (2, V)],
        [(1, W), (0, V), (2, W)],
        [(2, W), (0, W), (1, V)],
        [(0, V), (1, T), (2, W)],
        [(2, W), (1, W), (0, T)],
    ],
    ids=lambda turns: " ".join(f"{agent}{role.value[0]}" for agent, role in turns),
)
def test_it_is_what_samples_of_a_fixed_policy_tend_to(
    turns: list[tuple[int, Role]], pool: SimulatedPool, grader: Grader
) -> None:
    policy = fixed(*turns)
    exact = expected_rewards(policy, ITEMS, pool, grader, RULES, KEY)
    assert np.any((exact > 0.05) & (exact < 0.95))
    require_agreement(exact, sampled(policy, pool, grader))


@pytest.mark.parametrize("svf", [True, False])
def test_it_is_what_samples_of_a_coordinator_tend_to(
    svf: bool, demo_encoder: Encoder, pool: SimulatedPool, grader: Grader
) -> None:
    from trinity.coordinator.features import fit_features
    from trinity.coordinator.policy import CoordinatorPolicy
    from trinity.coordinator.theta import ThetaLayout
    from trinity.rng import generator

    layout = ThetaLayout.of(demo_encoder, CONFIG.agents, tuple(Role), svf)
    theta = layout.start()
    draw = generator("theta", "exact")
    theta[: layout.head_size] += 2 * draw.standard_normal(layout.head_size)
    theta[layout.head_size :] += 0.2 * draw.standard_normal(layout.n - layout.head_size)
    features = fit_features("centred", demo_encoder, [item.question for item in ITEMS])
    policy = CoordinatorPolicy(demo_encoder, layout, theta[None], features, "argmax")
    exact = expected_rewards(policy, ITEMS, pool, grader, RULES, KEY)
    episodes = sampled(policy, pool, grader)
    decided = {turn.decision for of_item in episodes for episode in of_item for turn in episode.transcript.turns}
    assert len({decision.agent for decision in decided}) > 1
    assert len({decision.role for decision in decided}) > 1
    assert np.any((exact > 0.05) & (exact < 0.95))
    require_agreement(exact, episodes)


class AfterARefusal:
    """Asks birch after a refusal, so that the tree parts by the latest reply."""

    def decide(self, states: Sequence[State]) -> list[Decision]:
        refused = [Decision(1, W) if "REVISE" in state.transcript.text else Decision(2, V) for state in states]
        return [Decision(0, W) if state.turn == 1 else later for state, later in zip(states, refused, strict=True)]


class UntilTwoAgree:
    """Asks a third agent where two differ, so that the tree parts by what lies before the latest reply."""

    def decide(self, states: Sequence[State]) -> list[Decision]:
        outputs = [[turn.output for turn in state.transcript.turns] for state in states]
        agreed = [len(said) == 2 and said[0] == said[1] for said in outputs]
        return [Decision(0, T) if same else Decision(len(said), W) for said, same in zip(outputs, agreed, strict=True)]


@pytest.mark.parametrize("policy", [AfterARefusal(), UntilTwoAgree()], ids=["refusal", "agreement"])
def test_it_follows_choices_that_depend_on_what_was_said(policy: Policy, pool: SimulatedPool, grader: Grader) -> None:
    require_agreement(expected_rewards(policy, ITEMS, pool, grader, RULES, KEY), sampled(policy, pool, grader))


@pytest.mark.parametrize("agent", range(3))
@pytest.mark.parametrize("factor", [1, 5])
def test_a_single_call_is_worth_the_agents_odds(agent: int, factor: int, pool: SimulatedPool, grader: Grader) -> None:
    assert CONFIG.pool.simulated is not None
    numbers = CONFIG.pool.simulated.agents[CONFIG.agents[agent]]
    rules = RULES.single_call(factor)
    exact = expected_rewards(fixed((agent, W)), ITEMS, pool, grader, rules)
    wanted = [worker_odds(numbers, item.domain, 0.0, factor * (CONFIG.episode.max_tokens or 0)).right for item in ITEMS]
    np.testing.assert_allclose(exact, wanted, atol=1e-12)


class Generous(Grader):
    """Grades every reply 1, so that an expected reward is the probability that something was graded."""

    def grade(self, item: Item, response: Response) -> Grade:
        return Grade(1.0, "anything")


@pytest.mark.parametrize("last", [[(1, W)], [(0, W), (1, V)], [(0, W), (2, V), (1, W)], [(0, V), (1, W), (2, W)]])
def test_the_branches_of_the_tree_sum_to_1(last: list[tuple[int, Role]], pool: SimulatedPool) -> None:
    for max_turns in (len(last), 4):
        rules = replace(RULES, max_turns=max_turns)
        exact = expected_rewards(fixed(*last), ITEMS, pool, Generous(SANDBOX), rules)
        np.testing.assert_allclose(exact, 1.0, atol=1e-12)


def test_without_a_worker_it_is_0(pool: SimulatedPool) -> None:
    exact = expected_rewards(fixed((0, V), (1, T), (2, V)), ITEMS, pool, Generous(SANDBOX), RULES)
    np.testing.assert_array_equal(exact, 0.0)


def test_a_random_policy_under_one_key_is_a_fixed_one(pool: SimulatedPool, grader: Grader) -> None:
    policy = RandomPolicy(3, RULES.roles)
    exact = expected_rewards(policy, ITEMS, pool, grader, RULES, KEY)
    require_agreement(exact, sampled(policy, pool, grader, 100))
    other = expected_rewards(policy, ITEMS, pool, grader, RULES, ("exact", 2))
    assert np.any(np.abs(other - exact) > 0.01)


def test_items_do_not_touch_each_other(pool: SimulatedPool, grader: Grader) -> None:
    policy = fixed((0, T), (1, W), (2, V))
    together = expected_rewards(policy, ITEMS, pool, grader, RULES)
    alone = [expected_rewards(policy, [item], pool, grader, RULES)[0] for item in ITEMS]
    np.testing.assert_array_equal(together, alone)
    assert expected_rewards(policy, [], pool, grader, RULES).shape == (0,)


def test_ties_are_all_followed(demo_encoder: Encoder, pool: SimulatedPool, grader: Grader) -> None:
    """At W = 0 every choice is a tie, so the expectation is that of uniform choices, whatever a single draw says."""
    from trinity.coordinator.features import Features
    from trinity.coordinator.policy import CoordinatorPolicy
    from trinity.coordinator.theta import ThetaLayout
    from trinity.systems.ideal import domain_shares, ideal_values

    assert CONFIG.pool.simulated is not None
    layout = ThetaLayout.of(demo_encoder, CONFIG.agents, RULES.roles, False)
    policy = CoordinatorPolicy(demo_encoder, layout, layout.start()[None], Features("l2"), "argmax")
    exact = expected_rewards(policy, ITEMS, pool, grader, RULES).mean()
    uniform = ideal_values(CONFIG.pool.simulated, RULES, domain_shares(ITEMS)).random
    assert exact == pytest.approx(uniform, abs=1e-9)
