"""The first thing to read: one small table a task, of held-out items only."""

from collections.abc import Sequence

from trinity.report.results import SystemResult, TaskResult
from trinity.report.tables import Table, change, count, interval, marked, percent, share


def headline(results: Sequence[TaskResult], level: float) -> str:
    """The headline for a terminal: a table and what it says, a task."""
    return "\n\n".join(f"{headline_table(result, level).plain()}\n  {verdict(result)}" for result in results)


def headline_table(result: TaskResult, level: float) -> Table:
    """Each agent, random, the best single, sep-CMA-ES, the best agent a domain and the ceiling, on test items.

    The ceiling is the best policy where the pool is simulated (an exact value), else the per-question best.
    """
    summary = result.evaluation.summary
    names = [*(f"single_{agent}" for agent in summary.agents), "random", "best_single", "best_single5x"]
    names += ["trinity_cma", "best_domain_agent"]
    ceilings = ["per_question_best", "per_question_best_crossfitted"]
    if "best_policy" in result.systems:
        ceilings = ["best_policy"]
    rows = [_row(result.systems[name], name == "trinity_cma") for name in names + ceilings if name in result.systems]
    caption = (
        f"{result.task}: {summary.n_test} held-out items; seeds of training {_seeds(summary.training_seeds)},"
        f" of evaluation {_seeds(summary.eval_seeds)}"
    )
    header = ["system", "accuracy", f"{level:.0%} interval", "exact", "output tokens"]
    return Table(marked(caption, result.simulated), header, rows)


def verdict(result: TaskResult) -> str:
    """One sentence: how far sep-CMA-ES is from the best single agent."""
    trained = result.systems["trinity_cma"]
    told = f"TRINITY minus best single: {change(trained.versus_best_single)}"
    if trained.versus_best_single5x is not None:
        told += f"; minus the same at more tokens: {change(trained.versus_best_single5x)}"
    if trained.gap_recovered is not None:
        told += f"; {percent(trained.gap_recovered)} of the gap to the best policy recovered (exact values)"
    return told + "."


def _row(system: SystemResult, trained: bool) -> list[str]:
    label = "TRINITY" if trained else system.label
    value = None if system.accuracy is None else system.accuracy.value
    return [label, share(value), interval(system.accuracy), share(system.exact), count(system.output_tokens)]


def _seeds(seeds: Sequence[int]) -> str:
    return " ".join(map(str, seeds))
