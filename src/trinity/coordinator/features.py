"""What the head reads of a state: l2, raw or centred (spec section 0.3.2; `head.features`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from trinity.coordinator.slm import Encoder
from trinity.types import Transcript

Kind = Literal["l2", "raw", "centred"]


@dataclass(frozen=True, eq=False)
class Features:
    """A map from raw states to what the head multiplies.

    Attributes:
        kind: `l2` h / |h|; `raw` h; `centred` (h - mean) / |h - mean|.
        mean: [d], of the training items' first-turn states; given exactly when centred.
    """

    kind: Kind
    mean: np.ndarray | None = None

    def __post_init__(self) -> None:
        if (self.kind == "centred") != (self.mean is not None):
            raise ValueError("features: a mean belongs to centred, and to centred alone")

    def __call__(self, h: np.ndarray) -> np.ndarray:
        """Features of raw states, [len, d] to [len, d]; a state without length (h = mean) stays zero."""
        if self.kind == "raw":
            return h
        shifted = h if self.mean is None else h - self.mean
        norms = np.linalg.norm(shifted, axis=-1, keepdims=True)
        return np.asarray(shifted / np.where(norms > 0, norms, 1.0))

    def torch(self, h: Tensor) -> Tensor:
        """The same for tensors, differentiable."""
        if self.kind == "raw":
            return h
        shifted = h if self.mean is None else h - h.new_tensor(self.mean)
        norm = shifted.norm(dim=-1, keepdim=True)
        return shifted / torch.where(norm > 0, norm, torch.ones_like(norm))


def fit_features(kind: Kind, encoder: Encoder, questions: Sequence[str]) -> Features:
    """Features of a kind; for `centred`, around the mean unadapted state of the training questions."""
    return Features(
        kind,
        encoder.states([Transcript(question) for question in questions]).mean(axis=0) if kind == "centred" else None,
    )
