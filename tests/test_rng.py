"""Keyed random numbers: the same everywhere, independent between keys, of the stated distribution."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trinity.rng import Key, generator, integer, shuffled, uniform

KEYS = st.lists(st.one_of(st.text(max_size=8), st.integers(), st.none()), max_size=5)
N = 20_000


def test_the_numbers_are_these_on_every_machine() -> None:
    assert uniform("policy", 0, "demo_math", "item", 3, 1, "agent") == 0.701424122001951
    assert uniform() == 0.4434426701968319
    assert integer(1000, "é", None, -1) == 382
    assert generator("noise", 7).integers(0, 1000, 4).tolist() == [407, 886, 668, 108]
    assert shuffled("abcdefgh", "order", 1) == ["a", "c", "d", "g", "h", "e", "f", "b"]


@given(KEYS, KEYS)
def test_a_key_has_one_number_and_two_keys_have_two(first: list[Key], second: list[Key]) -> None:
    assert 0 <= uniform(*first) < 1
    assert uniform(*first) == uniform(*first)
    assert (uniform(*first) == uniform(*second)) == (first == second)


@pytest.mark.parametrize(
    "first, second",
    [
        (("ab", "c"), ("a", "bc")),
        ((1,), ("1",)),
        ((None,), ("None",)),
        (("a",), ("a", "")),
        ((1, 2), (2, 1)),
        ((12,), (1, 2)),
    ],
)
def test_keys_that_look_alike_are_two(first: tuple[Key, ...], second: tuple[Key, ...]) -> None:
    assert uniform(*first) != uniform(*second)
    assert generator(*first).random() != generator(*second).random()


def test_numbers_of_successive_keys_are_uniform_and_uncorrelated() -> None:
    numbers = np.array([uniform("seed", 0, index, "agent") for index in range(N)])
    others = np.array([uniform("seed", 0, index, "role") for index in range(N)])
    distance = np.abs(np.sort(numbers) - (np.arange(N) + 0.5) / N).max()
    assert distance < 1.95 / np.sqrt(N)  # Kolmogorov-Smirnov at .001
    for pair in ((numbers[:-1], numbers[1:]), (numbers, others)):
        assert abs(np.corrcoef(*pair)[0, 1]) < 4 / np.sqrt(N)


def test_integers_are_uniform_over_their_range() -> None:
    counts = Counter(integer(7, "die", index) for index in range(N))
    assert sorted(counts) == list(range(7))
    assert max(abs(count - N / 7) for count in counts.values()) < 4.5 * np.sqrt(N / 7 * 6 / 7)
    assert {integer(1, index) for index in range(50)} == {0}


def test_a_generator_starts_anew_for_each_key() -> None:
    first = generator("theta", 1).standard_normal(5)
    generator("theta", 2).standard_normal(100)
    np.testing.assert_array_equal(generator("theta", 1).standard_normal(5), first)
    assert not np.intersect1d(first, generator("theta", 2).standard_normal(5)).size


@given(st.lists(st.integers(), max_size=20), KEYS)
def test_shuffled_keeps_the_items(items: list[int], key: list[Key]) -> None:
    before = list(items)
    assert sorted(shuffled(items, *key)) == sorted(items)
    assert shuffled(items, *key) == shuffled(items, *key)
    assert items == before


def test_every_order_is_as_likely() -> None:
    counts = Counter(tuple(shuffled("abc", "order", index)) for index in range(6000))
    assert set(counts) == set(permutations("abc"))
    assert max(abs(count - 1000) for count in counts.values()) < 4.5 * np.sqrt(6000 / 6 * 5 / 6)
    pairs = Counter((shuffled("ab", 0, i)[0], shuffled("ab", 1, i)[0]) for i in range(4000))
    assert set(pairs) == set(product("ab", "ab"))
    assert max(abs(count - 1000) for count in pairs.values()) < 4.5 * np.sqrt(4000 / 4 * 3 / 4)
