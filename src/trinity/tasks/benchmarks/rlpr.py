"""RLPR: questions of many subjects with short answers that need no verifier model (arXiv 2506.18254)."""

from collections.abc import Mapping
from typing import Any

from trinity.config.tasks import Data
from trinity.errors import DataError
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.benchmarks.prompts import short_answer
from trinity.tasks.fields import checked_text, mapping, text, text_or_whole
from trinity.tasks.source import Hub

LONGEST_ANSWER = 30


class Rlpr(Benchmark):
    """The training set of RLPR, answers of at most 30 characters: 80/20, and 80/20 of the rest.

    No commit of it is pinned: params.yaml names one, or a local file.

    Raises:
        DataError: it names neither.
    """

    name = "rlpr"
    reward = "freeform"
    hub = Hub(repository="openbmb/RLPR-Train-Dataset", revision=None, files={"all": ("rlpr_train.parquet",)}, rows={})

    def __init__(self, data: Data) -> None:
        if self.name not in data.source and self.name not in data.revision:
            raise DataError(
                f"task {self.name}: no commit of {self.hub.repository} is pinned: set data.revision.{self.name} to the "
                f"40 digits of one (listed at https://huggingface.co/datasets/{self.hub.repository}/commits/main), or "
                f"data.source.{self.name} to a copy of rlpr_train.parquet"
            )
        super().__init__(data)

    def question(self, row: Mapping[str, Any], where: str) -> Question | None:
        """Verl's fields: prompt (chat messages), reward_model.ground_truth, ability or data_source."""
        answer = text_or_whole(mapping(row, "reward_model", where), "ground_truth", f"{where}: reward_model").strip()
        if len(answer) > LONGEST_ANSWER:
            return None
        stem = _last_user_message(row.get("prompt"), f"{where}: prompt")
        domain = text(row, "ability" if row.get("ability") else "data_source", where)
        return Question(stem=stem, prompt=short_answer(stem), reference=answer, domain=domain)


def _last_user_message(messages: Any, where: str) -> str:
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise DataError(f"{where}: must be a list of messages with role and content")
    spoken = [message.get("content") for message in messages if message.get("role") == "user"]
    if not spoken:
        raise DataError(f"{where}: no message of the user")
    return checked_text(spoken[-1], f"{where}: content")
