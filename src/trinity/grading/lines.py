"""`trinity grade`: verdicts on answers of one's own, one JSON line each (docs/grading.md)."""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from trinity.errors import DataError, RewardError

if TYPE_CHECKING:
    from trinity.config.tasks import Sandbox
    from trinity.rewards.grader import Grader
    from trinity.types import Item

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

Mode = Literal["robust", "official"]
REWARDS = {"math": "math", "mcq": "choice", "freeform": "freeform", "code_stdin": "code", "code_functional": "code"}
TESTS = ("inputs", "outputs", "fn_name", "timeout")
KINDS = (*REWARDS, "code_extract", "mtbench_rating")

DESCRIPTION = """\
Reads JSON lines with kind, response and reference, and writes each back with verdict (true, false; of mtbench_rating
the number, or null) and reason. The first line that cannot be graded ends it with exit code 1; what stands before
is out.

kinds and their references:
  math, freeform    the answer
  mcq               the letter; "choices" beside it may say how many there are
  code_stdin        {"inputs": [...], "outputs": [...], "timeout": seconds of CPU time a test}
  code_functional   the same with "fn_name"; an input holds the arguments as JSON, one a line
  code_extract      the program that stands in the response
  mtbench_rating    none: the response is a judge's
Code runs in the sandbox (params.yaml: sandbox, where there is one here).
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Adds the subcommand; its `run` default takes the parsed arguments."""
    parser = subparsers.add_parser(
        "grade",
        help="grade answers of your own: JSON lines in, verdicts out",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="a JSONL file, or - for standard input")
    parser.add_argument(
        "--mode", choices=("robust", "official"), default="robust",
        help="robust: the right verdict (default); official: the verdict that papers report",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Grades line by line, in order.

    Raises:
        DataError: a line is not one that can be graded; names file and row.
        RewardError: a grade could not be computed.
    """
    from tqdm import tqdm

    from trinity.rewards.grader import Grader

    name = "standard input" if args.file == "-" else args.file
    with ExitStack() as stack:
        source = sys.stdin.buffer if args.file == "-" else stack.enter_context(_opened(Path(args.file)))
        grader = stack.enter_context(Grader(_sandbox(), args.mode, remember=False))
        for row, line in tqdm(_lines(source, name), unit=" lines", disable=not sys.stderr.isatty(), leave=False):
            try:
                verdict, reason = _verdict(line, grader, args.mode, f"{name}: row {row}")
            except RewardError as error:
                raise RewardError(f"{name}: row {row}: {error}") from None
            print(json.dumps({**line, "verdict": verdict, "reason": reason}), flush=True)
    return 0


def _sandbox() -> "Sandbox":
    """The section of params.yaml, where this folder has one; else that of the demo."""
    from trinity.config import load_config

    if Path("params.yaml").exists():
        return load_config().sandbox
    from importlib.resources import files

    import yaml

    from trinity.config.tasks import Sandbox

    settings = yaml.safe_load(files("trinity.presets").joinpath("demo.yaml").read_text(encoding="utf-8"))
    return Sandbox.model_validate(settings["sandbox"])


def _opened(path: Path) -> IO[bytes]:
    if path.is_dir() or not path.exists():
        raise DataError(f"{path}: {'a folder' if path.is_dir() else 'no such file'}: give a file of JSON lines, or -")
    return path.open("rb")


def _lines(source: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    from trinity.tasks.files import json_line

    for row, raw in enumerate(source, 1):
        if not raw.strip():
            continue
        line = json_line(raw, f"{name}: row {row}")
        if not isinstance(line, dict):
            raise DataError(f"{name}: row {row}: must be an object with kind, response and reference")
        yield row, line


def _verdict(line: Mapping[str, Any], grader: "Grader", mode: Mode, where: str) -> tuple[bool | float | None, str]:
    kind, response = line.get("kind"), line.get("response")
    if kind not in KINDS:
        raise DataError(f"{where}: kind: must be one of {', '.join(KINDS)}, got {kind!r}")
    if not isinstance(response, str):
        raise DataError(f"{where}: response: must be text, got {type(response).__name__}")
    if kind == "mtbench_rating":
        from trinity.rewards.judge import rating_in

        rating = rating_in(response, mode)
        return rating, "no rating found" if rating is None else "the judge's rating"
    if line.get("reference") is None:
        raise DataError(f"{where}: reference: missing")
    if kind == "code_extract":
        return _extracted(line["reference"], response, mode, where)
    from trinity.types import Response

    item = _item(line, where)
    if REWARDS[kind] == "code" and "```" not in response and "~~~" not in response:
        response = f"```python\n{response}\n```"
    grade = grader.grade(item, Response(response, "stop", 0, 0))
    return grade.value == 1, grade.reason


def _extracted(reference: Any, response: str, mode: Mode, where: str) -> tuple[bool, str]:
    from trinity.rewards.extract import program_in

    if not isinstance(reference, str):
        raise DataError(f"{where}: reference: must be text, got {type(reference).__name__}")
    program = program_in(response, mode)
    return program == reference, f"a program of {len(program.splitlines())} lines" if program else "no program"


def _item(line: Mapping[str, Any], where: str) -> "Item":
    from trinity.types import Item

    reference, reward = line["reference"], REWARDS[line["kind"]]
    if reward == "code":
        reference = _tests(reference, line["kind"], where)
    elif isinstance(reference, bool) or not isinstance(reference, str | int | float) or not str(reference).strip():
        raise DataError(f"{where}: reference: must be the answer as text or a number, got {reference!r}")
    elif reward == "choice" and str(reference).strip().upper() not in tuple("ABCDEFGHIJ"):
        raise DataError(f"{where}: reference: must be a letter from A to J, got {reference!r}")
    choices = line.get("choices")
    count = len(choices) if isinstance(choices, list) else choices
    if choices is not None and (isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= 10):
        raise DataError(f"{where}: choices: must be their number, 2 to 10, or a list of so many, got {choices!r}")
    return Item(
        where, "grade", str(line["kind"]), "", reward, reference, {} if choices is None else {"choices": choices}
    )


def _tests(reference: Any, kind: str, where: str) -> dict[str, Any]:
    if not isinstance(reference, dict):
        raise DataError(f"{where}: reference: must be an object with inputs and outputs")
    unknown = [str(name) for name in reference if name not in TESTS]
    if unknown:
        raise DataError(f"{where}: reference: unknown {', '.join(unknown)}; known: {', '.join(TESTS)}")
    inputs, outputs = reference.get("inputs"), reference.get("outputs")
    for name, texts in (("inputs", inputs), ("outputs", outputs)):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DataError(f"{where}: reference.{name}: must be a list of texts")
    assert isinstance(inputs, list)
    assert isinstance(outputs, list)
    if not inputs or len(inputs) != len(outputs):
        wrong = f"{len(inputs)} inputs and {len(outputs)} outputs" if inputs or outputs else "no tests"
        raise DataError(f"{where}: reference: {wrong}: give as many of each, at least one")
    function = reference.get("fn_name")
    if (kind == "code_functional") != (isinstance(function, str) and bool(function)):
        needed = "the name of the function" if kind == "code_functional" else "left out for code_stdin"
        raise DataError(f"{where}: reference.fn_name: must be {needed}, got {function!r}")
    tests = [{"input": given, "output": wanted} for given, wanted in zip(inputs, outputs, strict=True)]
    if function is not None:
        _require_json(outputs, where)
    return {"function": function, "tests": tests, "seconds": _tests_seconds(reference, where)}


def _require_json(outputs: list[str], where: str) -> None:
    for number, output in enumerate(outputs, 1):
        try:
            json.loads(output)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: reference.outputs: number {number} is not JSON: {error}") from None


def _tests_seconds(reference: Mapping[str, Any], where: str) -> int | None:
    seconds = reference.get("timeout")
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 1 <= seconds <= 3600:
        raise DataError(f"{where}: reference.timeout: must be whole seconds from 1 to 3600, got {seconds!r}")
    return seconds
