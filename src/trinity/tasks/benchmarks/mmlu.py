"""MMLU: four-way multiple choice in 57 subjects (arXiv 2009.03300)."""

from collections.abc import Mapping
from typing import Any

from trinity.errors import DataError
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.prompts import LETTERS, with_choices
from trinity.tasks.fields import mapping, text, texts, whole
from trinity.tasks.source import Hub


class Mmlu(Benchmark):
    """MMLU from auxiliary_train, validation and test; `data.caps.mmlu` draws 4,593 / 1,531 / 1,531 of them.

    The questions of auxiliary_train come from other sets (ARC, RACE and others) and carry no subject.
    """

    name = "mmlu"
    reward = "choice"
    hub = Hub(
        repository="cais/mmlu",
        revision="c30699e8356da336a370243923dbaf21066bb9fe",
        files={
            "train": ("auxiliary_train/train-00000-of-00001.parquet",),
            "valid": ("all/validation-00000-of-00001.parquet",),
            "test": ("all/test-00000-of-00001.parquet",),
        },
        rows={"train": 99842, "valid": 1531, "test": 14042},
    )

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields question, choices, answer (0 is A) and subject, or `type` in copies; auxiliary_train nests them."""
        if row.keys() == {"train"}:
            row = mapping(row, "train", where)
        stem, answer = text(row, "question", where), whole(row, "answer", where)
        choices = texts(row, "choices", where, empty=True)
        if len(choices) > len(LETTERS):
            raise DataError(f"{where}: choices: {len(choices)}, and there are letters for {len(LETTERS)}")
        if not 0 <= answer < len(choices):
            raise DataError(f"{where}: answer: {answer}, and there are {len(choices)} choices")
        subject = row.get("subject") or row.get("type") or "auxiliary"
        return Question(
            stem=stem,
            prompt=with_choices(stem, choices),
            reference=LETTERS[answer],
            domain=text({"subject": subject}, "subject", where),
        )
