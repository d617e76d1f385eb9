"""Code: the answer's program under all tests of the item, in the sandbox; all must pass.

An item's reference has one of three forms:

1. `{"function": name or null, "tests": [{"input": text, "output": text}, ...]}` (LiveCodeBench): with a name, the input
   holds the arguments as JSON values, one a line, and the output a JSON value; without, they are stdin and stdout.
   Outputs are compared out here, by LiveCodeBench's rules. The tests may be packed (`pack_tests`). With `"seconds"`
   a test may take so much CPU time, and not what params.yaml says.
2. `{"prelude": source, "names": [...], "checks": source}` (HumanEval, MBPP): asserts that call the program from another
   process.
3. `{"unittest": source, "prefix": source, "entry_point": name}` (BigCodeBench): a unittest module in the program's own
   interpreter.
"""

import base64
import json
import zlib
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from trinity.errors import RewardError
from trinity.rewards.base import Grade
from trinity.rewards.execution import Execution, Runner
from trinity.rewards.extract import program_in
from trinity.types import Item, Response


def same_output(output: str, expected: str) -> bool:
    """Whether two standard outputs agree: line by line when stripped, as text or as lists of decimal numbers."""
    lines, wanted = ([line.strip() for line in text.strip().split("\n")] for text in (output, expected))
    return len(lines) == len(wanted) and all(map(_same_line, lines, wanted))


def pack_tests(tests: list[dict[str, str]]) -> str:
    """Tests as a short text: LiveCodeBench's fill gigabytes as they are."""
    return base64.b64encode(zlib.compress(json.dumps(tests).encode(), 6)).decode()


def unpack_tests(packed: str) -> list[dict[str, str]]:
    """What `pack_tests` packed."""
    tests: list[dict[str, str]] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return tests


class CodeReward:
    """A `Reward` for items whose reference is a set of tests.

    Args:
        runner: Runs the programs.
        mode: How the program is found in a reply (`trinity.rewards.extract`); the tests are the same.
    """

    def __init__(self, runner: Runner, mode: Literal["robust", "official"] = "robust") -> None:
        self._runner = runner
        self._mode: Literal["robust", "official"] = mode

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if every test passes; stops at the first that does not.

        Raises:
            RewardError: the program could not be run for a reason that is not its own, or the item has no tests.
        """
        reference = item.reference
        if "unittest" in reference:
            tests, name = _given(item, "unittest"), reference["entry_point"]
        elif "checks" in reference:
            tests, name = _given(item, "checks"), next(iter(reference["names"]), None)
        else:
            tests, name = _given(item, "tests"), reference["function"]
            if isinstance(tests, str):
                tests = unpack_tests(tests)
        program = program_in(response.text, self._mode, name)
        if not program.strip():
            return Grade(0.0, "no program")
        if "unittest" in reference:
            # BigCodeBench's calibration: what the prompt begins with, closed, so that a solution may leave out imports
            return _whole(self._runner.unittest(f"{reference['prefix']}\n    pass\n{program}", tests))
        if "checks" in reference:
            return _whole(self._runner.check(program, reference["prelude"], list(reference["names"]), tests))
        for number, test in enumerate(tests, 1):
            execution = self._runner.run(program, name, test["input"], reference.get("seconds"))
            if not execution.finished:
                return Grade(0.0, f"test {number}: {execution.detail}")
            if not _passes(execution, name, test["output"]):
                return Grade(0.0, f"test {number}: wrong output")
        return Grade(1.0, f"passed {len(tests)} tests")

    def close(self) -> None:
        """Ends the runner."""
        self._runner.close()


def _given(item: Item, name: str) -> Any:
    tests = item.reference.get(name)
    if not tests:
        raise RewardError(f"item {item.id!r} of {item.task}: no tests")
    return tests


def _whole(execution: Execution) -> Grade:
    return Grade(1.0, "passed all tests") if execution.finished else Grade(0.0, execution.detail)


def _passes(execution: Execution, function: str | None, expected: str) -> bool:
    if function is None:
        return same_output(execution.output, expected)
    try:
        returned = json.loads(execution.output)
    except (ValueError, RecursionError):
        return False
    return bool(returned == json.loads(expected))


def _same_line(line: str, expected: str) -> bool:
    if line == expected:
        return True
    numbers, wanted = _decimals(line), _decimals(expected)
    return numbers is not None and numbers == wanted


def _decimals(line: str) -> list[Decimal] | None:
    try:
        numbers = [Decimal(token) for token in line.split()]
    except InvalidOperation:
        return None
    return None if any(number.is_snan() for number in numbers) else numbers
