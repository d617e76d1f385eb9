"""The encoder: its input rule, its states, and what it refuses."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from encoders import SLM, VOCABULARY, questions, random_causal_lm, save_pretrained, scaled

from trinity.config.schema import Slm
from trinity.coordinator.engine.shared import SharedTrunk
from trinity.coordinator.slm import load_encoder
from trinity.coordinator.suffix import SUFFIX
from trinity.errors import ConfigError

TEXTS = questions("w1 w2 w3", "w4", "w1 w2 w3 w9 w9 w9 w9 w9 w9")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)


def _slm(model: Path, **changes: object) -> Slm:
    return Slm.model_validate(SLM.model_dump() | {"model": str(model), "tiny": None, "dtype": "float32"} | changes)


def _oracle(folder: Path, ids: list[int], position: int) -> np.ndarray:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        output = model(torch.tensor([ids]), output_hidden_states=True)
    return np.asarray(output.hidden_states[-1][0, position].double().numpy())


def test_the_state_is_read_where_the_suffix_ends(tmp_path: Path) -> None:
    folder = save_pretrained(tmp_path / "model", random_causal_lm("Llama", tied=False).float())
    encoder = load_encoder(_slm(folder))
    ids = encoder.ids("w1 w2")
    # <bos> w1 w2 < Head Input > <eos>: index -2 is the last token of the suffix.
    assert ids == [1, 8, 9, 3, 4, 5, 6, 2]
    h = encoder.states(questions("w1 w2"))[0]
    np.testing.assert_allclose(h, _oracle(folder, ids, -2), rtol=1e-4, atol=1e-5)
    assert not np.allclose(h, _oracle(folder, ids, -1), rtol=1e-2)
    without = [1, 8, 9, 2]
    assert not np.allclose(h, _oracle(folder, without, -2), rtol=1e-2)


def test_reading_the_last_position_is_a_setting(tmp_path: Path) -> None:
    folder = save_pretrained(tmp_path / "model", random_causal_lm("Qwen2").float())
    encoder = load_encoder(_slm(folder, read_position=-1))
    h = encoder.states(questions("w1 w2"))[0]
    np.testing.assert_allclose(h, _oracle(folder, encoder.ids("w1 w2"), -1), rtol=1e-4, atol=1e-5)


def test_a_tokenizer_that_appends_eos_itself_gives_one_eos(tmp_path: Path) -> None:
    model = random_causal_lm("Llama").float()
    plain = load_encoder(_slm(save_pretrained(tmp_path / "plain", model)))
    appends = load_encoder(_slm(save_pretrained(tmp_path / "appends", model, adds_eos=True)))
    assert appends.ids("w1 w2") == plain.ids("w1 w2")


def test_long_transcripts_lose_their_middle_and_keep_the_suffix(tmp_path: Path) -> None:
    folder = save_pretrained(tmp_path / "model", random_causal_lm("Qwen3").float())
    encoder = load_encoder(_slm(folder, max_tokens=16))
    words = [f"w{number}" for number in range(30)]
    assert len(encoder.ids(" ".join(words[:10]))) == 16
    assert encoder.ids(" ".join(words)) == [1, *range(7, 12), *range(32, 37), 3, 4, 5, 6, 2]
    assert np.isfinite(encoder.states(questions(" ".join(words * 50)))).all()


def test_the_context_of_the_model_caps_max_tokens(tmp_path: Path) -> None:
    model = random_causal_lm("Llama", max_position_embeddings=20).float()
    encoder = load_encoder(_slm(save_pretrained(tmp_path / "model", model)))
    assert len(encoder.ids("w1 " * 100)) == 20


def test_empty_and_unicode_transcripts() -> None:
    encoder = load_encoder(SLM)
    texts = ["", "é→\U0001f600", "a\n", SUFFIX, "\ud800"]
    assert np.isfinite(encoder.states(questions(*texts[:4]))).all()
    assert all(encoder.ids(text)[-2:] == encoder.ids("")[-2:] for text in texts[:4])


@pytest.mark.parametrize("family", ["Qwen3", "Qwen2", "Llama", "Mistral"])
def test_adapted_states_move_and_come_back(family: str, tmp_path: Path) -> None:
    encoder = load_encoder(_slm(save_pretrained(tmp_path / "model", random_causal_lm(family).float())))
    count = sum(encoder.svf_counts.values())
    plain = encoder.states(TEXTS)
    np.testing.assert_allclose(scaled(encoder, TEXTS, np.ones(count)), plain, rtol=1e-6)
    assert not np.allclose(scaled(encoder, TEXTS, np.full(count, 1.3)), plain, rtol=1e-2)
    np.testing.assert_array_equal(encoder.states(TEXTS), plain)


def test_many_candidates_get_what_each_gets_alone() -> None:
    encoder = load_encoder(SLM)
    count = sum(encoder.svf_counts.values())
    scales = 1 + 0.3 * np.random.default_rng(0).normal(size=(3, count))
    texts = [*TEXTS, TEXTS[0], TEXTS[1], TEXTS[0]]
    owner = [2, 0, 2, 0, 2, 2]
    candidates = [encoder.candidate(one) for one in scales]
    together = encoder.adapted(texts, [candidates[candidate] for candidate in owner])
    for index, (text, candidate) in enumerate(zip(texts, owner, strict=True)):
        np.testing.assert_array_equal(scaled(encoder, [text], scales[candidate])[0], together[index])
        tensor = encoder.differentiable([text], torch.from_numpy(scales[candidate]))
        np.testing.assert_array_equal(tensor.numpy()[0], together[index])
    assert not np.allclose(together[0], together[3])


def test_states_equal_the_plain_forward(tmp_path: Path) -> None:
    tiny = load_encoder(SLM)
    np.testing.assert_allclose(tiny.states(TEXTS), tiny.compute(TEXTS), atol=1e-10)
    encoder = load_encoder(_slm(save_pretrained(tmp_path / "model", random_causal_lm("Qwen3").float())))
    np.testing.assert_allclose(encoder.states(TEXTS), encoder.compute(TEXTS), rtol=1e-4, atol=1e-5)


def test_a_wrong_number_of_scales_is_refused() -> None:
    with pytest.raises(ValueError, match="scales"):
        load_encoder(SLM).candidate(np.ones(3))


def test_the_fingerprint_follows_all_that_decides_h(tmp_path: Path) -> None:
    first = save_pretrained(tmp_path / "first", random_causal_lm("Llama").float())
    copy = save_pretrained(tmp_path / "copy", random_causal_lm("Llama").float())
    other = random_causal_lm("Llama").float()
    other.model.layers[0].mlp.up_proj.weight.data[0, 0] += 1e-3
    changed = save_pretrained(tmp_path / "changed", other)
    same = {load_encoder(_slm(folder)).fingerprint for folder in (first, copy)}
    assert len(same) == 1
    different = [
        load_encoder(slm).fingerprint
        for slm in (
            _slm(changed),
            _slm(first, read_position=-1),
            _slm(first, max_tokens=100),
            _slm(first, dtype="float64"),
        )
    ]
    assert len({*same, *different}) == 5


def test_states_are_kept_on_disk_over_encoders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_pretrained(tmp_path / "model", random_causal_lm("Llama").float())
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "original"))
    first = load_encoder(_slm(folder)).states(TEXTS)
    assert list((tmp_path / "original" / ".trinity" / "hidden").glob("*.sqlite"))
    again = load_encoder(_slm(folder))
    monkeypatch.setattr(SharedTrunk, "hidden", lambda *_: pytest.fail("computed again"))
    np.testing.assert_array_equal(again.states([*TEXTS, TEXTS[0]]), first[[0, 1, 2, 0]])


def test_the_tiny_encoder_keeps_nothing_on_disk(tmp_path: Path) -> None:
    load_encoder(SLM).states(TEXTS)
    assert not (tmp_path / ".trinity").exists()


def test_no_texts() -> None:
    encoder = load_encoder(SLM)
    assert encoder.states([]).shape == (0, encoder.hidden_size)
    assert encoder.adapted([], []).shape == (
        0,
        encoder.hidden_size,
    )


def test_mistakes_are_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_causal_lm("Llama").float()
    no_eos = save_pretrained(tmp_path / "no_eos", model, eos=None)
    good = save_pretrained(tmp_path / "good", model)
    (tmp_path / "empty").mkdir()
    cases = {
        "no EOS": _slm(no_eos),
        "slm.read_position": _slm(good, read_position=-9),
        "cannot be loaded": _slm(tmp_path / "empty"),
        "CUDA devices": _slm(good, device="cuda:99"),
    }
    for words, slm in cases.items():
        with pytest.raises(ConfigError, match=words) as error:
            load_encoder(slm)
        assert "\n" not in str(error.value)


def test_an_encoder_that_is_no_causal_lm_is_refused(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, vocab_size=VOCABULARY
    )
    BertModel(config).save_pretrained(tmp_path / "bert")
    with pytest.raises(ConfigError, match="causal"):
        load_encoder(_slm(tmp_path / "bert"))


def test_weights_that_are_missing_are_not_made_up(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = save_pretrained(tmp_path / "model", random_causal_lm("Llama").float())
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.2.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ConfigError, match="up_proj"):
        load_encoder(_slm(folder))


def test_weights_in_pickles_are_refused(tmp_path: Path) -> None:
    model = random_causal_lm("Llama").float()
    folder = save_pretrained(tmp_path / "model", model)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load_encoder(_slm(folder))


def test_a_real_model() -> None:
    folder = os.environ.get("TRINITY_TEST_MODEL")
    if not folder:
        pytest.skip("TRINITY_TEST_MODEL names no folder of a Hugging Face causal LM")
    encoder = load_encoder(_slm(Path(folder)))
    text = "What is 17 * 24?\n\nA Worker wrote: 408, naïvely."
    ids = encoder.ids(text)
    oracle = _oracle(Path(folder), ids, -2)
    np.testing.assert_allclose(encoder.states(questions(text))[0], oracle, atol=1e-5 * float(np.linalg.norm(oracle)))
    assert not np.allclose(oracle, _oracle(Path(folder), ids, -1), rtol=0.1)
