"""LLMRouter: nine models on thirteen kinds of questions (ulab-uiuc/LLMRouter, data)."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trinity.tasks.importers.source import (
    LETTERS,
    Converted,
    agent_name,
    choose_models,
    read_jsonl,
    row_of,
    source_file,
    with_options,
)
from trinity.tasks.outcomes import OutcomeRow

FILE = "outcomes.jsonl"


def convert(source: Path, questions: Path | None, models: Sequence[str] | None) -> Converted:
    """One row a question; kind = the benchmark it comes from. The source's split is left out.

    Its test part lacks five of the kinds and repeats 69 training questions: those are dropped and the rest is one
    mixture, to be split by a holdout.
    """
    path = source_file(source, FILE)
    table = Converted()
    records = list(read_jsonl(path))
    training, names = set[str](), dict[str, str]()
    for number, raw in records:
        with row_of(path, number):
            names = names or choose_models({agent_name(model): model for model in raw["scores"]}, models, path)
            if raw["split"] == "train":
                training.add(raw["question"])
    for number, raw in records:
        with row_of(path, number):
            if not raw["question"].strip():
                table.dropped["question without a statement"] += 1
            elif raw["split"] == "test" and raw["question"] in training:
                table.dropped["test question that is a training question"] += 1
            else:
                text, options = _statement(raw["task"], raw["question"], raw["choices"])
                row = OutcomeRow(
                    id=f"{raw['task']}-{number:04d}",
                    question=text,
                    task=raw["task"],
                    reference=raw["ground_truth"],
                    scores={name: float(raw["scores"][model]) for name, model in names.items()},
                )
                table.rows.append(row)
                if options:
                    table.chance[row.id] = 1 / options
    return table


def _statement(kind: str, question: str, choices: str | None) -> tuple[str, int]:
    """The question as the models saw it, and its number of options (0: no multiple choice).

    The source keeps `choices` as the text of a Python value: a list, or labels and texts; for mbpp, the tests.
    """
    if choices is None:
        return question.strip(), 0
    value: Any = ast.literal_eval(choices)
    if kind == "mbpp":
        return "\n".join([question.strip(), "Your code should pass these tests:", *value]), 0
    if isinstance(value, dict):
        labels, options = value.get("label") or value["labels"], value["text"]
    else:
        labels, options = LETTERS, value
    return with_options(question, options, labels), len(options)
