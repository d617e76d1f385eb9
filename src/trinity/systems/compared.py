"""Which systems of a task are compared, and what the simulated pool's numbers say of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from trinity.artifacts import seed_directory
from trinity.config import Config
from trinity.coordinator.fixed import RandomPolicy
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import load_coordinator
from trinity.llm.simulated import SimulatedPool
from trinity.orchestration.exact import expected_rewards
from trinity.orchestration.setting import Setting
from trinity.systems.base import Routed
from trinity.systems.headroom import single_systems
from trinity.systems.ideal import domain_shares, ideal_values


def trained_methods(config: Config) -> list[str]:
    """Methods with a trained coordinator, sep-CMA-ES first."""
    return ["cma", *config.baselines.methods]


def trained_systems(setting: Setting, encoder: Encoder) -> list[Routed]:
    """The coordinators of every method and training seed, as saved."""
    config = setting.config
    return [
        Routed(
            f"trinity_{method}",
            CoordinatorPolicy.of(
                load_coordinator(seed_directory(setting.task, method, seed), encoder, config.agents),
                encoder,
                config.eval.selection,
            ),
            setting.rollouts.rules,
            training_seed=seed,
        )
        for method in trained_methods(config)
        for seed in config.optim.seeds
    ]


def untrained_systems(setting: Setting) -> list[Routed]:
    """Each agent alone, at the plain and at the matched budget of tokens, and random routing."""
    rules = setting.rollouts.rules
    singles = single_systems(setting.rollouts)
    # A recorded outcome has one budget of tokens.
    if setting.config.pool.kind != "recorded" and setting.config.eval.single_factor > 1:
        singles += single_systems(setting.rollouts, setting.config.eval.single_factor, prefix="single5x")
    return [*singles, Routed("random", RandomPolicy(len(rules.agents), rules.roles), rules)]


def exact_values(setting: Setting, trained: Sequence[Routed], choice: Mapping[str, Any]) -> dict[str, Any] | None:
    """Expected rewards on the test items by the simulated pool's numbers; None for other pools and for sampling.

    A trained system's value is by training seed. The best single agent and the best agent a domain are those of
    `choice`, made on training items.
    """
    config, pool = setting.config, setting.rollouts.pool
    if not isinstance(pool, SimulatedPool) or config.pool.simulated is None or config.eval.selection != "argmax":
        return None
    rules = setting.rollouts.rules
    shares = domain_shares(setting.test)
    ideal = ideal_values(config.pool.simulated, rules, shares)
    exact: dict[str, Any] = {f"single_{name}": value for name, value in ideal.single.items()}
    exact["best_single"] = ideal.single[choice["best_single"]]
    exact["best_domain_agent"] = sum(
        share * ideal.single_by_domain[choice["by_domain"].get(domain, choice["best_single"])][domain]
        for domain, share in shares.items()
    )
    exact |= {"best_policy": ideal.best_policy, "random": ideal.random}
    if ideal.best_static is not None:
        exact["best_static"] = ideal.best_static
    for system in trained:
        values = expected_rewards(system.policy, setting.test, pool, setting.rollouts.grader, rules)
        exact.setdefault(system.name, {})[str(system.training_seed)] = float(values.mean())
    return exact
