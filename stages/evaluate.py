"""Stage `evaluate`: every system of a task on its test items."""

import argparse
import json
from pathlib import Path

from trinity.config import load_config
from trinity.entry import run_main


def main() -> None:
    """Writes data/evaluation/TASK/."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    task: str = parser.parse_args().task
    config = load_config()
    from trinity.artifacts import training_budget, write_json
    from trinity.coordinator.slm import load_encoder
    from trinity.coordinator.threads import use_threads
    from trinity.orchestration.setting import open_setting
    from trinity.plan.consent import consent
    from trinity.systems.compared import exact_values, trained_methods, trained_systems, untrained_systems
    from trinity.systems.evaluate import evaluate, write_rows

    consent(config, "evaluate", task)
    choice = json.loads((Path("data/headroom") / f"{task}.json").read_text(encoding="utf-8"))
    use_threads(config.run.threads)
    encoder = load_encoder(config.slm, config.svf.matrices, config.run.encoder_mb << 20)
    with open_setting(config, task, "evaluate") as setting:
        trained = trained_systems(setting, encoder)
        systems = [*trained, *untrained_systems(setting)]
        rows, odd_replies = evaluate(systems, setting.rollouts, setting.test, config.eval.seeds)
        exact = exact_values(setting, trained, choice)
        sandbox = setting.rollouts.grader.sandbox_level
        sizes = {f"n_{split}": len(getattr(setting, split)) for split in ("train", "valid", "test")}
    directory = Path("data/evaluation") / task
    write_rows(directory / "episodes.csv", rows)
    summary = {
        "task": task,
        "simulated": config.simulated,
        "pool": config.pool.kind,
        "encoder": encoder.name,
        "grading": config.grading.mode,
        "sandbox": sandbox,
        **sizes,
        "agents": list(config.agents),
        "roles": [role.value for role in config.episode.roles],
        "best_single": choice["best_single"],
        "best_by_domain": choice["by_domain"],
        "training_seeds": config.optim.seeds,
        "eval_seeds": config.eval.seeds,
        "budget": {f"trinity_{method}": training_budget(task, method) for method in trained_methods(config)},
        "odd_replies": odd_replies,
        "exact": exact,
    }
    write_json(directory / "summary.json", summary)


if __name__ == "__main__":
    run_main(main)
