"""The encoder: a causal language model whose final state at the head-input position the head reads (spec section 3)."""

import copy
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

from trinity.config.schema import Matrices, Slm
from trinity.coordinator.cache import HiddenCache, cache_directory
from trinity.coordinator.engine.base import Candidate, Engine, Reading
from trinity.coordinator.engine.memory import Lru
from trinity.coordinator.engine.reference import PlainForward, blocks
from trinity.coordinator.engine.shared import SharedTrunk, not_shared
from trinity.coordinator.engine.spread import Spread
from trinity.coordinator.suffix import SUFFIX, SuffixInput
from trinity.coordinator.svf import Svf, factors_directory
from trinity.coordinator.tiny import build_tiny
from trinity.errors import ConfigError
from trinity.types import Transcript

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
        engine: Runs the model; its counts say what was computed.
        fingerprint: Of weights, configuration, input rule and dtype.
        svf: The matrices that are scaled.
        cache: Keeps unadapted states on disk, where given.
    """

    def __init__(
        self,
        name: str,
        model: nn.Module,
        inputs: SuffixInput,
        engine: Engine,
        fingerprint: str,
        svf: Svf,
        cache: HiddenCache | None = None,
    ) -> None:
        layers = blocks(model)[1]
        self.name, self.fingerprint = name, fingerprint
        self.hidden_size, self.n_layers = int(model.config.hidden_size), len(layers)
        self.engine, self._inputs, self._cache = engine, inputs, cache
        self._plain, self._svf = PlainForward(model), svf
        self._unadapted = Candidate()
        self._states: Lru[bytes, np.ndarray] = Lru(_STATES_BYTES)

    @property
    def svf_counts(self) -> dict[str, int]:
        """Singular values by scaled matrix, in the order of the scales."""
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

    def states(self, transcripts: Sequence[Transcript]) -> np.ndarray:
        """Unadapted states, [len, d] float64; each reading is computed once and kept."""
        readings = {reading.key: reading for reading in map(self._inputs.reading, transcripts)}
        found = {key: state for key in readings if (state := self._states.get(key)) is not None}
        missing = [key for key in readings if key not in found]
        if self._cache is not None and missing:
            found |= (kept := self._cache.get(missing))
            missing = [key for key in missing if key not in kept]
        for states in self._computed([readings[key] for key in missing]):
            if self._cache is not None:
                self._cache.put(states)
            found |= states
        for key, state in found.items():
            self._states.put(key, state, state.nbytes)
        rows = [found[self._inputs.reading(transcript).key] for transcript in transcripts]
        return np.stack(rows) if rows else np.empty((0, self.hidden_size))

    def compute(self, transcripts: Sequence[Transcript], candidate: Candidate | None = None) -> np.ndarray:
        """States by the plain Hugging Face forward, nothing kept or shared: what every other way must equal.

        Args:
            transcripts: What is read.
            candidate: None leaves the encoder unadapted.
        """
        readings = [self._inputs.reading(transcript) for transcript in transcripts]
        return _array(self._plain.hidden(readings, [candidate or self._unadapted] * len(readings)))

    def candidate(self, scales: np.ndarray) -> Candidate:
        """The weights under one vector of scales (concatenated in the order of `svf_counts`), built here and once."""
        with torch.no_grad():
            return self._svf.candidate(torch.from_numpy(np.asarray(scales, dtype=np.float64)))

    def adapted(self, transcripts: Sequence[Transcript], candidates: Sequence[Candidate]) -> np.ndarray:
        """States of each transcript under the candidate beside it, [len, d] float64."""
        if not transcripts:
            return np.empty((0, self.hidden_size))
        return _array(self.engine.hidden([self._inputs.reading(transcript) for transcript in transcripts], candidates))

    def differentiable(self, transcripts: Sequence[Transcript], scales: Tensor) -> Tensor:
        """States under one vector of scales, [len, d], differentiable in the scales."""
        readings = [self._inputs.reading(transcript) for transcript in transcripts]
        return self.engine.differentiable(readings, self._svf.candidate(scales))

    def _computed(self, readings: list[Reading]) -> Iterator[dict[bytes, np.ndarray]]:
        quiet = len(readings) <= _PROGRESS_FROM or self._cache is None
        with tqdm(total=len(readings), desc="encoder", unit="text", file=sys.stderr, disable=quiet) as progress:
            for start in range(0, len(readings), _CHUNK):
                part = readings[start : start + _CHUNK]
                states = _array(self.engine.hidden(part, [self._unadapted] * len(part)))
                yield {reading.key: state for reading, state in zip(part, states, strict=True)}
                progress.update(len(part))


def _array(states: Tensor) -> np.ndarray:
    return np.asarray(states.to("cpu", torch.float64).numpy())


def load_encoder(slm: Slm, matrices: Matrices = "layer", memory: int = 1 << 30) -> Encoder:
    """The encoder that params.yaml names: a Hugging Face id or folder (safetensors, no remote code), or the tiny one.

    Args:
        slm: The section of params.yaml.
        matrices: What is scaled (`svf.matrices`).
        memory: Bytes of what the engine keeps (`run.encoder_mb`).

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
    reason = _not_shared(slm, model, matrices)
    if reason:
        print(f"slm.model: {slm.model}: the reference engine serves it, as {reason}", file=sys.stderr)
    reference = slm.engine == "reference" or reason is not None
    engine: Engine = PlainForward(model) if reference else _shared_engine(slm, model, memory)
    size, kind = int(model.config.hidden_size), "reference" if reference else "shared"
    cache = None if slm.tiny is not None else HiddenCache(cache_directory(), f"{fingerprint[:32]}.{kind}", size)
    embedding = model.get_input_embeddings().weight if matrices == "layer+embeddings" else None
    svf = Svf(blocks(model)[1][-2], None if slm.tiny is not None else factors_directory(), embedding)
    return Encoder(slm.model, model, inputs, engine, fingerprint, svf, cache)


def _not_shared(slm: Slm, model: nn.Module, matrices: Matrices) -> str | None:
    """Why the reference engine must serve what params.yaml wants of the shared one; None if it need not."""
    if slm.engine == "reference":
        return None
    if matrices != "layer":
        return f"with svf.matrices: {matrices} candidates differ from the first block on"
    return not_shared(model)


def _shared_engine(slm: Slm, model: nn.Module, memory: int) -> Engine:
    """One engine, or with `slm.device: auto` on a machine with several CUDA devices one on each."""
    count = torch.cuda.device_count() if slm.device == "auto" else 1
    if count < 2:
        return SharedTrunk(model, memory)
    devices = [torch.device("cuda", number) for number in range(count)]
    models = [model.to(devices[0]), *(copy.deepcopy(model).to(device) for device in devices[1:])]
    return Spread([SharedTrunk(each, memory) for each in models], devices)


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
