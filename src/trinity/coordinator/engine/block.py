"""One decoder block of the Llama and Qwen families, on tokens that continue others: the arithmetic of the engine.

Hugging Face's own modules hold the weights and the norms; what is written out here is what their forward cannot do:
keys and values that are kept by position, weights that differ by row, queries at one position only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

QUERIES = 128
"""Queries a block of `_causal`."""
Weights = Mapping[str, Tensor]
"""By module name within a block, in place of its own: [out, in] for all rows, or [rows, out, in]."""


class Places:
    """Where the tokens of a batch stand: right-padded new tokens, each row after a past of its own length.

    Args:
        rotary: The model's rotary embedding.
        pasts: Positions before the new ones, by row.
        news: New positions, by row.
        like: A tensor of the dtype and device that is computed in.

    Attributes:
        cosine, sine: [rows, new, head_dim].
        mask: [rows, 1, new, past + new], added to the scores; None where plain causal attention does, or all is seen.
        causal: Whether plain causal attention does.
    """

    def __init__(self, rotary: nn.Module, pasts: Sequence[int], news: Sequence[int], like: Tensor) -> None:
        past, new, device = max(pasts), max(news), like.device
        before = torch.tensor(pasts, device=device)
        order = torch.arange(new, device=device)
        self.cosine, self.sine = rotary(like, before[:, None] + order)
        self.causal = len(news) == 1 and past == 0
        self.mask: Tensor | None = None
        if not self.causal and not (len(news) == 1 and new == 1):
            seen = torch.arange(past, device=device) < before[:, None]
            old = seen[:, None, None].expand(-1, 1, new, -1)
            own = (order <= order[:, None])[None, None].expand(len(news), 1, -1, -1)
            hidden = ~torch.cat([old, own], dim=3)
            self.mask = torch.zeros(hidden.shape, dtype=like.dtype, device=device).masked_fill_(hidden, -torch.inf)


class Block:
    """A decoder block.

    Args:
        layer: Of a Hugging Face model of the families that `SharedTrunk` serves.
    """

    def __init__(self, layer: nn.Module) -> None:
        self._layer: Any = layer
        self._attention = self._layer.self_attn
        self._modules = {name: module for name, module in layer.named_modules() if isinstance(module, nn.Linear)}

    def run(
        self, states: Tensor, places: Places, past: Tensor | None = None, weights: Weights | None = None
    ) -> tuple[Tensor, Tensor]:
        """All positions.

        Args:
            states: [rows, new, d].
            places: Of the rows.
            past: Keys and values of the positions before, [2, rows, kv_heads, past, head_dim].
            weights: In place of the block's own.

        Returns:
            The states after the block, and the new keys and values, [2, rows, kv_heads, new, head_dim].
        """
        weights = weights or {}
        normed = self._layer.input_layernorm(states)
        kept = self._keys_values(normed, places, weights)
        seen = kept if past is None else torch.cat([past, kept], dim=3)
        rotation = places.cosine[:, None], places.sine[:, None]
        states = states + self._attend(normed, rotation, seen, places.mask, places.causal, weights)
        return states + self._mlp(self._layer.post_attention_layernorm(states), weights), kept

    def read(self, states: Tensor, places: Places, last: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One position a row: keys and values of all new ones, a query at the last.

        Args:
            states: [rows, new, d].
            places: Of the rows.
            last: [rows], the position to read among the new ones.
            past: As in `run`.

        Returns:
            The states after the block at the last positions, [rows, d], and the new keys and values.
        """
        rows = torch.arange(len(states), device=states.device)
        normed = self._layer.input_layernorm(states)
        kept = self._keys_values(normed, places, {})
        seen = kept if past is None else torch.cat([past, kept], dim=3)
        # A single row has no padding: its last position sees all.
        mask = places.mask[rows, :, last][:, :, None] if places.mask is not None and len(rows) > 1 else None
        rotation = places.cosine[rows, last][:, None, None], places.sine[rows, last][:, None, None]
        state = states[rows, last][:, None]
        state = state + self._attend(normed[rows, last][:, None], rotation, seen, mask, False, {})
        return (state + self._mlp(self._layer.post_attention_layernorm(state), {}))[:, 0], kept

    def _keys_values(self, normed: Tensor, places: Places, weights: Weights) -> Tensor:
        key = self._heads("self_attn.k_proj", normed, weights)
        value = self._heads("self_attn.v_proj", normed, weights)
        if hasattr(self._attention, "k_norm"):
            key = self._attention.k_norm(key)
        key = _rotate(key.transpose(1, 2), places.cosine[:, None], places.sine[:, None])
        return torch.stack([key, value.transpose(1, 2)])

    def _attend(
        self,
        normed: Tensor,
        rotation: tuple[Tensor, Tensor],
        seen: Tensor,
        mask: Tensor | None,
        causal: bool,
        weights: Weights,
    ) -> Tensor:
        query = self._heads("self_attn.q_proj", normed, weights)
        if hasattr(self._attention, "q_norm"):
            query = self._attention.q_norm(query)
        query = _rotate(query.transpose(1, 2), *rotation)
        scale = self._attention.scaling
        if len(query) == 1 and query.shape[2] > 1 and query.device.type == "cpu" and not torch.is_grad_enabled():
            mixed = _causal(query[0], seen[0, 0], seen[1, 0], scale)[None]
        else:
            mixed = functional.scaled_dot_product_attention(
                query, seen[0], seen[1], attn_mask=mask, is_causal=causal, scale=scale,
                enable_gqa=query.shape[1] != seen.shape[2],
            )  # fmt: skip
        return self._project("self_attn.o_proj", mixed.transpose(1, 2).flatten(2), weights)

    def _heads(self, name: str, states: Tensor, weights: Weights) -> Tensor:
        projected = self._project(name, states, weights)
        return projected.view(*projected.shape[:2], -1, self._attention.head_dim)

    def _mlp(self, normed: Tensor, weights: Weights) -> Tensor:
        gate = self._layer.mlp.act_fn(self._project("mlp.gate_proj", normed, weights))
        return self._project("mlp.down_proj", gate * self._project("mlp.up_proj", normed, weights), weights)

    def _project(self, name: str, states: Tensor, weights: Weights) -> Tensor:
        module = self._modules[name]
        return _linear(states, weights.get(name, module.weight), module.bias)


