from pathlib import Path

import pytest

from trinity.config.load import load_config
from trinity.config.schema import Config, OutcomeTable
from trinity.errors import DataError
from trinity.tasks.registry import BENCHMARKS, get_task, known_tasks

DEMO = ("demo_math", "demo_choice", "demo_freeform", "demo_code")


@pytest.fixture
def config() -> Config:
    return load_config(Path(__file__).parents[2] / "params.yaml")


def with_outcomes(config: Config, *names: str) -> Config:
    tables = {name: OutcomeTable(path=f"{name}.jsonl") for name in names}
    return config.model_copy(update={"data": config.data.model_copy(update={"outcomes": tables})})


def test_the_demo_tasks_are_known(config: Config) -> None:
    assert known_tasks(with_outcomes(config)) == DEMO
    for name in DEMO:
        assert get_task(config, name).name == name


def test_the_seed_of_the_data_reaches_the_task(config: Config) -> None:
    other = config.model_copy(update={"data": config.data.model_copy(update={"seed": config.data.seed + 1})})
    first, second = (get_task(given, "demo_math").load().items["test"] for given in (config, other))
    assert first != second


def test_a_table_of_outcomes_is_a_task(config: Config) -> None:
    tables = with_outcomes(config, "real")
    assert known_tasks(tables) == (*DEMO, "real")
    assert get_task(tables, "real").name == "real"


def test_a_table_may_not_take_a_demo_task_for_its_name(config: Config) -> None:
    with pytest.raises(DataError, match=r"data\.outcomes\.demo_math: the name of a demo task"):
        get_task(with_outcomes(config, "demo_math"), "demo_math")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_without_a_loader_says_so(config: Config, name: str) -> None:
    with pytest.raises(DataError, match=f"task {name}: its loader is not built yet; available: demo_math, "):
        get_task(with_outcomes(config), name)


def test_an_unknown_name_lists_the_known(config: Config) -> None:
    with pytest.raises(DataError, match=r"task demo_maths: no such task; available: .*demo_code, real"):
        get_task(with_outcomes(config, "real"), "demo_maths")
