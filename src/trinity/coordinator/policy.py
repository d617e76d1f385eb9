"""The trained coordinator as a policy, for one theta or a population of them."""

from collections.abc import Sequence

import numpy as np

from trinity.coordinator.base import State
from trinity.coordinator.engine.base import Candidate
from trinity.coordinator.features import Features
from trinity.coordinator.head import Selection, choose, softmax
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import Coordinator, ThetaLayout
from trinity.errors import ConfigError
from trinity.rng import uniform
from trinity.types import Decision


class CoordinatorPolicy:
    """Routes by the head's two softmaxes; `State.candidate` says which theta decides.

    The draw of a decision is keyed by the state's key, item and turn, not by its candidate: candidates share their
    random numbers unless the key of the state names them.

    Args:
        encoder: Checked against the layout.
        layout: Of the rows of `thetas`.
        thetas: [candidates, n].
        features: What the head reads of h.
        selection: `argmax` or `sample`, in both softmaxes.

    Raises:
        ConfigError: the encoder is not the layout's.
    """

    def __init__(
        self, encoder: Encoder, layout: ThetaLayout, thetas: np.ndarray, features: Features, selection: Selection
    ) -> None:
        layout.check(encoder)
        if thetas.ndim != 2:
            raise ValueError(f"thetas: expected [candidates, {layout.n}], got shape {thetas.shape}")
        self._encoder, self._layout, self._features, self._selection = encoder, layout, features, selection
        unpacked = [layout.unpack(theta) for theta in thetas]
        self._weights = np.stack([weight for weight, _ in unpacked])
        self._scales = np.stack([scales for _, scales in unpacked])
        self._candidates: dict[int, Candidate] = {}

    @classmethod
    def of(cls, coordinator: Coordinator, encoder: Encoder, selection: Selection) -> "CoordinatorPolicy":
        """The policy of one saved coordinator."""
        return cls(encoder, coordinator.layout, coordinator.theta[None], coordinator.features, selection)

    def logits(self, states: Sequence[State]) -> np.ndarray:
        """The head's output, [len, rows]: agents first, then roles."""
        transcripts = [state.transcript for state in states]
        owner = [state.candidate for state in states]
        if self._layout.svf:
            h = self._encoder.adapted(transcripts, [self._adapted(candidate) for candidate in owner])
        else:
            h = self._encoder.states(transcripts)
        # A sum a row, not one matrix product: a state's logits must not depend on the states beside it.
        logits = np.asarray((self._weights[owner] * self._features(h)[:, None, :]).sum(axis=-1))
        if not np.isfinite(logits).all():
            raise ConfigError("the head's logits are not finite: optim.sigma0 or a learning rate is too large")
        return logits

    def _adapted(self, candidate: int) -> Candidate:
        """The weights of a candidate: built when it first decides, kept as long as this policy."""
        if candidate not in self._candidates:
            self._candidates[candidate] = self._encoder.candidate(self._scales[candidate])
        return self._candidates[candidate]

    def options(self, states: Sequence[State]) -> list[list[tuple[float, Decision]]]:
        """Every decision that may be taken at a state, with its probability over the keyed draws."""
        if not states:
            return []
        agents, roles = self._layout.agents, self._layout.roles
        logits = self.logits(states)
        agent = _chances(logits[:, : len(agents)], self._selection)
        one_role = np.ones((len(states), 1))
        role = one_role if len(roles) == 1 else _chances(logits[:, len(agents) :], self._selection)
        return [
            [
                (float(of_agents[a] * of_roles[r]), Decision(a, roles[r]))
                for a in np.flatnonzero(of_agents).tolist()
                for r in np.flatnonzero(of_roles).tolist()
            ]
            for of_agents, of_roles in zip(agent, role, strict=True)
        ]

    def decide(self, states: Sequence[State]) -> list[Decision]:
        """One decision a state, in order."""
        if not states:
            return []
        agents, roles = self._layout.agents, self._layout.roles
        logits = self.logits(states)
        agent = choose(logits[:, : len(agents)], _draws(states, "agent"), self._selection)
        if len(roles) == 1:
            return [Decision(int(index), roles[0]) for index in agent]
        role = choose(logits[:, len(agents) :], _draws(states, "role"), self._selection)
        return [Decision(int(a), roles[r]) for a, r in zip(agent, role, strict=True)]


def _chances(logits: np.ndarray, selection: Selection) -> np.ndarray:
    """Probability of each choice of one softmax group, [len, choices]; tied maxima share theirs."""
    if selection == "sample":
        return softmax(logits)
    best = logits == logits.max(axis=1, keepdims=True)
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def _draws(states: Sequence[State], group: str) -> np.ndarray:
    return np.array([uniform("policy", *state.key, state.item_id, state.turn, group) for state in states])
