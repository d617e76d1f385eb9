import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trinity.optim.cmaes import SepCmaEs, default_population
from trinity.rng import Key


def search(n: int = 20, sigma0: float = 0.5, population: int | None = None, **changes: Any) -> SepCmaEs:
    arguments: dict[str, Any] = {"active": False, "step_size": "tpa", "key": ("test", 0)} | changes
    ratios = arguments.pop("ratios", np.ones(n))
    return SepCmaEs(arguments.pop("start", np.zeros(n)), sigma0, ratios, population, **arguments)


def quadratic(candidates: np.ndarray) -> np.ndarray:
    return np.asarray(-((candidates - 1.0) ** 2).sum(axis=-1))


def run(optimizer: SepCmaEs, iterations: int) -> np.ndarray:
    for _ in range(iterations):
        optimizer.tell(quadratic(optimizer.ask()))
    return optimizer.mean


def weights_given(optimizer: SepCmaEs, fitness: np.ndarray) -> np.ndarray:
    """The weight of each candidate in the mean after one tell; needs as many coordinates as candidates."""
    before, candidates = optimizer.mean, optimizer.ask()
    optimizer.tell(fitness)
    solution = np.linalg.lstsq((candidates - before).T, optimizer.mean - before, rcond=None)
    return np.asarray(solution[0])


def test_the_population_is_that_of_the_spec() -> None:
    assert default_population(13312) == 33
    assert search(13312).ask().shape == (33, 13312)
    assert default_population(208) == 21
    assert search(208).ask().shape == (21, 208)


@pytest.mark.parametrize("population", [4, 5, 12])
def test_a_users_population_is_taken(population: int) -> None:
    optimizer = search(population=population)
    for _ in range(5):
        candidates = optimizer.ask()
        assert candidates.shape == (population, 20)
        optimizer.tell(quadratic(candidates))


def test_the_mean_is_the_log_weighted_mean_of_the_better_half() -> None:
    optimizer = search(60, population=33)
    fitness = np.random.Generator(np.random.Philox(1)).permutation(33).astype(float)
    found = weights_given(optimizer, fitness)[np.argsort(-fitness)]
    expected = np.log(17) - np.log(np.arange(1, 34))
    expected[expected < 0] = 0
    np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-9)
    assert (found > 1e-9).sum() == 16


def test_only_the_active_variant_has_negative_weights() -> None:
    assert min(search(population=33)._strategy.sp.weights) == 0
    assert min(search(population=33, active=True)._strategy.sp.weights) < 0


def test_the_covariance_stays_diagonal() -> None:
    optimizer = search(6, population=12, step_size="csa")
    for _ in range(60):
        candidates = optimizer.ask()
        optimizer.tell(-((candidates.sum(axis=1) - 6) ** 2) - 0.01 * ((candidates - 1) ** 2).sum(axis=1))
    # The objective couples its coordinates, and still samples are uncorrelated.
    correlation = np.corrcoef(np.concatenate([optimizer.ask() for _ in range(400)]).T)
    assert np.abs(correlation[~np.eye(6, dtype=bool)]).max() < 0.1


@pytest.mark.parametrize("step_size", ["tpa", "csa"])
@pytest.mark.parametrize("active", [False, True])
def test_it_improves_a_quadratic(step_size: str, active: bool) -> None:
    mean = run(search(40, population=15, step_size=step_size, active=active), 150)
    assert quadratic(mean) > -4.0  # -40 at the start


def test_steps_are_relative_to_the_ratios() -> None:
    ratios = np.array([1.0, 0.1, 3.0])
    candidates = search(3, 0.2, 4000, ratios=ratios).ask()
    np.testing.assert_allclose(candidates.std(axis=0), 0.2 * ratios, rtol=0.05)
    np.testing.assert_allclose(candidates.mean(axis=0), 0.0, atol=0.03)


def test_the_same_key_is_the_same_run_and_another_key_another() -> None:
    first, again, other = (run(search(key=("test", seed)), 12) for seed in (0, 0, 1))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize("step_size", ["tpa", "csa"])
def test_global_generators_neither_matter_nor_move(step_size: str) -> None:
    undisturbed = run(search(step_size=step_size), 12)
    np.random.seed(7)
    random.seed(7)
    before, plain = np.random.get_state(), random.getstate()
    optimizer = search(step_size=step_size)
    for _ in range(12):
        optimizer.tell(quadratic(optimizer.ask()))
        optimizer.stop_reasons()
    after = np.random.get_state()
    assert isinstance(before, tuple)
    assert isinstance(after, tuple)
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))
    assert random.getstate() == plain
    disturbed = search(step_size=step_size)
    for _ in range(12):
        np.random.standard_normal(5)
        disturbed.tell(quadratic(disturbed.ask()))
    assert undisturbed.tobytes() == optimizer.mean.tobytes() == disturbed.mean.tobytes()


def test_flat_fitness_is_survived_and_said() -> None:
    optimizer = search()
    for _ in range(60):
        optimizer.tell(np.full(len(optimizer.ask()), 0.25))
    assert np.isfinite(optimizer.ask()).all()
    assert optimizer.sigma == 0.5
    assert "tolfun" in optimizer.stop_reasons()


def test_equal_candidates_are_ranked_by_the_key_not_by_their_place() -> None:
    best = {int(weights_given(search(30, population=13, key=(key,)), np.zeros(13)).argmax()) for key in range(30)}
    assert len(best) > 6


def test_the_order_in_which_a_sort_leaves_ties_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def train() -> bytes:
        optimizer = search()
        for _ in range(10):
            optimizer.tell(np.round(quadratic(optimizer.ask()) / 4))
        return optimizer.mean.tobytes()

    straight, argsort = train(), np.argsort
    monkeypatch.setattr(np, "argsort", lambda values, **_: len(values) - 1 - argsort(values[::-1], kind="stable"))
    assert train() == straight


@given(key=st.integers(0, 99), scale=st.sampled_from([0.25, 4.0]), shift=st.sampled_from([-0.5, 0.0, 0.5]))
@settings(max_examples=15, deadline=None)
def test_only_the_ranks_of_fitness_matter(key: Key, scale: float, shift: float) -> None:
    plain, changed = search(key=(key,)), search(key=(key,))
    for _ in range(4):
        levels = np.round(quadratic(plain.ask()) / 4) / 8
        changed.ask()
        plain.tell(levels)
        changed.tell(scale * levels + shift)
    assert plain.mean.tobytes() == changed.mean.tobytes()


def test_a_file_of_options_in_the_working_directory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cma_signals.in").write_text("{'maxiter': 1}")
    monkeypatch.chdir(tmp_path)
    optimizer = search()
    run(optimizer, 2)
    assert "maxiter" not in optimizer.stop_reasons()
    assert [path.name for path in tmp_path.iterdir()] == ["cma_signals.in"]
