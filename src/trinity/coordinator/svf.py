"""Singular-value scales (SVF): W' = U diag(s * scale) V^T with U, s, V frozen (spec section 3.4, 0.3.1)."""

from collections.abc import Mapping
from functools import cached_property

import torch
from torch import Tensor, nn


class Svf:
    """The scaled matrices of one block.

    Computed as W + U diag(s * (scale - 1)) V^T, so that scales of 1 give W itself, to the bit.

    Args:
        block: The block whose `nn.Linear` weights are scaled, in the order in which the block holds them.
    """

    def __init__(self, block: nn.Module) -> None:
        self._weights: Mapping[str, Tensor] = {
            name: module.weight.detach() for name, module in block.named_modules() if isinstance(module, nn.Linear)
        }

    @property
    def counts(self) -> dict[str, int]:
        """Singular values by matrix: the smaller of its two dimensions."""
        return {name: min(weight.shape) for name, weight in self._weights.items()}

    @cached_property
    def _factors(self) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
        # Decomposed on the CPU in at least float32, so that the factors do not depend on the device.
        factors = {}
        for name, weight in self._weights.items():
            exact = weight.to("cpu", torch.promote_types(weight.dtype, torch.float32))
            u, s, vh = torch.linalg.svd(exact, full_matrices=False)
            factors[name] = (u.to(weight.device), s.to(weight.device), vh.to(weight.device))
        return factors

    def weights(self, scales: Tensor) -> dict[str, Tensor]:
        """The matrices at given scales, in the dtype of the model; differentiable in the scales.

        Args:
            scales: [sum of counts], in the order of `counts`.
        """
        counts = self.counts
        parts = torch.split(scales, list(counts.values()))
        scaled = {}
        for (name, weight), part in zip(self._weights.items(), parts, strict=True):
            u, s, vh = self._factors[name]
            change = (u * (s * (part.to(s.device, s.dtype) - 1))) @ vh
            scaled[name] = (weight.to(s.dtype) + change).to(weight.dtype)
        return scaled

    def reconstruction_errors(self) -> dict[str, float]:
        """By matrix, |U diag(s) V^T - W| relative to |W| (Frobenius)."""
        errors = {}
        for name, weight in self._weights.items():
            u, s, vh = self._factors[name]
            exact = weight.to(s.dtype)
            errors[name] = float(((u * s) @ vh - exact).norm() / exact.norm())
        return errors
