"""A code benchmark's own programs must pass its tests, and wrong ones made from them by one token must not."""

import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tqdm import tqdm

from trinity.config.tasks import Sandbox as Section
from trinity.errors import RewardError
from trinity.rewards.code import CodeReward
from trinity.rewards.extract import program_in
from trinity.rewards.sandbox.runner import Sandbox
from trinity.rng import shuffled
from trinity.types import Item, Response

SWAPS = {
    "+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "//", "**": "*",
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+=": "-=", "-=": "+=", "*=": "+=", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<",
    "and": "or", "or": "and", "True": "False", "False": "True", "not": "", "break": "continue", "continue": "break",
}  # fmt: skip
# A mutant that never ends is as wrong after a second as after six.
CPU_SECONDS = 1
LEAST_RATE = 0.95


@dataclass(frozen=True)
class Fates:
    """What became of the mutants of a task's programs.

    Attributes:
        failed: Did not pass the tests.
        unnoticed: Passed, and returned something else than the right program to one of the tests' calls.
        unchanged: Passed, and returned the same to all of them: on these inputs it is no other program.
        of: By item id, the mutants that were unnoticed.
    """

    failed: int
    unnoticed: int
    unchanged: int
    of: dict[str, list[str]]

    @property
    def rate(self) -> float:
        """The share that failed of those that changed what the tests can see."""
        return self.failed / max(1, self.failed + self.unnoticed)


@dataclass(frozen=True)
class Programs:
    """What the tests of a code task make of its own solutions, and of their mutants.

    Attributes:
        items: How many solutions there are.
        failing: By item id, why its own solution does not pass.
        mutants: None where the tests are no asserts.
    """

    items: int
    failing: dict[str, str]
    mutants: Fates | None

    @property
    def exceptions(self) -> int:
        """Own solutions that fail; and 1 if too few mutants do."""
        return len(self.failing) + int(self.mutants is not None and self.mutants.rate < LEAST_RATE)

    def lines(self) -> list[str]:
        """The rates, and what they leave out by id."""
        lines = [f"  own solutions that pass: {self.items - len(self.failing)} of {self.items}"]
        lines += [f"  fails: {identity}: {reason}" for identity, reason in self.failing.items()]
        if self.mutants is not None:
            found = self.mutants
            lines.append(
                f"  mutants by one token that fail: {found.failed} of the {found.failed + found.unnoticed} that change "
                f"what a test sees ({found.rate:.1%}); {found.unchanged} others change nothing that a test sees"
            )
            lines += [f"  unnoticed: {identity}: {len(mutants)}" for identity, mutants in found.of.items()]
        return lines


def mutants(program: str, *key: str | int) -> Iterator[str]:
    """The program with one token changed, each change once, in an order keyed by `key`."""
    lines = program.splitlines(keepends=True)
    changes = [
        (token.start[0] - 1, token.start[1], token.end[1], other)
        for token in tokenize.generate_tokens(io.StringIO(program).readline)
        if token.start[0] == token.end[0] and (other := _other(token)) is not None
    ]
    for row, start, end, other in shuffled(changes, "mutants", *key):
        line = lines[row]
        mutated = "".join([*lines[:row], line[:start] + other + line[end:], *lines[row + 1 :]])
        try:
            compile(mutated, "<mutant>", "exec")
        except (SyntaxError, ValueError):
            continue
        yield mutated


def own_solutions(items: Sequence[Item], section: Section) -> dict[str, str]:
    """Runs every item's own solution under its tests: by id, why one does not pass.

    Raises:
        RewardError: an item has no solution, or a program could not be run.
    """
    sandbox = Sandbox(section)
    reward = CodeReward(sandbox)

    def one(item: Item) -> str:
        if "canonical" not in item.extra:
            raise RewardError(f"task {item.task}: item {item.id!r}: the benchmark gives no solution of its own")
        grade = reward(item, Response(item.extra["canonical"], "stop", 0, 0))
        return "" if grade.value == 1 else grade.reason

    try:
        with ThreadPoolExecutor(section.workers) as pool:
            reasons = list(tqdm(pool.map(one, items), total=len(items), desc="own", unit="program", disable=None))
    finally:
        sandbox.close()
    return {item.id: reason for item, reason in zip(items, reasons, strict=True) if reason}


def fates(items: Sequence[Item], section: Section, each: int, seed: int) -> Fates:
    """Runs up to `each` mutants of every item's own solution under the item's asserts.

    Args:
        items: Of a task whose tests are asserts, with `canonical` in their extra; those that their own solution fails
            are left out.
        section: Of params.yaml; the CPU limit is `CPU_SECONDS`.
        each: Mutants a program.
        seed: Keys the choice.
    """
    sandbox = Sandbox(section.model_copy(update={"cpu_seconds": CPU_SECONDS}))

    def one(item: Item) -> list[tuple[str, str]]:
        reference = item.reference
        tests = reference["prelude"], list(reference["names"]), reference["checks"]
        right = program_in(item.extra["canonical"], "robust", next(iter(reference["names"]), None))
        known = sandbox.check(right, *tests)
        chosen = [] if not known.finished else list(mutants(right, seed, item.task, item.id))[:each]
        found = []
        for mutant in chosen:
            execution = sandbox.check(mutant, *tests)
            fate = "failed" if not execution.finished else "same" if execution.output == known.output else "unnoticed"
            found.append((fate, mutant))
        return found

    try:
        with ThreadPoolExecutor(section.workers) as pool:
            results = list(tqdm(pool.map(one, items), total=len(items), desc="mutants", unit="program", disable=None))
    finally:
        sandbox.close()
    every = [fate for result in results for fate, _ in result]
    missed = {
        item.id: [mutant for fate, mutant in result if fate == "unnoticed"]
        for item, result in zip(items, results, strict=True)
    }
    return Fates(
        failed=every.count("failed"),
        unnoticed=every.count("unnoticed"),
        unchanged=every.count("same"),
        of={identity: of for identity, of in missed.items() if of},
    )


def _other(token: tokenize.TokenInfo) -> str | None:
    if token.string in SWAPS and (token.type == tokenize.OP or keyword.iskeyword(token.string)):
        return SWAPS[token.string]
    if token.type == tokenize.NUMBER and token.string.isdecimal():
        return str(int(token.string) + 1)
    return None
