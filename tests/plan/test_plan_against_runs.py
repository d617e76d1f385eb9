"""The plan held against what stages really ask: requests that differ, counted on the demo's pool."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trinity.config import Config
from trinity.coordinator.features import fit_features
from trinity.coordinator.policy import CoordinatorPolicy
from trinity.coordinator.theta import ThetaLayout
from trinity.llm.base import Pool
from trinity.llm.registry import make_pool
from trinity.optim.history import Trained
from trinity.optim.methods import policy_maker, train
from trinity.orchestration.setting import Setting
from trinity.plan.estimate import Plan
from trinity.plan.questions import questions_of
from trinity.plan.runs import Run, train_runs
from trinity.smoke.episode_rungs import episode_rungs
from trinity.smoke.ladder import climb
from trinity.systems.base import Routed
from trinity.systems.compared import trained_methods, untrained_systems
from trinity.systems.evaluate import evaluate
from trinity.systems.headroom import Headroom
from trinity.tasks.base import Splits
from trinity.tasks.demo.task import DemoTask
from trinity.tasks.splits import read_split, splits_directory, write_splits
from trinity.types import SPLITS, Item, Request, Response

TASK = "demo_choice"
AGENTS = [{"name": name, "model": f"openai/{name}"} for name in ("atlas", "birch", "cedar")]
SMALL: Mapping[str, Any] = {
    "tasks": [TASK],
    "data.n_train": 24, "data.n_valid": 6, "data.n_test": 9,
    "svf.enabled": False,
    "optim.population": 4, "optim.m": 6, "optim.iterations": 3, "optim.validate_every": 2, "optim.seeds": [0, 1],
    "baselines.rs.trials": 8, "baselines.sft.epochs": 2,
    "eval.seeds": [0, 1, 2],
}  # fmt: skip
REAL = {"pool.kind": "litellm", "pool.agents": AGENTS}
ONE_ROLE, THREE_ROLES = ["worker"], ["thinker", "worker", "verifier"]
SETTINGS = {
    "one turn, one role": {"episode.max_turns": 1, "episode.roles": ONE_ROLE},
    "one turn, three roles": {"episode.max_turns": 1, "episode.roles": THREE_ROLES},
    "three turns, one role": {"episode.max_turns": 3, "episode.roles": ONE_ROLE},
    "three turns, three roles": {"episode.max_turns": 3, "episode.roles": THREE_ROLES},
    "own minibatches": {"optim.minibatch": "per_candidate", "optim.common_random_numbers": False},
    "sampled evaluation, no 5x": {"eval.selection": "sample", "eval.single_factor": 1, "optim.selection": "argmax"},
}


class CountingPool:
    """Notes what each stage asks.

    Args:
        inner: Answers.
        real: A real pool at temperature 0: the sample index has no effect.
    """

    def __init__(self, inner: Pool, real: bool) -> None:
        self.agents = inner.agents
        self.asked: dict[str, set[Any]] = {}
        self.calls: Counter[str] = Counter()
        self.stage = ""
        self._inner, self._real = inner, real

    async def generate(self, request: Request) -> Response:
        self.calls[self.stage] += 1
        sample = 0 if self._real else request.sample_index
        self.asked.setdefault(self.stage, set()).add((request.agent, request.messages, request.decoding, sample))
        return await self._inner.generate(
            Request(request.agent, request.messages, request.decoding, sample, request.meta)
        )


def items_of(config: Config, folder: Path) -> dict[str, list[Item]]:
    """A cut demo task on disk; its first two training items ask the same."""
    loaded = DemoTask(TASK, config.data.seed).load()
    first, second, *rest = loaded.items["train"][:24]
    twin = Item(second.id, second.task, first.domain, first.question, first.reward, first.reference, first.extra)
    items = {**loaded.items, "train": (first, twin, *rest)}
    directory = folder / splits_directory(TASK)
    write_splits(directory, TASK, Splits(items, loaded.provenance), config.data)
    return {split: read_split(directory, split) for split in SPLITS}


def run_everything(config: Config, setting: Setting, pool: CountingPool, encoder: Any) -> dict[str, list[Trained]]:
    """The stages in the order of the plan, as their scripts run them."""
    layout = ThetaLayout.of(encoder, config.agents, config.episode.roles, config.svf.enabled)
    features = fit_features(config.head.features, encoder, [item.question for item in setting.train])
    pool.stage = "smoke"
    rungs = episode_rungs(config, setting, layout, policy_maker(encoder, layout, features), {"choice"})
    _, failure = climb(rungs, lambda _: None)
    assert failure is None
    pool.stage = "headroom"
    Headroom.measure(setting.rollouts, setting.train)
    trained: dict[str, list[Trained]] = {}
    for method in trained_methods(config):
        pool.stage = f"train {method}"
        trained[method] = [train(method, setting, encoder, layout, features, seed) for seed in config.optim.seeds]
    pool.stage = "evaluate"
    systems = [
        Routed(
            f"trinity_{method}",
            CoordinatorPolicy(encoder, layout, one.theta[None], features, config.eval.selection),
            setting.rollouts.rules,
        )
        for method, by_seed in trained.items()
        for one in by_seed
    ]
    evaluate([*systems, *untrained_systems(setting)], setting.rollouts, setting.test, config.eval.seeds)
    return trained


@pytest.mark.parametrize(
    "name, real",
    [*((name, True) for name in SETTINGS), ("three turns, three roles", False), ("own minibatches", False)],
)
def test_every_stage_asks_no_less_and_no_more_than_planned(
    name: str,
    real: bool,
    configure: Callable[..., Config],
    demo_encoder: Any,
    given_setting: Callable[..., Setting],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    changes = {**SMALL, **SETTINGS[name]}
    config = configure(changes)
    items = items_of(config, tmp_path)
    pool = CountingPool(make_pool(config, [item for split in items.values() for item in split]), real)
    setting = given_setting(config, pool, items["train"], items["valid"], items["test"])
    trained = run_everything(config, setting, pool, demo_encoder)

    planned = configure({**changes, **REAL}) if real else config
    plan = Plan(planned)
    s6 = len(AGENTS) if real else 0
    before: set[Any] = set()
    assert [estimate.stage for estimate in plan.stages()] == list(pool.asked)
    for later in plan.stages():
        alone, asked = plan.of(later.stage, TASK), pool.asked[later.stage]
        extra = s6 if later.stage == "smoke" else 0
        assert alone.requests.low <= len(asked) + extra <= alone.requests.high, later.stage
        assert (alone.amounts.calls.low, alone.amounts.calls.high) == (alone.requests.low, alone.requests.high)
        assert later.amounts.calls.low <= len(asked - before) + extra <= later.amounts.calls.high, later.stage
        before |= asked
    headroom = plan.of("headroom", TASK).requests
    assert headroom.low == headroom.high == len(pool.asked["headroom"]) == 23 * 3
    total = plan.total()
    assert total.requests.low <= len(before) + s6 <= total.requests.high
    assert total.requests.high <= sum(estimate.amounts.calls.high for estimate in plan.stages())
    live = Plan(configure({**changes, **REAL, "pool.responses": "live"}))
    for estimate in live.stages():
        made = pool.calls[estimate.stage] + (3 if estimate.stage == "smoke" else 0)
        assert estimate.amounts.calls.low <= made <= estimate.amounts.calls.high, estimate.stage
    for method, by_seed in trained.items():
        episodes = sum(one.training_episodes + one.validation_episodes for one in by_seed)
        assert planned_episodes(planned, method) == episodes, method


def planned_episodes(config: Config, method: str) -> int:
    def of(run: Run) -> int:
        return int(run.episodes.sum()) * (len(run.samples) * len(config.agents) if run.each_agent else 1)

    assert config.optim.population
    return sum(of(run) for run in train_runs(config, questions_of(config, TASK), method, config.optim.population).runs)


def test_the_minibatches_of_the_plan_are_those_of_training(
    configure: Callable[..., Config],
    demo_encoder: Any,
    given_setting: Callable[..., Setting],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    config = configure({**SMALL, "optim.seeds": [3], "episode.max_turns": 1, "optim.iterations": 2})
    items = items_of(config, tmp_path)
    pool = CountingPool(make_pool(config, [item for split in items.values() for item in split]), real=True)
    setting = given_setting(config, pool, items["train"], items["valid"], items["test"])
    layout = ThetaLayout.of(demo_encoder, config.agents, config.episode.roles, config.svf.enabled)
    features = fit_features(config.head.features, demo_encoder, [item.question for item in items["train"]])
    questions = questions_of(config, TASK)
    for method in ("cma", "rs", "reinforce"):
        pool.stage = method
        train(method, setting, demo_encoder, layout, features, 3)
        asked = "\n".join(messages[0].content for _, messages, _, _ in pool.asked[method])
        touched = {item.id for item in items["train"] if item.question in asked}
        runs = [run for run in train_runs(config, questions, method, 4).runs if run.split == "train"]
        drawn = np.flatnonzero(sum(run.episodes for run in runs))
        twins = {items["train"][index].question for index in drawn}
        assert touched == {item.id for item in items["train"] if item.question in twins}
        assert len(touched) < len(items["train"])
