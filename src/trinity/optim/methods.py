"""One training, by the name of its method: cma, or a baseline on the same encoder and budget of episodes."""

import numpy as np

from trinity.config import Config
from trinity.coordinator.features import Features
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.optim.cmaes import SepCmaEs, default_population
from trinity.optim.evolve import evolve
from trinity.optim.fitness import Fitness, MakePolicy, Sampling
from trinity.optim.history import Progress, Trained
from trinity.optim.random_search import RandomSearch
from trinity.optim.reinforce import PolicyGradient, reinforce
from trinity.optim.sft import sft
from trinity.orchestration.setting import Setting

METHODS = ("cma", "rs", "reinforce", "sft")


def population(config: Config, layout: ThetaLayout) -> int:
    """Lambda of params.yaml, or the default for the actual n."""
    return config.optim.population or default_population(layout.n)


def items_a_candidate(config: Config) -> int:
    """The most distinct training items that a method will ask for at once."""
    trials = config.baselines.rs.trials if "rs" in config.baselines.methods else 0
    return max(config.optim.m, trials)


def policy_maker(encoder: Encoder, layout: ThetaLayout, features: Features) -> MakePolicy:
    """Makes policies of thetas, all on one encoder."""

    def make(thetas: np.ndarray, selection: str) -> CoordinatorPolicy:
        return CoordinatorPolicy(encoder, layout, thetas, features, "argmax" if selection == "argmax" else "sample")

    return make


def train(
    method: str, setting: Setting, encoder: Encoder, layout: ThetaLayout, features: Features, seed: int
) -> Trained:
    """Trains one coordinator.

    Every method gets the budget of episodes of sep-CMA-ES, lambda * m * iterations, and as many looks at the
    validation items; SFT uses what its labels cost, and looks as often as its sweep asks.
    """
    config, optim, baselines = setting.config, setting.config.optim, setting.config.baselines
    key = (seed, setting.task)
    candidates = population(config, layout)
    sampling = Sampling(optim.m, optim.minibatch, optim.common_random_numbers, optim.selection)
    if method == "rs":
        sampling = Sampling(baselines.rs.trials, "shared", optim.common_random_numbers, optim.selection)
    if method == "reinforce":
        sampling = Sampling(optim.m, "shared", False, "sample")
    fitness = Fitness(
        setting.rollouts,
        policy_maker(encoder, layout, features),
        setting.train,
        setting.valid,
        sampling,
        valid_selection=config.eval.selection,
        key=key,
    )
    drawn = max(1, candidates * optim.m * optim.iterations // baselines.rs.trials)
    steps = {"sft": len(baselines.sft.lrs), "rs": min(drawn, optim.iterations)}.get(method, optim.iterations)
    with Progress(f"{setting.task} {method} seed {seed}", steps, cost_note(config)) as progress:
        if method == "sft":
            return sft(
                encoder,
                layout,
                features,
                fitness,
                lrs=baselines.sft.lrs,
                epochs=baselines.sft.epochs,
                batch=baselines.sft.batch,
                label_seeds=baselines.sft.label_seeds,
                validate_every=optim.validate_every,
                key=key,
                progress=progress,
            )
        if method == "reinforce":
            gradient = PolicyGradient(
                encoder,
                layout,
                features,
                lr=baselines.reinforce.lr,
                entropy=baselines.reinforce.entropy,
                svf_ratio=config.svf.sigma_ratio,
            )
            return reinforce(
                gradient,
                fitness,
                iterations=optim.iterations,
                replicates=candidates,
                baseline_decay=baselines.reinforce.baseline_decay,
                validate_every=optim.validate_every,
                progress=progress,
            )
        optimizer: SepCmaEs | RandomSearch
        if method == "rs":
            optimizer = RandomSearch(layout.start(), baselines.rs.half_width, drawn, steps, key=key)
        else:
            ratios = layout.pack(
                np.ones(layout.head_shape), np.full(layout.n - layout.head_size, config.svf.sigma_ratio)
            )
            optimizer = SepCmaEs(
                layout.start(),
                optim.sigma0,
                ratios,
                candidates,
                active=optim.active,
                step_size=optim.step_size,
                key=key,
            )
        return evolve(optimizer, fitness, iterations=steps, validate_every=optim.validate_every, progress=progress)


def cost_note(config: Config) -> str:
    """What the episodes of this pool cost."""
    return {"simulated": "simulated, cost 0", "recorded": "recorded, cost 0"}.get(config.pool.kind, "cost not known")
