"""`trinity canonical`: a benchmark's own answers must pass its grader, and fail with one number or letter changed."""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinity.errors import DataError
from trinity.types import SPLITS, Item, Response

if TYPE_CHECKING:
    from trinity.config.schema import Config
    from trinity.grading.mutants import Programs
    from trinity.rewards.grader import Grader

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

MATHS_FORMS = (
    "Hence the answer is $\\boxed{{{}}}$.",
    "We conclude:\n\\[ \\boxed{{{}}} \\]",
    "First I get 3, but then\n\n**Final answer:** ${}$",
    "The answer is ${}$.",
    "Adding up, we get ${}$.",
)
CHOICE_FORMS = (
    "Answer: {}", "**Answer: {}**", "The correct answer is ({}).", "Hence $\\boxed{{\\text{{{}}}}}$.", "I choose {}"
)  # fmt: skip
MOST_NAMED = 50
FREEFORM_FORMS = ("Answer: {}", "So it is settled.\n**Answer:** {}", "<answer>{}</answer>")


@dataclass(frozen=True)
class Answers:
    """What a model might write for one item.

    Attributes:
        right: With the benchmark's own answer: each must be graded 1.
        wrong: With a changed one: each must be graded 0; empty where there is nothing to change.
    """

    right: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """What the grader made of a task's own answers; `refused` and `accepted` name item and answer."""

    right: int
    refused: tuple[str, ...]
    wrong: int
    accepted: tuple[str, ...]

    def lines(self) -> list[str]:
        """The two rates, then the exceptions."""
        rates = [
            f"  own answers graded 1:     {_rate(self.right, self.refused)}",
            f"  changed answers graded 0: {_rate(self.wrong, self.accepted)}",
        ]
        return [*rates, *_named("graded 0", self.refused), *_named("graded 1", self.accepted)]

    @property
    def exceptions(self) -> int:
        """How many answers were graded as they should not be."""
        return len(self.refused) + len(self.accepted)


def add_parser(subparsers: "Subparsers") -> None:
    """Adds the subcommand; its `run` default takes the parsed arguments."""
    parser = subparsers.add_parser(
        "canonical",
        help="grade a benchmark's own answers, and changed ones",
        description="Grades each of a task's own answers as a model would write it, which must give 1, and with one "
        "number or letter changed, which must give 0; prints both rates and each exception.",
    )
    parser.add_argument("tasks", nargs="+", metavar="TASK")
    parser.add_argument(
        "--source", metavar="PATH", help="a local file or folder of the one task, as data.source has it"
    )
    parser.add_argument(
        "--mutants", type=int, default=3, metavar="N", help="of code: wrong programs by one token, for each own one (3)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints a report for each task; exit code 1 where there was an exception.

    Raises:
        DataError: a task cannot be loaded or has answers of a kind that is not checked here.
    """
    from trinity.config import load_config
    from trinity.rewards.grader import Grader
    from trinity.tasks.registry import get_task

    if args.mutants < 0:
        raise DataError("--mutants: 0 or more")
    config = load_config()
    if args.source is not None:
        if len(args.tasks) > 1:
            raise DataError("--source: for one task; name the others under data.source in params.yaml")
        config = _with_source(config, args.tasks[0], args.source)
    exceptions = 0
    with Grader(config.sandbox, config.grading.mode, remember=False) as grader:
        for name in args.tasks:
            task = get_task(config, name)
            splits = task.load().items
            items = [item for split in SPLITS for item in splits[split]]
            report: Report | Programs = (
                check_programs(config, items, args.mutants) if task.reward == "code" else check(name, items, grader)
            )
            print(f"{name}: {len(items)} items, grading {config.grading.mode}")
            print("\n".join(report.lines()))
            exceptions += report.exceptions
    return 1 if exceptions else 0


def check(task: str, items: Sequence[Item], grader: "Grader") -> Report:
    """Grades the own and the changed answers of all items.

    Raises:
        DataError: an item's reward is not checked here.
    """
    counts = {True: 0, False: 0}
    exceptions: dict[bool, list[str]] = {True: [], False: []}
    for item in items:
        if item.reward not in ANSWERS:
            raise DataError(
                f"task {task}: answers of kind {item.reward} are not checked, but {', '.join(ANSWERS)} and code are"
            )
        answers = ANSWERS[item.reward](item)
        for expected, texts in ((True, answers.right), (False, answers.wrong)):
            for text in texts:
                counts[expected] += 1
                grade = grader.grade(item, Response(text, "stop", 0, 0))
                if (grade.value == 1) != expected:
                    exceptions[expected].append(f"{item.id}: {text!r} ({grade.reason})")
    return Report(counts[True], tuple(exceptions[True]), counts[False], tuple(exceptions[False]))


def check_programs(config: "Config", items: Sequence[Item], each: int) -> "Programs":
    """Runs the own solutions of a code task and, where its tests are asserts, up to `each` mutants of each."""
    from trinity.grading.mutants import Programs, fates, own_solutions

    failing = own_solutions(items, config.sandbox)
    with_asserts = [item for item in items if "checks" in item.reference]
    found = fates(with_asserts, config.sandbox, each, config.data.seed) if each and with_asserts else None
    return Programs(len(items), failing, found)


def _maths(item: Item) -> Answers:
    right, wrong = str(item.reference), changed_number(str(item.reference))
    return Answers(_written(MATHS_FORMS, right), _written(MATHS_FORMS, wrong) if wrong else ())


def _choice(item: Item) -> Answers:
    letter = str(item.reference).strip().upper()
    return Answers(_written(CHOICE_FORMS, letter), _written(CHOICE_FORMS, "B" if letter == "A" else "A"))


def _freeform(item: Item) -> Answers:
    right, wrong = str(item.reference), changed_number(str(item.reference))
    return Answers(_written(FREEFORM_FORMS, right), _written(FREEFORM_FORMS, wrong) if wrong else ())


ANSWERS: Mapping[str, Callable[[Item], Answers]] = {"math": _maths, "choice": _choice, "freeform": _freeform}


def changed_number(answer: str) -> str | None:
    """The answer with the first digit of its last number raised by one (9 becomes 1); None where it has no number."""
    numbers = list(re.finditer(r"\d+", answer))
    if not numbers:
        return None
    start = numbers[-1].start()
    return f"{answer[:start]}{int(answer[start]) % 9 + 1}{answer[start + 1 :]}"


def _written(forms: Sequence[str], answer: str) -> tuple[str, ...]:
    return tuple(form.format(answer) for form in forms)


def _named(what: str, exceptions: Sequence[str]) -> list[str]:
    lines = [f"  {what}: {one}" for one in exceptions[:MOST_NAMED]]
    more = len(exceptions) - len(lines)
    return [*lines, f"  {what}: and {more} more"] if more else lines


def _rate(count: int, exceptions: Sequence[str]) -> str:
    return f"{count - len(exceptions)} of {count}" if count else "none"


def _with_source(config: "Config", task: str, path: str) -> "Config":
    data = config.data.model_copy(update={"source": {**config.data.source, task: path}})
    return config.model_copy(update={"data": data})
