from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from trinity.config import Config
from trinity.coordinator.base import State
from trinity.coordinator.features import Features, fit_features
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.llm.recorded import RecordedPool
from trinity.optim.fitness import Fitness, Sampling
from trinity.optim.history import Progress, Trained
from trinity.optim.methods import policy_maker
from trinity.optim.reinforce import PolicyGradient, reinforce
from trinity.orchestration.setting import Setting
from trinity.types import Episode, Item, Transcript

ENTROPY = 0.3


@dataclass(frozen=True)
class Case:
    """Sampled episodes of a theta that is no corner case, and what belongs to it."""

    encoder: Encoder
    layout: ThetaLayout
    features: Features
    fitness: Fitness
    theta: np.ndarray
    episodes: Sequence[Episode]
    advantages: np.ndarray

    def gradient(self, entropy: float, theta: np.ndarray | None = None, lr: float = 0.05) -> PolicyGradient:
        found = PolicyGradient(self.encoder, self.layout, self.features, lr=lr, entropy=entropy, svf_ratio=0.1)
        weight, scales = self.layout.unpack(self.theta if theta is None else theta)
        with torch.no_grad():
            found._weight.copy_(torch.from_numpy(weight.copy()))
            found._scales.copy_(torch.from_numpy(scales.copy()))
        return found

    def loss(self, entropy: float, theta: np.ndarray | None = None) -> float:
        return float(self.gradient(entropy, theta).loss(self.episodes, self.advantages).item())


MakeCase = Callable[..., Case]


@pytest.fixture
def make_case(
    configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Encoder
) -> MakeCase:
    def make(changes: dict[str, Any] | None = None, kind: str = "centred") -> Case:
        config = configure({"head.features": kind} | (changes or {}))
        setting = demo_setting(config, "demo_math", 12, 3)
        layout = ThetaLayout.of(demo_encoder, config.agents, config.episode.roles, config.svf.enabled)
        features = fit_features(config.head.features, demo_encoder, [item.question for item in setting.train])
        fitness = Fitness(
            setting.rollouts, policy_maker(demo_encoder, layout, features), setting.train, setting.valid,
            Sampling(5, "shared", False, "sample"), valid_selection="argmax", key=(0, "demo_math"),
        )  # fmt: skip
        draw = np.random.Generator(np.random.Philox(3))
        theta = layout.start() + np.concatenate(
            [draw.standard_normal(layout.head_size), 0.2 * draw.standard_normal(layout.n - layout.head_size)]
        )
        episodes = fitness.replicate(theta, 1, 4)
        return Case(demo_encoder, layout, features, fitness, theta, episodes, draw.standard_normal(len(episodes)))

    return make


def naive(case: Case) -> tuple[float, float]:
    """Minus the mean over episodes of (sum of advantage * log pi, sum of entropies), a decision at a time."""
    policy = CoordinatorPolicy(case.encoder, case.layout, case.theta[None], case.features, "sample")
    agents, roles = len(case.layout.agents), list(case.layout.roles)
    gain = entropy = 0.0
    for episode, advantage in zip(case.episodes, case.advantages, strict=True):
        transcript = Transcript(episode.item.question)
        for turn in episode.transcript.turns:
            logits = policy.logits([State(episode.item.id, transcript)])[0]
            groups = [(logits[:agents], turn.decision.agent)]
            if len(roles) > 1:
                groups.append((logits[agents:], roles.index(turn.decision.role)))
            for part, chosen in groups:
                log_pi = part - np.log(np.exp(part).sum())
                gain += advantage * log_pi[chosen]
                entropy -= float((np.exp(log_pi) * log_pi).sum())
            transcript = transcript.append(turn)
    return -gain / len(case.episodes), -entropy / len(case.episodes)


@pytest.mark.parametrize("changes", [{}, {"svf.enabled": False}, {"episode.roles": ["worker"]}])
def test_the_loss_is_the_sum_over_episodes_and_turns(changes: dict[str, Any], make_case: MakeCase) -> None:
    case = make_case(changes)
    gain, entropy = naive(case)
    assert case.loss(0.0) == pytest.approx(gain, rel=1e-5)
    assert case.loss(ENTROPY) - case.loss(0.0) == pytest.approx(ENTROPY * entropy, rel=1e-5)


