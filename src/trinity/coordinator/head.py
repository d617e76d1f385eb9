"""The linear head z = W h and its two softmaxes (spec section 3.3, 4.3)."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from trinity.types import Role

Selection = Literal["sample", "argmax"]


def role_rows(roles: Sequence[Role]) -> int:
    """Rows of the head for roles: none where there is but one role to choose."""
    return len(roles) if len(roles) > 1 else 0


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities over the last axis."""
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def choose(logits: np.ndarray, uniforms: np.ndarray, selection: Selection) -> np.ndarray:
    """One choice a row of one softmax group.

    Args:
        logits: [len, choices].
        uniforms: [len] in [0, 1): the keyed draw of each row. `sample` inverts the cumulative distribution with it,
            `argmax` breaks exact ties with it.
        selection: How to choose.

    Returns:
        Indices, [len].
    """
    choices = logits.shape[1]
    if selection == "argmax":
        best = logits == logits.max(axis=1, keepdims=True)
        nth = np.floor(uniforms * best.sum(axis=1)).astype(int)
        return np.asarray((best.cumsum(axis=1) > nth[:, None]).argmax(axis=1))
    cumulative = softmax(logits).cumsum(axis=1)
    return np.asarray(np.minimum((cumulative <= uniforms[:, None]).sum(axis=1), choices - 1))
