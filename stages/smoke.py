"""Stage `smoke`: the ladder of spec section 11; nothing that costs runs before it is climbed."""

import sys
from pathlib import Path

from trinity.config import load_config
from trinity.entry import run_main
from trinity.preflight import require_all


def main() -> None:
    """Writes reports/smoke.json; fails by name of the rung."""
    config = load_config()
    require_all(config)
    from trinity.artifacts import write_json
    from trinity.coordinator.features import fit_features
    from trinity.coordinator.slm import load_encoder
    from trinity.coordinator.theta import ThetaLayout
    from trinity.coordinator.threads import use_threads
    from trinity.llm.registry import open_pool
    from trinity.optim.fitness import require_items
    from trinity.optim.methods import items_a_candidate, policy_maker, population
    from trinity.orchestration.setting import open_setting
    from trinity.plan.consent import consent
    from trinity.smoke.coordinator_rungs import coordinator_rungs
    from trinity.smoke.episode_rungs import episode_rungs, ordered
    from trinity.smoke.ladder import RungFailed, climb
    from trinity.smoke.pool_rung import pool_rungs
    from trinity.tasks.splits import read_split, splits_directory

    consent(config, "smoke")
    use_threads(config.run.threads)
    encoder = load_encoder(config.slm, config.svf.matrices, config.run.encoder_mb << 20)
    layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)
    train = {task: read_split(splits_directory(task), "train") for task in config.tasks}
    for items in train.values():
        with open_pool(config, items, "smoke"):  # fits its items
            pass
        require_items(items_a_candidate(config), items)
    with open_setting(config, config.tasks[0], "smoke") as setting:
        features = fit_features(config.head.features, encoder, [item.question for item in setting.train])
        rewards = {item.reward for items in train.values() for item in items}
        rungs = ordered(
            [
                *coordinator_rungs(config, encoder, layout, train),
                *episode_rungs(config, setting, layout, policy_maker(encoder, layout, features), rewards),
                *pool_rungs(config),
            ]
        )
        records, failure = climb(rungs, lambda line: print(line, file=sys.stderr))
    write_json(Path("reports/smoke.json"), {"simulated": config.simulated, "rungs": records})
    if failure:
        raise RungFailed(failure)
    # What the later stages depend on: not what each rung saw, so that another task does not train the first again.
    write_json(Path("data/ladder.json"), {"passed": True, "population": population(config, layout)})


if __name__ == "__main__":
    run_main(main)