@pytest.mark.parametrize("kind", ["l2", "raw", "centred"])
def test_the_gradient_is_that_of_finite_differences_in_head_and_scales(kind: str, make_case: MakeCase) -> None:
    case = make_case(kind=kind)
    found = case.gradient(ENTROPY)
    found.loss(case.episodes, case.advantages).backward()
    assert found._weight.grad is not None
    assert found._scales.grad is not None
    head, scales = found._weight.grad.numpy().ravel(), found._scales.grad.numpy()
    draw = np.random.Generator(np.random.Philox(4))
    for part, step in ((slice(0, case.layout.head_size), 1e-4), (slice(case.layout.head_size, None), 1e-3)):
        gradient = (head, scales)[part.stop is None]
        assert np.linalg.norm(gradient) > 0
        # Along the gradient and along a random direction.
        for direction in (gradient / np.linalg.norm(gradient), draw.choice([-1.0, 1.0], gradient.size)):
            move = np.zeros(case.layout.n)
            move[part] = step * direction
            change = case.loss(ENTROPY, case.theta + move) - case.loss(ENTROPY, case.theta - move)
            tolerance = 2e-3 * float(np.linalg.norm(gradient) * np.linalg.norm(direction))
            assert change / (2 * step) == pytest.approx(gradient @ direction, abs=tolerance)


def test_without_svf_only_the_head_moves(make_case: MakeCase) -> None:
    case = make_case({"svf.enabled": False})
    gradient = case.gradient(0.0)
    gradient.step(case.episodes, case.advantages)
    assert gradient.theta.shape == (case.layout.head_size,)
    assert not np.array_equal(gradient.theta, case.theta)


def test_a_step_raises_the_probability_of_what_was_better_than_expected(make_case: MakeCase) -> None:
    case = make_case()
    gradient = case.gradient(0.0, lr=1e-3)
    before = case.loss(0.0)
    gradient.step(case.episodes, case.advantages)
    moved = gradient.theta - case.theta
    assert case.loss(0.0, gradient.theta) < before
    # Adam's first step is lr in every coordinate, and svf_ratio of it in the scales.
    assert np.abs(moved[: case.layout.head_size]).max() == pytest.approx(1e-3, rel=1e-3)
    assert np.abs(moved[case.layout.head_size :]).max() == pytest.approx(1e-4, rel=1e-3)


def test_without_advantage_the_entropy_term_spreads_the_choices(make_case: MakeCase) -> None:
    case = make_case({"svf.enabled": False})
    gradient = case.gradient(ENTROPY)
    _, before = naive(case)
    for _ in range(20):
        gradient.step(case.episodes, np.zeros(len(case.episodes)))
    after = Case(case.encoder, case.layout, case.features, case.fitness, gradient.theta, case.episodes, case.advantages)
    assert -naive(after)[1] > -before + 0.01
    still = case.gradient(0.0)
    still.step(case.episodes, np.zeros(len(case.episodes)))
    np.testing.assert_array_equal(still.theta, case.theta)


@pytest.fixture
def toy(
    configure: Callable[..., Config], given_setting: Callable[..., Setting], demo_encoder: Encoder
) -> Callable[..., Trained]:
    """Trains on a recorded pool in which an agent is worth the same on every question."""

    def make(scores: Sequence[float], iterations: int, entropy: float) -> Trained:
        config = configure(
            {
                "tasks": ["toy"],
                "data.outcomes": {"toy": {"path": "toy.jsonl"}},
                "pool.kind": "recorded",
                "episode.roles": ["worker"],
                "episode.max_turns": 1,
            }
        )
        extra = {"scores": dict(zip(config.agents, scores, strict=True))}
        items = [Item(f"i{i}", "toy", "one", f"What is {i}?", "recorded", None, extra) for i in range(14)]
        setting = given_setting(config, RecordedPool(config.agents, items), items[:10], items[10:])
        layout = ThetaLayout.of(demo_encoder, config.agents, config.episode.roles, svf=True)
        features = Features("l2")
        fitness = Fitness(
            setting.rollouts, policy_maker(demo_encoder, layout, features), setting.train, setting.valid,
            Sampling(8, "shared", False, "sample"), valid_selection="argmax", key=(0, "toy"),
        )  # fmt: skip
        return reinforce(
            PolicyGradient(demo_encoder, layout, features, lr=0.2, entropy=entropy, svf_ratio=0.1),
            fitness,
            iterations=iterations,
            replicates=6,
            baseline_decay=0.9,
            validate_every=5,
            progress=Progress("toy", iterations, "recorded, cost 0"),
        )

    return make


def test_it_learns_which_agent_is_right(toy: Callable[..., Trained]) -> None:
    result = toy([0.0, 1.0, 0.0], 12, 0.01)
    assert result.rows[0]["J_mean"] < 0.6
    assert result.rows[-1]["J_mean"] > 0.9
    assert result.validation == 1.0
    assert [row["iteration"] for row in result.rows if row["J_valid"] is not None] == [5, 10, 12]
    assert result.training_episodes == 12 * 8 * 6
    assert result.validation_episodes == 4 * 4 + 12 * 8


def test_a_reward_that_is_always_the_same_teaches_nothing(toy: Callable[..., Trained]) -> None:
    result = toy([1.0, 1.0, 1.0], 3, 0.0)
    assert result.chosen_at == 3
    assert set(result.theta.tolist()) == {0.0, 1.0}
