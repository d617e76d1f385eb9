"""The layout of theta, and a coordinator on disk."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from encoders import SLM
from hypothesis import given
from hypothesis import strategies as st

from trinity.coordinator.features import Features
from trinity.coordinator.slm import Encoder, load_encoder
from trinity.coordinator.theta import Coordinator, ThetaLayout, load_coordinator, save_coordinator
from trinity.errors import ConfigError, DataError, TrinityError
from trinity.types import Role

AGENTS, ROLES = ("a", "b", "c"), tuple(Role)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(SLM)


def _coordinator(encoder: Encoder, svf: bool = True, roles: tuple[Role, ...] = ROLES) -> Coordinator:
    layout = ThetaLayout.of(encoder, AGENTS, roles, svf)
    theta = np.random.default_rng(0).normal(size=layout.n)
    mean = np.random.default_rng(1).normal(size=encoder.hidden_size)
    return Coordinator(
        theta, layout, Features("centred", mean), encoder.name, encoder.fingerprint, "cma", "demo_math", 5
    )


layouts = st.builds(
    ThetaLayout,
    st.lists(st.text("abc", min_size=1), min_size=1, max_size=4, unique=True).map(tuple),
    st.lists(st.sampled_from(Role), min_size=1, unique=True).map(tuple),
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 4)), unique_by=lambda p: p[0], max_size=3).map(tuple),
)


@given(layouts)
def test_pack_and_unpack_are_inverse(layout: ThetaLayout) -> None:
    theta = np.arange(layout.n, dtype=float)
    weight, scales = layout.unpack(theta)
    assert weight.shape == layout.head_shape
    np.testing.assert_array_equal(layout.pack(weight, scales), theta)
    np.testing.assert_array_equal(layout.unpack(layout.start())[0], 0)
    np.testing.assert_array_equal(layout.unpack(layout.start())[1], 1)


def test_sizes_of_the_spec() -> None:
    counts = tuple((name, 1024) for name in ("q", "k", "v", "o", "gate", "up", "down"))
    layout = ThetaLayout(AGENTS, ROLES, 1024, counts)
    assert (layout.head_size, layout.n) == (6144, 13312)


def test_one_role_has_no_rows_and_svf_off_no_scales(encoder: Encoder) -> None:
    layout = ThetaLayout.of(encoder, AGENTS, (Role.WORKER,), svf=False)
    assert layout.head_shape == (3, encoder.hidden_size)
    assert layout.n == 3 * encoder.hidden_size


def test_counts_are_asserted_against_the_encoder(encoder: Encoder) -> None:
    layout = ThetaLayout.of(encoder, AGENTS, ROLES, svf=True)
    layout.check(encoder)
    wrong = dataclasses.replace(layout, svf=(*layout.svf[:-1], (layout.svf[-1][0], 15)))
    with pytest.raises(ConfigError, match="scales"):
        wrong.check(encoder)
    with pytest.raises(ConfigError, match="hidden size"):
        dataclasses.replace(layout, hidden_size=8).check(encoder)
    with pytest.raises(ValueError, match="expected"):
        layout.unpack(np.zeros(layout.n + 1))


@pytest.mark.parametrize("svf", [True, False])
@pytest.mark.parametrize("roles", [ROLES, (Role.WORKER,)])
def test_saving_and_loading_is_lossless(svf: bool, roles: tuple[Role, ...], encoder: Encoder, tmp_path: Path) -> None:
    saved = _coordinator(encoder, svf, roles)
    save_coordinator(tmp_path / "one", saved)
    save_coordinator(tmp_path / "two", saved)
    for name in ("theta.safetensors", "layout.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    loaded = load_coordinator(tmp_path / "one", encoder, AGENTS)
    np.testing.assert_array_equal(loaded.theta, saved.theta)
    assert loaded.features.mean is not None
    assert saved.features.mean is not None
    np.testing.assert_array_equal(loaded.features.mean, saved.features.mean)
    for field in ("layout", "encoder", "fingerprint", "method", "task", "seed"):
        assert getattr(loaded, field) == getattr(saved, field)


def test_what_does_not_fit_is_refused_with_one_line(encoder: Encoder, tmp_path: Path) -> None:
    save_coordinator(tmp_path, _coordinator(encoder))
    other = load_encoder(SLM.model_copy(update={"read_position": -1}))
    with pytest.raises(ConfigError, match="trained with encoder"):
        load_coordinator(tmp_path, other)
    with pytest.raises(ConfigError, match="trained for agents a, b, c, not a, c, b"):
        load_coordinator(tmp_path, encoder, ("a", "c", "b"))
    layout = tmp_path / "layout.json"
    sound = json.loads(layout.read_text())
    changes: list[dict[str, object]] = [
        {"format": 2},
        {"n": 7},
        {"agents": ["a", "b"]},
        {"features": "l2"},
        {"features": "other"},
        {"roles": ["poet"]},
        {"svf": []},
        {"encoder": {}},
    ]
    for change in changes:
        layout.write_text(json.dumps(sound | change))
        with pytest.raises(DataError, match=r"layout\.json") as error:
            load_coordinator(tmp_path)
        assert "\n" not in str(error.value)


def test_absent_and_damaged_files_are_refused(encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="train"):
        load_coordinator(tmp_path)
    save_coordinator(tmp_path, _coordinator(encoder))
    (tmp_path / "theta.safetensors").write_bytes(b"junk")
    with pytest.raises(TrinityError, match=r"theta\.safetensors"):
        load_coordinator(tmp_path)
