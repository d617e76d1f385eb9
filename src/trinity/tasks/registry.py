"""From a task's name in params.yaml to the task."""

from collections.abc import Callable, Mapping
from importlib import import_module

from trinity.config.schema import Config
from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.base import Task
from trinity.tasks.demo.task import KINDS, DemoTask
from trinity.tasks.small.task import SMALL_TASKS, SmallTask
from trinity.types import Item

# Name -> module below trinity.tasks.benchmarks and its class. A new benchmark is one line more.
BENCHMARKS: Mapping[str, str] = {
    "math500": "math500:Math500",
    "mmlu": "mmlu:Mmlu",
    "rlpr": "rlpr:Rlpr",
    "livecodebench": "livecodebench:LiveCodeBench",
    "aime2025": "aime2025:Aime2025",
    "bigcodebench": "bigcodebench:BigCodeBench",
    "bigcodebench_hard": "bigcodebench:BigCodeBenchHard",
    "mt_bench": "mt_bench:MtBench",
    "gpqa_diamond": "gpqa_diamond:GpqaDiamond",
    "gsm8k": "gsm8k:Gsm8k",
    "humaneval": "humaneval:HumanEval",
    "mbpp": "mbpp:Mbpp",
}
# Any generator of the optional library reasoning-gym is a task: reasoning_gym.leg_counting.
GENERATORS = "reasoning_gym."


def known_tasks(config: Config) -> tuple[str, ...]:
    """Names that `get_task` takes: the generated tasks, the benchmarks, and those with a table of outcomes."""
    own = (*KINDS, *BENCHMARKS, *SMALL_TASKS)
    return (*own, *(name for name in config.data.outcomes if name not in own))


def get_task(config: Config, name: str) -> Task:
    """The task of a name; nothing is read or generated yet. A table of outcomes may bear the name of a benchmark.

    Raises:
        DataError: no task has this name, two have, or it lacks a setting.
    """
    table = config.data.outcomes.get(name)
    if table is not None:
        if name in KINDS or name in SMALL_TASKS:
            kind = "a demo task" if name in KINDS else "a generated task"
            raise DataError(f"data.outcomes.{name}: the name of {kind}: give the table another")
        from trinity.tasks.recorded import OutcomeTask

        return OutcomeTask(name, table, config.agents, config.data.seed)
    if name in KINDS:
        return DemoTask(name, config.data.seed)
    if name in SMALL_TASKS:
        return SmallTask(name, config.data.seed)
    if name in BENCHMARKS:
        module, _, loader = BENCHMARKS[name].partition(":")
        make: Callable[[Data], Task] = getattr(import_module(f"trinity.tasks.benchmarks.{module}"), loader)
        return make(config.data)
    if name.startswith(GENERATORS):
        from trinity.tasks.reasoning_gym import ReasoningGymTask

        return ReasoningGymTask(name, config.data)
    raise DataError(f"task {name}: no such task; available: {', '.join(known_tasks(config))}, {GENERATORS}NAME")


def evaluation_sets(config: Config, task: str) -> dict[str, tuple[Item, ...]]:
    """By name, the test items of the tasks in `data.decontaminate`, but for the task itself.

    Raises:
        DataError: one of them cannot be loaded.
    """
    sets = {}
    for name in config.data.decontaminate:
        if name == task:
            continue
        try:
            sets[name] = get_task(config, name).load().items["test"]
        except DataError as error:
            raise DataError(f"data.decontaminate: {error}") from None
    return sets
