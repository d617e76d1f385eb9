from collections.abc import Callable
from typing import Any

import pytest

from trinity.config import Config
from trinity.coordinator.features import fit_features
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.llm.simulated import SimulatedPool
from trinity.optim.methods import train
from trinity.orchestration.exact import expected_rewards
from trinity.orchestration.setting import Setting
from trinity.systems.ideal import domain_shares, ideal_values
from trinity.tasks.demo.task import KINDS

RECOVERED = 0.8


def recovered(config: Config, setting: Setting, encoder: Encoder) -> float:
    """Share of the gap between the best single agent and the best policy, in exact expected value on the test items."""
    layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)
    features = fit_features(config.head.features, encoder, [item.question for item in setting.train])
    trained = train("cma", setting, encoder, layout, features, config.optim.seeds[0])
    policy = CoordinatorPolicy(encoder, layout, trained.theta[None], features, config.eval.selection)
    pool = setting.rollouts.pool
    assert isinstance(pool, SimulatedPool)
    assert config.pool.simulated is not None
    rules = setting.rollouts.rules
    value = float(expected_rewards(policy, setting.test, pool, setting.rollouts.grader, rules).mean())
    ideal = ideal_values(config.pool.simulated, rules, domain_shares(setting.test))
    assert ideal.best_static is not None
    assert ideal.best_static <= ideal.best_policy - 0.1
    return (value - ideal.best_single) / (ideal.best_policy - ideal.best_single)


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(KINDS))
def test_the_committed_demo_recovers_the_gap(
    task: str, configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Any
) -> None:
    config = configure()
    assert recovered(config, demo_setting(config, task), demo_encoder) >= RECOVERED


def test_a_short_training_of_the_head_recovers_part_of_it(
    configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Any
) -> None:
    short = {"optim.sigma0": 2.0, "optim.m": 24, "optim.population": 18, "optim.iterations": 12, "optim.seeds": [0]}
    config = configure({"svf.enabled": False, "head.features": "centred"} | short)
    setting = demo_setting(config, "demo_math", n_valid=30, n_test=30)
    assert recovered(config, setting, demo_encoder) >= 0.4
