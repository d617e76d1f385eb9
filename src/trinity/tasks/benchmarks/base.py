"""The base of benchmarks: a class with a name, a source, a reward and how a row becomes a question is a task."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from trinity.config.tasks import Data
from trinity.errors import DataError, RewardError
from trinity.rewards.maths.latex import normalised
from trinity.rewards.maths.reward import LONGEST
from trinity.rewards.sandbox.controls import tests_of
from trinity.tasks.base import Splits
from trinity.tasks.holdout import places
from trinity.tasks.source import POOL, Hub, Rows, read_rows
from trinity.types import SPLITS, Item, Split


@dataclass(frozen=True)
class Question:
    """One row of a benchmark.

    Attributes:
        stem: The bare question: what duplicates are looked for in.
        prompt: What the coordinator and the pool read: the stem with what the grader needs to be told.
        reference: What the grader compares with.
        domain: Subject or kind.
        id: Unique within the benchmark; None numbers the rows of a split.
        extra: Further entries of `Item.extra`.
    """

    stem: str
    prompt: str
    reference: Any
    domain: str
    id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Benchmark(ABC):
    """A `Task` read from a download or a local copy (docs/tasks.md shows how to add one).

    Class attributes: `name`, `hub`, `reward` (which grader reads the answers) and `evaluation_only`.

    Splits (spec section 6.1): those of the source where it has train and test, with 20 % of train to validate unless it
    has valid too; a source of one split is a pool, of which 20 % are the test split and 20 % of the rest validate.
    For evaluation only, the source's test split (or its only one) is the test split, and there is no other.

    Args:
        data: The section `data` of params.yaml.
    """

    name: ClassVar[str]
    hub: ClassVar[Hub]
    reward: ClassVar[Literal["math", "choice", "freeform", "code", "judge"]]
    evaluation_only: ClassVar[bool] = False

    def __init__(self, data: Data) -> None:
        self._data = data

    @abstractmethod
    def question(self, row: Mapping[str, Any], where: str) -> Question | None:
        """A row as a question; None leaves it out, and the manifest counts it.

        Raises:
            DataError: a field is missing or of another form; the message begins with `where`.
        """

    def rows(self) -> Rows:
        """The rows by split; a benchmark whose local copies have a layout of their own reads them here."""
        return read_rows(self.name, self.hub, self._data)

    def load(self) -> Splits:
        """Reads the source; see `Task.load`. Items of a split stand in the order of the source."""
        rows = self.rows()
        items: dict[str, list[Item]] = {split: [] for split in rows.by_split}
        at: dict[str, str] = {}
        for split, located in rows.by_split.items():
            for number, (where, row) in enumerate(located, 1):
                question = self.question(row, where)
                if question is None:
                    continue
                item = self._item(question, f"{split}-{number:05d}")
                _require_gradable(item, where)
                if item.id in at:
                    raise DataError(f"{where}: id {item.id!r} is that of {at[item.id]}: ids must differ")
                at[item.id] = where
                items[split].append(item)
        total = sum(map(len, rows.by_split.values()))
        by_split, how = self._placed(items)
        used = {"split": how, "rows_used": len(at), "rows_left_out": total - len(at)}
        return Splits(by_split, {**rows.provenance, **used})

    def _item(self, question: Question, number: str) -> Item:
        return Item(
            id=question.id or number,
            task=self.name,
            domain=question.domain,
            question=question.prompt,
            reward=self.reward,
            reference=question.reference,
            extra={"stem": question.stem, **question.extra},
        )

    def _placed(self, items: Mapping[str, Sequence[Item]]) -> tuple[dict[Split, tuple[Item, ...]], str]:
        """The items by split, and in words how they came there."""
        if self.evaluation_only:
            if len(items) > 1 and "test" not in items:
                raise DataError(f"task {self.name}: the source has splits {', '.join(items)}, and no test")
            chosen = items["test"] if "test" in items else next(iter(items.values()))
            return {"train": (), "valid": (), "test": tuple(chosen)}, "evaluation only"
        if len(items) == 1:
            (pool,) = items.values()
            place = self._held_out(pool, None, None)
            how = "80/20 of all, 80/20 of the rest"
        elif {"train", "test"} <= items.keys() <= set(SPLITS):
            place = self._held_out(items["train"], items.get("valid"), items["test"])
            how = "official" if "valid" in items else "official train and test, 80/20 of train"
        else:
            raise DataError(
                f"task {self.name}: the source has splits {', '.join(items)}: needed are train and test (and valid), "
                f"or one split alone ({POOL})"
            )
        everything = [item for of_split in items.values() for item in of_split]
        return {split: tuple(item for item in everything if place[item.id] == split) for split in SPLITS}, how

    def _held_out(
        self, rest: Sequence[Item], valid: Sequence[Item] | None, test: Sequence[Item] | None
    ) -> dict[str, Split]:
        fixed = [None if items is None else [item.id for item in items] for items in (valid, test)]
        return places("benchmark split", self._data.seed, self.name, [item.id for item in rest], *fixed)


def _require_gradable(item: Item, where: str) -> None:
    """Refuses what could only be found out, and would end a run, when the first answer is graded.

    Raises:
        DataError: nothing of an answer is left to compare with, or tests are no tests.
    """
    if item.reward in {"math", "freeform"}:
        reference = str(item.reference)
        if len(reference) <= LONGEST and not normalised(reference):
            raise DataError(f"{where}: the reference {reference!r:.80} holds nothing to compare with")
    if item.reward == "code" and "unittest" in item.reference:
        try:
            tests_of(item.reference["unittest"])
        except RewardError as error:
            raise DataError(f"{where}: {error}") from None
