from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from trinity.config import Config
from trinity.coordinator.base import State
from trinity.coordinator.features import Features, fit_features
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.optim.fitness import Fitness, Sampling
from trinity.optim.history import Progress, Trained
from trinity.optim.methods import policy_maker
from trinity.optim.sft import sft, worker_labels
from trinity.orchestration.setting import Setting
from trinity.rng import Key
from trinity.types import Item, Request, Response, Role, Transcript

AGENTS = ("atlas", "birch", "cedar")


@dataclass(frozen=True)
class SampledPool:
    """A `Pool` whose agents are right on some samples of an item: `right[item][sample]` names them."""

    right: dict[str, Sequence[Sequence[str]]]
    asked: list[Request]
    agents: tuple[str, ...] = AGENTS

    async def generate(self, request: Request) -> Response:
        self.asked.append(request)
        right = request.agent in self.right[request.meta.item_id][request.sample_index]
        return Response("Answer: yes" if right else "Answer: no", "stop", 1, 1)


def questions(count: int, start: int = 0) -> list[Item]:
    return [Item(f"q{i}", "toy", "one", f"What is {i}?", "freeform", "yes") for i in range(start, start + count)]


@pytest.fixture
def fitness_on(
    configure: Callable[..., Config], given_setting: Callable[..., Setting], demo_encoder: Encoder
) -> Callable[..., tuple[Fitness, SampledPool, ThetaLayout]]:
    def make(
        right: dict[str, Sequence[Sequence[str]]], train: Sequence[Item], valid: Sequence[Item] = ()
    ) -> tuple[Fitness, SampledPool, ThetaLayout]:
        config = configure({"svf.enabled": True})
        pool = SampledPool(right, [])
        setting = given_setting(config, pool, train, valid or train)
        layout = ThetaLayout.of(demo_encoder, AGENTS, config.episode.roles, svf=True)
        features = fit_features("l2", demo_encoder, [item.question for item in train])
        fitness = Fitness(
            setting.rollouts, policy_maker(demo_encoder, layout, features), setting.train, setting.valid,
            Sampling(1, "shared", True, "sample"), valid_selection="argmax", key=(0, "toy"),
        )  # fmt: skip
        return fitness, pool, layout

    return make


def test_the_label_is_the_majority_over_samples_of_the_best_agent(fitness_on: Callable[..., Any]) -> None:
    right = {
        "q0": [["atlas"], ["birch"], ["birch"]],
        "q1": [["cedar"], ["cedar"], ["atlas"]],
        "q2": [["atlas"], ["atlas"], ["atlas"]],
    }
    fitness, pool, _ = fitness_on(right, questions(3))
    assert worker_labels(fitness, 3, key=(0, "toy")) == [1, 2, 0]
    assert fitness.training_episodes == len(pool.asked) == 3 * 3 * 3
    assert fitness.validation_episodes == 0
    assert {(r.meta.item_id, r.agent, r.sample_index) for r in pool.asked} == {
        (item, agent, sample) for item in right for agent in AGENTS for sample in range(3)
    }
    assert {request.meta.role for request in pool.asked} == {Role.WORKER}


def test_ties_are_broken_evenly_by_the_key(fitness_on: Callable[..., Any]) -> None:
    items = questions(300)
    fitness, _, _ = fitness_on({item.id: [[]] for item in items}, items)
    labels = {key: worker_labels(fitness, 1, key=(key, "toy")) for key in (0, 1)}
    assert worker_labels(fitness, 1, key=(0, "toy")) == labels[0]
    assert labels[0] != labels[1]
    assert all(70 <= count <= 130 for count in Counter(labels[0]).values())
    assert len(Counter(labels[0])) == 3


def test_a_tie_is_only_among_the_best(fitness_on: Callable[..., Any]) -> None:
    items = questions(40)
    fitness, _, _ = fitness_on({item.id: [["atlas", "cedar"]] * 2 for item in items}, items)
    assert set(worker_labels(fitness, 2, key=(0, "toy"))) == {0, 2}


