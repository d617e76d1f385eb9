"""The engine against the plain Hugging Face forward: equal in every mode, the same bytes in every company, counted."""

import copy
import itertools
from collections.abc import Sequence

import pytest
import torch
from encoders import VOCABULARY, random_causal_lm, random_sequences
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from trinity.coordinator.engine.base import Candidate, Reading
from trinity.coordinator.engine.reference import PlainForward, blocks
from trinity.coordinator.engine.shared import SharedTrunk, not_shared
from trinity.coordinator.engine.spread import Spread
from trinity.coordinator.svf import Svf

FAMILIES = ("Qwen3", "Qwen2", "Llama")
PLENTY = 1 << 30


def grown(parent: Reading | None, new: int, seed: int, dropped: int = 2) -> Reading:
    """A reading with so many new ids, after all but the last `dropped` of its parent's (its suffix)."""
    (ids,) = random_sequences((new,), seed)
    return Reading(ids) if parent is None else Reading(ids, parent, len(parent) - dropped)


def tree(seed: int = 0) -> list[Reading]:
    """Two questions, transcripts that grow from them and part, of very different lengths."""
    first, second = grown(None, 9, seed), grown(None, 40, seed + 1)
    third, fourth = grown(first, 17, seed + 2), grown(first, 3, seed + 3)
    fifth = grown(third, 25, seed + 4, dropped=5)
    return [first, second, third, fourth, fifth, grown(second, 4, seed + 5, dropped=0), grown(fifth, 1, seed + 6)]


def candidates(model: nn.Module, count: int = 2, size: float = 0.5) -> list[Candidate]:
    svf = Svf(blocks(model)[1][-2])
    generator = torch.Generator().manual_seed(1)
    n = sum(svf.counts.values())
    return [svf.candidate(1 + size * torch.randn(n, generator=generator, dtype=torch.float64)) for _ in range(count)]


def oracle(model: nn.Module, reading: Reading, candidate: Candidate) -> Tensor:
    """By changing the model itself, with the id after the read position, which cannot matter."""
    block, kept = blocks(model)[1][-2], {}
    for name, weight in candidate.weights.items():
        module = block.get_submodule(name)
        kept[name], module.weight.data = module.weight.data, weight.to(module.weight.dtype)
    with torch.no_grad():
        state: Tensor = model(torch.tensor([[*reading.whole, 9]])).last_hidden_state[0, -2]
    for name, weight in kept.items():
        block.get_submodule(name).weight.data = weight
    return state


def pairs_of(readings: Sequence[Reading], them: Sequence[Candidate]) -> tuple[list[Reading], list[Candidate]]:
    pairs = list(itertools.product(readings, them))
    return [reading for reading, _ in pairs], [candidate for _, candidate in pairs]


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_equals_the_hugging_face_forward(family: str, tied: bool, dtype: torch.dtype, tolerance: float) -> None:
    model = random_causal_lm(family, tied).to(dtype).model
    assert not_shared(model) is None
    for them in ([Candidate()], candidates(model, 3)):
        readings, owners = pairs_of(tree(), them)
        expected = torch.stack([oracle(model, *pair) for pair in zip(readings, owners, strict=True)])
        limit = tolerance * float(expected.norm(dim=1).min())
        for engine in (SharedTrunk(model, PLENTY), SharedTrunk(model, 0), PlainForward(model)):
            assert float((engine.hidden(readings, owners) - expected).norm(dim=1).max()) < limit
        engine = SharedTrunk(model, PLENTY)
        for start in range(len(readings)):
            alone = engine.hidden(readings[start : start + 1], owners[start : start + 1])
            assert float((alone[0] - expected[start]).norm()) < limit
        for candidate in them:
            mine = [index for index, owner in enumerate(owners) if owner is candidate]
            whole = engine.differentiable([readings[index] for index in mine], candidate)
            assert float((whole - expected[mine]).norm(dim=1).max()) < limit


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([torch.float64, torch.float32, torch.bfloat16]),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=12),
    st.sampled_from([0, 20_000, 60_000, PLENTY]),
    st.integers(1, 4),
)
def test_a_reading_gets_the_same_bytes_in_every_company_and_after_eviction(
    dtype: torch.dtype, asked: list[tuple[int, int]], memory: int, at_once: int
) -> None:
    model, them, readings = model_of(dtype)
    engine = SharedTrunk(model, memory)
    for start in range(0, len(asked), at_once):
        part = asked[start : start + at_once]
        got = engine.hidden([readings[index] for index, _ in part], [them[which] for _, which in part])
        for state, (index, which) in zip(got, part, strict=True):
            alone = SharedTrunk(model, PLENTY).hidden([readings[index]], [them[which]])[0]
            assert torch.equal(state, alone)


