"""What the report says of training: curves as numbers, budgets, and our optimisers beside the paper's."""

from collections.abc import Mapping, Sequence

from trinity.report import paper
from trinity.report.histories import History
from trinity.report.inputs import METHODS
from trinity.report.results import METHOD_LABELS, TaskResult
from trinity.report.tables import Table, count, interval, marked, share

EDGE = 3  # iterations averaged at either end of a curve


def optimisers_table(results: Sequence[TaskResult]) -> Table:
    """Held-out accuracy by optimiser, ours then the paper's Table 4."""
    simulated = any(result.simulated for result in results)
    caption = (
        marked("Optimisers on held-out items, accuracy (interval)", simulated) + "; in the last columns the paper's T4"
    )
    rows = []
    for method in paper.OPTIMISERS:
        cells = [METHOD_LABELS[method]]
        for result in results:
            system = result.systems.get(f"trinity_{method}")
            estimate = None if system is None else system.accuracy
            cells.append("" if estimate is None else f"{share(estimate.value)} ({interval(estimate)})")
        rows.append([*cells, *map(share, paper.OPTIMISERS[method])])
    names = [result.task for result in results]
    return Table(caption, ["optimiser", *names, *(f"paper, {name}" for name in paper.BENCHMARKS)], rows)


def tokens_table(results: Sequence[TaskResult]) -> Table:
    """Mean output tokens an episode by system, then the paper's for TRINITY (Table 9)."""
    simulated = any(result.simulated for result in results)
    names = {name: system.label for result in results for name, system in result.systems.items()}
    rows = []
    for name, label in names.items():
        known = [result.systems.get(name) for result in results]
        cells = [count(None if system is None else system.output_tokens) for system in known]
        if any(cells) and not name.startswith("best_"):
            theirs = map(count, paper.OUTPUT_TOKENS) if name == "trinity_cma" else [""] * len(paper.BENCHMARKS)
            rows.append([label, *cells, *theirs])
    caption = marked("Output tokens an episode, mean", simulated) + "; last columns: the paper's T9"
    header = ["system", *(result.task for result in results), *(f"paper, {name}" for name in paper.BENCHMARKS)]
    return Table(caption, header, rows)


def curves_table(result: TaskResult, histories: Sequence[History]) -> Table:
    """Where the curves of one task begin and end, mean over training seeds."""
    rows = []
    for history in histories:
        label = METHOD_LABELS[history.method]
        if history.method == "sft":
            chosen = [row for row in map(history.chosen, history.seeds) if row is not None]
            rates = ", ".join(f"{row['lr']:g}" for row in chosen)
            rows.append([f"{label} (learning rate chosen: {rates})", "", "", "", "", share(history.best_valid())])
            continue
        runs = [history.of_seed(seed) for seed in history.seeds]
        first = sum(float(run["J_mean"].head(EDGE).mean()) for run in runs) / len(runs)
        last = sum(float(run["J_mean"].tail(EDGE).mean()) for run in runs) / len(runs)
        iterations = "/".join(str(number) for number in sorted({len(run) for run in runs}))
        episodes = max(int(run["episodes"].iloc[-1]) for run in runs)
        rows.append([label, iterations, count(episodes), share(first), share(last), share(history.best_valid())])
    caption = marked(f"{result.task}: training, not held out", result.simulated)
    ends = [f"J, first {EDGE} iterations", f"J, last {EDGE}", "best validation J"]
    return Table(caption, ["method", "iterations", "training episodes", *ends], rows)


def budget_table(results: Sequence[TaskResult]) -> Table:
    """What each trained system was allowed to spend, as counted by training."""
    budgets = [(result.task, name, row) for result in results for name, row in result.evaluation.summary.budget.items()]
    counts = list(dict.fromkeys(key for _, _, row in budgets for key in row))
    rows = [
        [f"{task}: {_label(name)}", *(count(row[key]) if key in row else "" for key in counts)]
        for task, name, row in budgets
    ]
    caption = marked("Budget used", any(result.simulated for result in results))
    return Table(caption, ["task and system", *(key.replace("_", " ") for key in counts)], rows)


def splits_table(results: Sequence[TaskResult]) -> Table:
    """Sizes actually used."""
    rows = []
    for result in results:
        summary = result.evaluation.summary
        domains = len(set(result.evaluation.domains))
        rows.append([result.task, *map(count, (summary.n_train, summary.n_valid, summary.n_test, domains))])
    caption = marked("Items by split, as used", any(result.simulated for result in results))
    return Table(caption, ["task", "train", "valid", "test", "domains in test"], rows)


def methods_of(configured: Mapping[str, object] | Sequence[str]) -> tuple[str, ...]:
    """The methods whose histories must be there: cma, and the baselines that params.yaml names."""
    return tuple(method for method in METHODS if method == "cma" or method in configured)


def _label(system: str) -> str:
    return METHOD_LABELS.get(system.removeprefix("trinity_"), system)
