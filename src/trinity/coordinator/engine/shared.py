"""The shared trunk: what candidates have in common is computed once, what a transcript had before is kept.

Singular-value scales touch the second-to-last block alone, so the blocks below it, the trunk, do not depend on the
candidate: they run once a reading. The last two blocks, the tail, run once a reading and candidate, the very last one
at the read position only. Keys and values of both are kept, up to a number of bytes, so that a reading computes the
positions that its parent does not have; what was dropped is computed again, with the same bytes.
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from trinity.coordinator.engine.base import Candidate, Counts, Reading
from trinity.coordinator.engine.block import Block, Places, Weights
from trinity.coordinator.engine.memory import Lru
from trinity.coordinator.engine.reference import blocks

SHARED_TYPES = ("llama", "qwen2", "qwen3")
One = TypeVar("One")
STATIC_ROPES = ("default", "linear", "llama3", "yarn")
BATCH_POSITIONS, BATCH_BYTES = 1 << 13, 1 << 26
"""What runs together at most, where readings run together: positions, and bytes of candidates' weights."""


_Key = tuple[int, bytes]
"""The number of a candidate, or of the trunk, and the key of a reading."""
_TRUNK = 0


@dataclass(frozen=True, eq=False)
class _Kept:
    """What a pass over the new positions of a reading left.

    Attributes:
        keys_values: [blocks, 2, kv_heads, new, head_dim].
        states: Of the trunk, the input of the adapted block, [new, d]. Of the tail, the final state, [d].
    """

    keys_values: Tensor
    states: Tensor

    @property
    def nbytes(self) -> int:
        return int(self.keys_values.nbytes + self.states.nbytes)


_Here = dict[_Key, _Kept]
"""What one batch needs, whether or not it is kept for later ones."""


def not_shared(model: nn.Module) -> str | None:
    """Why the trunk of a model cannot be shared; None if it can."""
    config: Any = model.config
    if config.model_type not in SHARED_TYPES:
        return f"model type {config.model_type} is not one of {', '.join(SHARED_TYPES)}"
    if set(getattr(config, "layer_types", None) or ["full_attention"]) != {"full_attention"}:
        return "not all of its layers have full attention"
    rope = model.rotary_emb.rope_type
    return None if rope in STATIC_ROPES else f"rope type {rope} depends on the length of the sequence"


