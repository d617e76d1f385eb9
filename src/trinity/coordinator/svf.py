"""Singular-value scales (SVF): W' = U diag(s * scale) V^T with U, s, V frozen (spec section 3.4, 0.3.1)."""

import contextlib
import os
import sys
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import torch
from torch import Tensor, nn

from trinity.coordinator.engine.base import Candidate

Factors = Mapping[str, tuple[Tensor, Tensor, Tensor]]
"""U, s and V^T by matrix."""


def factors_directory() -> Path:
    """Where factors are kept: in the repository that DVC runs for, also from its temporary copies."""
    return Path(os.environ.get("DVC_ROOT") or ".") / ".trinity" / "svd"


EMBEDDING, HEAD = "embed_tokens", "lm_head"


class Svf:
    """The scaled matrices of one block, and with `embedding` those of the paper's 9,216 scales.

    Computed as W + U diag(s * (scale - 1)) V^T, so that scales of 1 give W itself, to the bit. Of the embedding, which
    is too large to be rebuilt a candidate, only V is needed: E' = E + E V diag(scale - 1) V^T. The language-model head
    cannot move a hidden state: its scales are counted, and have no effect.

    Args:
        block: The block whose `nn.Linear` weights are scaled, in the order in which the block holds them.
        directory: Keeps the factors over runs, under the hash of the weights; None keeps none.
        embedding: [vocabulary, d], scaled too where given.
    """

    def __init__(self, block: nn.Module, directory: Path | None = None, embedding: Tensor | None = None) -> None:
        self._directory = directory
        self._embedding = None if embedding is None else embedding.detach()
        self._weights: Mapping[str, Tensor] = {
            name: module.weight.detach() for name, module in block.named_modules() if isinstance(module, nn.Linear)
        }

    @property
    def counts(self) -> dict[str, int]:
        """Singular values by matrix: the smaller of its two dimensions."""
        counts = {name: min(weight.shape) for name, weight in self._weights.items()}
        return (
            counts if self._embedding is None else counts | dict.fromkeys((EMBEDDING, HEAD), min(self._embedding.shape))
        )

    @cached_property
    def _factors(self) -> Factors:
        path = None if self._directory is None else self._directory / f"{self._hash()[:32]}.safetensors"
        found = None if path is None else _read(path, self._weights)
        # Decomposed on the CPU in at least float32, so that the factors do not depend on the device.
        made = found or {name: _decompose(weight) for name, weight in self._weights.items()}
        if path is not None and found is None:
            _write(path, made)
        return {
            name: (u.to(weight.device), s.to(weight.device), vh.to(weight.device))
            for name, weight in self._weights.items()
            for u, s, vh in [made[name]]
        }

    def _hash(self) -> str:
        digest = sha256()
        for name, weight in self._weights.items():
            digest.update(f"\n{name} {weight.dtype} {tuple(weight.shape)}\n".encode())
            digest.update(weight.cpu().contiguous().view(-1).view(torch.uint8).numpy())
        return digest.hexdigest()

    @cached_property
    def _directions(self) -> Tensor:
        """V of the embedding, [d, min(vocabulary, d)]."""
        assert self._embedding is not None
        exact = self._embedding.to("cpu", torch.float64)
        _, vectors = torch.linalg.eigh(exact.T @ exact)
        kept = vectors[:, -min(exact.shape) :].flip(1)  # by falling singular value, as those of the matrices
        return kept.to(self._embedding.device, torch.promote_types(self._embedding.dtype, torch.float32))

    def candidate(self, scales: Tensor) -> Candidate:
        """What stands at given scales in place of the model's own, in float32 at least; differentiable in the scales.

        Args:
            scales: [sum of counts], in the order of `counts`.
        """
        expected = sum(self.counts.values())
        if scales.shape != (expected,):
            raise ValueError(f"expected {expected} scales, got shape {tuple(scales.shape)}")
        parts = dict(zip(self.counts, torch.split(scales, list(self.counts.values())), strict=True))
        scaled = {}
        for name, weight in self._weights.items():
            u, s, vh = self._factors[name]
            change = (u * (s * (parts[name].to(s.device, s.dtype) - 1))) @ vh
            scaled[name] = weight.to(s.dtype) + change
        if self._embedding is None:
            return Candidate(scaled)
        v = self._directions
        return Candidate(scaled, (v * (parts[EMBEDDING].to(v.device, v.dtype) - 1)) @ v.T)

    def reconstruction_errors(self) -> dict[str, float]:
        """By matrix, |U diag(s) V^T - W| relative to |W| (Frobenius)."""
        errors = {}
        for name, weight in self._weights.items():
            u, s, vh = self._factors[name]
            exact = weight.to(s.dtype)
            errors[name] = float(((u * s) @ vh - exact).norm() / exact.norm())
        if self._embedding is not None:
            exact, v = self._embedding.to(self._directions.dtype), self._directions
            errors[EMBEDDING] = float((exact @ v @ v.T - exact).norm() / exact.norm())
        return errors


def _decompose(weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    u, s, vh = torch.linalg.svd(weight.to("cpu", torch.promote_types(weight.dtype, torch.float32)), full_matrices=False)
    return u.contiguous(), s, vh.contiguous()


def _read(path: Path, weights: Mapping[str, Tensor]) -> Factors | None:
    """The factors in a file; None where it is absent, or damaged, which is said."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
        found = {name: (tensors[f"{name}.u"], tensors[f"{name}.s"], tensors[f"{name}.vh"]) for name in weights}
        if any(u.shape[0] != w.shape[0] or vh.shape[1] != w.shape[1] or len(s) != min(w.shape)
               for name, w in weights.items() for u, s, vh in [found[name]]):  # fmt: skip
            raise KeyError("shapes")
    except FileNotFoundError:
        return None
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        print(f"{path}: damaged ({error}): the matrices are decomposed again", file=sys.stderr)
        return None
    return found


def _write(path: Path, factors: Factors) -> None:
    """Writes a file that is whole or absent; where it cannot be written, that is said, and costs the next start."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    part = path.with_suffix(f".{os.getpid()}.part")
    tensors = {
        f"{name}.{key}": tensor
        for name, parts in factors.items()
        for key, tensor in zip(("u", "s", "vh"), parts, strict=True)
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(tensors, part)
        part.replace(path)
    except (OSError, SafetensorError) as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        print(f"{path}: cannot be written ({error}): the matrices are decomposed at every start", file=sys.stderr)