_MODELS: dict[torch.dtype, tuple[nn.Module, list[Candidate], list[Reading]]] = {}


def model_of(dtype: torch.dtype) -> tuple[nn.Module, list[Candidate], list[Reading]]:
    if dtype not in _MODELS:
        model = random_causal_lm("Qwen3").to(dtype).model
        _MODELS[dtype] = model, candidates(model), tree()
    return _MODELS[dtype]


def test_positions_are_counted_by_a_closed_formula() -> None:
    model, them, readings = model_of(torch.float32)
    new = sum(len(reading.ids) for reading in readings)
    engine = SharedTrunk(model, PLENTY)
    for _ in range(2):  # the second time all is kept
        engine.hidden(*pairs_of(readings, them))
        assert engine.counts.trunk == new
        assert engine.counts.tail == len(them) * new
    one = grown(readings[4], 12, 99)
    engine.hidden([one], [them[0]])
    assert (engine.counts.trunk, engine.counts.tail) == (new + 12, len(them) * new + 12)
    cold = SharedTrunk(model, PLENTY)
    cold.hidden([one], [them[0]])
    assert (cold.counts.trunk, cold.counts.tail) == (sum(len(each.ids) for each in one.path),) * 2
    without = SharedTrunk(model, 0)
    without.hidden([one, one], [them[0], them[1]])
    assert without.counts.trunk > cold.counts.trunk
    plain = PlainForward(model)
    plain.hidden([one], [them[0]])
    assert plain.counts.trunk == len(one) == len(one.whole)


