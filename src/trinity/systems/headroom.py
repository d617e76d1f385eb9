"""What a pool leaves to be gained by routing, and what finding it will cost, before anything is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trinity.config import Config
from trinity.coordinator.fixed import FixedPolicy
from trinity.orchestration.rollout import Job, Rollouts
from trinity.rng import generator
from trinity.systems.base import Routed
from trinity.types import Item


def single_systems(rollouts: Rollouts, factor: int = 1, prefix: str = "single") -> list[Routed]:
    """Each agent alone: one Worker call with `factor` times the tokens, named PREFIX_AGENT."""
    agents = rollouts.rules.agents
    rules = rollouts.rules.single_call(factor)
    policy = FixedPolicy.each_agent(len(agents))
    return [Routed(f"{prefix}_{name}", policy, rules, candidate=index) for index, name in enumerate(agents)]


def training_cost(config: Config, population: int) -> dict[str, int]:
    """What sep-CMA-ES will ask of the pool on a task, all training seeds: episodes, and calls at the most.

    Validation and the mean's own episodes are left out. Identical requests may be answered once.
    """
    episodes = population * config.optim.m * config.optim.iterations * len(config.optim.seeds)
    return {"episodes": episodes, "calls_at_most": episodes * config.episode.max_turns}


@dataclass(frozen=True, eq=False)
class Headroom:
    """Rewards of each agent alone on some items.

    Attributes:
        agents: Names.
        domains: Of the items, shape (items,).
        rewards: Shape (agents, items).
    """

    agents: tuple[str, ...]
    domains: tuple[str, ...]
    rewards: np.ndarray

    @classmethod
    def measure(cls, rollouts: Rollouts, items: Sequence[Item]) -> "Headroom":
        """One Worker call an agent and item, all agents at once."""
        agents = rollouts.rules.agents
        jobs = [Job(item, candidate) for candidate in range(len(agents)) for item in items]
        episodes = rollouts.run(FixedPolicy.each_agent(len(agents)), jobs, rollouts.rules.single_call())
        rewards = np.array([episode.reward for episode in episodes]).reshape(len(agents), len(items))
        return cls(agents, tuple(item.domain for item in items), rewards)

    @property
    def best_single(self) -> str:
        """The agent with the highest mean; of equals the first."""
        return self.agents[int(self.rewards.mean(axis=1).argmax())]

    @property
    def best_by_domain(self) -> dict[str, str]:
        """The agent with the highest mean in each domain; of equals the first."""
        domains = np.array(self.domains)
        return {
            domain: self.agents[int(self.rewards[:, domains == domain].mean(axis=1).argmax())]
            for domain in sorted(set(self.domains))
        }

    def summary(self, draws: int, level: float, *key: str | int) -> dict[str, Any]:
        """Best single, uniform, best agent a domain and oracle, each with its interval over items.

        The best single and the best agent a domain are chosen on the items that score them, and so lean upwards.
        """
        index = {name: row for row, name in enumerate(self.agents)}
        by_domain = [index[self.best_by_domain[domain]] for domain in self.domains]
        items = np.arange(self.rewards.shape[1])
        values: Mapping[str, np.ndarray] = {
            **{f"single_{name}": row for name, row in zip(self.agents, self.rewards, strict=True)},
            "best_single": self.rewards[index[self.best_single]],
            "uniform": self.rewards.mean(axis=0),
            "best_domain_agent": self.rewards[by_domain, items],
            "oracle": self.rewards.max(axis=0),
        }
        resampled = generator("headroom", *key).integers(0, len(items), (draws, len(items)))
        tail = (1 - level) / 2
        result: dict[str, Any] = {}
        for name, row in values.items():
            low, high = np.quantile(row[resampled].mean(axis=1), [tail, 1 - tail])
            result[name] = {"value": float(row.mean()), "low": float(low), "high": float(high)}
        return result
