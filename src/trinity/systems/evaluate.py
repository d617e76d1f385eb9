"""Every system of a task on its test items: the table that the report reads."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from trinity.orchestration.rollout import Rollouts
from trinity.systems.base import System
from trinity.types import Cause, Episode, Item

COLUMNS = (
    "system", "training_seed", "eval_seed", "item", "domain", "reward", "turns", "agents", "roles", "accepted",
    "prompt_tokens", "completion_tokens", "cut",
)  # fmt: skip
Row = tuple[str | int, ...]


OddReplies = dict[str, dict[str, dict[str, int]]]
"""Replies with something amiss (`Response.cause`): their number by system, agent and cause; no zeros."""


def evaluate(
    systems: Sequence[System], rollouts: Rollouts, items: Sequence[Item], seeds: Sequence[int]
) -> tuple[list[Row], OddReplies]:
    """Lets every system answer every item under every seed.

    Returns:
        One row an episode, in the order of systems, seeds and items; and over all their turns the replies that are
        empty, filtered or cut. Recorded outcomes say nothing of a reply and are left out of these.
    """
    rows: list[Row] = []
    odd: OddReplies = {}
    for system in systems:
        for seed in seeds:
            for episode in system.answer(rollouts, items, seed):
                rows.append(_row(system, seed, episode))
                for agent, cause in _odd(episode):
                    causes = odd.setdefault(system.name, {}).setdefault(rollouts.rules.agents[agent], {})
                    causes[cause] = causes.get(cause, 0) + 1
    return rows, odd


def _odd(episode: Episode) -> Iterator[tuple[int, Cause]]:
    for turn in episode.transcript.turns:
        if turn.response.score is None and turn.response.cause is not None:
            yield turn.decision.agent, turn.response.cause


def _row(system: System, seed: int, episode: Episode) -> Row:
    turns = episode.transcript.turns
    return (
        system.name,
        system.training_seed,
        seed,
        episode.item.id,
        episode.item.domain,
        f"{episode.reward:g}",
        len(turns),
        ">".join(str(turn.decision.agent) for turn in turns),
        ">".join(turn.decision.role.value[0].upper() for turn in turns),
        int(episode.accepted),
        episode.prompt_tokens,
        episode.completion_tokens,
        sum(turn.response.finish_reason == "length" for turn in turns),
    )


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Writes the table as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as sink:
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
