"""BigCodeBench: programs that use many libraries, tested by unittest classes (arXiv 2406.15877)."""

from collections.abc import Mapping
from typing import Any

from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.programs import PROGRAM_FORM
from trinity.tasks.fields import text
from trinity.tasks.source import Hub

_FILES = {"test": ("data/v0.1.4-00000-of-00001.parquet",)}


class BigCodeBench(Benchmark):
    """BigCodeBench-Instruct, release v0.1.4, for evaluation only."""

    name = "bigcodebench"
    reward = "code"
    evaluation_only = True
    hub = Hub(
        repository="bigcode/bigcodebench",
        revision="b74c0d0bf70d2c0bc459be537895cca163007f1a",
        files=_FILES,
        rows={"test": 1140},
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields instruct_prompt (prompt in copies), code_prompt, canonical_solution, test, entry_point, task_id."""
        prompt = text(row, "prompt" if "prompt" in row else "instruct_prompt", where)
        prefix = text(row, "code_prompt", where)
        return Question(
            stem=prompt,
            prompt=f"{prompt.strip()}\n\n{PROGRAM_FORM}",
            reference={
                "unittest": text(row, "test", where),
                "prefix": prefix,
                "entry_point": text(row, "entry_point", where),
            },
            domain="libraries",
            id=text(row, "task_id", where),
            extra={"canonical": prefix + text(row, "canonical_solution", where)},
        )


class BigCodeBenchHard(BigCodeBench):
    """The 148 harder questions of BigCodeBench."""

    name = "bigcodebench_hard"
    hub = Hub(
        repository="bigcode/bigcodebench-hard",
        revision="298d2cc7b96612e15e47313c3603ee124cee0c1f",
        files=_FILES,
        rows={"test": 148},
    )
