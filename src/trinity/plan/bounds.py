"""How many requests differ among those that some runs make: at least and at most (docs/plan.md derives both).

Callee: an agent in a role, for one sample. Same: callees whose calls a pool cannot tell apart.
Place: a task and a split. Held: which first turns of a place are stored, by what is the Same.
Demand: how many episodes some runs have on each question of a place.
Space: everything that can be asked about the questions of a place.
Part: the requests of one kind (turn, who may answer) that a Demand comes to in its Space, at least and at most.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trinity.plan.callees import Callees, Same
from trinity.plan.questions import Questions
from trinity.plan.runs import Run
from trinity.types import Role, Split

Held = Mapping[Same, np.ndarray]
"""By callee, whether its first call on each question is stored, shape (questions,)."""


@dataclass(frozen=True, eq=False)
class Demand:
    """What runs on one split ask for, together.

    Attributes:
        chosen: By turn and question, the episodes of a policy that may get there, shape (turns, questions).
        samples: Sample indices of these episodes.
        each_agent: Pairs (factor, sample) for which every agent answers every question as Worker.
    """

    chosen: np.ndarray
    samples: frozenset[int] = frozenset()
    each_agent: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def of(cls, runs: Sequence[Run], questions: Questions, turns: int) -> "Demand":
        """That of runs on the split of these questions."""
        chosen = np.zeros((turns, questions.count), int)
        routed = [run for run in runs if not run.each_agent]
        for run in routed:
            chosen[: run.turns] += np.bincount(questions.number_of, run.episodes, questions.count).astype(int)
        return cls(
            chosen,
            frozenset(sample for run in routed for sample in run.samples),
            frozenset((run.factor, sample) for run in runs if run.each_agent for sample in run.samples),
        )

    def plus(self, other: "Demand") -> "Demand":
        """Both together."""
        return Demand(self.chosen + other.chosen, self.samples | other.samples, self.each_agent | other.each_agent)


@dataclass(frozen=True)
class Part:
    """Requests of one kind.

    Attributes:
        split: Of their items.
        turn: In which they are made, from 1.
        agents: Who may answer, by index.
        roles: In which role.
        factor: Of the tokens that a reply may have.
        low: How many at least.
        high: How many at most.
    """

    split: Split
    turn: int
    agents: tuple[int, ...]
    roles: tuple[Role, ...]
    low: int
    high: int
    factor: int = 1


@dataclass(frozen=True, eq=False)
class Space:
    """All that can be asked about the questions of a split.

    Attributes:
        held: What the store holds of first turns.
        shortest: Turns that every episode has.
    """

    split: Split
    questions: Questions
    callees: Callees
    agents: tuple[int, ...]
    roles: tuple[Role, ...]
    shortest: int
    held: Held = field(default_factory=dict)

    def parts(self, mine: Demand, before: Demand) -> list[Part]:
        """Requests of `mine` that neither the store holds nor `before` has made."""
        asked = self.callees.each_agent(mine.each_agent)
        made = self.callees.each_agent(before.each_agent)
        touched = before.chosen[0] > 0
        parts = []
        for same, callee in asked.items():
            if same not in made:
                new = ~self._held(same)
                low, high = int((new & ~touched).sum()), int(new.sum())
                parts.append(Part(self.split, 1, (callee.agent,), (callee.role,), low, high, callee.factor))
        if mine.chosen.any():
            parts += self._chosen(mine, before, {*asked, *made})
        return parts

    def _chosen(self, mine: Demand, before: Demand, made: set[Same]) -> list[Part]:
        def known(callees: Mapping[Same, object]) -> np.ndarray:
            """By question, how many of these callees' first calls are made or held."""
            count = np.zeros(self.questions.count, int)
            for same in callees:
                count += 1 if same in made else self._held(same)
            return count

        everyone, groups = self.callees.chosen(mine.samples), self.callees.least(mine.samples)
        parts = []
        for turn, episodes in enumerate(mine.chosen, 1):
            room = len(everyone) - known(everyone) if turn == 1 else self.callees.width(turn, mine.samples)
            new = (episodes > 0) & (before.chosen[turn - 1] == 0)
            if turn == 1:
                low = sum(int((new & (known(group) == 0)).sum()) for group in groups)
            else:
                low = int(new.sum()) * len(groups) if turn <= self.shortest else 0
            high = int(np.minimum(episodes, room).sum())
            if high:
                parts.append(Part(self.split, turn, self.agents, self.roles, low, high))
        return parts

    def _held(self, same: Same) -> np.ndarray:
        return self.held.get(same, np.zeros(self.questions.count, bool))
