"""`trinity import-outcomes`: a public collection of outcomes -> an outcome table."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from trinity.tasks.importers.convert import FORMS, import_outcomes

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Converts a public collection of real models' outcomes to the table that a recorded pool replays, and prints what was
written, what was dropped and why, and which cells to distrust.

forms:
  mmlu_pro    28 models x 12,032 questions of MMLU-Pro; kinds are its categories
  llmrouter   9 models x 5,610 questions of 13 benchmarks as one mixture; kinds are the benchmarks
  lcb         29 models x 880 questions of LiveCodeBench, V1 for training, V2 to V5 for test; needs --questions
"""

EXAMPLES = """\
examples:
  trinity import-outcomes llmrouter --source llmrouter_9models --out data/outcomes/llmrouter.jsonl
  trinity import-outcomes lcb --source lcb_outcomes --questions lcb_questions_v1_v5 --out data/outcomes/lcb.jsonl

Then name the table in params.yaml under data.outcomes and its models under pool.agents (trinity preset recorded).
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Adds the subcommand; its `run` default takes the parsed arguments."""
    parser = subparsers.add_parser(
        "import-outcomes",
        help="convert a public collection of recorded outcomes to a table",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("form", choices=tuple(FORMS), metavar="FORM", help=" | ".join(FORMS))
    parser.add_argument("--source", type=Path, required=True, metavar="DIR", help="folder of the collection")
    parser.add_argument("--questions", type=Path, metavar="DIR", help="folder with the statements (lcb only)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="table to write, a .jsonl file")
    parser.add_argument("--models", metavar="A,B,C", help="names, as printed, of the models to take (default: all)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Imports and prints the report; raises DataError on a user's mistake."""
    models = [name.strip() for name in args.models.split(",") if name.strip()] if args.models is not None else None
    print(import_outcomes(args.form, args.source, args.out, args.questions, models).table())
    return 0
