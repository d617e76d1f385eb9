"""GPQA Diamond: 198 multiple-choice questions of graduate science that a search does not answer (arXiv 2311.12022)."""

from collections.abc import Mapping
from typing import Any

from trinity.rng import shuffled
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.prompts import LETTERS, with_choices
from trinity.tasks.fields import text
from trinity.tasks.source import Hub

_CHOICES = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


class GpqaDiamond(Benchmark):
    """GPQA Diamond, for evaluation only; the set is gated.

    The set lists the right answer first: the options' order is a draw keyed by task and Record ID.
    """

    name = "gpqa_diamond"
    reward = "choice"
    evaluation_only = True
    hub = Hub(
        repository="Idavidrein/gpqa",
        revision="633f5ee89ab8ad4522a9f850766b73f62147ffdd",
        files={"test": ("gpqa_diamond.csv",)},
        rows={"test": 198},
        gated=True,
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields Question, Correct Answer, Incorrect Answer 1 to 3, Record ID, High-level domain."""
        identity = text(row, "Record ID", where)
        stem = text(row, "Question", where)
        order = shuffled(range(len(_CHOICES)), "choices", self.name, identity)
        return Question(
            stem=stem,
            prompt=with_choices(stem, [text(row, _CHOICES[index], where) for index in order]),
            reference=LETTERS[order.index(0)],
            domain=text(row, "High-level domain", where),
            id=identity,
        )
