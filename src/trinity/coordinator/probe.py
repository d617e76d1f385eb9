"""How well a linear readout tells labels apart: what the head can at most make of h."""

from collections.abc import Sequence

import numpy as np

from trinity.rng import generator

_FOLDS = 5
_PENALTY = 1e-3


def probe_accuracy(h: np.ndarray, labels: Sequence[str], seed: int) -> float:
    """Cross-validated accuracy of a ridge readout, one-vs-rest, over five keyed folds stratified by label.

    Args:
        h: [len, d] features as the head reads them.
        labels: One a row; at least two distinct.
        seed: Keys the folds.

    Raises:
        ValueError: fewer than two labels, or fewer rows than folds.
    """
    names = sorted(set(labels))
    if len(names) < 2 or len(labels) < _FOLDS:
        raise ValueError(f"a probe needs two labels and {_FOLDS} rows, got {len(names)} and {len(labels)}")
    classes = np.array([names.index(label) for label in labels])
    fold = np.empty(len(labels), dtype=int)
    order = np.concatenate(
        [generator("probe", seed, name).permutation(np.flatnonzero(classes == i)) for i, name in enumerate(names)]
    )
    fold[order] = np.arange(len(order)) % _FOLDS
    right = 0
    for held in range(_FOLDS):
        train, test = fold != held, fold == held
        right += int((_ridge(h[train], classes[train], len(names), h[test]) == classes[test]).sum())
    return right / len(labels)


def _ridge(train: np.ndarray, classes: np.ndarray, n_classes: int, test: np.ndarray) -> np.ndarray:
    """Predicted classes; the penalty is relative to the mean variance of the centred features."""
    mean, targets = train.mean(axis=0), np.eye(n_classes)[classes]
    centred, base = train - mean, targets.mean(axis=0)
    gram = centred.T @ centred
    gram[np.diag_indices_from(gram)] += _PENALTY * max(np.trace(gram) / len(gram), np.finfo(float).tiny)
    weights = np.linalg.solve(gram, centred.T @ (targets - base))
    return np.asarray(((test - mean) @ weights + base).argmax(axis=1))
