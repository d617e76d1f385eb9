"""AIME 2025: the thirty problems of both rounds, answers from 0 to 999."""

from collections.abc import Mapping
from typing import Any

from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.prompts import boxed
from trinity.tasks.fields import text, text_or_whole
from trinity.tasks.source import Hub


class Aime2025(Benchmark):
    """AIME 2025, for evaluation only."""

    name = "aime2025"
    reward = "math"
    evaluation_only = True
    hub = Hub(
        repository="math-ai/aime25",
        revision="563bb8404243c5f09de6ec262f2db674fe5bce9b",
        files={"test": ("test.jsonl",)},
        rows={"test": 30},
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields problem and answer; id where the copy has one."""
        problem = text(row, "problem", where)
        identity = text_or_whole(row, "id", where) if row.get("id") is not None else None
        return Question(
            stem=problem,
            prompt=boxed(problem),
            reference=text_or_whole(row, "answer", where),
            domain="aime2025",
            id=identity,
        )
