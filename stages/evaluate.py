"""Stage `evaluate`: every system of a task on its test items."""

import argparse
import json
from pathlib import Path
from typing import Any

from trinity.config import load_config
from trinity.entry import run_main


def main() -> None:
    """Writes data/evaluation/TASK/."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    task: str = parser.parse_args().task
    config = load_config()
    from trinity.coordinator.fixed import RandomPolicy
    from trinity.coordinator.policy import CoordinatorPolicy
    from trinity.coordinator.slm import load_encoder
    from trinity.coordinator.theta import load_coordinator
    from trinity.coordinator.threads import use_threads
    from trinity.orchestration.exact import KnownOdds, expected_rewards
    from trinity.orchestration.setting import open_setting
    from trinity.systems.artifacts import method_directory, seed_directory, write_json
    from trinity.systems.base import Routed
    from trinity.systems.evaluate import evaluate, write_rows
    from trinity.systems.headroom import single_systems
    from trinity.systems.ideal import domain_shares, ideal_values

    methods = ["cma", *config.baselines.methods]
    headroom = json.loads((Path("reports/headroom") / f"{task}.json").read_text(encoding="utf-8"))
    use_threads(config.run.threads)
    encoder = load_encoder(config.slm)
    with open_setting(config, task) as setting:
        rules, test = setting.rollouts.rules, setting.test
        trained = [
            Routed(
                f"trinity_{method}",
                CoordinatorPolicy.of(
                    load_coordinator(seed_directory(task, method, seed), encoder, config.agents),
                    encoder,
                    config.eval.selection,
                ),
                rules,
                training_seed=seed,
            )
            for method in methods
            for seed in config.optim.seeds
        ]
        singles = single_systems(setting.rollouts)
        if config.pool.kind != "recorded":  # a recorded outcome has one token budget
            singles += single_systems(setting.rollouts, config.eval.single_factor)
        random = Routed("random", RandomPolicy(len(rules.agents), rules.roles), rules)
        systems = [*trained, *singles, random]
        rows = evaluate(systems, setting.rollouts, test, config.eval.seeds)
        exact: dict[str, Any] | None = None
        if config.simulated and config.pool.simulated is not None and config.eval.selection == "argmax":
            pool: KnownOdds = setting.rollouts.pool  # type: ignore[assignment]
            ideal = ideal_values(config.pool.simulated, rules, domain_shares(test))
            exact = {
                "best_single": ideal.best_single,
                "best_domain_agent": ideal.best_domain_agent,
                "best_static": ideal.best_static,
                "best_policy": ideal.best_policy,
                "random": ideal.random,
            }
            for system in trained:
                values = expected_rewards(system.policy, test, pool, setting.rollouts.grader, rules)
                exact.setdefault(system.name, {})[str(system.training_seed)] = float(values.mean())
        sizes = {f"n_{split}": len(getattr(setting, split)) for split in ("train", "valid", "test")}
    budget: dict[str, dict[str, int]] = {}
    for method in methods:
        by_seed = json.loads((method_directory(task, method) / "training.json").read_text(encoding="utf-8"))
        counts = ("training_episodes", "validation_episodes")
        budget[f"trinity_{method}"] = {name: sum(run[name] for run in by_seed.values()) for name in counts}
    directory = Path("data/evaluation") / task
    write_rows(directory / "episodes.csv", rows)
    summary = {
        "task": task,
        "simulated": config.simulated,
        "pool": config.pool.kind,
        "encoder": encoder.name,
        **sizes,
        "agents": list(config.agents),
        "roles": [role.value for role in config.episode.roles],
        "best_single": headroom["choice"]["best_single"],
        "best_by_domain": headroom["choice"]["by_domain"],
        "training_seeds": config.optim.seeds,
        "eval_seeds": config.eval.seeds,
        "budget": budget,
        "exact": exact,
    }
    write_json(directory / "summary.json", summary)


if __name__ == "__main__":
    run_main(main)
