"""Running the encoder: a trunk shared by all candidates, or the plain Hugging Face forward.

Singular-value scales touch the second-to-last block alone, so the layers below it do not depend on the candidate: the
trunk runs once a distinct sequence, the last two blocks once a candidate, and the very last one is finished at the read
position only. Right padding needs no mask, since attention is causal.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from trinity.coordinator.cache import Lru

Ids = tuple[int, ...]
SHARED_TYPES = ("llama", "qwen2", "qwen3")
STATIC_ROPES = ("default", "linear", "llama3", "yarn")
TRUNK_BYTES = 1 << 29
BATCH_TOKENS = 1 << 13


class Engine(Protocol):
    """Final-layer states under replaced matrices of the second-to-last block."""

    def hidden(self, sequences: Sequence[Ids], weights: Mapping[str, Tensor]) -> Tensor:
        """The state after the final norm at the last position of each sequence, [len, d].

        Args:
            sequences: Token ids, none empty.
            weights: By module name within the block; those not named keep their own. Gradients flow to them.
        """
        ...


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


def not_shared(model: nn.Module) -> str | None:
    """Why the trunk of a model cannot be shared; None if it can."""
    config: Any = model.config
    if config.model_type not in SHARED_TYPES:
        return f"model type {config.model_type} is not one of {', '.join(SHARED_TYPES)}"
    if set(getattr(config, "layer_types", None) or ["full_attention"]) != {"full_attention"}:
        return "not all of its layers have full attention"
    rope = model.rotary_emb.rope_type
    return None if rope in STATIC_ROPES else f"rope type {rope} depends on the length of the sequence"


class PlainForward:
    """One Hugging Face forward a sequence: any architecture, and the oracle of the shared trunk."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        name, layers = blocks(model)
        self._prefix = f"{name}.{len(layers) - 2}."

    def hidden(self, sequences: Sequence[Ids], weights: Mapping[str, Tensor]) -> Tensor:
        """See `Engine.hidden`."""
        device = next(self._model.parameters()).device
        replaced = {f"{self._prefix}{name}.weight": weight for name, weight in weights.items()}
        states = []
        for ids in sequences:
            inputs = torch.tensor([ids], device=device)
            output = functional_call(self._model, replaced, (inputs,), {"use_cache": False})
            states.append(output.last_hidden_state[0, -1])
        return torch.stack(states)


class SharedTrunk:
    """Trunk once a sequence, last two blocks once a candidate; for the families of `SHARED_TYPES`.

    Sequences run together only in float64: there the norms round to float32, so that what the shape of a batch does to
    the last bits does not reach a state. In other dtypes each runs alone, and a state never depends on its company.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model: Any = model
        self._adapted, self._last = blocks(model)[1][-2:]
        weight = next(model.parameters())
        self._device, self._together = weight.device, weight.dtype is torch.float64
        self._trunks: Lru[Ids, Tensor] = Lru(TRUNK_BYTES)

    def hidden(self, sequences: Sequence[Ids], weights: Mapping[str, Tensor]) -> Tensor:
        """See `Engine.hidden`."""
        replaced = {f"{name}.weight": weight for name, weight in weights.items()}
        trunks = self._trunk(sequences)
        order: list[int] = []
        states: list[Tensor] = []
        for batch in self._batches(sequences):
            order += batch
            lengths = torch.tensor([len(sequences[index]) for index in batch], device=self._device)
            padded = nn.utils.rnn.pad_sequence([trunks[sequences[index]] for index in batch], batch_first=True)
            states.append(self._tail(padded, lengths, replaced))
        return torch.cat(states)[torch.tensor(order, device=self._device).argsort()]

    def _batches(self, sequences: Sequence[Ids]) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in sorted(range(len(sequences)), key=lambda index: len(sequences[index])):
            full = (len(batch) + 1) * len(sequences[index]) > BATCH_TOKENS
            if batch and (full or not self._together):
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _positions(self, states: Tensor) -> tuple[Tensor, Tensor]:
        cosine, sine = self._model.rotary_emb(states, torch.arange(states.shape[1], device=self._device)[None])
        return cosine, sine

    def _trunk(self, sequences: Sequence[Ids]) -> dict[Ids, Tensor]:
        """The input of the second-to-last block by sequence, [length, d] each."""
        found = {ids: trunk for ids in sequences if (trunk := self._trunks.get(ids)) is not None}
        missing = [ids for ids in dict.fromkeys(sequences) if ids not in found]
        for batch in self._batches(missing):
            rows = [torch.tensor(missing[index], device=self._device) for index in batch]
            for index, states in zip(batch, self._below(rows), strict=True):
                ids = missing[index]
                found[ids] = states[: len(ids)].clone()
                self._trunks.put(ids, found[ids], found[ids].nbytes)
        return found

    def _below(self, rows: list[Tensor]) -> Tensor:
        with torch.no_grad():
            states: Tensor = self._model.embed_tokens(nn.utils.rnn.pad_sequence(rows, batch_first=True))
            positions = self._positions(states)
            for layer in self._model.layers[:-2]:
                states = layer(states, attention_mask=None, position_embeddings=positions)
        return states

    def _tail(self, trunk: Tensor, lengths: Tensor, replaced: Mapping[str, Tensor]) -> Tensor:
        positions = self._positions(trunk)
        keywords = {"attention_mask": None, "position_embeddings": positions}
        states = functional_call(self._adapted, dict(replaced), (trunk,), keywords)
        return self._model.norm(self._read(states, lengths, positions))

    def _read(self, states: Tensor, lengths: Tensor, positions: tuple[Tensor, Tensor]) -> Tensor:
        """The last block at the last position of each row: keys and values everywhere, one query. [len, d]."""
        attention = self._last.self_attn
        n, longest, _ = states.shape
        rows, read = torch.arange(n, device=self._device), lengths - 1
        normed = self._last.input_layernorm(states)
        query = attention.q_proj(normed[rows, read]).view(n, -1, 1, attention.head_dim)
        key = attention.k_proj(normed).view(n, longest, -1, attention.head_dim)
        value = attention.v_proj(normed).view(n, longest, -1, attention.head_dim).transpose(1, 2)
        if hasattr(attention, "q_norm"):
            query, key = attention.q_norm(query), attention.k_norm(key)
        cosine, sine = positions[0][0], positions[1][0]
        query = _rotate(query, cosine[read][:, None, None], sine[read][:, None, None])
        key = _rotate(key.transpose(1, 2), cosine, sine)
        # The query heads that share a key head stand where the positions of a query usually do.
        query = query.view(n, key.shape[1], -1, attention.head_dim)
        seen = (torch.arange(longest, device=self._device) < lengths[:, None])[:, None, None]
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=seen, scale=attention.scaling)
        state = states[rows, read] + attention.o_proj(mixed.reshape(n, -1))
        return state + self._last.mlp(self._last.post_attention_layernorm(state))


def _rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sine
