"""SFT on the head (BASELINES; paper Table 4): one-turn labels from training items, Adam, frozen encoder."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from trinity.coordinator.features import Features
from trinity.coordinator.fixed import FixedPolicy
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.optim.fitness import Fitness
from trinity.optim.history import BestOnValidation, Progress, Trained
from trinity.orchestration.rollout import Job
from trinity.rng import Key, integer, shuffled
from trinity.types import Role, Transcript


def worker_labels(fitness: Fitness, label_seeds: int, *, key: tuple[Key, ...]) -> list[int]:
    """The best agent of each training item: by sample the agent with the best reward, then the majority.

    Ties are broken by keyed draws. Every call is counted among the training episodes: items * agents * label_seeds.
    """
    rules = fitness.rollouts.rules.single_call()
    agents = range(len(rules.agents))
    jobs = [
        Job(item, candidate=agent, sample_index=seed)
        for item in fitness.train
        for seed in range(label_seeds)
        for agent in agents
    ]
    episodes = fitness.rollouts.run(FixedPolicy.each_agent(len(rules.agents)), jobs, rules)
    fitness.training_episodes += len(episodes)
    rewards = np.array([e.reward for e in episodes]).reshape(len(fitness.train), label_seeds, len(rules.agents))
    labels = []
    for item, by_seed in zip(fitness.train, rewards, strict=True):
        votes = np.zeros(len(rules.agents))
        for seed, row in enumerate(by_seed):
            votes[_argmax(row, "label", *key, item.id, seed)] += 1
        labels.append(_argmax(votes, "majority", *key, item.id))
    return labels


def _argmax(values: np.ndarray, *key: Key) -> int:
    best = np.flatnonzero(values == values.max())
    return int(best[integer(len(best), *key)])


def sft(
    encoder: Encoder,
    layout: ThetaLayout,
    features: Features,
    fitness: Fitness,
    *,
    lrs: Sequence[float],
    epochs: int,
    batch: int,
    label_seeds: int,
    validate_every: int,
    key: tuple[Key, ...],
    progress: Progress,
) -> Trained:
    """Trains the head at each learning rate and ships the one that does best on the validation items.

    The role label is Worker for every item: without it the role rows would stay 0 and argmax would be a tie.

    Args:
        encoder: Frozen: the scales stay 1.
        layout: Of theta.
        features: What the head reads.
        fitness: Gives labels and validation.
        lrs: The sweep. At the paper's 1e-6 a head that starts at 0 barely moves.
        epochs: Passes over the labelled items.
        batch: Items a step.
        label_seeds: Samples an item that vote on its label.
        validate_every: Epochs between validations, as the rivals' iterations.
        key: Names the run: label ties and the order of items are keyed by it.
        progress: Shows it, a step a learning rate.
    """
    labels = torch.tensor(worker_labels(fitness, label_seeds, key=key))
    inputs = features.torch(torch.from_numpy(encoder.states([Transcript(item.question) for item in fitness.train])))
    worker = layout.roles.index(Role.WORKER)
    agents = len(layout.agents)
    best = BestOnValidation()
    rows: list[Mapping[str, Any]] = []
    for number, lr in enumerate(lrs, 1):
        weight = torch.zeros(layout.head_shape, dtype=torch.float64, requires_grad=True)
        adam = torch.optim.Adam([weight], lr=lr)
        for epoch in range(1, epochs + 1):
            losses = []
            order = shuffled(range(len(labels)), "sft", *key, epoch)
            for start in range(0, len(order), batch):
                chosen = order[start : start + batch]
                logits = inputs[chosen] @ weight.T
                loss = torch.nn.functional.cross_entropy(logits[:, :agents], labels[chosen])
                if logits.shape[1] > agents:
                    target = torch.full((len(chosen),), worker)
                    loss = loss + torch.nn.functional.cross_entropy(logits[:, agents:], target)
                adam.zero_grad()
                loss.backward()
                adam.step()
                losses.append(loss.item() * len(chosen))
            valid = None
            if epoch % validate_every == 0 or epoch == epochs:
                theta = layout.pack(weight.detach().numpy(), layout.unpack(layout.start())[1])
                valid = fitness.validate(theta)
                best.offer(theta, valid, number)
            rows.append({"lr": lr, "epoch": epoch, "loss": sum(losses) / len(labels), "J_valid": valid})
        progress.step([best.value], fitness.training_episodes, None)
    progress.close(f"{len(lrs)} of {len(lrs)} learning rates tried; shipping {lrs[best.at - 1]:g}")
    assert best.theta is not None
    return Trained(best.theta, rows, best.value, best.at, fitness.training_episodes, fitness.validation_episodes)