def train_head(
    fitness: Fitness, layout: ThetaLayout, encoder: Encoder, lrs: Sequence[float], key: tuple[Key, ...] = (0, "toy")
) -> Trained:
    return sft(
        encoder, layout, Features("l2"), fitness,
        lrs=lrs, epochs=6, batch=4, label_seeds=1, validate_every=3, key=key, progress=Progress("toy", len(lrs), ""),
    )  # fmt: skip


@pytest.fixture
def birch_is_right(fitness_on: Callable[..., Any]) -> tuple[Fitness, ThetaLayout]:
    train, valid = questions(10), questions(4, 10)
    fitness, _, layout = fitness_on({item.id: [["birch"]] for item in [*train, *valid]}, train, valid)
    return fitness, layout


def test_it_learns_the_label_and_the_role_worker(
    birch_is_right: tuple[Fitness, ThetaLayout], demo_encoder: Encoder
) -> None:
    fitness, layout = birch_is_right
    result = train_head(fitness, layout, demo_encoder, [0.1])
    policy = CoordinatorPolicy(demo_encoder, layout, result.theta[None], Features("l2"), "argmax")
    decisions = policy.decide([State(item.id, Transcript(item.question)) for item in questions(20)])
    assert {decision.agent for decision in decisions} == {1}
    assert {decision.role for decision in decisions} == {Role.WORKER}
    assert result.validation == 1.0
    losses = [row["loss"] for row in result.rows]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] < 2 * np.log(3)
    np.testing.assert_array_equal(layout.unpack(result.theta)[1], 1.0)


def test_at_the_papers_learning_rate_the_head_barely_moves(
    birch_is_right: tuple[Fitness, ThetaLayout], demo_encoder: Encoder
) -> None:
    fitness, layout = birch_is_right
    weight, _ = layout.unpack(train_head(fitness, layout, demo_encoder, [1e-6]).theta)
    assert 0 < np.abs(weight).max() < 1e-4
    workers = weight[3 + layout.roles.index(Role.WORKER)]
    assert np.abs(workers).max() > 0


def test_of_equal_rates_the_latest_is_shipped(fitness_on: Callable[..., Any], demo_encoder: Encoder) -> None:
    # Validation wants cedar where training teaches birch: both rates are equally bad, and the latest is taken.
    train, valid = questions(10), questions(4, 10)
    right = {item.id: [["birch"]] for item in train} | {item.id: [["cedar"]] for item in valid}
    fitness, _, layout = fitness_on(right, train, valid)
    worst = train_head(fitness, layout, demo_encoder, [0.1, 0.01])
    assert (worst.chosen_at, worst.validation) == (2, 0.0)


def test_the_sweep_keeps_the_better_rate_wherever_it_stands(
    configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Encoder
) -> None:
    config = configure({"svf.enabled": False})
    setting = demo_setting(config, "demo_math", 60, 24)
    layout = ThetaLayout.of(demo_encoder, config.agents, config.episode.roles, svf=False)
    features = fit_features("centred", demo_encoder, [item.question for item in setting.train])
    chosen = {}
    for lrs in ((1e-6, 0.1), (0.1, 1e-6)):
        fitness = Fitness(
            setting.rollouts, policy_maker(demo_encoder, layout, features), setting.train, setting.valid,
            Sampling(1, "shared", True, "sample"), valid_selection="argmax", key=(0, "demo_math"),
        )  # fmt: skip
        result = sft(
            demo_encoder, layout, features, fitness, lrs=lrs, epochs=4, batch=16, label_seeds=2, validate_every=2,
            key=(0, "demo_math"), progress=Progress("toy", 2, ""),
        )  # fmt: skip
        chosen[lrs] = (lrs[result.chosen_at - 1], result.validation)
        assert [(row["lr"], row["epoch"]) for row in result.rows] == [
            (lr, epoch) for lr in lrs for epoch in (1, 2, 3, 4)
        ]
        assert [row["J_valid"] is None for row in result.rows] == [True, False] * 4
        assert result.training_episodes == 60 * 3 * 2
        assert result.validation_episodes == 4 * 24
        assert result.validation == max(row["J_valid"] for row in result.rows if row["J_valid"] is not None)
    assert {rate for rate, _ in chosen.values()} == {0.1}
