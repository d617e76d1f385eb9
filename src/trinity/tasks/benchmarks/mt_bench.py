"""MT-Bench: eighty questions of two turns, rated by a judge from 1 to 10 (arXiv 2306.05685). Not MT-Bench-101."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trinity.errors import DataError
from trinity.rewards.judge import WITH_REFERENCE
from trinity.tasks.benchmarks.base import Benchmark, Question
from trinity.tasks.fields import Row, text, text_or_whole, texts
from trinity.tasks.files import read_file, sha256_of
from trinity.tasks.source import Hub, Rows, read_rows
from trinity.types import Item

QUESTIONS, ANSWERS = "question.jsonl", "reference_answer_gpt-4.jsonl"

_SECOND = """This is a conversation between a user and an assistant. Reply to the user's last message.

User:
{first}

Assistant:
{answer}

User:
{second}"""


class MtBench(Benchmark):
    """MT-Bench, for evaluation only: an item is a question's first turn; `second_turn` makes the second one.

    A local folder may have FastChat's own layout, `QUESTIONS` and `ANSWERS`; its references are GPT-4's answers, which
    FastChat's judge is shown. The set on the Hub has short reference texts in their place, and none for some questions.
    """

    name = "mt_bench"
    reward = "judge"
    evaluation_only = True
    hub = Hub(
        repository="HuggingFaceH4/mt_bench_prompts",
        revision="e3a795c5e9a82ee40611c416b8a7786c73198991",
        files={"test": ("raw/question.jsonl",)},
        rows={"test": 80},
    )

    def rows(self) -> Rows:
        """See `Benchmark.rows`; in FastChat's layout the reference answers join their questions."""
        local = self._data.source.get(self.name)
        if local is None or not all((Path(local) / name).is_file() for name in (QUESTIONS, ANSWERS)):
            return read_rows(self.name, self.hub, self._data)
        folder = Path(local)
        source = {**self._data.source, self.name: str(folder / QUESTIONS)}
        rows = read_rows(self.name, self.hub, self._data.model_copy(update={"source": source}))
        located = read_file(folder / ANSWERS, str(folder / ANSWERS))
        answers = {text_or_whole(row, "question_id", where): _answers(row, where) for where, row in located}
        joined = []
        for where, row in next(iter(rows.by_split.values())):
            identity = text_or_whole(row, "question_id", where)
            if row.get("category") in WITH_REFERENCE and identity not in answers:
                raise DataError(f"{where}: question {identity} has no answer in {folder / ANSWERS}")
            joined.append((where, {**row, "reference": answers.get(identity)}))
        described = {
            "split": "all",
            "file": str(folder / ANSWERS),
            "sha256": sha256_of(folder / ANSWERS),
            "rows": len(located),
        }
        files = [*rows.provenance["files"], described]
        return Rows({"test": tuple(joined)}, {**rows.provenance, "path": str(folder), "files": files})

    def question(self, row: Mapping[str, Any], where: str) -> Question:
        """Fields category, prompt (FastChat: turns), reference, prompt_id (question_id)."""
        turns = texts(row, "turns" if "turns" in row else "prompt", where)
        if len(turns) != 2:
            raise DataError(f"{where}: needs two turns, has {len(turns)}")
        category = text(row, "category", where)
        first, second = _references(row, where) if category in WITH_REFERENCE else (None, None)
        return Question(
            stem=turns[0],
            prompt=turns[0],
            reference={"category": category, "turn": 1, "answer": first, "first": None},
            domain=category,
            id=text_or_whole(row, "question_id" if "question_id" in row else "prompt_id", where),
            extra={"second": turns[1], "second_answer": second},
        )


def second_turn(item: Item, answer: str) -> Item:
    """The second episode of a question, which holds the first exchange.

    Args:
        item: The first turn.
        answer: What was answered to it.

    Returns:
        An item with the suffix `-2` whose reference has, beside its own answer, that of the first turn under
        `first_answer`: the judge is shown both.
    """
    second = item.extra["second"]
    reference = {
        "category": item.reference["category"],
        "turn": 2,
        "answer": item.extra["second_answer"],
        "first": [item.question, answer],
        "first_answer": item.reference["answer"],
    }
    question = _SECOND.format(first=item.question, answer=answer, second=second)
    return replace(item, id=f"{item.id}-2", question=question, reference=reference, extra={"stem": second})


def _answers(row: Row, where: str) -> list[str]:
    choices = row.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise DataError(f"{where}: choices: must be a list of one object")
    return texts(choices[0], "turns", f"{where}: choices")


def _references(row: Row, where: str) -> tuple[str | None, str | None]:
    """One text a turn; None where the set leaves one, or the list, empty."""
    if not row.get("reference"):
        return None, None
    references = texts(row, "reference", where, empty=True)
    if len(references) != 2:
        raise DataError(f"{where}: reference: needs one text a turn, has {len(references)}")
    return references[0] or None, references[1] or None
