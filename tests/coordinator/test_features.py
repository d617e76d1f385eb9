"""What the head reads of h."""

from typing import get_args

import numpy as np
import pytest
import torch

from trinity.coordinator.features import Features, Kind

H = np.random.default_rng(0).normal(size=(5, 4)) * 7


def _features(kind: Kind) -> Features:
    return Features(kind, H.mean(axis=0) if kind == "centred" else None)


def test_definitions() -> None:
    np.testing.assert_array_equal(_features("raw")(H), H)
    np.testing.assert_allclose(_features("l2")(H), H / np.linalg.norm(H, axis=1)[:, None])
    centred = _features("centred")(H)
    np.testing.assert_allclose(np.linalg.norm(centred, axis=1), 1)
    np.testing.assert_allclose(centred * np.linalg.norm(H - H.mean(axis=0), axis=1)[:, None], H - H.mean(axis=0))


@pytest.mark.parametrize("kind", get_args(Kind))
def test_tensors_get_the_same(kind: Kind) -> None:
    features = _features(kind)
    np.testing.assert_allclose(features.torch(torch.from_numpy(H)).numpy(), features(H), atol=1e-14)


def test_a_state_at_the_mean_is_zero_and_not_nan() -> None:
    np.testing.assert_array_equal(Features("centred", H[0])(H[:1]), 0)


def test_a_mean_belongs_to_centred_alone() -> None:
    with pytest.raises(ValueError, match="mean"):
        Features("l2", H[0])
    with pytest.raises(ValueError, match="mean"):
        Features("centred")


def test_a_state_at_the_mean_has_a_finite_gradient() -> None:
    import torch

    h = torch.zeros(1, 3, dtype=torch.float64, requires_grad=True)
    Features("centred", np.zeros(3)).torch(h).sum().backward()
    assert h.grad is not None
    assert torch.isfinite(h.grad).all()
