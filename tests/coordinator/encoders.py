"""Small encoders for the tests of this folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from trinity.config.schema import Slm, TinyEncoder
from trinity.coordinator.slm import Encoder
from trinity.coordinator.threads import use_threads
from trinity.types import Transcript

use_threads(1)

TINY = TinyEncoder(
    hidden_size=16, layers=3, heads=2, kv_heads=1, intermediate_size=24, vocabulary=700, seed=3, init_std=0.2
)
SLM = Slm(
    model="tiny-qwen3",
    device="cpu",
    dtype="float64",
    engine="shared",
    input="suffix",
    read_position=-2,
    max_tokens=512,
    tiny=TINY,
)
VOCABULARY = 211


def questions(*texts: str) -> list[Transcript]:
    """Transcripts without turns."""
    return [Transcript(text) for text in texts]


def scaled(encoder: Encoder, transcripts: Sequence[Transcript], scales: np.ndarray) -> np.ndarray:
    """States under one vector of scales."""
    return encoder.adapted(transcripts, [encoder.candidate(scales)] * len(transcripts))


def random_causal_lm(family: str, tied: bool = True, **overrides: Any) -> nn.Module:
    """A Hugging Face causal LM with grouped queries and seeded weights, in float64."""
    import transformers

    config_class = getattr(transformers, f"{family}Config")
    shape = {
        "hidden_size": 32,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 48,
        "vocab_size": VOCABULARY,
        "initializer_range": 0.2,
        "tie_word_embeddings": tied,
    }
    torch.manual_seed(7)
    model: nn.Module = getattr(transformers, f"{family}ForCausalLM")(config_class(**(shape | overrides)))
    for name, parameter in model.named_parameters():
        if "norm" in name or name.endswith("bias"):
            nn.init.uniform_(parameter, 0.5, 1.5)
    return model.double().eval().requires_grad_(False)


def random_sequences(lengths: tuple[int, ...], seed: int = 0) -> list[tuple[int, ...]]:
    """Random token ids below `VOCABULARY`."""
    generator = torch.Generator().manual_seed(seed)
    return [tuple(torch.randint(0, VOCABULARY, (length,), generator=generator).tolist()) for length in lengths]


def save_pretrained(directory: Path, model: nn.Module, eos: str | None = "<eos>", adds_eos: bool = False) -> Path:
    """A Hugging Face folder with a word-level tokenizer that puts <bos> in front."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = ["<unk>", "<bos>", "<eos>", "<", "Head", "Input", ">", *(f"w{number}" for number in range(40))]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>" if adds_eos else "<bos> $A", special_tokens=[("<bos>", 1), ("<eos>", 2)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token=eos).save_pretrained(directory)
    model.save_pretrained(directory)
    return directory
