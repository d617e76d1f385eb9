"""The exact expected reward of a policy on a pool whose reply probabilities are known.

Every choice and every reply of every turn is followed with its probability, through the same rules, policy and graders
as an episode.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from trinity.coordinator.base import Policy, State
from trinity.orchestration.rules import EpisodeRules
from trinity.rewards.grader import Grader
from trinity.rng import Key
from trinity.types import Decision, Item, Request, Response, Transcript


class KnownOdds(Protocol):
    """A pool that can say every reply a request may get, with its probability."""

    def distribution(self, request: Request) -> tuple[tuple[float, Response], ...]:
        """Replies and their probabilities, which sum to 1."""
        ...


@runtime_checkable
class KnownChoices(Protocol):
    """A policy that can say every decision it may take, with its probability: a tie has several."""

    def options(self, states: Sequence[State]) -> list[list[tuple[float, Decision]]]:
        """Decisions and their probabilities by state."""
        ...


def expected_rewards(
    policy: Policy,
    items: Sequence[Item],
    pool: KnownOdds,
    grader: Grader,
    rules: EpisodeRules,
    key: tuple[Key, ...] = (),
) -> np.ndarray:
    """Expected reward an item, shape (len(items),).

    Args:
        policy: Its `options` are all followed; a policy without them decides once, from the transcript and `key`.
        items: The questions.
        pool: Gives the odds of its replies.
        grader: The real one.
        rules: The inner loop.
        key: Keys the draws of a policy without `options`, as in a rollout.
    """
    values = np.zeros(len(items))
    frontier = [(index, 1.0, Transcript(item.question)) for index, item in enumerate(items)]
    while frontier:
        states = [State(items[index].id, transcript, key=key) for index, _, transcript in frontier]
        if isinstance(policy, KnownChoices):
            choices = policy.options(states)
        else:
            choices = [[(1.0, decision)] for decision in policy.decide(states)]
        arrived: list[tuple[int, float, Transcript]] = []
        for (index, probability, transcript), options in zip(frontier, choices, strict=True):
            for chance, decision in options:
                request = rules.request(items[index].id, transcript, decision, 0)
                for share, response in pool.distribution(request):
                    reached = probability * chance * share
                    successor = rules.advance(transcript, decision, response)
                    if not rules.finished(successor):
                        arrived.append((index, reached, successor))
                    elif work := successor.latest_work:
                        values[index] += reached * grader.grade(items[index], work).value
        frontier = _merge(arrived)
    return values


def _merge(nodes: Sequence[tuple[int, float, Transcript]]) -> list[tuple[int, float, Transcript]]:
    """Adds up nodes that neither policy nor grader can tell apart: same text, same uncut work."""
    merged: dict[tuple[int, str, str], tuple[float, Transcript]] = {}
    for index, probability, transcript in nodes:
        work = transcript.latest_work
        key = (index, transcript.text, work.text if work else "")
        before, kept = merged.get(key, (0.0, transcript))
        merged[key] = (before + probability, kept)
    return [(index, probability, transcript) for (index, *_), (probability, transcript) in merged.items()]
