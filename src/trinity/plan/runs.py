"""What each stage runs: episodes on which items, as params.yaml and the keyed draws fix them before anything is asked.

These are the loops of the stages without their policies; tests/plan holds both against each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trinity.config import Config
from trinity.optim.fitness import Sampling, minibatch
from trinity.plan.questions import TaskQuestions
from trinity.rng import Key
from trinity.types import Split


@dataclass(frozen=True, eq=False)
class Run:
    """Episodes that run at once.

    Attributes:
        split: Of their items.
        episodes: By item, shape (items,).
        turns: How many an episode has at the most.
        each_agent: Every agent is asked every item once as Worker; else a policy chooses.
        factor: Of the tokens that a reply may have; the policy's own runs have 1.
        samples: Sample indices, each of which every item is asked with.
        waits: Calls that must follow one another, at the most.
    """

    split: Split
    episodes: np.ndarray
    turns: int
    waits: int
    each_agent: bool = False
    factor: int = 1
    samples: tuple[int, ...] = (0,)


@dataclass(frozen=True, eq=False)
class StageRuns:
    """A stage on a task and what it runs, in order.

    Attributes:
        calls_to_each_model: Whether rung S6 asks each model once besides.
    """

    stage: str
    task: str
    runs: Sequence[Run]
    calls_to_each_model: bool = False


def pipeline_runs(config: Config, tasks: Sequence[TaskQuestions], population: int) -> list[StageRuns]:
    """Every stage that asks the pool, in the order in which `dvc repro` may run them."""
    stages = [smoke_runs(config, task) for task in tasks if task.task == config.tasks[0]]
    stages += [headroom_runs(config, task) for task in tasks]
    for method in ("cma", *config.baselines.methods):
        stages += [train_runs(config, task, method, population) for task in tasks]
    return stages + [evaluate_runs(config, task) for task in tasks]


def smoke_runs(config: Config, questions: TaskQuestions) -> StageRuns:
    """Gate b: a theta on a minibatch, twice at two places; S8: one episode on two items."""
    items, turns = questions.by_split["train"].items, config.episode.max_turns

    def one_theta(m: int) -> Run:
        sampling = Sampling(min(m, items), "shared", True, "sample")
        return Run("train", _drawn(items, sampling, ("ladder", questions.task), 1, 0), turns, turns)

    runs = [*[one_theta(config.optim.m)] * 2, one_theta(2)]
    return StageRuns("smoke", questions.task, runs, calls_to_each_model=config.pool.kind == "litellm")


def headroom_runs(config: Config, questions: TaskQuestions) -> StageRuns:
    """Each agent once on each training item."""
    return StageRuns("headroom", questions.task, [_singles(questions, "train", len(config.agents))])


def train_runs(config: Config, questions: TaskQuestions, method: str, population: int) -> StageRuns:
    """A training of each seed: its minibatches, the mean on them, and its looks at the validation items."""
    runs = [run for seed in config.optim.seeds for run in _training(config, questions, method, population, seed)]
    return StageRuns(f"train {method}", questions.task, runs)


def evaluate_runs(config: Config, questions: TaskQuestions) -> StageRuns:
    """Trained systems, single agents at both budgets of tokens and random routing on the test items, by seed."""
    items, turns = questions.by_split["test"].items, config.episode.max_turns
    routed = (1 + len(config.baselines.methods)) * len(config.optim.seeds) + 1
    factors = [1] if config.pool.kind == "recorded" else [1, config.eval.single_factor]
    runs = []
    for seed in config.eval.seeds:
        runs += [Run("test", np.ones(items, int), turns, turns, samples=(seed,))] * routed
        runs += [_singles(questions, "test", len(config.agents), factor, (seed,)) for factor in factors]
    return StageRuns("evaluate", questions.task, runs)


def _singles(
    questions: TaskQuestions, split: Split, waits: int, factor: int = 1, samples: tuple[int, ...] = (0,)
) -> Run:
    episodes = np.ones(questions.by_split[split].items, int)
    return Run(split, episodes, 1, waits, each_agent=True, factor=factor, samples=samples)


def _training(config: Config, questions: TaskQuestions, method: str, population: int, seed: int) -> list[Run]:
    optim, turns = config.optim, config.episode.max_turns
    train, valid = questions.by_split["train"].items, questions.by_split["valid"].items
    look = Run("valid", np.ones(valid, int), turns, turns)
    if method == "sft":
        sft = config.baselines.sft
        labels = _singles(questions, "train", 1, samples=tuple(range(sft.label_seeds)))
        return [labels] + [look] * len(sft.lrs) * _looks(sft.epochs, optim.validate_every)
    m, iterations, minibatch_kind = optim.m, optim.iterations, optim.minibatch
    asked = [population] * iterations
    if method == "rs":
        m, minibatch_kind = config.baselines.rs.trials, "shared"
        drawn = max(1, population * optim.m * optim.iterations // m)
        iterations = min(drawn, optim.iterations)
        asked = [(step + 1) * drawn // iterations - step * drawn // iterations for step in range(iterations)]
    if method == "reinforce":
        minibatch_kind = "shared"
    sampling = Sampling(m, minibatch_kind, optim.common_random_numbers, optim.selection)
    runs = [look]
    for iteration, candidates in enumerate(asked, 1):
        key = (seed, questions.task)
        of_mean = _drawn(train, sampling, key, iteration, 0)
        if minibatch_kind == "shared":
            episodes = candidates * of_mean
        else:
            episodes = np.sum([_drawn(train, sampling, key, iteration, number) for number in range(candidates)], axis=0)
        runs += [Run("train", episodes, turns, turns), Run("train", of_mean, turns, turns)]
    return runs + [look] * _looks(iterations, optim.validate_every)


def _drawn(items: int, sampling: Sampling, key: tuple[Key, ...], iteration: int, candidate: int) -> np.ndarray:
    """1 for the items of a minibatch, else 0; all of too few items, which training itself refuses."""
    drawn = minibatch(range(items), sampling, key, iteration, candidate)
    return np.bincount(drawn, minlength=items)


def _looks(steps: int, validate_every: int) -> int:
    """At every `validate_every`-th step and the last."""
    return steps // validate_every + (steps % validate_every != 0)
