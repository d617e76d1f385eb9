"""The linear probe."""

import numpy as np
import pytest

from trinity.coordinator.probe import probe_accuracy


def _clusters(spread: float) -> tuple[np.ndarray, list[str]]:
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(3, 8))
    labels = [index % 3 for index in range(150)]
    return centres[labels] + spread * draw.normal(size=(150, 8)) + 50.0, [f"label {index}" for index in labels]


def test_separable_labels_are_told_apart_despite_a_common_part() -> None:
    assert probe_accuracy(*_clusters(0.1), seed=0) == 1.0


def test_labels_without_a_trace_in_h_are_guessed_at_chance() -> None:
    h, labels = _clusters(0.1)
    shuffled = [labels[index] for index in np.random.default_rng(1).permutation(len(labels))]
    assert abs(probe_accuracy(h, shuffled, seed=0) - 1 / 3) < 0.15


def test_rows_are_scored_by_models_that_have_not_seen_them() -> None:
    draw = np.random.default_rng(2)
    h, labels = draw.normal(size=(60, 400)), ["a", "b"] * 30
    assert probe_accuracy(h, labels, seed=0) < 0.75


def test_one_label_is_refused() -> None:
    with pytest.raises(ValueError, match="two labels"):
        probe_accuracy(np.zeros((10, 2)), ["a"] * 10, seed=0)
