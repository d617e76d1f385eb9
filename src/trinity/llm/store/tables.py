"""The statistics of a store as text."""

import math
from collections.abc import Sequence

from trinity.llm.store.statistics import Fresh, Left, Saved, Statistics
from trinity.types import CAUSES

FRESH_COLUMNS = (
    "agent", "role", "stage", "calls", "prompt tok.", "completion tok.", "reasoning tok.", "US dollars",
    "mean s", "p95 s", "retried",
)  # fmt: skip
SAVED_COLUMNS = ("agent", "role", "stage", "calls", "prompt tok.", "completion tok.", "US dollars, at least")


def show(statistics: Statistics) -> str:
    """The statistics as text with tables."""
    blocks = [_held(statistics)]
    if statistics.fresh:
        rows = [_fresh_row(row) for row in (*statistics.fresh_sums[:-1], *statistics.fresh, statistics.fresh_sums[-1])]
        blocks.append("fresh: calls that were made\n" + table(FRESH_COLUMNS, rows))
    if statistics.reused:
        rows = [
            _saved_row(row) for row in (*statistics.reused_sums[:-1], *statistics.reused, statistics.reused_sums[-1])
        ]
        blocks.append(
            "reused: calls that the store answered, and what they would have cost\n" + table(SAVED_COLUMNS, rows)
        )
    if statistics.causes:
        total = {name: sum(counts[name] for counts in statistics.causes.values()) for name in ("replies", *CAUSES)}
        rows = [
            (model, *(f"{count:,}" for count in counts.values()))
            for model, counts in (*statistics.causes.items(), ("total", total))
        ]
        blocks.append(
            "replies by model, and how many are amiss\n" + table(("model", "replies", *CAUSES), rows, labels=1)
        )
        if any(counts["cut in reasoning"] for counts in statistics.causes.values()):
            blocks.append(
                "cut in reasoning: the cap was spent before the answer began: raise max_tokens, or have the model "
                "reason less (docs/pool.md)"
            )
    blocks.append(_budget(statistics.left))
    return "\n\n".join(blocks)


def _labels(row: Fresh | Saved) -> tuple[str, str, str]:
    return (row.agent, row.role or "all", row.stage or "all") if row.agent else ("total", "", "")


def _fresh_row(row: Fresh) -> tuple[str, ...]:
    return (
        *_labels(row), f"{row.calls:,}", f"{row.prompt_tokens:,}", f"{row.completion_tokens:,}",
        f"{row.reasoning_tokens:,}", dollars(row.usd, unpriced=row.unpriced > 0),
        f"{row.mean_seconds:.2f}", f"{row.p95_seconds:.2f}", f"{row.retried:,}",
    )  # fmt: skip


def _saved_row(row: Saved) -> tuple[str, ...]:
    return (
        *_labels(row), f"{row.calls:,}", f"{row.prompt_tokens:,}", f"{row.completion_tokens:,}",
        dollars(row.usd, unpriced=row.unpriced > 0),
    )  # fmt: skip


def dollars(low: float, high: float | None = None, *, unpriced: bool = False) -> str:
    """An amount of US dollars, or from one to another, to the cent or two digits, whichever is more.

    Args:
        low: Of what has a known price.
        high: The same as `low` unless given.
        unpriced: Something has none: it is named, and never shown as 0.
    """
    first, last = _amount(low), _amount(low if high is None else high)
    if unpriced and not (high or low):
        return "unknown"
    return (first if first == last else f"{first} to {last}") + (" and unknown" if unpriced else "")


def _amount(usd: float) -> str:
    digits = 2 if abs(usd) >= 0.1 or usd == 0 else 1 - math.floor(math.log10(abs(usd)))
    return f"{'-' if usd < 0 else ''}${abs(usd):,.{digits}f}"


def _held(statistics: Statistics) -> str:
    packs = f"packs: {statistics.packs:,}, {megabytes(statistics.packs_bytes)}"
    if statistics.packs_unread:
        packs += f"; {statistics.packs_unread:,} not taken in yet: a run does, or `trinity responses import`"
    if statistics.packs_absent:
        packs += f"; {statistics.packs_absent:,} not here: `dvc pull`"
    return f"store: {statistics.entries:,} responses, {megabytes(statistics.bytes)}\n{packs}"


def _budget(left: Left | None) -> str:
    if left is None:
        return "budget: not known: params.yaml could not be read (`trinity doctor`)"
    limits = []
    if left.usd is not None:
        limits.append(f"{dollars(left.usd_left or 0.0)} of {dollars(left.usd)}")
    if left.calls is not None:
        limits.append(f"{left.calls_left:,} of {left.calls:,} calls")
    return f"budget left: {', '.join(limits)}" if limits else "budget: params.yaml sets none"


def megabytes(size: int) -> str:
    """A size in a unit that reads well."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], labels: int = 3) -> str:
    """Aligned columns: the first `labels` to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = (
        "  ".join(cell.ljust(width) if column < labels else cell.rjust(width)
                  for column, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in (head, *rows)
    )  # fmt: skip
    return "\n".join(line.rstrip() for line in lines)
