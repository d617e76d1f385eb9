"""MBPP: small Python problems, each with three asserts (arXiv 2108.07732)."""

import builtins
import sys
from collections.abc import Mapping
from typing import Any

from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.programs import PROGRAM_FORM, block, defined_names, free_names, imported_modules
from trinity.tasks.fields import text, text_or_whole, texts
from trinity.tasks.source import Hub


class Mbpp(Benchmark):
    """The full MBPP in its own splits (task ids 601 to 974, 511 to 600, 11 to 510).

    A question shows the first assert, as EvalPlus does: without one, nobody could know the name of the function. (The
    paper shows all three, which gives the tests away.)
    """

    name = "mbpp"
    reward = "code"
    hub = Hub(
        repository="google-research-datasets/mbpp",
        revision="4bb6404fdc6cacfda99d4ac4205087b89d32030c",
        files={
            "train": ("full/train-00000-of-00001.parquet",),
            "valid": ("full/validation-00000-of-00001.parquet",),
            "test": ("full/test-00000-of-00001.parquet",),
        },
        rows={"train": 374, "valid": 90, "test": 500},
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question | None:
        """Fields text (prompt in copies), code, test_list (test in copies), task_id; test_setup_code may be empty.

        What the tests take from the program is what the row's own solution defines: it may be a class, or have the name
        of a builtin. A row whose tests read a name that nothing defines is left out: copies without test_setup_code
        have one.
        """
        stem = text(row, "prompt" if "prompt" in row else "text", where)
        tests = texts(row, "test" if "test" in row else "test_list", where)
        code = text(row, "code", where)
        setup = row.get("test_setup_code") or ""
        if setup:
            setup = text(row, "test_setup_code", where)
        checks = "\n".join([setup, *tests] if setup else tests)
        read = free_names(checks, f"{where}: tests")
        names = (read & defined_names(code, f"{where}: code")) - imported_modules(code, f"{where}: code")
        others = read - names - set(dir(builtins))
        if not names or not others <= sys.stdlib_module_names:
            return None
        shown = block(f"{setup}\n{tests[0]}")
        return Question(
            stem=stem,
            prompt=f"{stem.strip()}\n\nThe program must pass this test, among others:\n\n{shown}\n\n{PROGRAM_FORM}",
            reference={
                "prelude": "".join(f"import {module}\n" for module in sorted(others)),
                "names": sorted(names),
                "checks": f"{checks}\n",
            },
            domain=self.name,
            id=text_or_whole(row, "task_id", where),
            extra={"canonical": code},
        )
