from pathlib import Path

import pytest

from trinity.config.load import load_config
from trinity.config.schema import Config
from trinity.config.tasks import OutcomeTable
from trinity.errors import DataError
from trinity.tasks.demo.task import DemoTask
from trinity.tasks.recorded import OutcomeTask
from trinity.tasks.registry import BENCHMARKS, evaluation_sets, get_task, known_tasks
from trinity.tasks.small.task import SMALL_TASKS

DEMO = ("demo_math", "demo_choice", "demo_freeform", "demo_code")


@pytest.fixture
def config() -> Config:
    return load_config(Path(__file__).parents[2] / "params.yaml")


def with_outcomes(config: Config, *names: str) -> Config:
    tables = {name: OutcomeTable(path=f"{name}.jsonl") for name in names}
    return config.model_copy(update={"data": config.data.model_copy(update={"outcomes": tables})})


def test_the_demo_tasks_are_known(config: Config) -> None:
    assert known_tasks(with_outcomes(config)) == (*DEMO, *BENCHMARKS, *SMALL_TASKS)
    for name in DEMO:
        assert get_task(config, name).name == name


def test_the_seed_of_the_data_reaches_the_task(config: Config) -> None:
    other = config.model_copy(update={"data": config.data.model_copy(update={"seed": config.data.seed + 1})})
    first, second = (get_task(given, "demo_math").load().items["test"] for given in (config, other))
    assert first != second


def test_a_table_of_outcomes_is_a_task(config: Config) -> None:
    tables = with_outcomes(config, "real")
    assert known_tasks(tables) == (*DEMO, *BENCHMARKS, *SMALL_TASKS, "real")
    assert get_task(tables, "real").name == "real"


def test_a_table_may_not_take_a_demo_task_for_its_name(config: Config) -> None:
    with pytest.raises(DataError, match=r"data\.outcomes\.demo_math: the name of a demo task"):
        get_task(with_outcomes(config, "demo_math"), "demo_math")


def with_data(config: Config, **settings: object) -> Config:
    return config.model_copy(update={"data": config.data.model_copy(update=settings)})


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_bears_its_name(config: Config, name: str) -> None:
    task = get_task(with_data(config, revision={"rlpr": "0" * 40}), name)
    assert task.name == name
    trainable = {"math500", "mmlu", "rlpr", "livecodebench", "gsm8k", "mbpp"}
    assert task.evaluation_only == (name not in trainable)


def test_a_table_of_outcomes_may_bear_the_name_of_a_benchmark(config: Config) -> None:
    tables = with_outcomes(config, "mmlu")
    assert isinstance(get_task(tables, "mmlu"), OutcomeTask)
    assert known_tasks(tables).count("mmlu") == 1


def test_rlpr_asks_for_a_commit_or_a_file(config: Config) -> None:
    with pytest.raises(
        DataError, match=r"set data\.revision\.rlpr to the 40 digits of one .* or data\.source\.rlpr to"
    ):
        get_task(config, "rlpr")


def test_an_unknown_name_lists_the_known(config: Config) -> None:
    with pytest.raises(DataError, match=r"task demo_maths: no such task; available: .*demo_code, math500, .*, real"):
        get_task(with_outcomes(config, "real"), "demo_maths")


def test_evaluation_sets_are_the_test_items_of_the_other_tasks(config: Config) -> None:
    named = with_data(config, decontaminate=["demo_math", "demo_choice"])
    assert evaluation_sets(named, "demo_math") == {"demo_choice": DemoTask("demo_choice", 0).load().items["test"]}
    assert set(evaluation_sets(named, "demo_code")) == {"demo_math", "demo_choice"}
    assert evaluation_sets(config, "demo_math") == {}


def test_an_evaluation_set_that_cannot_be_had_names_the_key(config: Config, tmp_path: Path) -> None:
    absent = with_data(config, decontaminate=["math500"], source={"math500": str(tmp_path / "none.jsonl")})
    with pytest.raises(DataError, match=r"^data\.decontaminate: .*none\.jsonl: no such file"):
        evaluation_sets(absent, "demo_math")
    with pytest.raises(DataError, match=r"^data\.decontaminate: task nothing: no such task"):
        evaluation_sets(with_data(config, decontaminate=["nothing"]), "demo_math")
