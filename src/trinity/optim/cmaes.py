"""The spec's sep-CMA-ES on pycma (section 5, 0.2; Ros & Hansen 2008): diagonal covariance, own iteration count."""

import math

import numpy as np

from trinity.rng import Key, generator

# Far below a difference between two fitness values, far above the rounding of one.
TIE = 1e-12


def default_population(n: int) -> int:
    """The population size ceil(4 + 3 ln n): 33 at n = 13,312 (spec section 0.2)."""
    return math.ceil(4 + 3 * math.log(n))


class KeyedNormal:
    """Standard normal draws of a private, keyed generator, in the form that pycma's `randn` option takes.

    The library's default is NumPy's global generator, which any other draw in the process would shift.
    """

    def __init__(self, *key: Key) -> None:
        self._generator = generator(*key)

    def __call__(self, *shape: int) -> np.ndarray:
        """Draws of the given shape."""
        return self._generator.standard_normal(shape)


class SepCmaEs:
    """Implements `Optimizer`.

    Args:
        start: Initial mean, shape (n,).
        sigma0: Initial step size.
        ratios: Step of each coordinate relative to sigma0, shape (n,).
        population: lambda; None takes `default_population(n)`.
        active: Whether the worse half of the candidates gets negative weights (off in the spec).
        step_size: How sigma adapts: `tpa` (two-point, converges at this n) or `csa`.
        key: Names the run; every draw is keyed by it.
    """

    def __init__(
        self,
        start: np.ndarray,
        sigma0: float,
        ratios: np.ndarray,
        population: int | None,
        *,
        active: bool,
        step_size: str,
        key: tuple[Key, ...],
    ) -> None:
        from trinity.optim.pycma import STEP_SIZES, CMAEvolutionStrategy

        self.population = population or default_population(start.size)
        options = {
            "CMA_diagonal": True,
            "CMA_active": active,
            "CMA_stds": ratios,
            "popsize": self.population,
            "AdaptSigma": STEP_SIZES[step_size],
            "randn": KeyedNormal("cmaes", *key),
            "seed": float("nan"),  # any number would seed NumPy's global generator, and 0 would mean the clock
            "verbose": -10,  # silent, and deaf to a file of options in the working directory
        }
        self._strategy = CMAEvolutionStrategy(start.astype(float), sigma0, options)
        self._asked: list[np.ndarray] = []
        self._ties = generator("cmaes ties", *key)

    @property
    def mean(self) -> np.ndarray:
        """The distribution's mean, shape (n,)."""
        return np.array(self._strategy.mean)

    @property
    def sigma(self) -> float:
        """The step size."""
        return float(self._strategy.sigma)

    def ask(self) -> np.ndarray:
        """Samples lambda candidates, shape (lambda, n)."""
        self._asked = self._strategy.ask()
        return np.array(self._asked)

    def tell(self, fitness: np.ndarray) -> None:
        """Updates mean, step size and variances; the library minimises, hence the sign.

        Equal candidates are ranked by a keyed draw: the library's sort would order them by the kind of CPU.
        """
        ties = TIE * self._ties.permutation(self.population) / self.population
        self._strategy.tell(self._asked, list(ties - fitness))

    def stop_reasons(self) -> list[str]:
        """What the library would stop for; to be logged, never obeyed (flat fitness is normal with binary rewards)."""
        return sorted(self._strategy.stop())