class SharedTrunk:
    """The engine for the families of `SHARED_TYPES`.

    The trunk runs in the dtype of the model, the tail in float32 at least: candidates differ by less than bfloat16
    rounds. Readings run together only in float64, where the norms round to float32, so that what the shape of a batch
    does to the last bits does not reach a state. Otherwise each runs alone, and its bytes depend on nothing else.

    Args:
        model: A base model; not changed.
        memory: Bytes of keys, values and states that are kept; what is in use at the moment comes on top.
    """

    def __init__(self, model: nn.Module, memory: int) -> None:
        self.counts = Counts()
        self._model: Any = model
        layers = list(blocks(model)[1])
        weight = next(model.parameters())
        self._device, self._together = weight.device, weight.dtype is torch.float64
        self.tail_dtype = torch.promote_types(weight.dtype, torch.float32)
        self._below = [Block(layer) for layer in layers[:-2]]
        adapted, last, self._norm = (self._in_tail_dtype(module) for module in (*layers[-2:], self._model.norm))
        self._adapted, self._last = Block(adapted), Block(last)
        self._kept: Lru[_Key, _Kept] = Lru(memory)

    @property
    def kept_bytes(self) -> int:
        """Bytes of what is kept now."""
        return self._kept.nbytes

    def _in_tail_dtype(self, module: nn.Module) -> nn.Module:
        same = next(module.parameters()).dtype is self.tail_dtype
        return module if same else copy.deepcopy(module).to(self.tail_dtype)

    def hidden(self, readings: Sequence[Reading], candidates: Sequence[Candidate]) -> Tensor:
        """See `Engine.hidden`. All candidates have weights of the same modules, or none has any."""
        keys = [(candidate.number, reading.key) for reading, candidate in zip(readings, candidates, strict=True)]
        distinct = dict(zip(keys, zip(readings, candidates, strict=True), strict=True))
        states: dict[_Key, Tensor] = {}
        with torch.no_grad():
            for batch in self._batches(list(distinct.values())):
                here = self._tails(batch)
                states |= {key: here[key].states for reading, one in batch for key in [(one.number, reading.key)]}
        return torch.stack([states[key] for key in keys])

    def differentiable(self, readings: Sequence[Reading], candidate: Candidate) -> Tensor:
        """See `Engine.differentiable`: the tail anew over whole readings, on the trunk that is kept."""
        distinct = {reading.key: reading for reading in readings}
        states: dict[bytes, Tensor] = {}
        for batch in self._batches([(reading, candidate) for reading in distinct.values()]):
            here: _Here = {}
            with torch.no_grad():
                self._trunks(here, [each for reading, _ in batch for each in reading.path])
                trunks = [_whole(here, reading) for reading, _ in batch]
            self.counts.tail += sum(len(trunk) for trunk in trunks)
            final, _ = self._run_tail(trunks, [0] * len(batch), None, candidate.weights)
            states |= {reading.key: state for (reading, _), state in zip(batch, final, strict=True)}
        return torch.stack([states[reading.key] for reading in readings])

    def _batches(self, pairs: Sequence[tuple[Reading, Candidate]]) -> Iterator[list[tuple[Reading, Candidate]]]:
        """Readings of a question one after another, each under all its candidates; alone, or with their like."""
        if not self._together:
            for pair in sorted(pairs, key=lambda pair: pair[0].path[0].key):
                yield [pair]
            return
        batch: list[tuple[Reading, Candidate]] = []
        size = 0
        for pair in sorted(pairs, key=lambda pair: len(pair[0])):
            size += sum(weight.nbytes for weight in pair[1].weights.values())
            if batch and ((len(batch) + 1) * len(pair[0]) > BATCH_POSITIONS or size > BATCH_BYTES):
                yield batch
                batch, size = [], 0
            batch.append(pair)
        if batch:
            yield batch

    def _tails(self, batch: Sequence[tuple[Reading, Candidate]]) -> _Here:
        """Finds or computes what the tail leaves of readings under their candidates."""
        here: _Here = {}
        ahead = [(last, one) for last, one in batch if not self._find(here, one.number, last)]
        missing = [
            (reading, one) for last, one in ahead for reading in last.path if not self._find(here, one.number, reading)
        ]
        self._trunks(here, [reading for reading, _ in missing])
        for level in _levels(missing):
            self._compute_tails(here, level)
        return here

    def _trunks(self, here: _Here, readings: Sequence[Reading]) -> None:
        """Finds or computes what the trunk leaves of readings; for a missing one, of its path too."""
        ahead = [reading for reading in readings if not self._find(here, _TRUNK, reading)]
        missing = [(each, None) for last in ahead for each in last.path if not self._find(here, _TRUNK, each)]
        for level in _levels(missing):
            self._compute_trunks(here, [reading for reading, _ in level])

    def _find(self, here: _Here, number: int, reading: Reading) -> bool:
        key = number, reading.key
        if key not in here and (kept := self._kept.get(key)) is not None:
            here[key] = kept
        return key in here

    def _compute_trunks(self, here: _Here, readings: Sequence[Reading]) -> None:
        rows = [torch.tensor(reading.ids, device=self._device) for reading in readings]
        states: Tensor = self._model.embed_tokens(nn.utils.rnn.pad_sequence(rows, batch_first=True))
        past = _past(here, [(_TRUNK, reading) for reading in readings])
        news = [len(reading.ids) for reading in readings]
        places = Places(self._model.rotary_emb, [reading.kept for reading in readings], news, states)
        kept = []
        for number, block in enumerate(self._below):
            states, new = block.run(states, places, None if past is None else past[number])
            kept.append(new)
        keys_values = torch.stack(kept)
        self.counts.trunk += sum(news)
        for row, (reading, new_length) in enumerate(zip(readings, news, strict=True)):
            mine = _own(states[row, :new_length], len(readings))
            self._keep(here, (_TRUNK, reading.key), _row(keys_values, row, new_length), mine)

    def _compute_tails(self, here: _Here, pairs: Sequence[tuple[Reading, Candidate]]) -> None:
        trunks = [here[_TRUNK, reading.key].states for reading, _ in pairs]
        past = _past(here, [(one.number, reading) for reading, one in pairs])
        weights = _weights([one for _, one in pairs])
        states, keys_values = self._run_tail(trunks, [reading.kept for reading, _ in pairs], past, weights)
        self.counts.tail += sum(len(trunk) for trunk in trunks)
        for row, (reading, one) in enumerate(pairs):
            mine = _own(states[row], len(pairs))
            self._keep(here, (one.number, reading.key), _row(keys_values, row, len(reading.ids)), mine)

    def _run_tail(
        self, trunks: Sequence[Tensor], pasts: Sequence[int], past: Tensor | None, weights: Weights
    ) -> tuple[Tensor, Tensor]:
        """Final states [rows, d] and keys and values [2, 2, rows, kv_heads, new, head_dim] of the last two blocks."""
        states = nn.utils.rnn.pad_sequence(list(trunks), batch_first=True).to(self.tail_dtype)
        news = [len(trunk) for trunk in trunks]
        places = Places(self._model.rotary_emb, pasts, news, states)
        last = torch.tensor(news, device=self._device) - 1
        states, first = self._adapted.run(states, places, None if past is None else past[0], weights)
        state, second = self._last.read(states, places, last, None if past is None else past[1])
        final: Tensor = self._norm(state)
        return final, torch.stack([first, second])

    def _keep(self, here: _Here, key: _Key, keys_values: Tensor, states: Tensor) -> None:
        here[key] = entry = _Kept(keys_values, states)
        self._kept.put(key, entry, entry.nbytes)


