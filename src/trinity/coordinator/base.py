"""The seam between the inner loop and whatever routes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trinity.rng import Key
from trinity.types import Decision, Transcript


@dataclass(frozen=True)
class State:
    """What a policy may know when it decides.

    Attributes:
        item_id: For keyed draws only.
        transcript: The question and the turns so far.
        candidate: Which theta decides, where the policy holds several; else 0.
        key: Names the run and occasion (seed, task, iteration, ...): with item and turn it keys every draw.
    """

    item_id: str
    transcript: Transcript
    candidate: int = 0
    key: tuple[Key, ...] = ()

    @property
    def turn(self) -> int:
        """Number of the turn to decide, from 1."""
        return len(self.transcript.turns) + 1


class Policy(Protocol):
    """Routes: transcript -> (agent, role). The trained coordinator, random and fixed agents are all policies."""

    def decide(self, states: Sequence[State]) -> list[Decision]:
        """One decision a state, in order; a state gets the same decision alone and among others."""
        ...
