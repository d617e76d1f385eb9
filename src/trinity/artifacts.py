"""What training leaves in models/TASK/METHOD/: a coordinator a seed, and what it cost."""

import json
from pathlib import Path
from typing import Any

MODELS = Path("models")


def method_directory(task: str, method: str) -> Path:
    """Where the coordinators of a task and method stand."""
    return MODELS / task / method


def seed_directory(task: str, method: str, seed: int) -> Path:
    """Where the coordinator of one training seed stands."""
    return method_directory(task, method) / f"seed_{seed}"


def training_budget(task: str, method: str) -> dict[str, int]:
    """Episodes that a method's trainings used, summed over seeds, by kind."""
    by_seed = json.loads((method_directory(task, method) / "training.json").read_text(encoding="utf-8"))
    kinds = ("training_episodes", "validation_episodes")
    return {kind: sum(run[kind] for run in by_seed.values()) for kind in kinds}


def write_json(path: Path, value: Any) -> None:
    """Writes sorted, indented JSON, numbers rounded to six digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(value), indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return value
