"""REINFORCE on the same theta and budget of episodes (BASELINES; paper Table 4).

Batches of m * lambda episodes an iteration; the policy gradient runs through both softmaxes into the head and, where
SVF is on, through the encoder's last blocks into the singular-value scales; the baseline is a moving average.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from trinity.coordinator.features import Features
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.optim.fitness import Fitness, mean_reward
from trinity.optim.history import BestOnValidation, Progress, Trained, shares
from trinity.types import Decision, Episode, Transcript


class PolicyGradient:
    """Theta as torch parameters, and one step of gradient ascent on the expected reward.

    Args:
        encoder: Gives states; differentiable in the scales.
        layout: Of theta.
        features: What the head reads.
        lr: Adam's learning rate.
        entropy: Weight of the entropy of both softmaxes, a decision.
        svf_ratio: Learning rate of the scales relative to the head's.
    """

    def __init__(
        self, encoder: Encoder, layout: ThetaLayout, features: Features, *, lr: float, entropy: float, svf_ratio: float
    ) -> None:
        self._encoder, self._layout, self._features, self._entropy = encoder, layout, features, entropy
        weight, scales = layout.unpack(layout.start())
        self._weight = torch.tensor(weight, dtype=torch.float64, requires_grad=True)
        self._scales = torch.tensor(scales, dtype=torch.float64, requires_grad=bool(layout.svf))
        groups: list[dict[str, Any]] = [{"params": [self._weight], "lr": lr}]
        if layout.svf:
            groups.append({"params": [self._scales], "lr": lr * svf_ratio})
        self._adam = torch.optim.Adam(groups)

    @property
    def theta(self) -> np.ndarray:
        """The parameters, shape (n,)."""
        return self._layout.pack(self._weight.detach().numpy(), self._scales.detach().numpy())

    def loss(self, episodes: Sequence[Episode], advantages: np.ndarray) -> torch.Tensor:
        """Minus the mean over episodes of sum over turns of (advantage * log pi + entropy weight * entropy).

        Decisions taken at the same transcript are added up, so that each distinct transcript is encoded once.
        """
        gains: dict[str, Counter[Decision]] = {}
        visits: Counter[str] = Counter()
        transcripts: dict[str, Transcript] = {}
        for episode, advantage in zip(episodes, advantages, strict=True):
            for number, turn in enumerate(episode.transcript.turns):
                transcript = episode.transcript.before(number)
                transcripts.setdefault(transcript.text, transcript)
                gains.setdefault(transcript.text, Counter())[turn.decision] += advantage
                visits[transcript.text] += 1
        texts = list(gains)
        logits = self._logits(list(transcripts.values()))
        agents = len(self._layout.agents)
        total = torch.zeros((), dtype=torch.float64)
        weights = torch.tensor([float(visits[text]) for text in texts], dtype=torch.float64)
        for group in ("agent", "role") if logits.shape[1] > agents else ("agent",):
            part = logits[:, :agents] if group == "agent" else logits[:, agents:]
            gain = np.zeros(tuple(part.shape))
            for row, text in enumerate(texts):
                for decision, value in gains[text].items():
                    column = decision.agent if group == "agent" else self._layout.roles.index(decision.role)
                    gain[row, column] += value
            log_pi = torch.log_softmax(part, dim=1)
            entropies = -(log_pi.exp() * log_pi).sum(dim=1)
            total = total + (torch.from_numpy(gain) * log_pi).sum() + self._entropy * (weights * entropies).sum()
        return -total / len(episodes)

    def step(self, episodes: Sequence[Episode], advantages: np.ndarray) -> None:
        """One Adam step."""
        self._adam.zero_grad()
        self.loss(episodes, advantages).backward()
        self._adam.step()

    def _logits(self, transcripts: Sequence[Transcript]) -> torch.Tensor:
        if self._layout.svf:
            h = self._encoder.differentiable(transcripts, self._scales)
        else:
            h = torch.from_numpy(self._encoder.states(transcripts))
        return self._features.torch(h.to("cpu", torch.float64)) @ self._weight.T


def reinforce(
    gradient: PolicyGradient,
    fitness: Fitness,
    *,
    iterations: int,
    replicates: int,
    baseline_decay: float,
    validate_every: int,
    progress: Progress,
) -> Trained:
    """Runs the iterations and ships the theta that did best on the validation items.

    Args:
        gradient: Holds theta.
        fitness: Runs the episodes: m items times `replicates` an iteration.
        iterations: As many as the rival's.
        replicates: Independent episodes an item; lambda, for the same budget.
        baseline_decay: Of the moving average that is subtracted from the reward.
        validate_every: As the rival's.
        progress: Shows it.
    """
    best = BestOnValidation()
    best.offer(gradient.theta, fitness.validate(gradient.theta), 0)
    rows: list[Mapping[str, Any]] = []
    baseline: float | None = None
    for iteration in range(1, iterations + 1):
        episodes = fitness.replicate(gradient.theta, iteration, replicates)
        rewards = np.array([episode.reward for episode in episodes])
        baseline = (
            float(rewards.mean())
            if baseline is None
            else baseline_decay * baseline + (1 - baseline_decay) * float(rewards.mean())
        )
        gradient.step(episodes, rewards - baseline)
        of_mean = fitness.of_mean(gradient.theta, iteration)
        valid = None
        if iteration % validate_every == 0 or iteration == iterations:
            valid = fitness.validate(gradient.theta)
            best.offer(gradient.theta, valid, iteration)
        rows.append(
            {
                "iteration": iteration,
                "episodes": fitness.training_episodes,
                "J_mean": mean_reward(episodes),
                "J_of_mean": of_mean,
                "J_valid": valid,
                **shares(episodes, fitness.rollouts.rules.agents),
                "validation_episodes": fitness.validation_episodes,
            }
        )
        progress.step([mean_reward(episodes)], fitness.training_episodes, of_mean)
    progress.close(f"{iterations} of {iterations} iterations done; shipping the theta of iteration {best.at}")
    assert best.theta is not None
    return Trained(best.theta, rows, best.value, best.at, fitness.training_episodes, fitness.validation_episodes)
