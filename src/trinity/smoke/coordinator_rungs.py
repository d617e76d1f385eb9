"""Rungs S1 to S3, S7, and whether a linear head can learn anything from h: the coordinator and its optimiser."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trinity.config import Config
from trinity.coordinator.features import fit_features
from trinity.coordinator.probe import probe_accuracy
from trinity.coordinator.slm import Encoder
from trinity.coordinator.suffix import SUFFIX
from trinity.coordinator.theta import ThetaLayout
from trinity.optim.cmaes import SepCmaEs, default_population
from trinity.rng import generator
from trinity.smoke.ladder import Rung, require
from trinity.types import Item, Transcript

# On fewer items the probe itself is too noisy to judge an encoder by.
PROBE_BAR, PROBE_ITEMS = 0.95, 90
# S7's own problem (spec section 11): a quadratic whose optimum lies about 1 a coordinate away, at the spec's n.
S7_DIMENSIONS, S7_SIGMA, S7_ITERATIONS, S7_SEEDS = 13312, 0.1, 10, 20
IDENTITY_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 1e-3}


def coordinator_rungs(
    config: Config, encoder: Encoder, layout: ThetaLayout, train: Mapping[str, Sequence[Item]]
) -> list[Rung]:
    """The rungs that need an encoder and some questions, by task."""
    text = next(iter(train.values()))[0].question
    transcript = Transcript(text)

    def s1() -> dict[str, Any]:
        first, second = (encoder.compute([transcript])[0] for _ in range(2))
        require(np.array_equal(first, second), "two extractions of one transcript differ")
        require(first.shape == (encoder.hidden_size,), f"h has shape {first.shape}, not ({encoder.hidden_size},)")
        ids = encoder.ids(text)
        require(ids[-1] == encoder.eos_id, "the sequence does not end in EOS")
        require(ids[config.slm.read_position] != encoder.eos_id, "the read position is the EOS token")
        head_input = encoder.decode(ids[:-1])
        require(head_input.endswith(SUFFIX), f"the sequence before EOS does not end in {SUFFIX!r}")
        return {
            "hidden_size": encoder.hidden_size,
            "layers": encoder.n_layers,
            "read_position": config.slm.read_position,
            "read_token": encoder.decode([ids[config.slm.read_position]]),
            "norm_of_h": float(np.linalg.norm(first)),
        }

    def s2() -> dict[str, Any]:
        if not config.svf.enabled:
            return {"svf": "off: no scales in theta"}
        worst = max(encoder.reconstruction_errors().values())
        bound = IDENTITY_TOLERANCE[config.slm.dtype]
        require(worst < bound, f"with scales of 1 a matrix differs by {worst:.2g}, more than {bound:g}")
        count = sum(encoder.svf_counts.values())
        require(
            count == layout.n - layout.head_size, f"the model has {count} scales, theta {layout.n - layout.head_size}"
        )
        scales = np.ones(count)
        scales[0] = 1.5
        candidates = [encoder.candidate(one) for one in (scales, np.ones(count))]
        changed, same = encoder.adapted([transcript, transcript], candidates)
        moved = float(np.abs(changed - same).max())
        require(moved > 0, "changing a scale does not change h")
        return {
            "scales": count,
            "matrices": dict(encoder.svf_counts),
            "max_difference": worst,
            "one_scale_moves": moved,
        }

    def s3() -> dict[str, Any]:
        theta = generator("S3").standard_normal(layout.n)
        weight, scales = layout.unpack(theta)
        require(np.array_equal(layout.pack(weight, scales), theta), "unpack(pack(theta)) is not theta")
        population = config.optim.population or default_population(layout.n)
        return {
            "n": layout.n,
            "head": layout.head_size,
            "scales": layout.n - layout.head_size,
            "population": population,
        }

    def s7() -> dict[str, Any]:
        better = [_quadratic_improves(seed, config) for seed in range(S7_SEEDS)]
        require(
            all(better),
            f"J(mean) after {S7_ITERATIONS} iterations is above J(m0) for {sum(better)} of {S7_SEEDS} seeds",
        )
        return {
            "n": S7_DIMENSIONS,
            "population": default_population(S7_DIMENSIONS),
            "sigma": S7_SIGMA,
            "optimum": "standard normal in every coordinate",
            "iterations": S7_ITERATIONS,
            "seeds_improved": f"{sum(better)} of {S7_SEEDS}",
        }

    def probe() -> dict[str, Any]:
        saw: dict[str, Any] = {}
        for task, items in train.items():
            if len(items) < PROBE_ITEMS or len({item.domain for item in items}) < 2:
                saw[task] = f"not measured: that takes {PROBE_ITEMS} training items and two domains"
                continue
            features = fit_features(config.head.features, encoder, [item.question for item in items])
            h = features(encoder.states([Transcript(item.question) for item in items]))
            saw[task] = probe_accuracy(h, [item.domain for item in items], config.data.seed)
        if config.slm.tiny is not None:
            low = {task: value for task, value in saw.items() if isinstance(value, float) and value < PROBE_BAR}
            require(
                not low,
                f"a linear probe tells the domains apart in less than {PROBE_BAR:.0%}: {low}: nothing can be learnt",
            )
        return saw

    return [
        Rung("S1", "extraction is deterministic and reads the head-input position", s1),
        Rung("S2", "scales of 1 leave the encoder as it is, and their count is theta's", s2),
        Rung("S3", "theta packs and unpacks", s3),
        Rung("S7", "sep-CMA-ES improves at the spec's n", s7),
        Rung("probe", "a linear head can tell the domains of a task apart", probe),
    ]


def _quadratic_improves(seed: int, config: Config) -> bool:
    target = generator("S7", seed).standard_normal(S7_DIMENSIONS)
    start = np.zeros(S7_DIMENSIONS)
    search = SepCmaEs(
        start,
        S7_SIGMA,
        np.ones(S7_DIMENSIONS),
        None,
        active=config.optim.active,
        step_size=config.optim.step_size,
        key=("S7", seed),
    )
    for _ in range(S7_ITERATIONS):
        search.tell(-((search.ask() - target) ** 2).sum(axis=1))
    return bool(((search.mean - target) ** 2).sum() < ((start - target) ** 2).sum())
