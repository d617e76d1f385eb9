"""Fitness of candidates: the mean reward of their episodes on a minibatch (spec section 5.2)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from trinity.coordinator.base import Policy
from trinity.errors import ConfigError
from trinity.orchestration.rollout import Job, Rollouts
from trinity.rng import Key, shuffled
from trinity.types import Episode, Item

T = TypeVar("T")
MakePolicy = Callable[[np.ndarray, str], Policy]
"""Makes a policy of thetas, shape (candidates, n), and a selection: `sample` or `argmax`."""


@dataclass(frozen=True)
class Sampling:
    """How training episodes are drawn.

    Attributes:
        m: Items a candidate and iteration.
        minibatch: `shared` by the candidates of an iteration, or `per_candidate`.
        common_random_numbers: Whether candidates share the numbers that choose their actions.
        selection: `sample` or `argmax`.
    """

    m: int
    minibatch: str
    common_random_numbers: bool
    selection: str


def require_items(m: int, train: Sequence[Item]) -> None:
    """Raises `ConfigError` if a minibatch of m distinct items cannot be drawn."""
    if m > len(train):
        raise ConfigError(
            f"params.yaml: {m} items a candidate are asked for (optim.m or baselines.rs.trials), "
            f"but the train split of {train[0].task} has {len(train)}"
        )


class Fitness:
    """Runs the episodes of one training: one task, one seed.

    Attributes:
        training_episodes: Episodes that told the optimiser something.
        validation_episodes: Episodes that only chose or showed: validation, and the mean on the minibatch.
    """

    def __init__(
        self,
        rollouts: Rollouts,
        make_policy: MakePolicy,
        train: Sequence[Item],
        valid: Sequence[Item],
        sampling: Sampling,
        *,
        valid_selection: str,
        key: tuple[Key, ...],
    ) -> None:
        require_items(sampling.m, train)
        self.rollouts = rollouts
        self.make_policy = make_policy
        self.train = train
        self.sampling = sampling
        self.training_episodes = 0
        self.validation_episodes = 0
        self._valid = valid
        self._valid_selection = valid_selection
        self._key = key

    def evaluate(self, thetas: np.ndarray, iteration: int) -> list[list[Episode]]:
        """The m episodes of each candidate of an iteration, thetas of shape (candidates, n)."""
        count = thetas.shape[0]
        jobs = [job for candidate in range(count) for job in self._jobs(iteration, candidate)]
        episodes = self.rollouts.run(self.make_policy(thetas, self.sampling.selection), jobs)
        self.training_episodes += len(episodes)
        return [episodes[i : i + self.sampling.m] for i in range(0, len(episodes), self.sampling.m)]

    def replicate(self, theta: np.ndarray, iteration: int, replicates: int) -> list[Episode]:
        """Independent episodes of one theta on an iteration's minibatch: m items times `replicates`."""
        jobs = [
            Job(item, key=("train", *self._key, iteration, replicate))
            for replicate in range(replicates)
            for item in self._minibatch(iteration, 0)
        ]
        episodes = self.rollouts.run(self.make_policy(theta[None], self.sampling.selection), jobs)
        self.training_episodes += len(episodes)
        return episodes

    def of_mean(self, theta: np.ndarray, iteration: int) -> float:
        """Mean reward of one theta on an iteration's minibatch, with its random numbers; counted apart."""
        jobs = [Job(item, key=("train", *self._key, iteration)) for item in self._minibatch(iteration, 0)]
        episodes = self.rollouts.run(self.make_policy(theta[None], self.sampling.selection), jobs)
        self.validation_episodes += len(episodes)
        return mean_reward(episodes)

    def validate(self, theta: np.ndarray) -> float:
        """Mean reward of one theta on the validation items, chosen as in evaluation; counted apart."""
        jobs = [Job(item, key=("valid", *self._key)) for item in self._valid]
        episodes = self.rollouts.run(self.make_policy(theta[None], self._valid_selection), jobs)
        self.validation_episodes += len(episodes)
        return mean_reward(episodes)

    def _jobs(self, iteration: int, candidate: int) -> list[Job]:
        own = () if self.sampling.common_random_numbers else (candidate,)
        key = ("train", *self._key, iteration, *own)
        return [Job(item, candidate, key=key) for item in self._minibatch(iteration, candidate)]

    def _minibatch(self, iteration: int, candidate: int) -> list[Item]:
        return minibatch(self.train, self.sampling, self._key, iteration, candidate)


def minibatch(train: Sequence[T], sampling: Sampling, key: tuple[Key, ...], iteration: int, candidate: int) -> list[T]:
    """The m distinct items of a candidate, drawn anew each iteration."""
    own = (candidate,) if sampling.minibatch == "per_candidate" else ()
    return shuffled(train, "minibatch", *key, iteration, *own)[: sampling.m]


def mean_reward(episodes: Sequence[Episode]) -> float:
    """Mean reward of some episodes."""
    return float(np.mean([episode.reward for episode in episodes]))


def path(episode: Episode) -> tuple[tuple[int, str], ...]:
    """The choices of an episode."""
    return tuple((turn.decision.agent, turn.decision.role.value) for turn in episode.transcript.turns)


def divergence(by_candidate: Sequence[Sequence[Episode]]) -> float | None:
    """How far candidates' choices differ: P(two candidates take different paths on an item); None without such pairs.

    At temperature 0 only different choices give different rewards (spec section 0.3.7): at 0 there is no signal.
    """
    paths: dict[str, Counter[tuple[tuple[int, str], ...]]] = {}
    for episodes in by_candidate:
        for episode in episodes:
            paths.setdefault(episode.item.id, Counter())[path(episode)] += 1
    values = []
    for counts in paths.values():
        total = counts.total()
        if total > 1:
            same = sum(count * (count - 1) for count in counts.values())
            values.append(1.0 - same / (total * (total - 1)))
    return float(np.mean(values)) if values else None
