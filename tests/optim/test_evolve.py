import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trinity.config import Config
from trinity.coordinator.features import Features, fit_features
from trinity.coordinator.slm import Encoder
from trinity.coordinator.theta import ThetaLayout
from trinity.llm.recorded import RecordedPool
from trinity.optim.evolve import evolve
from trinity.optim.fitness import Fitness, Sampling
from trinity.optim.history import BestOnValidation, Progress, Trained, write_history
from trinity.optim.methods import METHODS, policy_maker, population, train
from trinity.orchestration.setting import Setting
from trinity.types import Item, Transcript

AGENTS = ("atlas", "birch", "cedar")
SMALL = {
    "svf.enabled": False,
    "optim.population": 6,
    "optim.m": 8,
    "optim.iterations": 3,
    "optim.validate_every": 2,
    "baselines.rs.trials": 16,
    "baselines.sft.epochs": 2,
    "baselines.sft.label_seeds": 1,
}
RECORDED = SMALL | {
    "tasks": ["toy"],
    "data.outcomes": {"toy": {"path": "toy.jsonl"}},
    "pool.kind": "recorded",
    "episode.roles": ["worker"],
    "episode.max_turns": 1,
}


def trained(method: str, setting: Setting, encoder: Encoder, seed: int = 0) -> Trained:
    config = setting.config
    layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)
    features = fit_features(config.head.features, encoder, [item.question for item in setting.train])
    return train(method, setting, encoder, layout, features, seed)


def recorded_items(prefix: str, count: int, scores: Sequence[float]) -> list[Item]:
    """Questions of one kind, on which each agent always gets the same score."""
    return [
        Item(f"{prefix}{i}", "toy", "one", f"Question {prefix} {i}?", "recorded", None,
             {"scores": dict(zip(AGENTS, scores, strict=True))})
        for i in range(count)
    ]  # fmt: skip


@pytest.fixture
def toy(
    configure: Callable[..., Config], given_setting: Callable[..., Setting], demo_encoder: Encoder
) -> Callable[..., Setting]:
    """`toy([1, .5, 1])`: a recorded pool in which an agent is worth the same on every question of a split."""

    def make(
        scores: Sequence[float], changes: dict[str, Any] | None = None, in_training: Sequence[float] | None = None
    ) -> Setting:
        train_items, valid = recorded_items("t", 12, in_training or scores), recorded_items("v", 5, scores)
        pool = RecordedPool(AGENTS, [*train_items, *valid])
        return given_setting(configure(RECORDED | (changes or {})), pool, train_items, valid)

    return make


class Scripted:
    """An `Optimizer` whose mean takes given values in turn."""

    sigma = None

    def __init__(self, means: Sequence[np.ndarray]) -> None:
        self._means, self._told = means, 0

    @property
    def mean(self) -> np.ndarray:
        return self._means[self._told]

    def stop_reasons(self) -> list[str]:
        return ["tired"]

    def ask(self) -> np.ndarray:
        return np.stack([self.mean, self._means[0]])

    def tell(self, fitness: np.ndarray) -> None:
        assert fitness.shape == (2,)
        self._told += 1


def follow(setting: Setting, encoder: Encoder, agents: Sequence[int], validate_every: int) -> tuple[Trained, Fitness]:
    """Evolves through means that send everything to one agent each; their values are those of `toy`'s scores."""
    config = setting.config
    layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, svf=False)
    features = Features("l2")
    common = features(encoder.states([Transcript(item.question) for item in [*setting.train, *setting.valid]])).mean(
        axis=0
    )
    means = []
    for agent in agents:
        weight = np.zeros(layout.head_shape)
        weight[agent] = 1000 * common
        means.append(layout.pack(weight, np.ones(0)))
    fitness = Fitness(
        setting.rollouts, policy_maker(encoder, layout, features), setting.train, setting.valid,
        Sampling(4, "shared", True, "sample"), valid_selection="argmax", key=(0, "toy"),
    )  # fmt: skip
    result = evolve(
        Scripted(means),
        fitness,
        iterations=len(agents) - 1,
        validate_every=validate_every,
        progress=Progress("toy", len(agents) - 1, "recorded, cost 0"),
    )
    np.testing.assert_array_equal(result.theta, means[result.chosen_at])
    return result, fitness


def test_the_mean_that_did_best_on_validation_is_shipped(toy: Callable[..., Setting], demo_encoder: Encoder) -> None:
    setting = toy([0.2, 0.9, 0.4], in_training=[0.6, 0.1, 0.8])
    result, _ = follow(setting, demo_encoder, [0, 2, 1, 0, 2], validate_every=1)
    assert result.chosen_at == 2
    assert result.validation == pytest.approx(0.9)
    assert [row["J_valid"] for row in result.rows] == pytest.approx([0.4, 0.9, 0.2, 0.4])
    assert [row["J_of_mean"] for row in result.rows] == pytest.approx([0.8, 0.1, 0.6, 0.8])


