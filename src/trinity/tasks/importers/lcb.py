"""LiveCodeBench: pass@1 by question and model, with the statements of releases v1 to v5 (V1 -> V2-V5)."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from trinity.errors import DataError
from trinity.tasks.importers.source import Converted, agent_name, choose_models, read_jsonl, row_of, source_file
from trinity.tasks.outcomes import OutcomeRow

# A model in both files is taken from the first: its run covers all 880 questions that have a statement.
FILES = ("pass1_release_v5_880q_x_19models.csv", "pass1_release_v6_1055q_x_16models.csv")
STATEMENTS = "problems_880_with_o1_code.jsonl"
NO_MODEL = ("question_id", "split", "contest_date", "platform", "difficulty", "functional")
SPLITS: dict[str, Literal["train", "test"]] = {"v1": "train", "v2_v5": "test"}


def convert(source: Path, questions: Path | None, models: Sequence[str] | None) -> Converted:
    """One row a question: pass@1; kind = platform and difficulty; V1 is the table's train, V2 to V5 its test.

    The file of release v1 is not read: its 45 models have no outcomes on V2 to V5.
    """
    if questions is None:
        raise DataError("lcb: the statements come from another folder: give it with --questions (lcb_questions_v1_v5)")
    path = source_file(questions, STATEMENTS)
    statements: dict[str, str] = {}
    for number, raw in read_jsonl(path):
        with row_of(path, number):
            if raw["question_content"].strip():
                statements[raw["question_id"]] = _statement(raw["question_content"], raw["starter_code"])
    return _join(statements, source, models)


def _join(statements: dict[str, str], source: Path, models: Sequence[str] | None) -> Converted:
    paths = [source_file(source, name) for name in FILES]
    tables = [_csv(path) for path in paths]
    available: dict[str, str] = {}
    for records in tables:
        for model in next(iter(records.values()), {}):
            if model not in NO_MODEL:
                available.setdefault(agent_name(model.replace("(N=1)", "")), model)
    names = choose_models(available, models, source)
    table = Converted()
    for number, identity in enumerate(sorted(set().union(*tables)), 1):
        found = [records[identity] for records in tables if identity in records]
        with row_of(source, number):
            if identity not in statements:
                table.dropped["question without a statement"] += 1
                continue
            scores = {}
            for name, model in names.items():
                cell = next((record[model] for record in found if model in record), None)
                if cell is None:
                    raise DataError(f"{source}: question {identity}: no outcome of {model}")
                scores[name] = float(cell)
            table.rows.append(
                OutcomeRow(
                    id=identity,
                    question=statements[identity],
                    task=f"{found[0]['platform']}-{found[0]['difficulty']}",
                    split=SPLITS[found[0]["split"]],
                    scores=scores,
                )
            )
    return table


def _csv(path: Path) -> dict[str, dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as source:
            reader = csv.DictReader(source)
            records = {record["question_id"]: record for record in reader if None not in record.values()}
            if reader.line_num != len(records) + 1:
                raise DataError(f"{path}: {reader.line_num - 1} rows but {len(records)} whole and different ones")
            return records
    except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def _statement(content: str, starter_code: str) -> str:
    return f"{content.strip()}\n\n{starter_code.strip()}" if starter_code.strip() else content.strip()
