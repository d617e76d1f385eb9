"""GSM8K: word problems of primary school with whole-number answers (arXiv 2110.14168)."""

from collections.abc import Mapping
from typing import Any

from trinity.errors import DataError
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.prompts import boxed
from trinity.tasks.fields import text
from trinity.tasks.source import Hub


class Gsm8k(Benchmark):
    """GSM8K with its official splits; not one of the paper's tasks."""

    name = "gsm8k"
    reward = "math"
    hub = Hub(
        repository="openai/gsm8k",
        revision="740312add88f781978c0658806c59bc2815b9866",
        files={"train": ("main/train-00000-of-00001.parquet",), "test": ("main/test-00000-of-00001.parquet",)},
        rows={"train": 7473, "test": 1319},
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields question and answer: a worked solution that ends in `#### 1,234`."""
        stem = text(row, "question", where)
        _, mark, answer = text(row, "answer", where).rpartition("####")
        reference = answer.strip().replace(",", "")
        if not mark or not reference:
            raise DataError(f"{where}: answer: nothing stands after ####")
        return Question(stem=stem, prompt=boxed(stem), reference=reference, domain="gsm8k")
