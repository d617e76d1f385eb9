"""Settings for the tests of training, systems and the ladder: the committed params.yaml with a few keys changed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from trinity.config import Config
from trinity.config.load import parse_config
from trinity.llm.base import Pool
from trinity.llm.registry import make_pool
from trinity.orchestration.rollout import Rollouts
from trinity.orchestration.rules import make_rules
from trinity.orchestration.setting import Setting
from trinity.rewards.grader import Grader
from trinity.tasks.demo.task import DemoTask
from trinity.types import Item

PARAMS = Path(__file__).parents[1] / "params.yaml"


@pytest.fixture(scope="session")
def configure() -> Callable[..., Config]:
    """`configure({"optim.m": 8})`: the committed parameters with some changed, by their dotted keys."""

    def make(changes: Mapping[str, Any] | None = None) -> Config:
        raw = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
        for key, value in (changes or {}).items():
            *sections, name = key.split(".")
            section = raw
            for part in sections:
                section = section[part]
            section[name] = value
        return parse_config(yaml.safe_dump(raw))

    return make


@pytest.fixture(scope="session")
def demo_encoder(configure: Callable[..., Config]) -> Any:
    """The demo's own encoder."""
    from trinity.coordinator.slm import load_encoder

    return load_encoder(configure().slm)


@pytest.fixture
def demo_setting() -> Iterator[Callable[..., Setting]]:
    """`demo_setting(config, "demo_math", n_train, n_valid, n_test)`: the first items of a demo task, ready to run."""
    with ExitStack() as stack:

        def make(
            config: Config,
            task: str = "demo_math",
            n_train: int | None = None,
            n_valid: int | None = None,
            n_test: int | None = None,
        ) -> Setting:
            items = DemoTask(task, config.data.seed).load().items
            train, valid, test = items["train"][:n_train], items["valid"][:n_valid], items["test"][:n_test]
            pool = make_pool(config, [*train, *valid, *test])
            return _setting(stack, config, task, train, valid, test, pool)

        yield make


@pytest.fixture
def given_setting() -> Iterator[Callable[..., Setting]]:
    """`given_setting(config, pool, train, valid, test)`: items and a pool of one's own."""
    with ExitStack() as stack:

        def make(
            config: Config, pool: Pool, train: Sequence[Item], valid: Sequence[Item], test: Sequence[Item] = ()
        ) -> Setting:
            return _setting(stack, config, train[0].task, train, valid, test, pool)

        yield make


def _setting(
    stack: ExitStack,
    config: Config,
    task: str,
    train: Sequence[Item],
    valid: Sequence[Item],
    test: Sequence[Item],
    pool: Pool,
) -> Setting:
    grader = stack.enter_context(Grader(config.sandbox, config.grading.mode))
    rollouts = stack.enter_context(Rollouts(pool, grader, make_rules(config), config.run.concurrency))
    return Setting(config, task, train, valid, test, rollouts)
