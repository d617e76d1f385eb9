"""reports/metrics.json: flat, stable keys TASK.SYSTEM.METRIC for `dvc metrics diff`."""

import json
from collections.abc import Mapping, Sequence

from trinity.report.results import SystemResult, TaskResult

Metrics = Mapping[str, Mapping[str, bool | Mapping[str, float | int]]]


def metrics(results: Sequence[TaskResult]) -> Metrics:
    """By task and system, what is known of it; a task's `simulated` says which pool its figures come from."""
    return {
        result.task: {
            "simulated": result.simulated,
            **{name: _of_system(system) for name, system in result.systems.items()},
        }
        for result in results
    }


def metrics_json(results: Sequence[TaskResult]) -> str:
    """The file's text: sorted keys, six digits."""
    return json.dumps(metrics(results), indent=2, sort_keys=True) + "\n"


def _of_system(system: SystemResult) -> dict[str, float | int]:
    found: dict[str, float | int | None] = {
        "exact": system.exact,
        "gap_recovered": system.gap_recovered,
        "error_reduction": system.error_reduction,
        "output_tokens": system.output_tokens,
        "prompt_tokens": system.prompt_tokens,
        "turns": system.turns,
        "cut": system.cut,
    }
    if system.accuracy is not None:
        estimate = system.accuracy
        found |= {"accuracy": estimate.value, "low": estimate.low, "high": estimate.high, "n": estimate.n}
    differences = {
        "versus_best_single": system.versus_best_single,
        "versus_best_single5x": system.versus_best_single5x,
    }
    for name, difference in differences.items():
        if difference is not None:
            found |= {name: difference.value, f"{name}_low": difference.low, f"{name}_high": difference.high}
    return {name: rounded(value) for name, value in found.items() if value is not None}


def rounded(value: float | int) -> float | int:
    """Six digits; a count stays one. Rounded in two steps, so that no last bit decides a tie such as 1/128."""
    return value if isinstance(value, int) else round(round(value, 12), 6) + 0.0
