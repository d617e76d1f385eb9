"""The figures of the report. Each takes what it shows and returns a matplotlib figure that `canvas.save` writes."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from trinity.report.canvas import BLUE, GREEN, GREY, INK, ORANGE, PALE, PURPLE, RED, SKY, YELLOW, legend, panels
from trinity.report.choices import graded_by_domain, shares_by_turn
from trinity.report.histories import History
from trinity.report.results import METHOD_LABELS, SystemResult, TaskResult
from trinity.report.tables import marked

METHOD_LOOKS = {"cma": (BLUE, "o"), "sft": (ORANGE, "D"), "rs": (GREEN, "s"), "reinforce": (RED, "^")}
AGENT_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW)
ROLE_COLOURS = {"thinker": "#BBCCEE", "worker": "#4477AA", "verifier": "#222255"}
ALIASES = {"best_single", "best_single5x", "best_single_on_test"}  # of systems that have a row of their own
Layer = tuple[NDArray[np.float64], str]
PANEL = 2.7
BAR = 0.72


def learning_curves(results: Sequence[TaskResult], histories: Mapping[str, Sequence[History]]) -> Figure:
    """Training reward by episodes spent, a panel a task: a point a line is one iteration, a marker a validation."""
    title = marked("Learning curves: J by training episodes", _simulated(results))
    figure, axes = panels(len(results), title, [PANEL] * len(results))
    for axis, result in zip(axes, results, strict=True):
        for history in histories[result.task]:
            (_draw_level if history.method == "sft" else _draw_curve)(axis, history)
        axis.set_title(marked(result.task, result.simulated))
        axis.set_xlabel("training episodes, thousands")
        axis.set_ylabel("J (mean reward)")
        axis.set_xlim(left=0)
    methods = [m for m in METHOD_LOOKS if any(h.method == m for task in histories.values() for h in task)]
    legend(figure, [_method_key(method) for method in methods])
    return figure


def _method_key(method: str) -> Line2D:
    colour, marker = METHOD_LOOKS[method]
    if method == "sft":
        return Line2D([], [], color=colour, linestyle="--", label="SFT, best validation J")
    label = (
        f"{METHOD_LABELS[method]} (line: training, marker: validation)" if method == "cma" else METHOD_LABELS[method]
    )
    return Line2D([], [], color=colour, marker=marker, markerfacecolor="white", label=label)


def _draw_curve(axis: Axes, history: History) -> None:
    colour, marker = METHOD_LOOKS[history.method]
    by_iteration = history.table.groupby("iteration")
    episodes = by_iteration["episodes"].mean() / 1000
    mean = by_iteration["J_mean"].mean()
    if len(history.seeds) > 1:
        axis.fill_between(
            episodes, by_iteration["J_mean"].min(), by_iteration["J_mean"].max(), color=colour, alpha=0.15, linewidth=0
        )
    axis.plot(episodes, mean, color=colour, linewidth=1.6, alpha=0.85)
    valid = by_iteration["J_valid"].mean().dropna()
    axis.plot(
        episodes.loc[valid.index],
        valid,
        color=colour,
        linestyle="none",
        marker=marker,
        markersize=5,
        markerfacecolor="white",
    )


def _draw_level(axis: Axes, history: History) -> None:
    best = history.best_valid()
    if best is not None:
        axis.axhline(best, color=METHOD_LOOKS["sft"][0], linestyle="--", linewidth=1.6)


def systems(results: Sequence[TaskResult], level: float) -> Figure:
    """Accuracy of every system on the test items with its interval, a panel a task; diamonds are exact values."""
    labels = {name: system.label for result in results for name, system in result.systems.items()}
    order = [name for name in results[0].systems if name in labels] + [n for n in labels if n not in results[0].systems]
    names = [name for name in order if name not in ALIASES]
    title = marked(f"Held-out accuracy with {level:.0%} intervals", _simulated(results))
    figure, axes = panels(len(results), title, [0.6 + 0.21 * len(names)] * len(results))
    for number, (axis, result) in enumerate(zip(axes, results, strict=True)):
        for row, name in enumerate(names):
            if name in result.systems:
                _draw_system(axis, row, name, result.systems[name])
        best = result.systems["best_single"].accuracy
        if best is not None:
            axis.axvline(best.value, color=GREY, linestyle=":", linewidth=1.2, zorder=1)
        axis.set_yticks(range(len(names)), [labels[name] if number % 2 == 0 else "" for name in names])
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.grid(axis="y", visible=False)
        axis.tick_params(axis="y", length=0)
        _title(axis, result, f"{len(result.evaluation.items)} items")
        axis.set_xlabel("accuracy")
    left = min(axis.get_xlim()[0] for axis in axes)
    for axis in axes:
        axis.set_xlim(max(0, left), 1.02)
    legend(figure, _system_keys(results))
    return figure


def _system_keys(results: Sequence[TaskResult]) -> list[Line2D]:
    keys = [
        Line2D([], [], color=BLUE, marker="o", label="TRINITY"),
        Line2D([], [], color=INK, marker="o", label="single agents, random"),
        Line2D([], [], color=PURPLE, marker="o", label="ceilings"),
        Line2D([], [], color=GREY, linestyle=":", label="best single on training items"),
    ]
    if any(system.exact is not None for result in results for system in result.systems.values()):
        diamond = Line2D([], [], color=INK, marker="D", markerfacecolor="white", linestyle="none", label="exact value")
        keys.append(diamond)
    return keys


def _draw_system(axis: Axes, row: int, name: str, system: SystemResult) -> None:
    colour = INK
    if name.startswith("trinity_"):
        colour = BLUE
    elif name.startswith(("per_question", "best_")):
        colour = PURPLE
    if system.accuracy is not None:
        shown = system.accuracy
        axis.plot([shown.low, shown.high], [row, row], color=colour, linewidth=2, solid_capstyle="round")
        axis.plot(shown.value, row, color=colour, marker="o", markersize=5.5)
    if system.exact is not None:
        axis.plot(system.exact, row, color=colour, marker="D", markersize=5, markerfacecolor="white", zorder=4)


def shares(results: Sequence[TaskResult], system: str = "trinity_cma") -> Figure:
    """What a system chose: whose work was graded by domain, and agents and roles by turn, a row of panels a task."""
    agents, roles = results[0].evaluation.summary.agents, results[0].evaluation.summary.roles
    turns = max(shares_by_turn(result.evaluation, system, "agents").shape[1] for result in results)
    drawn = [_draw_domains, *([_draw_agents] if turns > 1 else []), *([_draw_roles] if len(roles) > 1 else [])]
    heights = [max(1.6, 0.75 + 0.2 * len(set(result.evaluation.domains))) for result in results]
    title = marked("Choices of TRINITY on held-out items", _simulated(results))
    figure, axes = panels(len(drawn) * len(results), title, heights, columns=len(drawn))
    used = sum(shares_by_turn(result.evaluation, system, "agents").sum(axis=1) for result in results)
    # More agents than colours: the most used ones keep their own, the rest share grey.
    own = sorted(int(index) for index in np.argsort(-np.asarray(used), kind="stable")[: len(AGENT_COLOURS)])
    for number, axis in enumerate(axes):
        result = results[number // len(drawn)]
        drawn[number % len(drawn)](axis, result, system, own)
        axis.grid(visible=False)
    keys = [Patch(color=colour, label=agents[index]) for colour, index in zip(AGENT_COLOURS, own, strict=False)]
    keys += [Patch(color=GREY, label="other agents")] if len(agents) > len(own) else []
    keys += [Patch(color=ROLE_COLOURS[role], label=role) for role in ROLE_COLOURS if role in roles and len(roles) > 1]
    keys += [Patch(color=PALE, label="ended, or no Worker")] if turns > 1 else []
    legend(figure, keys)
    return figure


def _draw_domains(axis: Axes, result: TaskResult, system: str, own: Sequence[int]) -> None:
    domains, graded = graded_by_domain(result.evaluation, system)
    base = np.zeros(len(domains))
    for layer, colour in _agent_layers(graded, own):
        axis.barh(domains, layer, BAR, left=base, color=colour, edgecolor="white", linewidth=0.6)
        base = base + layer
    axis.barh(domains, 1 - base, BAR, left=base, color=PALE)
    axis.set_xlim(0, 1)
    axis.invert_yaxis()
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("share of episodes")
    _title(axis, result, "graded answers, by domain")


def _draw_agents(axis: Axes, result: TaskResult, system: str, own: Sequence[int]) -> None:
    _draw_turns(axis, _agent_layers(shares_by_turn(result.evaluation, system, "agents"), own))
    _title(axis, result, "agents by turn")


def _draw_roles(axis: Axes, result: TaskResult, system: str, own: Sequence[int]) -> None:
    colours = [ROLE_COLOURS[role] for role in ROLE_COLOURS if role in result.evaluation.summary.roles]
    layers = shares_by_turn(result.evaluation, system, "roles")
    _draw_turns(axis, list(zip(layers, colours, strict=True)))
    _title(axis, result, "roles by turn")


def _agent_layers(chosen: NDArray[np.float64], own: Sequence[int]) -> list[Layer]:
    layers = [(chosen[index], colour) for index, colour in zip(own, AGENT_COLOURS, strict=False)]
    if len(own) < len(chosen):
        layers.append((chosen.sum(axis=0) - chosen[list(own)].sum(axis=0), GREY))
    return layers


def _draw_turns(axis: Axes, layers: Sequence[Layer]) -> None:
    turns = np.arange(1, len(layers[0][0]) + 1)
    base = np.zeros(len(turns))
    for layer, colour in layers:
        axis.bar(turns, layer, BAR, bottom=base, color=colour, edgecolor="white", linewidth=0.6)
        base = base + layer
    axis.bar(turns, 1 - base, BAR, bottom=base, color=PALE)
    axis.set_xticks(turns)
    axis.set_ylim(0, 1)
    axis.set_xlabel("turn")


def _title(axis: Axes, result: TaskResult, what: str) -> None:
    axis.set_title(f"{marked(result.task, result.simulated)}\n{what}", fontsize=9)


def _simulated(results: Sequence[TaskResult]) -> bool:
    return any(result.simulated for result in results)
