"""MATH-500: the 500 problems of MATH that PRM800K holds out (arXiv 2305.20050)."""

from collections.abc import Mapping
from typing import Any

from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.prompts import boxed
from trinity.tasks.fields import text
from trinity.tasks.source import Hub


class Math500(Benchmark):
    """MATH-500. It has no training split: 80/20 of the 500, and 80/20 of the rest."""

    name = "math500"
    reward = "math"
    hub = Hub(
        repository="HuggingFaceH4/MATH-500",
        revision="6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be",
        files={"test": ("test.jsonl",)},
        rows={"test": 500},
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields problem, answer, subject, unique_id."""
        problem = text(row, "problem", where)
        return Question(
            stem=problem,
            prompt=boxed(problem),
            reference=text(row, "answer", where),
            domain=text(row, "subject", where),
            id=text(row, "unique_id", where),
        )
