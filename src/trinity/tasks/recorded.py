"""An outcome table as a task: real questions whose reward is what each model is known to have scored."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trinity.config.tasks import OutcomeTable
from trinity.errors import DataError
from trinity.tasks.base import Splits
from trinity.tasks.files import sha256_of
from trinity.tasks.holdout import places
from trinity.tasks.outcomes import OutcomeRow, read_outcomes, require_scores
from trinity.types import SPLITS, Item, Split


class OutcomeTask:
    """The questions of one outcome table, or of some of its kinds (`Task`).

    Where rows carry a split, its `test` is the test split and its `train` is divided 80/20 into train and valid; else
    20 % are the test split and the other 80 % are divided alike (spec section 6.1). A question's place is its rank by
    a draw keyed by seed, task and id: the order of rows does not matter, and a further row moves hardly any other.

    Attributes:
        name: As in params.yaml.
    """

    reward = "recorded"
    evaluation_only = False

    def __init__(self, name: str, table: OutcomeTable, agents: Sequence[str], seed: int) -> None:
        self.name = name
        self._path = Path(table.path)
        self._kinds = table.kinds
        self._agents = tuple(agents)
        self._seed = seed

    def load(self) -> Splits:
        """Reads the table; see `Task.load`. Items of a split stand in the order of the table.

        Raises:
            DataError: the table is unusable, a kind or an agent is not in it, a used row lacks an agent's score, or
                too few rows are left for three splits.
        """
        table = read_outcomes(self._path)
        rows = self._of_kinds(table)
        require_scores(self._path, rows, self._agents)
        place = self._split(rows)
        items: dict[Split, list[Item]] = {split: [] for split in SPLITS}
        for row in rows:
            items[place[row.id]].append(self._item(row))
        empty = [split for split in SPLITS if not items[split]]
        if empty:
            raise DataError(f"{self._path}: {len(rows)} rows leave no {', '.join(empty)} items: more rows are needed")
        provenance: dict[str, Any] = {
            "source": "recorded outcomes",
            "path": str(self._path),
            "sha256": sha256_of(self._path),
            "split": "by the table" if rows[0].split else "holdout",
            "kinds": dict(sorted(Counter(row.task for row in rows).items())),
            "rows_used": len(rows),
            "rows_dropped": len(table) - len(rows),
        }
        return Splits({split: tuple(items[split]) for split in SPLITS}, provenance)

    def _of_kinds(self, table: list[OutcomeRow]) -> list[OutcomeRow]:
        if self._kinds is None:
            return table
        known = sorted({row.task for row in table})
        unknown = [kind for kind in self._kinds if kind not in known]
        if unknown or not self._kinds:
            wrong = f"no kind {', '.join(unknown)}" if unknown else "no kind chosen"
            raise DataError(
                f"{self._path}: {wrong} (data.outcomes.{self.name}.kinds); kinds of the table: {', '.join(known)}"
            )
        return [row for row in table if row.task in self._kinds]

    def _split(self, rows: list[OutcomeRow]) -> dict[str, Split]:
        by_table = rows[0].split is not None
        test = [row.id for row in rows if row.split == "test"] if by_table else None
        rest = [row.id for row in rows if row.split != "test"]
        return places("outcome split", self._seed, self.name, rest, test=test)

    def _item(self, row: OutcomeRow) -> Item:
        extra: dict[str, Any] = {"scores": {agent: row.scores[agent] for agent in self._agents}}
        for name, found in (("texts", row.texts), ("tokens", row.tokens)):
            kept = {agent: found[agent] for agent in self._agents if agent in found}
            if kept:
                extra[name] = kept
        return Item(
            id=row.id,
            task=self.name,
            domain=row.task,
            question=row.question,
            reward="recorded",
            reference=row.reference,
            extra=extra,
        )
