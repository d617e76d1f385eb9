"""HumanEval: complete a function from its signature and docstring (arXiv 2107.03374)."""

from collections.abc import Mapping
from typing import Any

from trinity.errors import DataError
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.programs import PROGRAM_FORM, block, defined_names, free_names
from trinity.tasks.fields import text
from trinity.tasks.source import Hub


class HumanEval(Benchmark):
    """HumanEval, for evaluation only.

    The tests run in the names of the prompt (its imports and helper functions), with the entry point of the program.
    """

    name = "humaneval"
    reward = "code"
    evaluation_only = True
    hub = Hub(
        repository="openai/openai_humaneval",
        revision="7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544",
        files={"test": ("openai_humaneval/test-00000-of-00001.parquet",)},
        rows={"test": 164},
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields prompt, canonical_solution, test, task_id, and entry_point where the copy has one.

        Copies in the layout of HumanEval-X have none: their tests end in the call `check(ENTRY_POINT)`.
        """
        prompt, test = text(row, "prompt", where), text(row, "test", where)
        defined = defined_names(prompt, f"{where}: prompt")
        if row.get("entry_point") is not None:
            entry_point = text(row, "entry_point", where)
            test = f"{test}\n\ncheck({entry_point})\n"
        else:
            entry_point = _called_with(test, where)
        if entry_point not in defined:
            raise DataError(f"{where}: prompt: does not define the entry point {entry_point}")
        if "check" in free_names(test, f"{where}: test"):
            raise DataError(f"{where}: test: does not define check")
        return Question(
            stem=prompt,
            prompt=f"Complete this function.\n\n{block(prompt)}\n\n{PROGRAM_FORM}",
            reference={"prelude": prompt, "names": [entry_point], "checks": test},
            domain=self.name,
            id=text(row, "task_id", where),
            extra={"canonical": prompt + text(row, "canonical_solution", where)},
        )


def _called_with(test: str, where: str) -> str:
    last = test.rstrip().split("\n")[-1]
    entry_point = last.removeprefix("check(").removesuffix(")")
    if last != f"check({entry_point})" or not entry_point.isidentifier():
        raise DataError(f"{where}: entry_point: missing, and test does not end in check(ENTRY_POINT)")
    return entry_point
