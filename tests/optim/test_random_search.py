import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.optim.random_search import RandomSearch


@given(candidates=st.integers(1, 200), asks=st.integers(1, 40))
def test_the_candidates_are_spread_evenly_and_none_is_lost(candidates: int, asks: int) -> None:
    search = RandomSearch(np.zeros(2), 0.5, candidates, asks, key=(0,))
    sizes = [len(search.ask()) for _ in range(asks)]
    assert sum(sizes) == candidates
    assert max(sizes) - min(sizes) <= 1


def test_candidates_fill_the_box_around_the_start() -> None:
    start = np.array([0.0, 1.0, -3.0])
    offsets = RandomSearch(start, 0.5, 4000, 1, key=(0,)).ask() - start
    assert np.abs(offsets).max() <= 0.5
    np.testing.assert_allclose(offsets.std(axis=0), 1 / np.sqrt(12), rtol=0.05)
    np.testing.assert_allclose(offsets.mean(axis=0), 0, atol=0.02)


def test_the_best_candidate_ever_is_kept_and_of_equals_the_first() -> None:
    search = RandomSearch(np.zeros(3), 0.5, 9, 3, key=(0,))
    assert search.mean.tolist() == [0, 0, 0]
    first = search.ask().copy()
    search.tell(np.array([0.1, 0.7, 0.7]))
    np.testing.assert_array_equal(search.mean, first[1])
    search.ask()
    search.tell(np.array([0.7, 0.2, 0.7]))
    np.testing.assert_array_equal(search.mean, first[1])
    third = search.ask().copy()
    search.tell(np.array([0.0, 0.0, 0.8]))
    np.testing.assert_array_equal(search.mean, third[2])
    assert search.sigma is None
    assert search.stop_reasons() == []


@pytest.mark.parametrize("other, same", [((0,), True), ((1,), False)])
def test_draws_are_keyed(other: tuple[int, ...], same: bool) -> None:
    one, two = RandomSearch(np.zeros(5), 0.5, 4, 2, key=(0,)), RandomSearch(np.zeros(5), 0.5, 4, 2, key=other)
    assert (one.ask().tobytes() == two.ask().tobytes()) is same
    assert (one.ask().tobytes() == two.ask().tobytes()) is same
