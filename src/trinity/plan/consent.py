"""What a stage that asks real models says before its first call; above the budget it does not start."""

import sys

from trinity.config import Config
from trinity.errors import BudgetReached
from trinity.llm.store.tables import dollars
from trinity.plan.estimate import Estimate, Plan
from trinity.plan.show import budget_lines, left, sentence


def consent(config: Config, stage: str, task: str | None = None) -> None:
    """Prints a stage's plan on stderr, if its calls may be paid.

    Args:
        config: Of params.yaml.
        stage: smoke, headroom, train METHOD or evaluate.
        task: None for smoke.

    Raises:
        BudgetReached: even the low estimate is above what is left of pool.budget_usd or pool.budget_calls.
        TrinityError: splits or the store cannot be read.
    """
    if config.pool.kind != "litellm" or config.pool.responses == "replay":
        return
    plan = Plan(config)
    estimate = plan.of(stage, task)
    lines = [f"{sentence(estimate)} (`trinity plan` says what this rests on)", *budget_lines(plan, config.pool)]
    usd, calls = left(plan, config.pool)
    amounts = estimate.amounts
    if _above(amounts.usd.low, usd) or _above(amounts.calls.low, calls):
        raise BudgetReached(_refusal(config, estimate, usd, calls))
    if _above(amounts.usd.high, usd) or _above(amounts.calls.high, calls):
        lines.append(
            "the stage may stop at the budget: what was answered is kept; raise the budget and run the same command "
            "again to go on"
        )
    print("\n".join(f"plan: {line}" for line in lines), file=sys.stderr)


def _above(amount: float, limit: float | None) -> bool:
    return limit is not None and amount > limit


def _refusal(config: Config, estimate: Estimate, usd: float | None, calls: int | None) -> str:
    amounts, pool = estimate.amounts, config.pool
    limits = []
    if _above(amounts.usd.low, usd):
        limits.append(f"{dollars(usd or 0)} is left of pool.budget_usd {pool.budget_usd:g}")
    if _above(amounts.calls.low, calls):
        limits.append(f"{calls:,} are left of pool.budget_calls {pool.budget_calls}")
    price = dollars(amounts.usd.low, unpriced=amounts.unpriced.high > 0).replace("unknown", "price unknown")
    least = f"{amounts.calls.low:,.0f} calls ({price})"
    return (
        f"{estimate.stage}, {estimate.task}: not started: it needs at least {least}, and {' and '.join(limits)}: raise "
        "it in params.yaml, or ask for less (`trinity plan` shows every stage), and run the same command again"
    )
