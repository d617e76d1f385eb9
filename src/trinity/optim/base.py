"""The seam between a search over theta and what scores it. Optimisers know no task and no pool."""

from typing import Protocol

import numpy as np


class Optimizer(Protocol):
    """Ask for candidates, tell their fitness (to be maximised), ship the mean."""

    @property
    def mean(self) -> np.ndarray:
        """The current estimate, shape (n,): what is validated and shipped."""
        ...

    @property
    def sigma(self) -> float | None:
        """The step size, where there is one."""
        ...

    def stop_reasons(self) -> list[str]:
        """What the method itself would stop for; to be logged, never obeyed (flat fitness is normal here)."""
        ...

    def ask(self) -> np.ndarray:
        """The next candidates, shape (candidates, n)."""
        ...

    def tell(self, fitness: np.ndarray) -> None:
        """The fitness of the candidates last asked for, shape (candidates,)."""
        ...