def test_what_is_kept_stays_within_its_bytes() -> None:
    model, them, readings = model_of(torch.float32)
    full = SharedTrunk(model, PLENTY)
    full.hidden(*pairs_of(readings, them))
    needed = full.kept_bytes
    quarter = SharedTrunk(model, needed // 4)
    quarter.hidden(*pairs_of(readings, them))
    assert 0 < quarter.kept_bytes <= needed // 4
    assert quarter.counts.trunk >= full.counts.trunk


def test_in_bfloat16_the_error_is_no_larger_than_the_references() -> None:
    exact = random_causal_lm("Qwen3", hidden_size=64, num_hidden_layers=6).float().model
    rounded = random_causal_lm("Qwen3", hidden_size=64, num_hidden_layers=6).to(torch.bfloat16).model
    exact.load_state_dict({name: tensor.float() for name, tensor in rounded.state_dict().items()})
    readings, owners = pairs_of([grown(grown(None, 60, seed), 30, seed + 50) for seed in range(12)], candidates(exact))
    truth = PlainForward(exact).hidden(readings, owners)

    def error(states: Tensor) -> float:
        return float((states.float() - truth).norm() / truth.norm())

    shared = SharedTrunk(rounded, PLENTY).hidden(readings, owners)
    assert shared.dtype is torch.float32
    assert error(shared) <= 1.2 * error(PlainForward(rounded).hidden(readings, owners))


@pytest.mark.parametrize("reference", [False, True])
def test_gradients_reach_the_scales(reference: bool) -> None:
    model = random_causal_lm("Llama").model
    svf, readings = Svf(blocks(model)[1][-2]), tree()
    engine = PlainForward(model) if reference else SharedTrunk(model, PLENTY)
    count = sum(svf.counts.values())
    generator = torch.Generator().manual_seed(4)
    scales = (1 + 0.5 * torch.randn(count, generator=generator, dtype=torch.float64)).requires_grad_()
    direction = torch.randn(len(readings), 32, generator=generator, dtype=torch.float64)

    def value(at: Tensor) -> Tensor:
        return (engine.differentiable(readings, svf.candidate(at)) * direction).sum()

    value(scales).backward()
    gradient = scales.grad
    assert gradient is not None
    step = torch.randn(count, generator=generator, dtype=torch.float64)
    # Norms compute in float32 whatever the dtype, so the difference quotient is no finer than that.
    quotient = (value(scales.detach() + 1e-2 * step) - value(scales.detach() - 1e-2 * step)) / 2e-2
    assert float(quotient) == pytest.approx(float(gradient @ step), rel=1e-2)


def test_candidates_do_not_mix_and_the_model_is_left_as_it_was() -> None:
    model, them, readings = model_of(torch.float32)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    engine = SharedTrunk(model, PLENTY)
    plain = engine.hidden(readings, [Candidate()] * len(readings))
    first, second = (engine.hidden(readings, [one] * len(readings)) for one in them)
    assert not torch.allclose(first, second)
    assert not torch.allclose(first, plain)
    assert torch.equal(engine.hidden(readings, [Candidate()] * len(readings)), plain)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("count", [2, 5])
def test_engines_on_several_devices_give_the_bytes_of_one(count: int) -> None:
    model, them, readings = model_of(torch.float32)
    devices = [torch.device("cpu")] * count  # no test of the devices themselves
    spread = Spread([SharedTrunk(copy.deepcopy(model), PLENTY) for _ in devices], devices)
    one = SharedTrunk(model, PLENTY)
    asked = pairs_of([*readings, *tree(seed=50)], them)
    for _ in range(2):
        assert torch.equal(spread.hidden(*asked), one.hidden(*asked))
    assert (spread.counts.trunk, spread.counts.tail) == (one.counts.trunk, one.counts.tail)
    svf = Svf(blocks(model)[1][-2])
    scales = torch.full((sum(svf.counts.values()),), 1.1, requires_grad=True)
    gradients = []
    for engine in (spread, one):
        (gradient,) = torch.autograd.grad(engine.differentiable(asked[0], svf.candidate(scales)).sum(), scales)
        gradients.append(gradient)
    assert torch.allclose(*gradients, rtol=1e-3, atol=1e-4)


def test_readings_are_equal_by_what_they_hold() -> None:
    first, again = tree(), tree()
    assert [one.key for one in first] == [one.key for one in again]
    assert len({one.key for one in first}) == len(first)
    parent = first[0]
    divided = Reading(parent.whole[4:], Reading(parent.whole[:6]), 4)
    assert divided.whole == parent.whole
    assert divided.key != parent.key
    assert all(0 <= id_ < VOCABULARY for one in first for id_ in one.whole)


def test_other_architectures_say_why_they_are_not_shared() -> None:
    sliding = random_causal_lm(
        "Qwen2",
        use_sliding_window=True,
        sliding_window=4,
        layer_types=["full_attention"] * 2 + ["sliding_attention"] * 2,
    ).model
    assert "full attention" in str(not_shared(sliding))
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    assert "dynamic" in str(not_shared(random_causal_lm("Llama", rope_parameters=rope).model))
    assert "mistral" in str(not_shared(random_causal_lm("Mistral").model))


def test_one_block_is_refused() -> None:
    with pytest.raises(ValueError, match="blocks"):
        blocks(random_causal_lm("Llama", num_hidden_layers=1).model)
