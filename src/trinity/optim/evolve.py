"""The outer loop for optimisers that ask and tell: sep-CMA-ES and random search (spec section 5)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from trinity.optim.base import Optimizer
from trinity.optim.fitness import Fitness, divergence, mean_reward
from trinity.optim.history import BestOnValidation, Progress, Trained, shares


def evolve(
    optimizer: Optimizer,
    fitness: Fitness,
    *,
    iterations: int,
    validate_every: int,
    progress: Progress,
) -> Trained:
    """Runs the iterations and ships the mean that did best on the validation items.

    The start, every `validate_every`-th mean and the last one are validated. The iteration count is our own: what the
    library would stop for is said, once a reason, and not obeyed.
    """
    best = BestOnValidation()
    best.offer(optimizer.mean, fitness.validate(optimizer.mean), 0)
    rows: list[Mapping[str, Any]] = []
    said: set[str] = set()
    for iteration in range(1, iterations + 1):
        by_candidate = fitness.evaluate(optimizer.ask(), iteration)
        scores = [mean_reward(episodes) for episodes in by_candidate]
        optimizer.tell(np.array(scores))
        of_mean = fitness.of_mean(optimizer.mean, iteration)
        valid = None
        if iteration % validate_every == 0 or iteration == iterations:
            valid = fitness.validate(optimizer.mean)
            best.offer(optimizer.mean, valid, iteration)
        rows.append(
            {
                "iteration": iteration,
                "episodes": fitness.training_episodes,
                "J_mean": float(np.mean(scores)),
                "J_best": max(scores),
                "J_worst": min(scores),
                "J_of_mean": of_mean,
                "J_valid": valid,
                "sigma": optimizer.sigma,
                **shares([e for episodes in by_candidate for e in episodes], fitness.rollouts.rules.agents),
                "divergence": divergence(by_candidate),
                "validation_episodes": fitness.validation_episodes,
            }
        )
        progress.step(scores, fitness.training_episodes, of_mean)
        for reason in optimizer.stop_reasons():
            if reason not in said:
                progress.say(f"the library would stop here ({reason}); going on, the iteration count is ours")
                said.add(reason)
    progress.close(f"{iterations} of {iterations} iterations done; shipping the mean of iteration {best.at}")
    assert best.theta is not None
    return Trained(best.theta, rows, best.value, best.at, fitness.training_episodes, fitness.validation_episodes)
