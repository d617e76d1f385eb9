"""The encoder: a causal language model whose final state at the head-input position the head reads (spec section 3)."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from trinity.config.schema import Slm
from trinity.coordinator.cache import HiddenCache, Lru, cache_directory
from trinity.coordinator.engine import Engine, Ids, PlainForward, SharedTrunk, blocks, not_shared
from trinity.coordinator.suffix import SUFFIX, SuffixInput
from trinity.coordinator.svf import Svf
from trinity.coordinator.tiny import build_tiny
from trinity.errors import ConfigError

_STATES_BYTES = 1 << 28
_CHUNK = 32
_PROGRESS_FROM = 50
_NOT_OF_THE_MODEL = ("transformers_version", "torch_dtype", "dtype", "_name_or_path")


class Encoder:
    """Transcripts to raw final-layer states h, with or without singular-value scales.

    Args:
        name: As in params.yaml.
        model: A base model (without language-model head), not changed by anything here.
        inputs: The input rule.
        engine: Runs the model.
        fingerprint: Of weights, configuration, input rule and dtype.
        cache: Keeps unadapted states on disk, where given.
    """

    def __init__(
        self,
        name: str,
        model: nn.Module,
        inputs: SuffixInput,
        engine: Engine,
        fingerprint: str,
        cache: HiddenCache | None = None,
    ) -> None:
        layers = blocks(model)[1]
        self.name, self.fingerprint = name, fingerprint
        self.hidden_size, self.n_layers = int(model.config.hidden_size), len(layers)
        self._inputs, self._engine, self._cache = inputs, engine, cache
        self._plain, self._svf = PlainForward(model), Svf(layers[-2])
        self._states: Lru[str, np.ndarray] = Lru(_STATES_BYTES)

    @property
    def svf_counts(self) -> dict[str, int]:
        """Singular values by linear matrix of the second-to-last block, in the order of the scales."""
        return self._svf.counts

    @property
    def eos_id(self) -> int:
        """The id that ends every input."""
        return self._inputs.eos_id

    def reconstruction_errors(self) -> dict[str, float]:
        """By matrix, how far U diag(s) V^T is from W, relative to the norm of W."""
        return self._svf.reconstruction_errors()

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens included."""
        return self._inputs.decode(ids)

    def ids(self, text: str) -> list[int]:
        """Token ids of the encoder's input for a transcript, suffix and EOS included."""
        return list(self._inputs.ids(text))

    def states(self, texts: Sequence[str]) -> np.ndarray:
        """Unadapted states, [len, d] float64; each text is computed once and kept."""
        found = {text: state for text in texts if (state := self._states.get(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if self._cache is not None and missing:
            found |= (kept := self._cache.get(missing))
            missing = [text for text in missing if text not in kept]
        for states in self._computed(missing):
            if self._cache is not None:
                self._cache.put(states)
            found |= states
        for text, state in found.items():
            self._states.put(text, state, state.nbytes)
        return np.stack([found[text] for text in texts]) if texts else np.empty((0, self.hidden_size))

    def compute(self, texts: Sequence[str], scales: np.ndarray | None = None) -> np.ndarray:
        """States by the plain Hugging Face forward, nothing kept or shared: what every other way must equal.

        Args:
            texts: Transcripts.
            scales: [sum of counts]; None leaves the encoder unadapted.
        """
        with torch.no_grad():
            weights = {} if scales is None else self._svf.weights(torch.from_numpy(scales))
            states = self._plain.hidden([self._inputs.read(text) for text in texts], weights)
        return _array(states)

    def adapted(self, texts: Sequence[str], scales: np.ndarray) -> np.ndarray:
        """States under one vector of scales (concatenated in the order of `svf_counts`), [len, d] float64."""
        return self.adapted_many(texts, [0] * len(texts), scales[None])

    def adapted_many(self, texts: Sequence[str], owner: Sequence[int], scales: np.ndarray) -> np.ndarray:
        """States of each text under its owner's scales, [len, d] float64; W' is built once an owner.

        Args:
            texts: Transcripts.
            owner: Row of `scales` by text.
            scales: [candidates, sum of counts].
        """
        states = np.empty((len(texts), self.hidden_size))
        mine: dict[int, list[int]] = {}
        for index, candidate in enumerate(owner):
            mine.setdefault(candidate, []).append(index)
        for candidate, indices in mine.items():
            vector = torch.from_numpy(np.asarray(scales[candidate], dtype=np.float64))
            with torch.no_grad():
                states[indices] = _array(self.adapted_torch([texts[index] for index in indices], vector))
        return states

    def adapted_torch(self, texts: Sequence[str], scales: Tensor) -> Tensor:
        """States under one vector of scales, [len, d] in the model's dtype, differentiable in the scales."""
        expected = sum(self.svf_counts.values())
        if scales.shape != (expected,):
            raise ValueError(f"expected {expected} scales, got shape {tuple(scales.shape)}")
        return self._run(texts, self._svf.weights(scales))

    def _run(self, texts: Sequence[str], weights: Mapping[str, Tensor]) -> Tensor:
        sequences = [self._inputs.read(text) for text in texts]
        row: dict[Ids, int] = {}
        for ids in sequences:
            row.setdefault(ids, len(row))
        states = self._engine.hidden(list(row), weights)
        return states[torch.tensor([row[ids] for ids in sequences], device=states.device)]

    def _computed(self, texts: list[str]) -> Iterator[dict[str, np.ndarray]]:
        quiet = len(texts) <= _PROGRESS_FROM or self._cache is None
        with tqdm(total=len(texts), desc="encoder", unit="text", file=sys.stderr, disable=quiet) as progress:
            for start in range(0, len(texts), _CHUNK):
                part = texts[start : start + _CHUNK]
                with torch.no_grad():
                    states = self._run(part, {})
                yield dict(zip(part, _array(states), strict=True))
                progress.update(len(part))


def _array(states: Tensor) -> np.ndarray:
    return np.asarray(states.to("cpu", torch.float64).numpy())


def load_encoder(slm: Slm) -> Encoder:
    """The encoder that params.yaml names: a Hugging Face id or folder (safetensors, no remote code), or the tiny one.

    Raises:
        ConfigError: the model, its tokenizer, the device or the input rule cannot be used.
    """
    device, dtype = _device(slm.device), getattr(torch, slm.dtype)
    if slm.tiny is not None:
        model, tokenizer, description = build_tiny(slm.tiny)
    else:
        model, tokenizer, description = _load_pretrained(slm.model, dtype)
    model = model.to(device, dtype).eval().requires_grad_(False)
    try:
        blocks(model)
    except ValueError as error:
        raise ConfigError(f"slm.model: {slm.model}: {error}; use a causal language model of decoder blocks") from None
    longest = getattr(model.config, "max_position_embeddings", None) or slm.max_tokens
    inputs = SuffixInput(tokenizer, slm.read_position, min(slm.max_tokens, longest))
    fingerprint = _fingerprint(model, description, tokenizer, inputs, slm.dtype)
    reason = not_shared(model)
    if reason:
        print(f"slm.model: {slm.model}: plain forward for every candidate, since {reason}", file=sys.stderr)
    engine: Engine = PlainForward(model) if reason else SharedTrunk(model)
    size = int(model.config.hidden_size)
    cache = None if slm.tiny is not None else HiddenCache(cache_directory(), fingerprint, size)
    return Encoder(slm.model, model, inputs, engine, fingerprint, cache)


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"slm.device: {name}: not among the {torch.cuda.device_count()} CUDA devices here; use auto or cpu"
        )
    return device


def _load_pretrained(name: str, dtype: torch.dtype) -> tuple[nn.Module, Any, Mapping[str, Any]]:
    from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedConfig
    from transformers.utils import logging

    def load(local: bool) -> tuple[nn.Module, Any, Mapping[str, Any]]:
        source = {"local_files_only": local, "trust_remote_code": False}
        description, _ = PreTrainedConfig.get_config_dict(name, local_files_only=local)
        config = AutoConfig.from_pretrained(name, **source)
        architectures = config.architectures or []
        if not any(architecture.endswith(("ForCausalLM", "LMHeadModel")) for architecture in architectures):
            raise ConfigError(f"slm.model: {name}: not a causal language model (architectures: {architectures})")
        tokenizer = AutoTokenizer.from_pretrained(name, **source)
        model, seen = AutoModel.from_pretrained(
            name, config=config, dtype=dtype, use_safetensors=True, output_loading_info=True, **source
        )
        if seen["missing_keys"] or seen["mismatched_keys"]:
            absent = ", ".join(sorted(map(str, seen["missing_keys"] or seen["mismatched_keys"]))[:3])
            raise ConfigError(f"slm.model: {name}: weights are missing or of another shape: {absent}")
        return model, tokenizer, description

    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # Its report of the language-model head, which is not loaded.
    logging.disable_progress_bar()
    try:
        try:
            return load(local=True)
        except OSError:
            if Path(name).exists():
                raise
            return load(local=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"slm.model: {name}: cannot be loaded: {reason[:300]}") from None
    finally:
        logging.set_verbosity(verbosity)
        logging.enable_progress_bar()


def _fingerprint(
    model: nn.Module, description: Mapping[str, Any], tokenizer: Any, inputs: SuffixInput, dtype: str
) -> str:
    """A hash of all that decides h; free of library versions, the device and where files lie."""
    digest = sha256()
    facts = {
        "config": {key: value for key, value in description.items() if key not in _NOT_OF_THE_MODEL},
        "vocabulary": sorted(tokenizer.get_vocab().items()),
        "input": ["suffix", SUFFIX, inputs.read_position, inputs.max_tokens, inputs.ids("Nine (9) é→ tokens?\n")],
        "dtype": dtype,
    }
    digest.update(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"\n{name} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
