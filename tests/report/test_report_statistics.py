import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trinity.report import statistics
from trinity.report.statistics import (
    Values,
    best_of_each,
    cross_fitted_best,
    difference,
    estimate,
    resampled_means,
)
from trinity.rng import generator


def outcomes(shape: tuple[int, ...], chance: float, *key: str | int) -> Values:
    drawn: Values = (generator("test", *key).random(shape) < chance).astype(float)
    return drawn


def test_intervals_cover_the_true_mean_as_often_as_they_say() -> None:
    hits = 0
    for world in range(300):
        values = {"system": outcomes((1, 120), 0.7, "coverage", world)}
        found = estimate(values["system"], resampled_means(values, 400, world)["system"], 0.9)
        hits += found.low <= 0.7 <= found.high
    assert 0.85 <= hits / 300 <= 0.95


def test_paired_differences_cover_and_are_narrower_than_unpaired_ones() -> None:
    hits, widths, unpaired = 0, [], []
    for world in range(300):
        # An item's difficulty moves both systems; the true difference of their chances is .1 on every item.
        easy = generator("test", "difficulty", world).random((1, 120)) * 0.9
        luck = generator("test", "luck", world).random((1, 120))
        values = {"worse": (luck < easy).astype(float), "better": (luck < easy + 0.1).astype(float)}
        resampled = resampled_means(values, 400, world)
        pairs = [(values[name], resampled[name]) for name in ("better", "worse")]
        found = difference(pairs[0], pairs[1], 0.9)
        hits += found.low <= 0.1 <= found.high
        widths.append(found.high - found.low)
        apart = resampled_means({"worse": values["worse"]}, 400, world, "other items")["worse"]
        loose = difference(pairs[0], (values["worse"], apart), 0.9)
        unpaired.append(loose.high - loose.low)
    assert 0.84 <= hits / 300 <= 0.96
    assert np.mean(widths) < 0.7 * np.mean(unpaired)


def test_training_seeds_that_disagree_widen_the_interval() -> None:
    items = outcomes((1, 200), 0.5, "agree")
    agreeing = np.repeat(items, 3, axis=0)
    disagreeing = np.clip(agreeing + np.array([[-0.3], [0.0], [0.3]]), -1, 2)
    resampled = resampled_means({"same": agreeing, "apart": disagreeing}, 500, 0)
    same, apart = (estimate(v, resampled[n], 0.95) for n, v in (("same", agreeing), ("apart", disagreeing)))
    assert same.value == pytest.approx(apart.value)
    assert apart.high - apart.low > 2 * (same.high - same.low)


def test_the_value_is_the_mean_and_n_counts_items() -> None:
    values = np.array([[1.0, 0.0, 1.0, 0.5], [0.0, 0.0, 1.0, 1.0]])
    found = estimate(values, resampled_means({"a": values}, 100, 0)["a"], 0.95)
    assert (found.value, found.n, found.flaw) == (values.mean(), 4, None)
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    ("values", "flaw"),
    [([[1.0]], "one item"), ([[0.0], [1.0]], "one item"), ([[1.0, 1.0, 1.0]], "no spread")],
)
def test_an_interval_that_says_nothing_says_so(values: list[list[float]], flaw: str) -> None:
    matrix = np.array(values)
    assert estimate(matrix, resampled_means({"a": matrix}, 100, 0)["a"], 0.95).flaw == flaw


def test_a_difference_of_systems_that_differ_by_a_constant_has_no_spread() -> None:
    worse = outcomes((1, 50), 0.5, "constant") * 0.5
    values = {"worse": worse, "better": worse + 0.25}
    resampled = resampled_means(values, 100, 0)
    found = difference((values["better"], resampled["better"]), (worse, resampled["worse"]), 0.95)
    assert found.flaw == "no spread"
    assert (found.low, found.high) == pytest.approx((0.25, 0.25))


def test_resampling_depends_on_the_key_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"a": outcomes((2, 40), 0.5, "a"), "b": outcomes((1, 40), 0.5, "b")}
    first = resampled_means(values, 150, 7, "task")
    monkeypatch.setattr(statistics, "CELLS", 40 * 9)
    in_chunks = resampled_means(dict(reversed(values.items())), 150, 7, "task")
    alone = resampled_means({"b": values["b"]}, 150, 7, "task")
    for name in values:
        np.testing.assert_allclose(first[name], in_chunks[name], rtol=0, atol=1e-12)
    np.testing.assert_allclose(first["b"], alone["b"], rtol=0, atol=1e-12)
    assert not np.allclose(first["b"], resampled_means(values, 150, 8, "task")["b"])


@pytest.mark.parametrize("values", [{}, {"a": np.zeros((1, 0))}, {"a": np.zeros((1, 2)), "b": np.zeros((1, 3))}])
def test_systems_must_share_their_items(values: dict[str, Values]) -> None:
    with pytest.raises(ValueError, match="system"):
        resampled_means(values, 100, 0)


def test_per_question_best_is_the_mean_over_repeats_of_the_best_agent() -> None:
    cube = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.5]]])  # agents, repeats, items
    np.testing.assert_array_equal(best_of_each(cube), [[1.0, 0.25]])


def test_cross_fitting_chooses_on_the_other_repeats() -> None:
    # Item 1: the agent that is right in one repeat is wrong in the other. Item 2: agent 1 is right in both.
    # Item 3: both agents alike on either repeat, so the choice is a tie and their mean counts.
    cube = np.array([[[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    found = cross_fitted_best(cube)
    assert found is not None
    np.testing.assert_array_equal(found, [[0.0, 1.0, 0.5]])


def test_repeats_that_coincide_give_no_cross_fitted_value() -> None:
    one = outcomes((3, 1, 20), 0.5, "one")
    assert cross_fitted_best(one) is None
    assert cross_fitted_best(np.repeat(one, 3, axis=1)) is None


def test_cross_fitting_removes_the_upward_bias_among_equal_agents() -> None:
    cube = outcomes((5, 3, 4000), 0.5, "equal agents")
    found = cross_fitted_best(cube)
    assert found is not None
    assert best_of_each(cube).mean() > 0.9
    assert found.mean() == pytest.approx(0.5, abs=0.02)


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(2, 4), st.integers(1, 6)), elements=st.floats(0, 1)))
def test_the_ceiling_is_above_every_agent_and_above_the_cross_fitted_value(cube: Values) -> None:
    best = best_of_each(cube)[0]
    assert (best >= cube.mean(axis=1).max(axis=0) - 1e-9).all()
    crossfitted = cross_fitted_best(cube)
    if crossfitted is not None:
        assert (crossfitted[0] <= best + 1e-9).all()
        assert (crossfitted[0] >= cube.min(axis=(0, 1)) - 1e-9).all()
