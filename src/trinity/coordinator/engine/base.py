"""The seam between the encoder and what runs its blocks: readings, candidates, engines."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Protocol

import numpy as np
from torch import Tensor

Ids = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Reading:
    """The token ids of one transcript up to the read position, as a continuation of the transcript a turn before.

    A function of the transcript alone: what is computed for a reading never depends on what is kept or computed beside
    it. Equal readings have equal keys.

    Attributes:
        ids: Those after the ones that are kept; never empty.
        parent: The reading before the last turn; None for a question.
        kept: How many of the parent's ids come first here too; 0 without a parent, never more than the parent has, and
            more than the parent itself keeps of its own.
    """

    ids: Ids
    parent: "Reading | None" = None
    kept: int = 0

    def __len__(self) -> int:
        return self.kept + len(self.ids)

    @cached_property
    def key(self) -> bytes:
        """SHA-256 over all ids and where they are divided."""
        digest = sha256(self.parent.key if self.parent else b"")
        digest.update(np.array([self.kept, *self.ids], "<i8").tobytes())
        return digest.digest()

    @cached_property
    def whole(self) -> Ids:
        """All ids."""
        return (self.parent.whole[: self.kept] if self.parent else ()) + self.ids

    @cached_property
    def path(self) -> "tuple[Reading, ...]":
        """The readings from the question to this one."""
        return (*(self.parent.path if self.parent else ()), self)


@dataclass(frozen=True, eq=False)
class Candidate:
    """Weights that stand in place of the model's own.

    Attributes:
        weights: By module name within the second-to-last block, in the engine's tail dtype. Empty: the model's own.
        embedding: [d, d]: the embedding e of every token becomes e + e @ embedding; None leaves it. Only the reference
            engine can.
        number: Of this candidate alone.
    """

    weights: Mapping[str, Tensor] = field(default_factory=dict)
    embedding: Tensor | None = None
    number: int = field(default_factory=itertools.count(1).__next__)


@dataclass
class Counts:
    """What an engine computed, in token positions, since it was made.

    Attributes:
        trunk: Positions that ran through the blocks below the adapted one.
        tail: Positions that ran through the last two blocks.
    """

    trunk: int = 0
    tail: int = 0


class Engine(Protocol):
    """Final-layer states, after the final norm, at the read position."""

    @property
    def counts(self) -> Counts:
        """What was computed so far."""
        ...

    def hidden(self, readings: Sequence[Reading], candidates: Sequence[Candidate]) -> Tensor:
        """The state of each reading under the candidate beside it, [len, d], without gradients."""
        ...

    def differentiable(self, readings: Sequence[Reading], candidate: Candidate) -> Tensor:
        """The same under one candidate, [len, d], with gradients to its weights."""
        ...
