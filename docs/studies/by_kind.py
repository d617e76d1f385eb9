"""Is it more than a classifier of kinds? Each kind of a recorded table alone: sep-CMA-ES against its best single model.

Settings of params.yaml; the encoder's states are kept on disk, so that this costs minutes:

    trinity preset recorded && dvc repro split
    python docs/studies/by_kind.py --task llmrouter --m 32
"""

import argparse
from pathlib import Path

import numpy as np

from trinity.config import Config, load_config
from trinity.coordinator.features import fit_features
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder, load_encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.coordinator.threads import use_threads
from trinity.llm.registry import make_pool
from trinity.optim.methods import train
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.rules import make_rules
from trinity.orchestration.setting import Setting
from trinity.report.statistics import difference, estimate, resampled_means
from trinity.rewards.grader import Grader
from trinity.systems.headroom import Headroom
from trinity.tasks.outcomes import read_outcomes
from trinity.tasks.registry import get_task


def main() -> None:
    """Prints a row a kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True)
    parser.add_argument("--m", type=int, required=True, help="items a candidate; at most a kind's training items")
    args = parser.parse_args()
    config = load_config()
    use_threads(config.run.threads)
    encoder = load_encoder(config.slm)
    table = config.data.outcomes[args.task]
    optim = config.optim.model_copy(update={"m": args.m})
    columns = ("kind", "train", "test", "best single, chosen on train", "sep-CMA-ES", "difference", "oracle")
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for kind in sorted({row.task for row in read_outcomes(Path(table.path))}):
        outcomes = {args.task: table.model_copy(update={"kinds": [kind]})}
        data = config.data.model_copy(update={"outcomes": outcomes})
        print(row_of(config.model_copy(update={"data": data, "optim": optim}), args.task, kind, encoder), flush=True)


def row_of(config: Config, task: str, kind: str, encoder: Encoder) -> str:
    """One kind: trained and tested on its own items."""
    items = get_task(config, task).load().items
    pool = make_pool(config, [item for split in items.values() for item in split])
    with (
        Grader(config.sandbox, config.grading.mode) as grader,
        Rollouts(pool, grader, make_rules(config), config.run.concurrency) as rollouts,
    ):
        setting = Setting(config, task, items["train"], items["valid"], items["test"], rollouts)
        chosen = Headroom.measure(rollouts, setting.train).best_single
        test = Headroom.measure(rollouts, setting.test)
        layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)
        features = fit_features(config.head.features, encoder, [item.question for item in setting.train])
        rewards = []
        for seed in config.optim.seeds:
            trained = train("cma", setting, encoder, layout, features, seed)
            policy = CoordinatorPolicy(encoder, layout, trained.theta[None], features, "argmax")
            rewards.append([e.reward for e in rollouts.run(policy, [Job(item) for item in setting.test])])
    values = {"single": test.rewards[test.agents.index(chosen)][None], "trinity": np.array(rewards)}
    drawn = resampled_means(values, config.report.bootstrap, config.report.seed, kind)
    level = config.report.level
    scores = [estimate(values[name], drawn[name], level) for name in ("single", "trinity")]
    gain = difference((values["trinity"], drawn["trinity"]), (values["single"], drawn["single"]), level)
    cells = [f"{score.value:.3f} [{score.low:.3f} {score.high:.3f}]" for score in scores]
    cells.append(f"{gain.value:+.3f} [{gain.low:+.3f} {gain.high:+.3f}]")
    sizes = f"{len(setting.train)} | {len(setting.test)}"
    return f"| {kind} | {sizes} | {chosen} {' | '.join(cells)} | {test.rewards.max(axis=0).mean():.3f} |"


if __name__ == "__main__":
    main()
