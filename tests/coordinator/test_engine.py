"""The shared trunk against the plain Hugging Face forward."""

import pytest
import torch
from encoders import random_causal_lm, random_sequences

from trinity.coordinator.engine import PlainForward, SharedTrunk, blocks, not_shared
from trinity.coordinator.svf import Svf

FAMILIES = ("Qwen3", "Qwen2", "Llama")
LENGTHS = (5, 17, 3, 40, 1, 17, 33)


def _scales(svf: Svf, seed: int = 1) -> torch.Tensor:
    count = sum(svf.counts.values())
    return 1 + 0.5 * torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_equals_the_hugging_face_forward(family: str, tied: bool, dtype: torch.dtype, tolerance: float) -> None:
    lm = random_causal_lm(family, tied).to(dtype)
    model = lm.model
    assert not_shared(model) is None
    svf = Svf(blocks(model)[1][-2])
    sequences = random_sequences(LENGTHS)
    for weights in ({}, svf.weights(_scales(svf))):
        shared = SharedTrunk(model).hidden(sequences, weights)
        plain = PlainForward(model).hidden(sequences, weights)
        with torch.no_grad():
            block, kept = blocks(model)[1][-2], {}
            for name, weight in weights.items():
                module = block.get_submodule(name)
                kept[name], module.weight.data = module.weight.data, weight
            # The id after the read position cannot matter: the whole input, EOS included, is the oracle's.
            whole = [model(torch.tensor([[*ids, 9]])).last_hidden_state[0, -2] for ids in sequences]
            for name, weight in kept.items():
                block.get_submodule(name).weight.data = weight
        oracle = torch.stack(whole)
        limit = tolerance * float(oracle.norm(dim=1).min())
        assert float((shared - oracle).norm(dim=1).max()) < limit
        assert float((plain - oracle).norm(dim=1).max()) < limit


def test_weights_are_replaced_for_the_call_alone() -> None:
    model = random_causal_lm("Qwen3").model
    svf, sequences = Svf(blocks(model)[1][-2]), random_sequences((9, 12))
    engine = SharedTrunk(model)
    before = engine.hidden(sequences, {})
    changed = engine.hidden(sequences, svf.weights(_scales(svf)))
    assert not torch.allclose(before, changed)
    assert torch.equal(engine.hidden(sequences, {}), before)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_sequence_gets_the_same_bytes_alone_and_among_others(dtype: torch.dtype) -> None:
    model = random_causal_lm("Qwen3").model.to(dtype)
    sequences = random_sequences((30, 7, 19, 30, 64, 2))
    together = SharedTrunk(model).hidden(sequences, {})
    alone = torch.cat([SharedTrunk(model).hidden([ids], {}) for ids in sequences])
    assert torch.equal(together, alone)


@pytest.mark.parametrize("engine", [SharedTrunk, PlainForward])
def test_gradients_reach_the_scales(engine: type[SharedTrunk] | type[PlainForward]) -> None:
    model = random_causal_lm("Llama").model
    svf, sequences = Svf(blocks(model)[1][-2]), random_sequences((6, 11))
    scales = _scales(svf).requires_grad_()
    direction = torch.randn(len(sequences), 32, generator=torch.Generator().manual_seed(4), dtype=torch.float64)

    def value(at: torch.Tensor) -> torch.Tensor:
        return (engine(model).hidden(sequences, svf.weights(at)) * direction).sum()

    value(scales).backward()
    gradient = scales.grad
    assert gradient is not None
    step = torch.randn(len(scales), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    # Norms compute in float32 whatever the dtype, so the difference quotient is no finer than that.
    quotient = (value(scales.detach() + 1e-2 * step) - value(scales.detach() - 1e-2 * step)) / 2e-2
    assert float(quotient) == pytest.approx(float(gradient @ step), rel=1e-2)


def test_a_trunk_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_causal_lm("Qwen3").model
    engine, (first, second) = SharedTrunk(model), random_sequences((8, 8))
    seen: list[int] = []
    model.layers[0].register_forward_pre_hook(lambda _, args: seen.append(len(args[0])))
    engine.hidden([first], {})
    engine.hidden([first, second], {})
    engine.hidden([second, first], {})
    assert seen == [1, 1]


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
