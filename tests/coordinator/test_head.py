"""Choosing from logits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trinity.coordinator.head import choose, role_rows, softmax
from trinity.types import Role

LOGITS = hnp.arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(-50, 50))
UNIFORM = st.floats(0, 1, exclude_max=True)


def test_one_role_needs_no_rows() -> None:
    assert role_rows([Role.WORKER]) == 0
    assert role_rows(list(Role)) == 3


def test_ties_are_broken_by_the_draw() -> None:
    uniforms = np.array([0.0, 0.2, 0.4, 0.9])
    assert choose(np.zeros((4, 3)), uniforms, "argmax").tolist() == [0, 0, 1, 2]
    assert choose(np.tile([1.0, 0.0, 1.0], (4, 1)), uniforms, "argmax").tolist() == [0, 0, 0, 2]


def test_sampling_inverts_the_cumulative_distribution() -> None:
    logits = np.log(np.array([[0.2, 0.5, 0.3]]))
    chosen = [int(choose(logits, np.array([u]), "sample")[0]) for u in (0.0, 0.19, 0.21, 0.69, 0.71, 0.999999)]
    assert chosen == [0, 0, 1, 1, 2, 2]


@given(LOGITS, UNIFORM)
def test_argmax_takes_a_largest(logits: np.ndarray, uniform: float) -> None:
    chosen = choose(logits, np.full(len(logits), uniform), "argmax")
    assert (logits[np.arange(len(logits)), chosen] == logits.max(axis=1)).all()


@given(LOGITS, UNIFORM)
def test_a_sample_has_positive_probability_and_depends_on_its_row_alone(logits: np.ndarray, uniform: float) -> None:
    chosen = choose(logits, np.full(len(logits), uniform), "sample")
    assert (softmax(logits)[np.arange(len(logits)), chosen] > 0).all()
    alone = [int(choose(row[None], np.array([uniform]), "sample")[0]) for row in logits]
    assert alone == chosen.tolist()
