from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.coordinator.features import fit_features
from trinity.coordinator.theta import ThetaLayout
from trinity.errors import ConfigError
from trinity.optim.fitness import Fitness, Sampling, divergence, mean_reward, path
from trinity.optim.methods import policy_maker
from trinity.orchestration.setting import Setting
from trinity.types import Decision, Episode, Item, Response, Role, Transcript, Turn

SHARED = Sampling(m=6, minibatch="shared", common_random_numbers=True, selection="sample")
MakeFitness = Callable[..., Fitness]
Paths = list[list[tuple[tuple[int, str], ...]]]


@pytest.fixture
def make_fitness(
    configure: Callable[..., Any], demo_setting: Callable[..., Setting], demo_encoder: Any
) -> tuple[MakeFitness, ThetaLayout]:
    config = configure()
    setting = demo_setting(config, "demo_math", 24, 9, 3)
    layout = ThetaLayout.of(demo_encoder, config.agents, config.episode.roles, svf=False)
    features = fit_features("centred", demo_encoder, [item.question for item in setting.train])

    def make(sampling: Sampling = SHARED, seed: int = 0) -> Fitness:
        return Fitness(
            setting.rollouts, policy_maker(demo_encoder, layout, features), setting.train, setting.valid, sampling,
            valid_selection="argmax", key=(seed, setting.task),
        )  # fmt: skip

    return make, layout


def some_thetas(layout: ThetaLayout, count: int) -> np.ndarray:
    return np.random.Generator(np.random.Philox(5)).standard_normal((count, layout.n))


def ids(by_candidate: list[list[Episode]]) -> list[list[str]]:
    return [[episode.item.id for episode in episodes] for episodes in by_candidate]


def paths(by_candidate: list[list[Episode]]) -> Paths:
    return [[path(episode) for episode in episodes] for episodes in by_candidate]


def test_a_shared_minibatch_holds_the_same_distinct_training_items_for_all(
    make_fitness: tuple[MakeFitness, ThetaLayout],
) -> None:
    fitness, layout = make_fitness[0](), make_fitness[1]
    thetas = some_thetas(layout, 4)
    batches = [ids(fitness.evaluate(thetas, iteration)) for iteration in (1, 2, 3)]
    for by_candidate in batches:
        assert all(batch == by_candidate[0] for batch in by_candidate)
        assert len(set(by_candidate[0])) == 6
        assert set(by_candidate[0]) <= {item.id for item in fitness.train}
    assert all(set(one[0]) != set(two[0]) for one, two in pairwise(batches))
    assert ids(fitness.evaluate(thetas, 1)) == batches[0]


def test_a_minibatch_of_its_own_differs_by_candidate(make_fitness: tuple[MakeFitness, ThetaLayout]) -> None:
    make, layout = make_fitness
    batches = ids(make(replace(SHARED, minibatch="per_candidate")).evaluate(some_thetas(layout, 4), 1))
    assert len({frozenset(batch) for batch in batches}) == 4
    assert all(len(set(batch)) == 6 for batch in batches)


def test_another_training_seed_draws_other_items(make_fitness: tuple[MakeFitness, ThetaLayout]) -> None:
    make, layout = make_fitness
    first, second = (make(seed=seed).evaluate(some_thetas(layout, 1), 1) for seed in (0, 1))
    assert ids(first) != ids(second)


def test_identical_thetas_share_every_choice_exactly_with_common_random_numbers(
    make_fitness: tuple[MakeFitness, ThetaLayout],
) -> None:
    make, layout = make_fitness
    twice = np.stack([some_thetas(layout, 1)[0]] * 3)
    common = make().evaluate(twice, 1)
    assert paths(common)[0] == paths(common)[1] == paths(common)[2]
    assert [[e.reward for e in episodes] for episodes in common] == [[e.reward for e in common[0]]] * 3
    assert divergence(common) == 0.0
    own = make(replace(SHARED, common_random_numbers=False)).evaluate(twice, 1)
    assert paths(own)[0] != paths(own)[1]
    assert ids(own) == ids(common)


def test_choices_change_with_the_iteration_and_the_training_seed(make_fitness: tuple[MakeFitness, ThetaLayout]) -> None:
    make, layout = make_fitness
    theta = layout.start()[None]
    whole = replace(SHARED, m=24)
    seen = []
    for seed, iteration in ((0, 1), (0, 2), (1, 1)):
        episodes = make(whole, seed).evaluate(theta, iteration)[0]
        seen.append({episode.item.id: path(episode) for episode in episodes})
    assert all(one != two for one, two in combinations(seen, 2))


