"""Singular-value scales."""

from pathlib import Path

import pytest
import torch
from encoders import random_causal_lm
from safetensors.torch import save_file

from trinity.coordinator.engine.base import Candidate, Reading
from trinity.coordinator.engine.reference import PlainForward, blocks
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
    for name, weight in svf.candidate(torch.ones(sum(svf.counts.values()))).weights.items():
        assert torch.equal(weight, block.get_submodule(name).weight)


def test_scales_act_on_their_own_singular_value() -> None:
    block = blocks(random_causal_lm("Llama").model)[1][-2]
    svf = Svf(block)
    scales = 0.5 + torch.rand(sum(svf.counts.values()), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    scaled, start = svf.candidate(scales).weights, 0
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
    for name, weight in Svf(blocks(rounded)[1][-2]).candidate(scales).weights.items():
        assert weight.dtype is torch.float32
        assert torch.equal(weight, Svf(blocks(exact)[1][-2]).candidate(scales).weights[name])


def test_factors_give_the_matrix_back() -> None:
    for model, bound in ((random_causal_lm("Qwen3").model, 1e-9), (random_causal_lm("Qwen3").model.float(), 1e-5)):
        errors = Svf(blocks(model)[1][-2]).reconstruction_errors()
        assert len(errors) == 7
        assert 0 < max(errors.values()) < bound


def test_the_papers_matrices_are_9216_scales_and_move_the_embedding() -> None:
    from transformers import Qwen3Config, Qwen3Model

    config = Qwen3Config(
        hidden_size=1024, num_hidden_layers=3, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
        intermediate_size=3072, vocab_size=1100,
    )  # fmt: skip
    with torch.device("meta"):
        model = Qwen3Model(config)
    counts = Svf(blocks(model)[1][-2], embedding=model.embed_tokens.weight).counts
    assert sum(counts.values()) == 9216
    assert list(counts)[7:] == ["embed_tokens", "lm_head"]


@pytest.mark.parametrize("vocabulary", [211, 20])  # more words than dimensions, and fewer
def test_scales_of_the_embedding_act_on_its_singular_values(vocabulary: int) -> None:
    model = random_causal_lm("Qwen3", vocab_size=vocabulary).model
    embedding = model.embed_tokens.weight
    svf = Svf(blocks(model)[1][-2], embedding=embedding)
    scales = torch.ones(sum(svf.counts.values()), dtype=torch.float64)
    assert not svf.candidate(scales).embedding.any()  # type: ignore[union-attr]
    size, start = svf.counts["embed_tokens"], sum(svf.counts.values()) - 2 * svf.counts["embed_tokens"]
    scales[start : start + size] = 0.5 + torch.rand(size, generator=torch.Generator().manual_seed(3))
    u, s, vh = torch.linalg.svd(embedding, full_matrices=False)
    expected = (u * s * scales[start : start + size]) @ vh
    change = svf.candidate(scales).embedding
    assert change is not None
    assert torch.allclose(embedding + embedding @ change, expected)
    assert svf.reconstruction_errors()["embed_tokens"] < 1e-9
    readings = [Reading(tuple(range(9))), Reading((3, 1))]
    plain = PlainForward(model)
    moved = plain.hidden(readings, [svf.candidate(scales)] * 2)
    kept, embedding.data = embedding.data, expected
    assert torch.allclose(plain.hidden(readings, [Candidate()] * 2), moved)
    embedding.data = kept
    scales[start + size :] = 7.0  # the head's own, which move nothing
    assert torch.equal(plain.hidden(readings, [svf.candidate(scales)] * 2), moved)


def test_factors_are_kept_by_the_hash_of_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = blocks(random_causal_lm("Qwen3").model.float())[1][-2]
    ones = 1.3 * torch.ones(sum(Svf(block).counts.values()))
    made = Svf(block, tmp_path).candidate(ones).weights
    (path,) = tmp_path.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(torch.linalg, "svd", lambda *_, **__: pytest.fail("decomposed again"))
        again = Svf(block, tmp_path).candidate(ones).weights
    assert all(torch.equal(made[name], again[name]) for name in made)
    block.mlp.up_proj.weight.data[0, 0] += 1e-3
    Svf(block, tmp_path).candidate(ones)
    assert len(list(tmp_path.iterdir())) == 2
    assert path.exists()


@pytest.mark.parametrize("damage", [b"", b"\xff" * 4000, "another"])
def test_damaged_factors_are_made_again_and_said(
    damage: bytes | str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    block = blocks(random_causal_lm("Qwen3").model.float())[1][-2]
    ones = 1.3 * torch.ones(sum(Svf(block).counts.values()))
    made = Svf(block, tmp_path).candidate(ones).weights
    (path,) = tmp_path.iterdir()
    if isinstance(damage, str):
        save_file({"s": torch.ones(3)}, path)
    else:
        path.write_bytes(damage)
    again = Svf(block, tmp_path).candidate(ones).weights
    assert all(torch.equal(made[name], again[name]) for name in made)
    assert "damaged" in capsys.readouterr().err
    Svf(block, tmp_path).candidate(ones)
    assert capsys.readouterr().err == ""


def test_a_folder_that_cannot_be_written_costs_time_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    block = blocks(random_causal_lm("Qwen3").model.float())[1][-2]
    ones = torch.ones(sum(Svf(block).counts.values()))
    weights = Svf(block, tmp_path / "file").candidate(ones).weights
    assert torch.equal(weights["mlp.up_proj"], block.mlp.up_proj.weight)
    assert "cannot be" in capsys.readouterr().err
