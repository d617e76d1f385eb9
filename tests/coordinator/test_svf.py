"""Singular-value scales."""

import torch
from encoders import random_causal_lm

from trinity.coordinator.engine import blocks
from trinity.coordinator.svf import Svf

NAMES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def test_counts_at_the_shape_of_qwen3_0_6b() -> None:
    from transformers import Qwen3Config, Qwen3Model

    config = Qwen3Config(
        hidden_size=1024, num_hidden_layers=3, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
        intermediate_size=3072, vocab_size=16,
    )  # fmt: skip
    torch.manual_seed(0)
    svf = Svf(blocks(Qwen3Model(config))[1][-2])
    assert [name.split(".")[-1] for name in svf.counts] == NAMES
    assert set(svf.counts.values()) == {1024}
    assert sum(svf.counts.values()) == 7168


def test_ones_give_the_matrices_to_the_bit() -> None:
    block = blocks(random_causal_lm("Qwen3").model.float())[1][-2]
    svf = Svf(block)
    for name, weight in svf.weights(torch.ones(sum(svf.counts.values()))).items():
        assert torch.equal(weight, block.get_submodule(name).weight)


def test_scales_act_on_their_own_singular_value() -> None:
    block = blocks(random_causal_lm("Llama").model)[1][-2]
    svf = Svf(block)
    scales = 0.5 + torch.rand(sum(svf.counts.values()), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    scaled, start = svf.weights(scales), 0
    for name, count in svf.counts.items():
        original = torch.linalg.svdvals(block.get_submodule(name).weight)
        expected = (original * scales[start : start + count]).sort(descending=True).values
        assert torch.allclose(torch.linalg.svdvals(scaled[name]), expected)
        start += count
    assert start == len(scales)


def test_decomposed_in_float32_where_the_model_is_bfloat16() -> None:
    exact = random_causal_lm("Qwen2").model.float()
    rounded = random_causal_lm("Qwen2").model.bfloat16()
    for name, weight in blocks(exact)[1][-2].named_parameters():
        weight.data = blocks(rounded)[1][-2].get_parameter(name).data.float()
    scales = torch.full((sum(Svf(blocks(exact)[1][-2]).counts.values()),), 1.3)
    for name, weight in Svf(blocks(rounded)[1][-2]).weights(scales).items():
        assert weight.dtype is torch.bfloat16
        assert torch.equal(weight, Svf(blocks(exact)[1][-2]).weights(scales)[name].bfloat16())


def test_factors_give_the_matrix_back() -> None:
    for model, bound in ((random_causal_lm("Qwen3").model, 1e-9), (random_causal_lm("Qwen3").model.float(), 1e-5)):
        errors = Svf(blocks(model)[1][-2]).reconstruction_errors()
        assert len(errors) == 7
        assert 0 < max(errors.values()) < bound
