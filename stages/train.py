"""Stages `train` and `train_baseline`: one method on one task, every training seed of params.yaml."""

import argparse
from pathlib import Path

from trinity.config import load_config
from trinity.entry import run_main


def main() -> None:
    """Writes models/TASK/METHOD/ and reports/history/TASK/METHOD.csv."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    parser.add_argument("--method", required=True, choices=("cma", "rs", "reinforce", "sft"))
    args = parser.parse_args()
    task: str = args.task
    method: str = args.method
    config = load_config()
    from trinity.artifacts import method_directory, seed_directory, write_json
    from trinity.coordinator.features import fit_features
    from trinity.coordinator.slm import load_encoder
    from trinity.coordinator.theta import Coordinator, ThetaLayout, save_coordinator
    from trinity.coordinator.threads import use_threads
    from trinity.optim.history import write_history
    from trinity.optim.methods import train
    from trinity.orchestration.setting import open_setting
    from trinity.plan.consent import consent

    consent(config, f"train {method}", task)
    use_threads(config.run.threads)
    encoder = load_encoder(config.slm, config.svf.matrices, config.run.encoder_mb << 20)
    layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)
    rows, summary = [], {}
    with open_setting(config, task, f"train {method}") as setting:
        features = fit_features(config.head.features, encoder, [item.question for item in setting.train])
        for seed in config.optim.seeds:
            trained = train(method, setting, encoder, layout, features, seed)
            coordinator = Coordinator(
                theta=trained.theta,
                layout=layout,
                features=features,
                encoder=encoder.name,
                fingerprint=encoder.fingerprint,
                method=method,
                task=task,
                seed=seed,
            )
            save_coordinator(seed_directory(task, method, seed), coordinator)
            rows += [{"seed": seed, **row} for row in trained.rows]
            summary[str(seed)] = {
                "training_episodes": trained.training_episodes,
                "validation_episodes": trained.validation_episodes,
                "chosen_at": trained.chosen_at,
                "validation": trained.validation,
            }
    write_history(Path("reports/history") / task / f"{method}.csv", rows)
    write_json(method_directory(task, method) / "training.json", summary)


if __name__ == "__main__":
    run_main(main)
