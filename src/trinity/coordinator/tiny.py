"""The demo's own encoder: a seeded Qwen3 of a few layers, and a tokenizer whose words are the demo's.

Nothing is downloaded or trained. The weights are keyed draws; the vocabulary is counted over a fixed corpus that does
not depend on params.yaml but for its size, so that every run has the same ids.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from trinity.config.schema import TinyEncoder
from trinity.coordinator.suffix import SUFFIX
from trinity.errors import ConfigError
from trinity.llm.simulated import VERDICT_TEXTS, plan_text
from trinity.rng import generator
from trinity.tasks.demo.task import KINDS, DemoTask
from trinity.types import Role

END = "<|end|>"
_CORPUS_SEED = 20251204
_POSITIONS = 32768


def build_tiny(tiny: TinyEncoder) -> tuple[nn.Module, Any, Mapping[str, Any]]:
    """The base model in float64, its tokenizer, and what describes both.

    Raises:
        ConfigError: heads, kv_heads and hidden_size do not divide.
    """
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    if tiny.hidden_size % (2 * tiny.heads) or tiny.heads % tiny.kv_heads:
        raise ConfigError("slm.tiny: hidden_size must be a multiple of 2 * heads, and heads of kv_heads")
    words = _tokenizer(tiny.vocabulary)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token=END)
    config = Qwen3Config(
        vocab_size=tiny.vocabulary,
        hidden_size=tiny.hidden_size,
        intermediate_size=tiny.intermediate_size,
        num_hidden_layers=tiny.layers,
        num_attention_heads=tiny.heads,
        num_key_value_heads=tiny.kv_heads,
        head_dim=tiny.hidden_size // tiny.heads,
        max_position_embeddings=_POSITIONS,
        hidden_act="silu",
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        attention_bias=False,
        use_sliding_window=False,
        attn_implementation="sdpa",
    )
    with torch.device("meta"):
        model = Qwen3Model(config)
    model = model.to_empty(device="cpu").double()
    model.rotary_emb = type(model.rotary_emb)(config)
    _initialise(model, tiny)
    return model, tokenizer, tiny.model_dump()


def _initialise(model: nn.Module, tiny: TinyEncoder) -> None:
    """Normal matrices and embeddings of standard deviation `init_std`, norms of 1; each drawn under its own name."""
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            nn.init.ones_(parameter)
        else:
            draw = generator("tiny encoder", tiny.seed, name).standard_normal(tuple(parameter.shape))
            parameter.data.copy_(torch.from_numpy(tiny.init_std * draw))


def _tokenizer(size: int) -> Any:
    """Longest known piece first: the demo's most frequent words whole, anything else by bytes."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*alphabet, *(f"##{letter}" for letter in alphabet)]
    counts = Counter(word for text in _corpus() for word, _ in split.pre_tokenize_str(text) if _is_word(word))
    room = size - len(pieces) - 2
    if room < 0:
        raise ConfigError(f"slm.tiny.vocabulary: {size} is too small: bytes alone take {len(pieces) + 2}")
    pieces += sorted(counts, key=lambda word: (-counts[word], word))[:room]
    vocabulary = {piece: index for index, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=alphabet[0], max_input_chars_per_word=1 << 30))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.Sequence([decoders.Replace(Regex("^##"), ""), decoders.ByteLevel()])
    tokenizer.add_special_tokens([AddedToken(END), AddedToken(SUFFIX)])
    return tokenizer


def _is_word(piece: str) -> bool:
    # Long numbers are left to their digits: there are too many of them, and none tells a domain.
    return len(piece) > 1 and sum(character.isdigit() for character in piece) <= 2


def _corpus() -> Iterator[str]:
    """Questions and replies of the demo under a seed of its own, and what the simulated agents add to a transcript."""
    for name in KINDS:
        for items in DemoTask(name, _CORPUS_SEED).load().items.values():
            for item in items:
                yield item.question
                for kind in ("right", "wrong", "malformed"):
                    yield f"\n{item.extra[kind]}\n"
                yield from (f"\n\n[1. {role.value}]\n" for role in Role)
                yield from (*VERDICT_TEXTS.values(), plan_text("agent"))
