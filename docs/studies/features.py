"""How far the method goes on a table of recorded outcomes: features of the head, step size, items a candidate.

Trains sep-CMA-ES with the settings of params.yaml for each combination, several seeds each, and scores the shipped mean
on the held-out items. Writes a CSV that is continued where it stopped, and a figure:

    trinity preset recorded && dvc repro split
    python docs/studies/features.py --task llmrouter --out docs/studies/features
"""

import argparse
import csv
import itertools
from pathlib import Path

import numpy as np
import pandas as pd

from trinity.config import Config, load_config
from trinity.coordinator.features import Features, fit_features
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder, load_encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.coordinator.threads import use_threads
from trinity.optim.methods import train
from trinity.orchestration.rollout import Job
from trinity.orchestration.setting import Setting, open_setting
from trinity.systems.headroom import Headroom

FEATURES, SIGMAS, ITEMS, SEEDS = ("l2", "centred", "raw"), (0.1, 0.3, 1.0, 3.0, 10.0), (16, 64), (0, 1, 2, 3)
COLUMNS = ("features", "sigma0_times_norm", "m", "seed", "validation", "test")


def main() -> None:
    """Runs what the CSV does not hold yet, then draws it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", required=True)
    parser.add_argument("--out", type=Path, required=True, help="path without ending: OUT.csv and OUT.png are written")
    args = parser.parse_args()
    config = load_config()
    use_threads(config.run.threads)
    encoder = load_encoder(config.slm)
    table = args.out.with_suffix(".csv")
    if not table.exists():
        table.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    done = {tuple(row[:4]) for row in csv.reader(table.open(encoding="utf-8"))}
    with open_setting(config, args.task) as setting:
        questions = [item.question for item in setting.train]
        norm = float(np.linalg.norm(encoder.states(questions), axis=1).mean())
        for kind, sigma, m, seed in itertools.product(FEATURES, SIGMAS, ITEMS, SEEDS):
            if (kind, str(sigma), str(m), str(seed)) in done:
                continue
            features = fit_features(kind, encoder, questions)
            step = sigma / norm if kind == "raw" else sigma
            validation, test = run(setting, encoder, features, step, m, seed)
            with table.open("a", encoding="utf-8") as sink:
                sink.write(f"{kind},{sigma},{m},{seed},{validation:.6f},{test:.6f}\n")
        test = Headroom.measure(setting.rollouts, setting.test)
        chosen = Headroom.measure(setting.rollouts, setting.train)
    draw(pd.read_csv(table), test, chosen, args.out.with_suffix(".png"), config)


def run(
    setting: Setting, encoder: Encoder, features: Features, sigma0: float, m: int, seed: int
) -> tuple[float, float]:
    """Validation and test reward of the shipped mean of one training."""
    changed = setting.config.optim.model_copy(update={"sigma0": sigma0, "m": m})
    config = setting.config.model_copy(update={"optim": changed})
    varied = Setting(config, setting.task, setting.train, setting.valid, setting.test, setting.rollouts)
    layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)
    trained = train("cma", varied, encoder, layout, features, seed)
    policy = CoordinatorPolicy(encoder, layout, trained.theta[None], features, "argmax")
    episodes = setting.rollouts.run(policy, [Job(item) for item in setting.test])
    return trained.validation, float(np.mean([episode.reward for episode in episodes]))


def draw(rows: pd.DataFrame, test: Headroom, chosen: Headroom, path: Path, config: Config) -> None:
    """Held-out reward by step size, a line a kind of features, a panel a minibatch size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    best_single = test.rewards[test.agents.index(chosen.best_single)].mean()
    by_domain = [test.agents.index(chosen.best_by_domain[domain]) for domain in test.domains]
    best_kind = test.rewards[by_domain, np.arange(len(by_domain))].mean()
    figure, axes = plt.subplots(1, len(ITEMS), figsize=(9, 3.8), sharey=True, constrained_layout=True)
    for axis, m in zip(axes, ITEMS, strict=True):
        for kind, colour, marker in zip(FEATURES, ("#0072B2", "#D55E00", "#009E73"), "os^", strict=True):
            part = rows[(rows["features"] == kind) & (rows["m"] == m)].groupby("sigma0_times_norm")["test"]
            mean, spread = part.mean(), part.std()
            axis.errorbar(mean.index, mean, spread, label=kind, color=colour, marker=marker, capsize=3)
        axis.axhline(best_single, color="black", lw=1, ls="--", label="best single (chosen on train)")
        axis.axhline(best_kind, color="grey", lw=1, ls=":", label="best agent a kind (chosen on train)")
        axis.set(xscale="log", xlabel="sigma0 x norm of the features", title=f"m = {m} items a candidate")
    axes[0].set_ylabel(f"held-out reward, n = {test.rewards.shape[1]}")
    axes[1].legend(fontsize=8, loc="lower right")
    figure.suptitle(
        f"Recorded outcomes: {config.optim.iterations} iterations, mean and sd of {len(SEEDS)} seeds", fontsize=10
    )
    figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
