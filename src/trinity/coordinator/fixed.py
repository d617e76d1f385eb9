"""Policies without parameters: random routing and constant choices (BASELINES)."""

from collections.abc import Sequence
from dataclasses import dataclass

from trinity.coordinator.base import State
from trinity.rng import integer
from trinity.types import Decision, Role


@dataclass(frozen=True)
class RandomPolicy:
    """Uniform agent and role each turn, keyed by the state's key, item and turn."""

    agents: int
    roles: tuple[Role, ...]

    def decide(self, states: Sequence[State]) -> list[Decision]:
        """One decision a state, in order."""
        return [
            Decision(
                integer(self.agents, "random", *state.key, state.item_id, state.turn, "agent"),
                self.roles[integer(len(self.roles), "random", *state.key, state.item_id, state.turn, "role")],
            )
            for state in states
        ]


@dataclass(frozen=True)
class FixedPolicy:
    """Constant sequences of decisions: the candidate of a state says which; the last decision repeats."""

    sequences: tuple[tuple[Decision, ...], ...]

    @classmethod
    def each_agent(cls, agents: int) -> "FixedPolicy":
        """Candidate i always asks agent i as Worker."""
        return cls(tuple((Decision(agent, Role.WORKER),) for agent in range(agents)))

    def decide(self, states: Sequence[State]) -> list[Decision]:
        """One decision a state, in order."""
        return [
            sequence[min(state.turn, len(sequence)) - 1]
            for state in states
            for sequence in [self.sequences[state.candidate]]
        ]
