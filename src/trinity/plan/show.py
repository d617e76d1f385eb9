"""A plan as text and as JSON."""

from dataclasses import asdict
from typing import Any

from trinity.config.pool import Pool
from trinity.llm.store.tables import dollars, table
from trinity.plan.estimate import Estimate, Plan
from trinity.plan.rates import Amounts, Range

UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def as_text(plan: Plan, pool: Pool) -> str:
    """A table with a row a stage and task, the total, and what it rests on."""
    real = pool.kind == "litellm"
    head = ["stage", "task", "requests", "calls to make"]
    head += ["prompt tokens", "completion tokens", "US dollars", "time"] if real else []
    rows = [_row(estimate, real) for estimate in [*plan.stages(), plan.total()]]
    lines = [
        "requests: that differ in a stage; calls to make: those of them that neither the store nor an earlier stage "
        "answers",
        *plan.notes(),
        *budget_lines(plan, pool),
    ]
    return "\n".join([table(head, rows, labels=2), "", *lines])


def as_dict(plan: Plan, pool: Pool) -> dict[str, Any]:
    """For JSON: numbers are pairs low, high. `usd` is of calls with a known price, `unpriced` counts the others."""
    usd_left, calls_left = left(plan, pool)
    return {
        "pool": pool.kind,
        "responses": pool.responses,
        "paid": plan.paid,
        "stages": [_described(estimate, pool) for estimate in plan.stages()],
        "total": _described(plan.total(), pool),
        "store": {"replies": plan.stored.replies, "usd": plan.stored.usd, "calls": plan.stored.calls},
        "budget": {"usd": pool.budget_usd, "usd_left": usd_left, "calls": pool.budget_calls, "calls_left": calls_left},
        "unpriced": plan.rates.unpriced if pool.kind == "litellm" else [],
        "notes": plan.notes(),
    }


def left(plan: Plan, pool: Pool) -> tuple[float | None, int | None]:
    """What is left of pool.budget_usd and pool.budget_calls; None: no limit."""
    return (
        None if pool.budget_usd is None else max(0.0, pool.budget_usd - plan.stored.usd),
        None if pool.budget_calls is None else max(0, pool.budget_calls - plan.stored.calls),
    )


def budget_lines(plan: Plan, pool: Pool) -> list[str]:
    """What may be spent, and agents that no budget in dollars can be kept for."""
    if not plan.paid:
        return []
    usd, calls = left(plan, pool)
    limits = []
    if usd is not None:
        limits.append(f"{dollars(usd)} of pool.budget_usd ({dollars(pool.budget_usd or 0)})")
    if calls is not None:
        limits.append(f"{calls:,} of pool.budget_calls ({pool.budget_calls:,})")
    lines = [f"left: {' and '.join(limits)}" if limits else "no limit is set: pool.budget_usd, pool.budget_calls"]
    if usd is not None and plan.rates.unpriced:
        lines.append(
            f"missing price of {', '.join(plan.rates.unpriced)}: pool.budget_usd needs one: set pool.agents: price "
            "(US dollars per million tokens of input and output), or budget_usd: null"
        )
    return lines


def sentence(estimate: Estimate) -> str:
    """An estimate in one line."""
    amounts = estimate.amounts
    name = f"{estimate.stage}, {estimate.task}"
    tokens = amounts.prompt_tokens + amounts.completion_tokens
    return (
        f"{name}: {spread(amounts.calls)} calls to make, {spread(tokens)} tokens, "
        f"{_price(amounts).replace('unknown', 'price unknown')}, {_time(estimate.seconds)}"
    )


def spread(value: Range) -> str:
    """Both ends, or one where they read the same."""
    low, high = _number(value.low), _number(value.high)
    return low if low == high else f"{low} to {high}"


def _row(estimate: Estimate, real: bool) -> list[str]:
    amounts = estimate.amounts
    row = [estimate.stage, estimate.task, spread(estimate.requests), spread(amounts.calls)]
    if not real:
        return row
    return [
        *row, spread(amounts.prompt_tokens), spread(amounts.completion_tokens), _price(amounts),
        _time(estimate.seconds),
    ]  # fmt: skip


def _described(estimate: Estimate, pool: Pool) -> dict[str, Any]:
    real = pool.kind == "litellm"
    amounts = asdict(estimate.amounts)
    names = ("calls", *(("prompt_tokens", "completion_tokens", "usd", "unpriced") if real else ()))
    described = {"requests": asdict(estimate.requests)} | {name: amounts[name] for name in names}
    if real:
        described["seconds"] = asdict(estimate.seconds)
    return {"stage": estimate.stage, "task": estimate.task or None, **described}


def _number(value: float) -> str:
    if value >= 9.995e6:
        return f"{value / 1e6:,.0f}M"
    return f"{value / 1e6:.1f}M" if value >= 1e6 else f"{value:,.0f}"


def _price(amounts: Amounts) -> str:
    return dollars(amounts.usd.low, amounts.usd.high, unpriced=amounts.unpriced.high > 0)


def _time(value: Range) -> str:
    low, high = _duration(value.low), _duration(value.high)
    return low if low == high else f"{low} to {high}"


def _duration(seconds: float) -> str:
    for size, unit in UNITS:
        if seconds >= 1.5 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"
