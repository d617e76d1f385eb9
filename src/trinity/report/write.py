"""Reads what the stages before left, and writes the report."""

from pathlib import Path

from trinity.config import Config
from trinity.report import figures
from trinity.report.canvas import save, style
from trinity.report.checks import read_headroom, read_ladder
from trinity.report.document import Material, document
from trinity.report.headline import headline
from trinity.report.histories import read_history
from trinity.report.inputs import read_evaluation
from trinity.report.metrics import metrics_json
from trinity.report.results import analyse
from trinity.report.training import methods_of


def gather(config: Config, root: Path) -> Material:
    """Reads the evaluation, histories, headroom and ladder of the tasks that params.yaml names, and analyses them.

    Raises:
        DataError: a file is absent or malformed; names file and row.
    """
    reports = root / "reports"
    evaluations = {task: read_evaluation(root / "data" / "evaluation" / task) for task in config.tasks}
    methods = methods_of(config.baselines.methods)
    return Material(
        config=config,
        results=[analyse(evaluation, config) for evaluation in evaluations.values()],
        histories={
            task: [read_history(reports / "history" / task / f"{method}.csv", method) for method in methods]
            for task in config.tasks
        },
        ladder=read_ladder(reports / "smoke.json"),
        headrooms={task: read_headroom(reports / "headroom" / f"{task}.json") for task in config.tasks},
    )


def read_headline(config: Config, root: Path = Path()) -> str:
    """The headline of what was evaluated last, for the terminal; writes nothing.

    Raises:
        DataError: what evaluation should have left is absent or malformed.
    """
    results = [analyse(read_evaluation(root / "data" / "evaluation" / task), config) for task in config.tasks]
    return headline(results, config.report.level)


def write_report(config: Config, root: Path = Path()) -> str:
    """Writes reports/metrics.json, reports/report.md and reports/figures/*.png under the root.

    Returns:
        The headline, for the terminal.

    Raises:
        DataError: what an earlier stage should have left is absent or malformed.
    """
    material = gather(config, root)
    level, results = config.report.level, material.results
    with style():
        folder = root / "reports" / "figures"
        save(figures.learning_curves(results, material.histories), folder / "learning_curves.png")
        save(figures.systems(results, level), folder / "systems.png")
        save(figures.shares(results), folder / "shares.png")
    (root / "reports" / "metrics.json").write_text(metrics_json(results), encoding="utf-8")
    (root / "reports" / "report.md").write_text(document(material), encoding="utf-8")
    return headline(results, level)