def _past(here: _Here, readings: Sequence[tuple[int, Reading]]) -> Tensor | None:
    """Keys and values before the new positions, [blocks, 2, rows, kv_heads, past, head_dim].

    Args:
        here: Holds what is left of the readings before them.
        readings: Each with the number of its candidate; all with as many turns.

    Returns:
        None for questions: nothing is before them.
    """
    longest = max(reading.kept for _, reading in readings)
    if longest == 0:
        return None
    rows = []
    for number, reading in readings:
        before = zip(reading.path[:-1], _ends(reading), strict=False)
        whole = torch.cat([here[number, each.key].keys_values[..., : end - each.kept, :] for each, end in before], 3)
        rows.append(nn.functional.pad(whole, (0, 0, 0, longest - whole.shape[3])))
    return torch.stack(rows, dim=2)


def _whole(here: _Here, reading: Reading) -> Tensor:
    """The trunk's states at all positions of a reading, [len, d]."""
    parts = zip(reading.path, _ends(reading), strict=True)
    return torch.cat([here[_TRUNK, each.key].states[: end - each.kept] for each, end in parts])


def _ends(reading: Reading) -> list[int]:
    """Where what is used of each reading of a path ends, in positions of the whole."""
    return [*(each.kept for each in reading.path[1:]), len(reading)]


def _levels(pairs: Sequence[tuple[Reading, One]]) -> Iterator[list[tuple[Reading, One]]]:
    """Distinct pairs by how many turns their readings have, from the questions on."""
    distinct = {(id(one), reading.key): (reading, one) for reading, one in pairs}
    by_depth: dict[int, list[tuple[Reading, One]]] = {}
    for pair in distinct.values():
        by_depth.setdefault(len(pair[0].path), []).append(pair)
    for depth in sorted(by_depth):
        yield by_depth[depth]


def _weights(candidates: Sequence[Candidate]) -> Weights:
    """The weights of rows: of the one candidate of all, or row by row."""
    if len({one.number for one in candidates}) == 1:
        return candidates[0].weights
    return {name: torch.stack([one.weights[name] for one in candidates]) for name in candidates[0].weights}


def _row(keys_values: Tensor, row: int, length: int) -> Tensor:
    """What belongs to one row, [blocks, 2, kv_heads, length, head_dim]."""
    return _own(keys_values[:, :, row, :, :length], keys_values.shape[2])


def _own(part: Tensor, rows: int) -> Tensor:
    """A part of what several rows share, in memory of its own."""
    return part.clone() if rows > 1 else part