def test_of_equal_means_the_latest_is_shipped(toy: Callable[..., Setting], demo_encoder: Encoder) -> None:
    result, _ = follow(toy([0.9, 0.2, 0.9]), demo_encoder, [0, 1, 2, 1], validate_every=1)
    assert result.chosen_at == 2
    start, _ = follow(toy([0.9, 0.2, 0.8]), demo_encoder, [0, 1, 2, 1], validate_every=1)
    assert start.chosen_at == 0


def test_only_every_so_many_iterations_and_the_last_are_validated(
    toy: Callable[..., Setting], demo_encoder: Encoder
) -> None:
    result, fitness = follow(toy([0.2, 0.9, 0.4]), demo_encoder, [0, 1, 2, 0, 0, 2, 0, 2], validate_every=3)
    assert [row["iteration"] for row in result.rows if row["J_valid"] is not None] == [3, 6, 7]
    assert result.chosen_at == 7  # the good mean of iteration 1 was never looked at
    assert fitness.training_episodes == result.training_episodes == 7 * 2 * 4
    assert fitness.validation_episodes == result.validation_episodes == 4 * 5 + 7 * 4
    assert [row["episodes"] for row in result.rows] == [8 * (i + 1) for i in range(7)]


def test_a_reason_to_stop_is_said_once_and_not_obeyed(
    toy: Callable[..., Setting], demo_encoder: Encoder, capsys: pytest.CaptureFixture[str]
) -> None:
    result, _ = follow(toy([0.2, 0.9, 0.4]), demo_encoder, [0, 1, 2, 0], validate_every=2)
    assert len(result.rows) == 3
    error = capsys.readouterr().err
    assert error.count("would stop here (tired)") == 1
    assert "toy: stopped: 3 of 3 iterations done; shipping the mean of iteration 2" in error


def test_flat_fitness_is_warned_of_and_every_iteration_is_run(
    toy: Callable[..., Setting], demo_encoder: Encoder, capsys: pytest.CaptureFixture[str]
) -> None:
    result = trained("cma", toy([0.5, 0.5, 0.5]), demo_encoder)
    error = capsys.readouterr().err
    assert error.count("all 6 candidates scored the same: no signal in iteration 1") == 1
    assert "would stop here (tolfun)" in error
    assert "3 of 3 iterations done" in error
    assert "; 3 iterations without signal" in error
    assert [row["iteration"] for row in result.rows] == [1, 2, 3]
    assert np.isfinite(result.theta).all()


def test_scales_take_steps_relative_to_the_heads(toy: Callable[..., Setting], demo_encoder: Encoder) -> None:
    changes = {"svf.enabled": True, "svf.sigma_ratio": 0.1, "optim.sigma0": 0.5, "optim.iterations": 1}
    setting = toy([0.5, 0.5, 0.5], changes)
    result = trained("cma", setting, demo_encoder)
    assert result.chosen_at == 1
    layout = ThetaLayout.of(demo_encoder, setting.config.agents, setting.config.episode.roles, svf=True)
    weight, scales = layout.unpack(result.theta)
    assert 0.1 < weight.std() < 0.5
    assert (scales - 1).std() / weight.std() == pytest.approx(0.1, rel=0.4)


def test_a_signal_is_not_warned_of(
    toy: Callable[..., Setting], demo_encoder: Encoder, capsys: pytest.CaptureFixture[str]
) -> None:
    trained("cma", toy([1.0, 0.0, 0.0]), demo_encoder)
    assert "no signal" not in capsys.readouterr().err


def test_nothing_is_kept_that_is_worse_on_validation() -> None:
    best = BestOnValidation()
    for at, (theta, value) in enumerate([(0.0, 0.5), (1.0, 0.7), (2.0, 0.6), (3.0, 0.7)]):
        best.offer(np.array([theta]), value, at)
    assert best.theta is not None
    assert (best.theta[0], best.value, best.at) == (3.0, 0.7, 3)


def test_a_short_training_raises_the_reward(
    configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Encoder
) -> None:
    config = configure(SMALL | {"optim.population": 14, "optim.m": 16, "optim.iterations": 10})
    rows = trained("cma", demo_setting(config, "demo_math", n_valid=20), demo_encoder).rows
    early, late = (np.mean([row["J_mean"] for row in part]) for part in (rows[:2], rows[-2:]))
    assert late > early + 0.1


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"baselines.rs.trials": 7, "optim.m": 5},
        {"optim.iterations": 7, "baselines.rs.trials": 12, "optim.population": 4, "optim.m": 2},
        {"optim.population": None, "optim.iterations": 1, "optim.m": 3},
    ],
)
def test_rivals_get_the_budget_of_episodes_to_within_one_candidate(
    changes: dict[str, Any], configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Any
) -> None:
    config = configure(SMALL | changes)
    setting = demo_setting(config, "demo_math", 20, 4)
    results = {method: trained(method, setting, demo_encoder) for method in ("cma", "rs", "reinforce")}
    layout = ThetaLayout.of(demo_encoder, config.agents, config.episode.roles, svf=False)
    budget = config.optim.m * population(config, layout) * config.optim.iterations
    assert results["cma"].training_episodes == budget
    assert results["reinforce"].training_episodes == budget
    assert budget - config.baselines.rs.trials < results["rs"].training_episodes <= budget
    for result in results.values():
        assert result.rows[-1]["episodes"] == result.training_episodes
    assert results["reinforce"].validation_episodes == results["cma"].validation_episodes