def test_the_mean_is_scored_on_the_minibatch_and_the_numbers_of_the_candidates(
    make_fitness: tuple[MakeFitness, ThetaLayout],
) -> None:
    make, layout = make_fitness
    fitness, theta = make(), some_thetas(layout, 1)
    assert fitness.of_mean(theta[0], 3) == mean_reward(fitness.evaluate(theta, 3)[0])


def test_episodes_are_counted_by_what_they_were_for(make_fitness: tuple[MakeFitness, ThetaLayout]) -> None:
    make, layout = make_fitness
    fitness = make()
    fitness.evaluate(some_thetas(layout, 5), 1)
    assert (fitness.training_episodes, fitness.validation_episodes) == (30, 0)
    fitness.validate(layout.start())
    assert (fitness.training_episodes, fitness.validation_episodes) == (30, 9)
    fitness.of_mean(layout.start(), 1)
    assert (fitness.training_episodes, fitness.validation_episodes) == (30, 15)
    replicated = fitness.replicate(layout.start(), 1, 7)
    assert len(replicated) == 42
    assert (fitness.training_episodes, fitness.validation_episodes) == (72, 15)


def test_replicates_are_independent_episodes_of_one_minibatch(make_fitness: tuple[MakeFitness, ThetaLayout]) -> None:
    make, layout = make_fitness
    fitness = make()
    episodes = fitness.replicate(layout.start(), 1, 3)
    parts = [episodes[i : i + 6] for i in (0, 6, 12)]
    assert ids(parts) == [ids(fitness.evaluate(layout.start()[None], 1))[0]] * 3
    assert len({tuple(part) for part in paths(parts)}) == 3


def test_validation_reads_the_validation_items_alone_and_repeats(make_fitness: tuple[MakeFitness, ThetaLayout]) -> None:
    make, layout = make_fitness
    fitness, theta = make(), some_thetas(layout, 1)[0]
    first = fitness.validate(theta)
    assert first == fitness.validate(theta)
    assert first * 9 == pytest.approx(round(first * 9))
    assert not {item.id for item in fitness.train} & {item.id for item in fitness._valid}


def test_a_minibatch_as_large_as_the_split_is_the_split(make_fitness: tuple[MakeFitness, ThetaLayout]) -> None:
    make, layout = make_fitness
    fitness = make(replace(SHARED, m=24))
    assert set(ids(fitness.evaluate(layout.start()[None], 1))[0]) == {item.id for item in fitness.train}


def test_a_minibatch_larger_than_the_split_is_one_line_that_names_the_keys(
    make_fitness: tuple[MakeFitness, ThetaLayout],
) -> None:
    with pytest.raises(ConfigError) as error:
        make_fitness[0](replace(SHARED, m=25))
    line = str(error.value)
    assert "\n" not in line
    for part in ("params.yaml", "optim.m", "baselines.rs.trials", "25", "24", "demo_math"):
        assert part in line


def episode(item: str, *agents: int) -> Episode:
    """An episode in which these agents worked in turn."""
    transcript = Transcript("?")
    for agent in agents:
        transcript = transcript.append(Turn(Decision(agent, Role.WORKER), Response("", "stop", 1, 1), ""))
    return Episode(Item(item, "toy", "none", "?", "math", "1"), transcript, 0.0, False)


def test_divergence_is_none_without_pairs() -> None:
    assert divergence([[episode("a", 0), episode("b", 1)]]) is None
    assert divergence([[episode("a", 0)], [episode("b", 1)]]) is None


def test_divergence_by_hand() -> None:
    # Item a: paths 0, 0, 1: two of three pairs differ. Item b: one pair, the same choices in another order.
    candidates = [[episode("a", 0), episode("b", 0, 1)], [episode("a", 0), episode("b", 1, 0)], [episode("a", 1)]]
    assert divergence(candidates) == pytest.approx((2 / 3 + 1) / 2)


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=2, max_size=6))
def test_divergence_is_the_share_of_pairs_that_differ(choices: list[list[int]]) -> None:
    candidates = [[episode(str(item), agent) for item, agent in enumerate(row)] for row in choices]
    pairs = [one[item] != two[item] for item in range(4) for one, two in combinations(choices, 2)]
    found = divergence(candidates)
    assert found is not None
    assert 0 <= found <= 1
    assert found == pytest.approx(np.mean(pairs))
