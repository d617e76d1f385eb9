"""A task ready to be run: its items by split, and rollouts on the pool of params.yaml."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from trinity.config import Config
from trinity.llm.registry import open_pool
from trinity.orchestration.rollout import Rollouts
from trinity.orchestration.rules import make_rules
from trinity.rewards.grader import Grader
from trinity.tasks.splits import read_split, splits_directory
from trinity.types import Item


@dataclass(frozen=True)
class Setting:
    """One task's items and the rollouts that can be run on them."""

    config: Config
    task: str
    train: Sequence[Item]
    valid: Sequence[Item]
    test: Sequence[Item]
    rollouts: Rollouts


@contextmanager
def open_setting(config: Config, task: str, stage: str) -> Iterator[Setting]:
    """Reads the splits of a task and opens pool and graders; closes both at the end.

    The calls of real models are accounted under `stage`.
    """
    directory = splits_directory(task)
    train, valid, test = (read_split(directory, split) for split in ("train", "valid", "test"))
    with (
        open_pool(config, [*train, *valid, *test], stage) as pool,
        Grader(config.sandbox, config.grading.mode) as grader,
        Rollouts(pool, grader, make_rules(config), config.run.concurrency) as rollouts,
    ):
        yield Setting(config, task, train, valid, test, rollouts)