def test_the_history_has_the_columns_that_the_report_and_plots_read(
    configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Encoder, tmp_path: Path
) -> None:
    result = trained("cma", demo_setting(configure(SMALL), "demo_math", 20, 4), demo_encoder)
    write_history(tmp_path / "task" / "cma.csv", [{"seed": 0, **row} for row in result.rows])
    with (tmp_path / "task" / "cma.csv").open(encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    assert list(rows[0]) == [
        "seed", "iteration", "episodes", "J_mean", "J_best", "J_worst", "J_of_mean", "J_valid", "sigma",
        "agent_atlas", "agent_birch", "agent_cedar", "role_thinker", "role_worker", "role_verifier", "turns",
        "divergence", "validation_episodes",
    ]  # fmt: skip
    for row in rows:
        assert sum(float(row[f"agent_{name}"]) for name in AGENTS) == pytest.approx(1, abs=1e-5)
        assert sum(float(row[f"role_{name}"]) for name in ("thinker", "worker", "verifier")) == pytest.approx(
            1, abs=1e-5
        )
        assert float(row["J_worst"]) <= float(row["J_mean"]) <= float(row["J_best"]) <= 1
        assert 0 <= float(row["divergence"]) <= 1
        assert 1 <= float(row["turns"]) <= 3
    assert [row["J_valid"] == "" for row in rows] == [True, False, False]
    assert [row["episodes"] for row in rows] == ["48", "96", "144"]


def test_history_keeps_small_numbers_and_leaves_what_is_absent_blank(tmp_path: Path) -> None:
    write_history(tmp_path / "h.csv", [{"lr": 1e-7, "J": 1 / 3, "n": 2, "no": None}, {"lr": 0.1, "J": None, "n": 3}])
    assert (tmp_path / "h.csv").read_text(encoding="utf-8") == "lr,J,n,no\n1e-07,0.333333,2,\n0.1,,3,\n"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("svf", [False, True])
def test_the_same_training_gives_the_same_bytes_at_any_concurrency(
    method: str, svf: bool, configure: Callable[..., Config], demo_setting: Callable[..., Setting],
    demo_encoder: Encoder, tmp_path: Path,
) -> None:  # fmt: skip
    written = []
    for number, concurrency in enumerate((1, 16)):
        config = configure(SMALL | {"svf.enabled": svf, "run.concurrency": concurrency})
        result = trained(method, demo_setting(config, "demo_math", 20, 4), demo_encoder)
        write_history(tmp_path / f"{number}.csv", result.rows)
        written.append((result.theta.tobytes(), (tmp_path / f"{number}.csv").read_bytes()))
    assert written[0] == written[1]


@pytest.mark.parametrize("method", METHODS)
def test_another_training_seed_is_another_training(
    method: str, configure: Callable[..., Config], demo_setting: Callable[..., Setting], demo_encoder: Encoder
) -> None:
    setting = demo_setting(configure(SMALL), "demo_math", 20, 4)
    first, second = (trained(method, setting, demo_encoder, seed) for seed in (0, 1))
    assert first.rows != second.rows


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "changes",
    [
        {"pool.agents": [{"name": "birch"}]},
        {"episode.roles": ["worker"]},
        {"pool.agents": [{"name": "birch"}], "episode.roles": ["worker"], "episode.max_turns": 1},
        {"optim.m": 20, "baselines.rs.trials": 20, "optim.population": 4},
        {"optim.minibatch": "per_candidate", "optim.common_random_numbers": False, "optim.selection": "argmax"},
        {"optim.step_size": "csa", "optim.active": True, "optim.sigma0": 1e-9, "head.features": "raw"},
        {"optim.sigma0": 1e6, "svf.enabled": True, "eval.selection": "sample"},
    ],
)
def test_every_method_runs_at_the_edges_of_what_may_be_asked(
    method: str, changes: dict[str, Any], configure: Callable[..., Config],
    demo_setting: Callable[..., Setting], demo_encoder: Encoder,
) -> None:  # fmt: skip
    config = configure(SMALL | {"optim.iterations": 2} | changes)
    result = trained(method, demo_setting(config, "demo_math", 20, 4), demo_encoder)
    layout = ThetaLayout.of(demo_encoder, config.agents, config.episode.roles, config.svf.enabled)
    assert result.theta.shape == (layout.n,)
    assert np.isfinite(result.theta).all()
    assert 0 <= result.validation <= 1
