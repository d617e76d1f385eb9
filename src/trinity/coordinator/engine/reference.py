"""The plain Hugging Face forward, one a reading: any architecture, and the oracle of the shared trunk."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from trinity.coordinator.engine.base import Candidate, Counts, Reading


def blocks(model: nn.Module) -> tuple[str, nn.ModuleList]:
    """The decoder blocks of a base model and their name in it.

    Raises:
        ValueError: no list of `num_hidden_layers` >= 2 blocks is found.
    """
    n_layers = int(model.config.num_hidden_layers)
    for name, module in model.named_modules():
        if n_layers >= 2 and isinstance(module, nn.ModuleList) and len(module) == n_layers:
            return name, module
    raise ValueError(f"no list of {n_layers} >= 2 blocks in {type(model).__name__}")


class PlainForward:
    """Every block for every reading and candidate, in the dtype of the model; nothing is kept."""

    def __init__(self, model: nn.Module) -> None:
        self.counts = Counts()
        self._model: Any = model
        name, layers = blocks(model)
        self._prefix = f"{name}.{len(layers) - 2}."

    def hidden(self, readings: Sequence[Reading], candidates: Sequence[Candidate]) -> Tensor:
        """See `Engine.hidden`."""
        with torch.no_grad():
            return torch.stack([self._state(*pair) for pair in zip(readings, candidates, strict=True)])

    def differentiable(self, readings: Sequence[Reading], candidate: Candidate) -> Tensor:
        """See `Engine.differentiable`."""
        return torch.stack([self._state(reading, candidate) for reading in readings])

    def _state(self, reading: Reading, candidate: Candidate) -> Tensor:
        weight = next(self._model.parameters())
        replaced = {f"{self._prefix}{name}.weight": one.to(weight.dtype) for name, one in candidate.weights.items()}
        ids = torch.tensor([reading.whole], device=weight.device)
        inputs = {"input_ids": ids}
        if candidate.embedding is not None:
            embedded = self._model.get_input_embeddings()(ids)
            inputs = {"inputs_embeds": embedded + embedded @ candidate.embedding.to(weight.dtype)}
        self.counts.trunk += len(reading)
        self.counts.tail += len(reading)
        output = functional_call(self._model, replaced, (), {**inputs, "use_cache": False})
        state: Tensor = output.last_hidden_state[0, -1]
        return state
