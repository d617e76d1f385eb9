"""MMLU-Pro: the letters that 28 models answered to 12,032 questions (TIGER-AI-Lab/MMLU-Pro, eval_results)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from trinity.tasks.importers.source import (
    LETTERS,
    Converted,
    choose_models,
    read_jsonl,
    row_of,
    source_file,
    with_options,
)
from trinity.tasks.outcomes import OutcomeRow

FILE = "mmlu_pro_12032q_x_28models.jsonl.gz"
SUFFIX = "_5shots"
# Their source files lack some questions, and the collection marks these and unreadable answers alike, with null.
INCOMPLETE = ("gemini-1.5-flash-002", "gemini-1.5-pro-002")


def convert(source: Path, questions: Path | None, models: Sequence[str] | None) -> Converted:
    """One row a question: 1 where the letter is right, 0 where it is wrong or none was extracted; kind = category."""
    path = source_file(source, FILE)
    table, seen, unread = Converted(), set[str](), Counter[str]()
    names: dict[str, str] = {}
    for number, raw in read_jsonl(path):
        with row_of(path, number):
            names = names or choose_models({m.removesuffix(SUFFIX): m for m in raw["preds"]}, models, path)
            options, predictions = raw["options"], raw["preds"]
            text = with_options(raw["question"], options)
            if not raw["question"].strip():
                table.dropped["question without a statement"] += 1
            elif len(options) < 2:
                table.dropped["fewer than two options"] += 1
            elif text in seen:
                table.dropped["question and options of an earlier row"] += 1
            elif any(predictions[names[m]] is None for m in INCOMPLETE if m in names):
                table.dropped["no answer of a gemini model (absent from its file, or unreadable)"] += 1
            else:
                seen.add(text)
                if raw["answer"] not in LETTERS[: len(options)]:
                    raise ValueError(f"answer {raw['answer']!r} is none of the options")
                row = OutcomeRow(
                    id=str(raw["question_id"]),
                    question=text,
                    task=raw["category"],
                    reference=raw["answer"],
                    scores={name: float(predictions[model] == raw["answer"]) for name, model in names.items()},
                )
                unread.update(name for name, model in names.items() if predictions[model] is None)
                table.rows.append(row)
                table.chance[row.id] = 1 / len(options)
    for name, count in sorted(unread.items()):
        table.notes.append(f"{name}: nothing could be extracted from {count} replies, which count as wrong")
    return table
