"""The seam between what is compared and how it is scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trinity.coordinator.base import Policy
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.rules import EpisodeRules
from trinity.types import Episode, Item

UNTRAINED = -1


class System(Protocol):
    """Anything that answers questions: item -> an episode with its answer, turns and tokens."""

    @property
    def name(self) -> str:
        """As in reports: trinity_cma, single_AGENT, random, ..."""
        ...

    @property
    def training_seed(self) -> int:
        """Seed of its training; `UNTRAINED` where there was none."""
        ...

    def answer(self, rollouts: Rollouts, items: Sequence[Item], seed: int) -> list[Episode]:
        """One episode an item, in order. The evaluation seed is the sample index of every request."""
        ...


@dataclass(frozen=True, eq=False)
class Routed:
    """A policy in the inner loop: the trained coordinators, random routing, and single agents are all of this kind."""

    name: str
    policy: Policy
    rules: EpisodeRules
    candidate: int = 0
    training_seed: int = UNTRAINED

    def answer(self, rollouts: Rollouts, items: Sequence[Item], seed: int) -> list[Episode]:
        """See `System.answer`."""
        jobs = [Job(item, self.candidate, sample_index=seed, key=("evaluate", item.task, seed)) for item in items]
        return rollouts.run(self.policy, jobs, self.rules)
