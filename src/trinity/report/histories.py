"""What training left: `reports/history/TASK/METHOD.csv`, one row an iteration (SFT: a learning rate and epoch)."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from trinity.report.reading import integers, numbers, read_table

ITERATED = ("seed", "iteration", "episodes", "J_mean", "J_valid")
SUPERVISED = ("seed", "lr", "epoch", "loss", "J_valid")
WHOLE = {"seed", "iteration", "episodes", "epoch"}


@dataclass(frozen=True)
class History:
    """How one method was trained on one task.

    Attributes:
        method: cma, rs, reinforce or sft.
        table: The columns of `ITERATED`, or for sft of `SUPERVISED`, as numbers; J_valid is NaN where it is blank, that
            is, where nothing was validated. `episodes` counts those of training so far.
    """

    method: str
    table: pd.DataFrame

    @property
    def seeds(self) -> tuple[int, ...]:
        """Training seeds, sorted."""
        return tuple(sorted(set(self.table["seed"])))

    def of_seed(self, seed: int) -> pd.DataFrame:
        """The rows of one training seed, in the order of training."""
        rows = self.table[self.table["seed"] == seed]
        return rows if self.method == "sft" else rows.sort_values("iteration", kind="stable")

    def chosen(self, seed: int) -> "pd.Series[float] | None":
        """The row with the best validation score of a training seed, of equals the latest; None if never validated."""
        validated = self.of_seed(seed).dropna(subset=["J_valid"])
        return None if validated.empty else validated.sort_values("J_valid", kind="stable").iloc[-1]

    def best_valid(self) -> float | None:
        """Mean over training seeds of the best validation score; None if a seed was never validated."""
        best = [None if row is None else float(row["J_valid"]) for row in map(self.chosen, self.seeds)]
        known = [value for value in best if value is not None]
        return sum(known) / len(known) if known and len(known) == len(best) else None


def read_history(path: Path, method: str) -> History:
    """Reads the history of one method.

    Raises:
        DataError: absent, or a column or cell is not as above; names file and row.
    """
    columns = SUPERVISED if method == "sft" else ITERATED
    text = read_table(path, columns)
    table = pd.DataFrame(
        {
            column: integers(path, text, column)
            if column in WHOLE
            else numbers(path, text, column, blank=column == "J_valid")
            for column in columns
        }
    )
    return History(method, table)
