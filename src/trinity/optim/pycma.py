"""What is taken of the library cma, which takes a second to import."""

import warnings
from typing import Any

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the import speaks of plotting packages that are not used
    from cma import CMAEvolutionStrategy
    from cma.sigma_adaptation import CMAAdaptSigmaCSA, CMAAdaptSigmaTPA

__all__ = ["STEP_SIZES", "CMAEvolutionStrategy", "TwoPoint"]


class TwoPoint(CMAAdaptSigmaTPA):  # type: ignore[misc]
    """The library's two-point adaptation; two mirrored candidates of equal fitness leave the step size as it is."""

    def update2(self, es: Any, function_values: Any, **keywords: Any) -> Any:
        """The factor of the step size, from the values before ties were broken."""
        return super().update2(es, np.round(function_values, 10), **keywords)

    def check_consistency(self, es: Any) -> None:
        """Nothing: the library's check draws from NumPy's global generator."""


STEP_SIZES = {"tpa": TwoPoint, "csa": CMAAdaptSigmaCSA}
