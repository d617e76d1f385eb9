"""The exact expected reward of a deterministic policy on a pool whose reply probabilities are known.

Every reply of every turn is followed with its probability, through the same rules, policy and graders as an episode.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from trinity.coordinator.base import Policy, State
from trinity.orchestration.rules import EpisodeRules
from trinity.rewards.grader import Grader
from trinity.rng import Key
from trinity.types import Item, Request, Response, Transcript


class KnownOdds(Protocol):
    """A pool that can say every reply a request may get, with its probability."""

    def distribution(self, request: Request) -> tuple[tuple[float, Response], ...]:
        """Replies and their probabilities, which sum to 1."""
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
        policy: Decides from the transcript alone (argmax; ties and samples are keyed by `key`, item and turn).
        items: The questions.
        pool: Gives the odds of its replies.
        grader: The real one.
        rules: The inner loop.
        key: Keys the policy's draws, as in a rollout.
    """
    values = np.zeros(len(items))
    frontier = [(index, 1.0, Transcript(item.question)) for index, item in enumerate(items)]
    while frontier:
        states = [State(items[index].id, transcript, key=key) for index, _, transcript in frontier]
        decisions = policy.decide(states)
        arrived: list[tuple[int, float, Transcript]] = []
        for (index, probability, transcript), decision in zip(frontier, decisions, strict=True):
            request = rules.request(items[index].id, transcript, decision, 0)
            for share, response in pool.distribution(request):
                successor = rules.advance(transcript, decision, response)
                if not rules.finished(successor):
                    arrived.append((index, probability * share, successor))
                elif work := successor.latest_work:
                    values[index] += probability * share * grader.grade(items[index], work).value
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