def _causal(query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
    """Attention of the last positions of one row to all before them, [heads, new, head_dim].

    Matrix products over blocks of queries, each with the keys that it sees: on a CPU a third of the time of torch's own
    kernel in bfloat16 at 700 positions.
    """
    heads, new, size = query.shape
    groups, before = heads // len(key), key.shape[1] - new
    blocks = []
    for start in range(0, new, QUERIES):
        part = query[:, start : start + QUERIES]
        count, sees = part.shape[1], before + start + part.shape[1]
        hidden = torch.full((count, count), -torch.inf, dtype=query.dtype).triu_(1)
        mask = functional.pad(hidden, (sees - count, 0)).repeat(groups, 1)
        scores = torch.baddbmm(
            mask, part.reshape(len(key), groups * count, size), key[:, :sees].transpose(1, 2), alpha=scale
        )
        mixed = torch.bmm(torch.softmax(scores, dim=-1), value[:, :sees])
        blocks.append(mixed.view(heads, count, size))
    return torch.cat(blocks, dim=1)


def _linear(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if weight.dim() == 3:
        product = torch.matmul(states, weight.transpose(1, 2))
        return product if bias is None else product + bias
    if states.dtype is torch.float32 and states.device.type == "cpu" and not torch.is_grad_enabled():
        # oneDNN: twice the speed of the BLAS that `linear` takes for float32 on CPUs of AMD, and as exact.
        whole: Tensor = torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")
        return whole
    return functional.linear(states, weight, bias)


def _rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sine
