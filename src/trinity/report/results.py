"""From the episodes of a task to what the report says of each system."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trinity.config import Config
from trinity.errors import DataError
from trinity.report.inputs import METHODS, Evaluation
from trinity.report.statistics import (
    Estimate,
    Values,
    best_of_each,
    cross_fitted_best,
    difference,
    estimate,
    resampled_means,
)

METHOD_LABELS = {"cma": "sep-CMA-ES", "rs": "random search", "reinforce": "REINFORCE", "sft": "SFT"}


@dataclass(frozen=True)
class SystemResult:
    """One system on the test items of one task.

    Attributes:
        label: For people.
        accuracy: Mean reward; None where only an exact value exists.
        versus_best_single: Accuracy minus the best single agent's, paired by item.
        versus_best_single5x: The same against the best single agent at the matched budget of tokens.
        error_reduction: (Z - S) / (1 - S), S the best single agent's accuracy (spec section 6.3); None at S = 1.
        exact: Expected reward by the simulated pool's numbers, mean over training seeds.
        gap_recovered: (exact - best single) / (best policy - best single), of exact values.
        output_tokens: Written by the pool, mean an episode.
        prompt_tokens: Read by the pool, mean an episode.
        turns: Mean an episode.
        accepted: Share of episodes that a Verifier's ACCEPT ended.
        cut: Replies cut at max_tokens, mean an episode.
        training_spread: Standard deviation between training seeds, where there are several.
        evaluation_spread: Standard deviation between evaluation seeds, where there are several.
    """

    label: str
    accuracy: Estimate | None = None
    versus_best_single: Estimate | None = None
    versus_best_single5x: Estimate | None = None
    error_reduction: float | None = None
    exact: float | None = None
    gap_recovered: float | None = None
    output_tokens: float | None = None
    prompt_tokens: float | None = None
    turns: float | None = None
    accepted: float | None = None
    cut: float | None = None
    training_spread: float | None = None
    evaluation_spread: float | None = None


@dataclass(frozen=True)
class TaskResult:
    """Everything that the report says of one task's test items.

    Attributes:
        evaluation: The episodes behind it.
        systems: By stable name, in the order of the tables. Beside the evaluated ones: best_single and best_single5x
            (the agent that was best on training items), best_single_on_test (chosen in hindsight), best_domain_agent,
            per_question_best, per_question_best_crossfitted, best_static and best_policy (exact values only).
        best_on_test: The agent that was best on the test items.
        seeds_coincide: Why all evaluation seeds see the same replies; None if they do not.
    """

    evaluation: Evaluation
    systems: Mapping[str, SystemResult]
    best_on_test: str
    seeds_coincide: str | None

    @property
    def task(self) -> str:
        """Name of the task."""
        return self.evaluation.summary.task

    @property
    def simulated(self) -> bool:
        """Whether the figures come from the simulated pool."""
        return self.evaluation.summary.simulated


def analyse(evaluation: Evaluation, config: Config) -> TaskResult:
    """Estimates, intervals and derived systems of one task.

    Raises:
        DataError: the evaluation was made with another kind of pool than params.yaml names.
    """
    summary = evaluation.summary
    if summary.simulated != config.simulated:
        kind = "simulated" if summary.simulated else "real"
        raise DataError(
            f"{summary.task}: evaluated with a {kind} pool, but pool.kind is {config.pool.kind}: `dvc repro`"
        )
    cubes = {system: evaluation.rewards(system) for system in evaluation.systems}
    singles = np.stack([cubes[f"single_{agent}"][0] for agent in summary.agents])
    best_on_test = summary.agents[int(singles.mean(axis=(1, 2)).argmax())]
    values = {system: cube.mean(axis=1) for system, cube in cubes.items()}
    values["best_domain_agent"] = _by_domain(singles, evaluation)
    values["per_question_best"] = best_of_each(singles)
    crossfitted = cross_fitted_best(singles)
    if crossfitted is not None:
        values["per_question_best_crossfitted"] = crossfitted
    aliases = {
        "best_single": f"single_{summary.best_single}",
        "best_single5x": f"single5x_{summary.best_single}",
        "best_single_on_test": f"single_{best_on_test}",
    }
    resampled = resampled_means(values, config.report.bootstrap, config.report.seed, summary.task)
    measured = {system: (values[system], resampled[system]) for system in values}

    results: dict[str, SystemResult] = {}
    for name, label in labels(evaluation, config.eval.single_factor, best_on_test).items():
        system = aliases.get(name, name)
        result = SystemResult(label, exact=_exact(evaluation, name))
        if system in measured:
            result = _with_estimates(result, measured, system, aliases, config.report.level)
        if system in cubes:
            result = _with_costs(result, evaluation, system, cubes[system])
        if result.accuracy is not None or result.exact is not None:
            results[name] = result
    return TaskResult(evaluation, _with_gaps(results), best_on_test, _why_seeds_coincide(config))


def labels(evaluation: Evaluation, factor: int, best_on_test: str) -> dict[str, str]:
    """Every system that a report may name, in the order of its tables, with its label."""
    agents, best = evaluation.summary.agents, evaluation.summary.best_single
    router = "random agent and role" if len(evaluation.summary.roles) > 1 else "random agent"
    return {
        **{f"trinity_{method}": f"TRINITY, {METHOD_LABELS[method]}" for method in METHODS},
        "random": router,
        "best_single": f"best single on training items: {best}",
        "best_single5x": f"the same at {factor}x tokens",
        "best_single_on_test": f"best single on test, in hindsight: {best_on_test}",
        **{f"single_{agent}": agent for agent in agents},
        **{f"single5x_{agent}": f"{agent} at {factor}x tokens" for agent in agents},
        "best_domain_agent": "best agent a domain, chosen on training items",
        "per_question_best": "per-question best (biased upward)",
        "per_question_best_crossfitted": "per-question best, cross-fitted",
        "best_static": "best static sequence",
        "best_policy": "best policy",
    }


def _by_domain(singles: NDArray[np.float64], evaluation: Evaluation) -> Values:
    """Each item answered by the agent of its domain, [1, items], mean over evaluation seeds."""
    agents, chosen = evaluation.summary.agents, evaluation.summary.best_by_domain
    rows = [agents.index(chosen.get(domain, evaluation.summary.best_single)) for domain in evaluation.domains]
    return np.asarray(singles.mean(axis=1)[rows, np.arange(len(rows))][None])


def _exact(evaluation: Evaluation, name: str) -> float | None:
    value = (evaluation.summary.exact or {}).get(name)
    if isinstance(value, Mapping):
        return float(np.mean(list(value.values())))
    return value


def _with_estimates(
    result: SystemResult,
    measured: Mapping[str, tuple[Values, Values]],
    system: str,
    aliases: Mapping[str, str],
    level: float,
) -> SystemResult:
    def minus(reference: str) -> Estimate | None:
        other = aliases[reference]
        known = other in measured and system != other
        return difference(measured[system], measured[other], level) if known else None

    score, best = (float(measured[name][0].mean()) for name in (system, aliases["best_single"]))
    return replace(
        result,
        accuracy=estimate(*measured[system], level),
        versus_best_single=minus("best_single"),
        versus_best_single5x=minus("best_single5x"),
        error_reduction=None if best == 1 else (score - best) / (1 - best),
    )


def _with_costs(result: SystemResult, evaluation: Evaluation, system: str, cube: NDArray[np.float64]) -> SystemResult:
    means = evaluation.rows(system)[["completion_tokens", "prompt_tokens", "turns", "accepted", "cut"]].mean()
    return replace(
        result,
        output_tokens=float(means["completion_tokens"]),
        prompt_tokens=float(means["prompt_tokens"]),
        turns=float(means["turns"]),
        accepted=float(means["accepted"]),
        cut=float(means["cut"]),
        training_spread=float(cube.mean(axis=(1, 2)).std(ddof=1)) if cube.shape[0] > 1 else None,
        evaluation_spread=float(cube.mean(axis=(0, 2)).std(ddof=1)) if cube.shape[1] > 1 else None,
    )


def _with_gaps(results: Mapping[str, SystemResult]) -> dict[str, SystemResult]:
    low, high = (results[name].exact if name in results else None for name in ("best_single", "best_policy"))
    if low is None or high is None or high <= low:
        return dict(results)
    return {
        name: replace(result, gap_recovered=(result.exact - low) / (high - low))
        if name.startswith("trinity_") and result.exact is not None
        else result
        for name, result in results.items()
    }


def _why_seeds_coincide(config: Config) -> str | None:
    if len(config.eval.seeds) == 1:
        return None
    if config.pool.kind == "recorded":
        return "the table holds one recorded outcome a question and model, so the evaluation seeds coincide"
    if config.pool.kind == "litellm" and config.episode.temperature == 0:
        return "the pool answers at temperature 0, so the evaluation seeds coincide as far as the pool is deterministic"
    return None
