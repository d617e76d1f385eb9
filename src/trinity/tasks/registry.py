"""From a task's name in params.yaml to the task."""

from trinity.config.schema import Config
from trinity.errors import DataError
from trinity.tasks.base import Task
from trinity.tasks.demo.task import KINDS, DemoTask

# The spec's benchmarks (sections 6.1, 6.2), named so that asking for one says what is missing.
BENCHMARKS = (
    "math500", "mmlu", "rlpr", "livecodebench", "aime2025", "bigcodebench", "mt_bench", "gpqa_diamond",
)  # fmt: skip


def known_tasks(config: Config) -> tuple[str, ...]:
    """Names that `get_task` takes: the demo's tasks and those with a table of recorded outcomes."""
    return (*KINDS, *(name for name in config.data.outcomes if name not in KINDS))


def get_task(config: Config, name: str) -> Task:
    """The task of a name; nothing is read or generated yet.

    Raises:
        DataError: no task has this name, or two have.
    """
    table = config.data.outcomes.get(name)
    if table is not None:
        if name in KINDS:
            raise DataError(f"data.outcomes.{name}: the name of a demo task: give the table another")
        from trinity.tasks.recorded import OutcomeTask

        return OutcomeTask(name, table, config.agents, config.data.seed)
    if name in KINDS:
        return DemoTask(name, config.data.seed)
    problem = "its loader is not built yet" if name in BENCHMARKS else "no such task"
    raise DataError(f"task {name}: {problem}; available: {', '.join(known_tasks(config))}")
