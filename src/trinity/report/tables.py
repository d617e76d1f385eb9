"""Tables as Markdown and as plain text, and how numbers are printed in them."""

from collections.abc import Sequence
from dataclasses import dataclass

from trinity.report.statistics import Estimate

FLAWS = {"one item": "one item: no interval", "no spread": "no spread: no interval"}
SIMULATED = "simulated pool"


@dataclass(frozen=True)
class Table:
    """A caption, a header and rows of printed cells; the first `text_columns` are text, the others numbers."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    text_columns: int = 1

    def markdown(self) -> str:
        """As GitHub renders it, the caption in bold above."""
        lines = [f"**{self.caption}**", "", _row(self.header)]
        lines.append(_row([":--" if column < self.text_columns else "--:" for column in range(len(self.header))]))
        return "\n".join([*lines, *(_row(row) for row in self.rows)])

    def plain(self) -> str:
        """For a terminal, in aligned columns without trailing blanks; a column that is empty throughout is left out."""
        kept = [i for i in range(len(self.header)) if i == 0 or any(row[i] for row in self.rows)]
        cells = [[row[i] for i in kept] for row in (self.header, *self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(kept))]
        lines = [self.caption]
        for row in cells:
            aligned = [
                row[i].ljust(widths[i]) if column < self.text_columns else row[i].rjust(widths[i])
                for i, column in enumerate(kept)
            ]
            lines.append(("  " + "  ".join(aligned)).rstrip())
        return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def marked(text: str, simulated: bool) -> str:
    """A title or caption; says so where figures come from the simulated pool."""
    return f"{text} ({SIMULATED})" if simulated else text


def share(value: float | None) -> str:
    """A value from 0 to 1 with three digits; nothing if there is none."""
    return "" if value is None else f"{value:.3f}"


def signed(value: float | None) -> str:
    """A difference with its sign and three digits."""
    return "" if value is None else f"{value + 0.0:+.3f}"


def percent(value: float | None) -> str:
    """A share in whole percent."""
    return "" if value is None else f"{value:.0%}"


def count(value: float | None) -> str:
    """A large number without digits after the point."""
    return "" if value is None else f"{value:,.0f}"


def tenth(value: float | None) -> str:
    """A number with one digit."""
    return "" if value is None else f"{value:.1f}"


def interval(estimate: Estimate | None, difference: bool = False) -> str:
    """An estimate's interval alone, or why it has none."""
    if estimate is None:
        return ""
    if estimate.flaw is not None:
        return FLAWS[estimate.flaw]
    one = signed if difference else share
    return f"{one(estimate.low)} to {one(estimate.high)}"


def change(estimate: Estimate | None) -> str:
    """A difference and its interval in one cell."""
    return "" if estimate is None else f"{signed(estimate.value)} ({interval(estimate, difference=True)})"
