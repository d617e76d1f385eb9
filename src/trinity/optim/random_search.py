"""Random search (BASELINES: RS): uniform around the start, each candidate scored once, the best one kept."""

import numpy as np

from trinity.rng import Key, generator


class RandomSearch:
    """Implements `Optimizer`; its `mean` is the best candidate so far (the start before any was told).

    Args:
        start: Centre of the box, shape (n,).
        half_width: The box is start +- half_width in every coordinate.
        candidates: How many in all, the last `ask` included.
        asks: Over how many `ask`s they are spread, evenly.
        key: Names the run; every draw is keyed by it.
    """

    def __init__(
        self, start: np.ndarray, half_width: float, candidates: int, asks: int, *, key: tuple[Key, ...]
    ) -> None:
        self._start = start
        self._half_width = half_width
        self._candidates, self._asks, self._asked_before = candidates, asks, 0
        self._generator = generator("random_search", *key)
        self._best, self._best_fitness = start, -np.inf
        self._asked = start[None]

    @property
    def mean(self) -> np.ndarray:
        """The best candidate so far, shape (n,)."""
        return self._best

    @property
    def sigma(self) -> None:
        """There is no step size."""
        return None

    def stop_reasons(self) -> list[str]:
        """Nothing stops it."""
        return []

    def ask(self) -> np.ndarray:
        """Fresh candidates, shape (candidates of this ask, n)."""
        before = self._asked_before * self._candidates // self._asks
        self._asked_before += 1
        count = self._asked_before * self._candidates // self._asks - before
        offsets = self._generator.uniform(-self._half_width, self._half_width, (count, self._start.size))
        self._asked = self._start + offsets
        return self._asked

    def tell(self, fitness: np.ndarray) -> None:
        """Keeps the best candidate ever told; of equals the first."""
        top = int(np.argmax(fitness))
        if fitness[top] > self._best_fitness:
            self._best, self._best_fitness = self._asked[top], float(fitness[top])
