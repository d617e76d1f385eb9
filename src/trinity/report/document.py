"""reports/report.md: the headline first, then everything behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trinity.config import Config
from trinity.report.checks import Ladder
from trinity.report.choices import graded_by_domain
from trinity.report.headline import headline_table, verdict
from trinity.report.histories import History
from trinity.report.replies import replies_section
from trinity.report.results import TaskResult
from trinity.report.tables import Table, change, count, interval, marked, percent, share, signed, tenth
from trinity.report.training import budget_table, curves_table, optimisers_table, splits_table, tokens_table

SIMULATION = """\
> **Simulated.** No language model answered: the agents' replies are drawn from the skills in params.yaml, so the
> accuracies say nothing of real models. Real are the encoder's states, the coordinator, its training, the grading of
> the replies' text (code is executed) and the statistics. An exact value is the expected reward on the same test
> items, computed from the same skills."""

STATISTICS = """\
Accuracy is the mean reward over test items, training seeds and evaluation seeds. Intervals: {level:.0%}, percentile
bootstrap over items ({draws} draws), the same items for every system, so that differences are paired; training seeds
are drawn too where there are several. The best single agent was chosen on training items; the best on test, chosen in
hindsight, is flattered. Error reduction is (Z - S) / (1 - S), S the best single's accuracy. Per-question best takes the
luckiest agent for every question and repeat, and is biased upward; cross-fitted, it chooses on the other repeats.
Accepted: episodes that a Verifier ended; cut: replies stopped at max_tokens, a mean an episode; sd: standard deviation
of the accuracy between seeds."""

COINCIDE = "Note: {why}, and add no information."
NOT_CROSS_FITTED = "Note: no two evaluation seeds differ on {tasks}, so there is no cross-fitted value."
NO_INTERVAL = """\
Note: on {tasks} a system has no interval: with one item, or with items that all scored alike, resampling shows no
spread. That is no certainty."""


@dataclass(frozen=True)
class Material:
    """All that the report is written from."""

    config: Config
    results: Sequence[TaskResult]
    histories: Mapping[str, Sequence[History]]
    ladder: Ladder
    headrooms: Mapping[str, Sequence[tuple[str, str]]]

    @property
    def simulated(self) -> bool:
        """Whether any figure comes from the simulated pool."""
        return any(result.simulated for result in self.results)


def document(material: Material) -> str:
    """The whole report as Markdown, figures linked under figures/."""
    results, simulated = material.results, material.simulated
    sections = [
        f"# {marked('TRINITY: report', simulated)}",
        _what_is_simulated(material),
        f"## {marked('Held-out results', simulated)}",
        *(_headline(result, material.config.report.level) for result in results),
        _picture("systems", "held-out accuracy of every system with intervals", simulated),
        f"## {marked('All systems', simulated)}",
        _how_to_read(material),
        *(_systems_table(result).markdown() for result in results),
        f"## {marked('Optimisers', simulated)}",
        "The paper's figures are of a pool of seven and of its own benchmarks: compare the order, not the level.",
        optimisers_table(results).markdown(),
        f"## {marked('Tokens', simulated)}",
        tokens_table(results).markdown(),
        *replies_section(results, material.config.eval.single_factor),
        f"## {marked('Learning curves', simulated)}",
        "Scores on training and validation items: they show that training works, not how good the result is.",
        _picture("learning_curves", "training and validation reward by episodes", simulated),
        *(curves_table(result, material.histories[result.task]).markdown() for result in results),
        f"## {marked('Choices', simulated)}",
        _picture("shares", "shares of agents by domain and turn, and of roles by turn", simulated),
        *(_domains_table(result).markdown() for result in results),
        f"## {marked('Headroom', simulated)}",
        *(_headroom_table(result, material.headrooms[result.task]).markdown() for result in results),
        f"## {marked('Ladder', material.ladder.simulated)}",
        _ladder_table(material.ladder).markdown(),
        f"## {marked('Splits and budget', simulated)}",
        splits_table(results).markdown(),
        budget_table(results).markdown(),
    ]
    return "\n\n".join(sections) + "\n"


def _what_is_simulated(material: Material) -> str:
    summary = material.results[0].evaluation.summary
    with_what = f"Encoder: {summary.encoder}. Pool: {summary.pool}, agents {', '.join(summary.agents)}."
    levels = {result.task: result.evaluation.summary.sandbox for result in material.results}
    ran = [f"{task}: {level}" for task, level in levels.items() if level is not None]
    with_what += f" Grading: {summary.grading}. Sandbox: {', '.join(ran) or 'no code ran'}."
    return f"{with_what}\n\n{SIMULATION if material.simulated else 'No figure here is simulated.'}"


def _how_to_read(material: Material) -> str:
    report, results = material.config.report, material.results
    notes = [STATISTICS.format(level=report.level, draws=report.bootstrap)]
    if results[0].seeds_coincide is not None:
        notes.append(COINCIDE.format(why=results[0].seeds_coincide))
    repeated = [result.task for result in results if "per_question_best_crossfitted" not in result.systems]
    if repeated:
        notes.append(NOT_CROSS_FITTED.format(tasks=", ".join(repeated)))
    flawed = [result.task for result in results if any(s.accuracy and s.accuracy.flaw for s in result.systems.values())]
    if flawed:
        notes.append(NO_INTERVAL.format(tasks=", ".join(flawed)))
    return "\n\n".join(notes)


def _headline(result: TaskResult, level: float) -> str:
    return f"{headline_table(result, level).markdown()}\n\n{verdict(result)}"


def _picture(name: str, what: str, simulated: bool) -> str:
    return f"![{marked(what, simulated)}](figures/{name}.png)"


def _systems_table(result: TaskResult) -> Table:
    header = ["system", "accuracy", "interval", "minus best single", "error reduction", "exact", "gap recovered"]
    header += ["turns", "accepted", "cut replies", "sd, training seeds", "sd, evaluation seeds"]
    rows = []
    for name, system in result.systems.items():
        estimate = system.accuracy
        if name in {"best_single", "best_single5x", "best_single_on_test"}:
            cut = ["", "", "", "", ""]
        else:
            spreads = [share(system.training_spread), share(system.evaluation_spread)]
            cut = [tenth(system.turns), percent(system.accepted), share(system.cut), *spreads]
        rows.append(
            [
                system.label,
                share(None if estimate is None else estimate.value),
                interval(estimate),
                change(system.versus_best_single),
                signed(system.error_reduction),
                share(system.exact),
                percent(system.gap_recovered),
                *cut,
            ]
        )
    return Table(marked(f"{result.task}: all systems", result.simulated), header, rows)


def _domains_table(result: TaskResult) -> Table:
    """Does the choice follow the question? Accuracy by domain, and whose work was graded most often."""
    evaluation = result.evaluation
    agents, of_item = evaluation.summary.agents, np.array(evaluation.domains)
    trained = evaluation.rewards("trinity_cma").mean(axis=(0, 1))
    singles = np.stack([evaluation.rewards(f"single_{agent}").mean(axis=(0, 1)) for agent in agents])
    domains, graded = graded_by_domain(evaluation, "trinity_cma")
    rows = []
    for domain, used in zip(domains, graded.T, strict=True):
        mask = of_item == domain
        by_agent = singles[:, mask].mean(axis=1)
        best, most = int(by_agent.argmax()), int(used.argmax())
        rows.append(
            [
                domain,
                count(float(mask.sum())),
                f"{agents[best]} {share(float(by_agent[best]))}",
                share(float(trained[mask].mean())),
                f"{agents[most]} {percent(float(used[most]))}",
            ]
        )
    caption = marked(f"{result.task}: by domain, held-out items", result.simulated)
    header = ["domain", "items", "best agent here, in hindsight", "TRINITY", "TRINITY's graded answers, most from"]
    return Table(caption, header, rows)


def _headroom_table(result: TaskResult, headroom: Sequence[tuple[str, str]]) -> Table:
    caption = marked(f"{result.task}: headroom before training", result.simulated)
    return Table(caption, ["quantity", "value"], [[name, value] for name, value in headroom], text_columns=2)


def _ladder_table(ladder: Ladder) -> Table:
    rows = [
        [rung.name, "passed" if rung.passed else "FAILED", "; ".join(f"{name} {value}" for name, value in rung.saw)]
        for rung in ladder.rungs
    ]
    return Table(marked("What each rung saw", ladder.simulated), ["rung", "result", "saw"], rows, text_columns=3)
