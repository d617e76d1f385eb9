"""The seam between a reply and its worth."""

from dataclasses import dataclass
from typing import Protocol

from trinity.types import Item, Response


@dataclass(frozen=True)
class Grade:
    """A reward in [0, 1] and, in a few words, why."""

    value: float
    reason: str


class Reward(Protocol):
    """Grades the uncut reply of the latest Worker turn.

    A reply that is no answer is graded 0; a reward that cannot be computed raises `RewardError`, and never is a 0.
    """

    def __call__(self, item: Item, response: Response) -> Grade:
        """The grade of one reply to one item."""
        ...
