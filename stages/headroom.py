"""Stage `headroom`: what routing can gain on a task, and what training will cost, before it is paid."""

import argparse
import json
from pathlib import Path

from trinity.config import load_config
from trinity.entry import run_main


def main() -> None:
    """Writes reports/headroom/TASK.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", required=True)
    task: str = parser.parse_args().task
    config = load_config()
    from trinity.artifacts import write_json
    from trinity.orchestration.setting import open_setting
    from trinity.plan.consent import consent
    from trinity.systems.headroom import Headroom, training_cost
    from trinity.systems.ideal import domain_shares, ideal_values

    consent(config, "headroom", task)
    population: int = json.loads(Path("data/ladder.json").read_text(encoding="utf-8"))["population"]
    with open_setting(config, task, "headroom") as setting:
        headroom = Headroom.measure(setting.rollouts, setting.train)
        result = {
            "simulated": config.simulated,
            "items": len(setting.train),
            "chosen_on": "train",
            "cost": training_cost(config, population),
            "measured": headroom.summary(config.report.bootstrap, config.report.level, config.report.seed, task),
        }
        if config.pool.simulated is not None and config.simulated:
            ideal = ideal_values(config.pool.simulated, setting.rollouts.rules, domain_shares(setting.train))
            result["exact"] = ideal.summary()
    choice = {"best_single": headroom.best_single, "by_domain": headroom.best_by_domain}
    write_json(Path("reports/headroom") / f"{task}.json", {**result, "choice": choice})
    # What evaluation depends on: the choice, not its intervals.
    write_json(Path("data/headroom") / f"{task}.json", choice)


if __name__ == "__main__":
    run_main(main)
