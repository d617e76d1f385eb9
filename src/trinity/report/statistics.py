"""Intervals: a percentile bootstrap over items, paired between systems, and over training seeds if there are several.

Not covered: the spread between evaluation seeds (rewards are averaged over them first) and between pools. With three
training seeds the resampled seeds say little of other seeds, so intervals are then rather too narrow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trinity.rng import Key, generator

Values = NDArray[np.float64]
Flaw = Literal["one item", "no spread"]
CELLS = 4_000_000  # indices drawn at once: bounds memory, changes no number


@dataclass(frozen=True)
class Estimate:
    """A mean over items with its interval.

    Attributes:
        value: The mean over training seeds and items.
        low: Lower end of the interval.
        high: Upper end of the interval.
        n: Items.
        flaw: Why the interval has no width and says nothing of the uncertainty: there is but one item, or
            resampling never changed the mean. None if the interval can be read.
    """

    value: float
    low: float
    high: float
    n: int
    flaw: Flaw | None = None


def resampled_means(values: Mapping[str, Values], draws: int, *key: Key) -> dict[str, Values]:
    """Means of every system over the same resampled items.

    Args:
        values: By system, rewards [training seeds, items] averaged over evaluation seeds; the same items in the same
            order for all systems.
        draws: Bootstrap draws.
        *key: Names the occasion, for the keyed draws.

    Returns:
        By system, [draws] means. Items are drawn with replacement, the same for all systems, so that a difference of
        two systems' means is paired; a system's training seeds are drawn too, independently of other systems'.

    Raises:
        ValueError: no system, no item, or systems with different numbers of items.
    """
    if not values:
        raise ValueError("no system to resample")
    sizes = {matrix.shape[1] for matrix in values.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(f"systems must share one number of items above 0, got {sorted(sizes)}")
    by_row = _resampled_rows(np.concatenate(list(values.values())), draws, *key)
    means, start = {}, 0
    for system, matrix in values.items():
        seeds = matrix.shape[0]
        rows = by_row[:, start : start + seeds]
        start += seeds
        if seeds > 1:
            drawn = generator("report", "training seeds", system, *key).integers(0, seeds, size=(draws, seeds))
            rows = np.take_along_axis(rows, drawn, axis=1)
        means[system] = rows.mean(axis=1)
    return means


def _resampled_rows(rows: Values, draws: int, *key: Key) -> Values:
    """Means [draws, rows] of the rows [rows, items] over resampled items."""
    items = rows.shape[1]
    stream = generator("report", "items", *key)
    chunk = max(1, CELLS // items)
    means = np.empty((draws, rows.shape[0]))
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        drawn = stream.integers(0, items, size=(size, items)) + np.arange(size)[:, None] * items
        counts = np.bincount(drawn.ravel(), minlength=size * items).reshape(size, items)
        means[start : start + size] = counts @ rows.T / items
    return means


def estimate(matrix: Values, resampled: Values, level: float) -> Estimate:
    """The mean of rewards [training seeds, items] with the percentile interval of its resampled means [draws]."""
    return _interval(float(matrix.mean()), resampled, level, matrix.shape[1])


def difference(first: tuple[Values, Values], second: tuple[Values, Values], level: float) -> Estimate:
    """First minus second, paired by item.

    Args:
        first: Rewards [training seeds, items] and their resampled means [draws].
        second: The same of the other system, from the same call of `resampled_means`.
        level: Of the interval.
    """
    value = float(first[0].mean()) - float(second[0].mean())
    return _interval(value, first[1] - second[1], level, first[0].shape[1])


def _interval(value: float, resampled: Values, level: float, n: int) -> Estimate:
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    flaw: Flaw | None = None
    if n == 1:
        flaw = "one item"
    elif np.ptp(resampled) < 1e-12:
        flaw = "no spread"
    return Estimate(value, float(low), float(high), n, flaw)


def best_of_each(cube: Values) -> Values:
    """Per-question-best, biased upward: mean over repeats of the best agent's reward (research: BASELINES).

    Args:
        cube: Rewards [agents, repeats, items].

    Returns:
        One value an item, [1, items].
    """
    best: Values = cube.max(axis=0).mean(axis=0)
    return best[None, :]


def cross_fitted_best(cube: Values) -> Values | None:
    """Per-question-best without the bias: the agent is chosen on the other repeats and scored on the one left out.

    Agents that tie are averaged, which is the expectation of a random choice among them.

    Args:
        cube: Rewards [agents, repeats, items].

    Returns:
        One value an item, [1, items]; None where fewer than two repeats differ, for then choosing and scoring see
        the same outcomes.
    """
    repeats = cube.shape[1]
    if (cube == cube[:, :1]).all():
        return None
    scored = np.empty((repeats, cube.shape[2]))
    for left_out in range(repeats):
        others = np.delete(cube, left_out, axis=1).mean(axis=1)
        chosen = others >= others.max(axis=0) - 1e-12
        scored[left_out] = (cube[:, left_out] * chosen).sum(axis=0) / chosen.sum(axis=0)
    averaged: Values = scored.mean(axis=0)
    return averaged[None, :]
