"""From a public collection to an outcome table, and the report of what came over."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean

from trinity.errors import DataError
from trinity.tasks.importers import lcb, llmrouter, mmlu_pro
from trinity.tasks.importers.source import Converted
from trinity.tasks.outcomes import write_outcomes

FORMS: dict[str, Callable[[Path, Path | None, Sequence[str] | None], Converted]] = {
    "mmlu_pro": mmlu_pro.convert,
    "llmrouter": llmrouter.convert,
    "lcb": lcb.convert,
}


@dataclass(frozen=True)
class ImportReport:
    """What an import wrote and what it left out.

    Attributes:
        rows: Questions written.
        dropped: By cause, questions left out.
        splits: By split of the table, questions; empty where the table leaves the split to a holdout.
        means: By model, its mean score over all rows, best first.
        kinds: By kind, questions.
        notes: What a reader of the figures should know: cells that look like format failures rather than skill.
    """

    form: str
    out: Path
    rows: int
    dropped: Mapping[str, int]
    splits: Mapping[str, int]
    means: Mapping[str, float]
    kinds: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, best mean score first."""
        return tuple(self.means)

    def table(self) -> str:
        """The report as text of several lines."""
        lines = [f"{self.out}: {self.rows} questions, {len(self.means)} models ({self.form})"]
        lines += [f"  dropped {count:>6}  {cause}" for cause, count in self.dropped.items()]
        lines += [f"  split   {count:>6}  {split}" for split, count in self.splits.items()]
        lines += [f"  kind    {count:>6}  {kind}" for kind, count in self.kinds.items()]
        lines += [f"  mean    {mean:6.3f}  {model}" for model, mean in self.means.items()]
        lines += [f"  note            {note}" for note in self.notes]
        return "\n".join(lines)


def import_outcomes(
    form: str, source: Path, out: Path, questions: Path | None = None, models: Sequence[str] | None = None
) -> ImportReport:
    """Converts a public collection to an outcome table.

    Args:
        form: One of `FORMS`.
        source: Folder of the collection.
        out: The table to write, a .jsonl file.
        questions: Folder with the statements, for the form that keeps them apart (lcb).
        models: Names, as in the table, of the models to take; None takes all.

    Raises:
        DataError: the form is unknown, a source is absent or malformed, a model is not in it, or no row is left.
    """
    if form not in FORMS:
        raise DataError(f"no form {form!r}; forms: {', '.join(FORMS)}")
    if questions is not None and form != "lcb":
        raise DataError(f"{form}: its statements are in the source itself: leave --questions out")
    converted = FORMS[form](source, questions, models)
    rows = converted.rows
    if not rows:
        raise DataError(f"{source}: no question is left to write")
    write_outcomes(out, rows)
    means = {model: fmean(row.scores[model] for row in rows) for model in sorted(rows[0].scores)}
    return ImportReport(
        form=form,
        out=out,
        rows=len(rows),
        dropped=dict(sorted(converted.dropped.items())),
        splits=dict(sorted(Counter(row.split for row in rows if row.split).items())),
        means=dict(sorted(means.items(), key=lambda entry: -entry[1])),
        kinds=dict(sorted(Counter(row.task for row in rows).items())),
        notes=(*converted.notes, *_below_chance(converted)),
    )


def _below_chance(converted: Converted) -> list[str]:
    """Cells (model and kind) that score less than a blind guess by more than three standard errors."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    chance: dict[str, list[float]] = defaultdict(list)
    for row in converted.rows:
        if row.id in converted.chance:
            chance[row.task].append(converted.chance[row.id])
            for model, score in row.scores.items():
                scores[row.task, model].append(score)
    notes = []
    for (kind, model), found in sorted(scores.items()):
        guess = fmean(chance[kind])
        if fmean(found) < guess - 3 * sqrt(guess * (1 - guess) / len(found)):
            low = f"{fmean(found):.2f}, below a blind guess ({guess:.2f})"
            notes.append(f"{model} on {kind}: {low}: read it as a failure of format")
    return notes
