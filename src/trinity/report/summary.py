"""`summary.json` of an evaluated task, and its reader; its form is described in `trinity.report.inputs`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from trinity.errors import DataError
from trinity.report.reading import read_json
from trinity.types import CAUSES, Role


@dataclass(frozen=True)
class Summary:
    """The keys of summary.json."""

    task: str
    simulated: bool
    pool: str
    encoder: str
    grading: str
    sandbox: str | None
    n_train: int
    n_valid: int
    n_test: int
    agents: tuple[str, ...]
    roles: tuple[str, ...]
    best_single: str
    best_by_domain: Mapping[str, str]
    training_seeds: tuple[int, ...]
    eval_seeds: tuple[int, ...]
    budget: Mapping[str, Mapping[str, int]]
    odd_replies: Mapping[str, Mapping[str, Mapping[str, int]]]
    exact: Mapping[str, float | Mapping[str, float]] | None


def read_summary(path: Path) -> Summary:
    """Reads and checks `summary.json`.

    Raises:
        DataError: absent, or not in the form above; names file and key.
    """
    raw = read_json(path)
    names = [field.name for field in fields(Summary)]
    if not isinstance(raw, dict) or set(raw) != set(names):
        odd = sorted(set(raw) ^ set(names)) if isinstance(raw, dict) else names
        raise DataError(f"{path}: must be an object with exactly the keys {', '.join(names)}; see to {', '.join(odd)}")

    def need(key: str, good: Callable[[Any], bool], what: str) -> None:
        if not good(raw[key]):
            raise DataError(f"{path}: {key}: {what}, got {raw[key]!r}")

    for key in ("task", "pool", "encoder", "grading"):
        need(key, lambda value: isinstance(value, str), "must be text")
    need("sandbox", lambda value: value is None or isinstance(value, str), "must be null or text")
    need("simulated", lambda value: isinstance(value, bool), "must be true or false")
    for key in ("n_train", "n_valid", "n_test"):
        need(key, _is_count, "must be a whole number, 0 or more")
    for key in ("agents", "roles"):
        need(key, lambda value: _is_list(value, str), "must be a non-empty list of names, each once")
    for key in ("training_seeds", "eval_seeds"):
        need(key, lambda value: _is_list(value, int), "must be a non-empty list of whole numbers, each once")
    need("roles", lambda value: set(value) <= set(Role), f"must be from {', '.join(Role)}")
    need("best_single", lambda value: value in raw["agents"], f"must be one of {', '.join(raw['agents'])}")
    need(
        "best_by_domain",
        lambda value: isinstance(value, dict) and bool(value) and set(value.values()) <= set(raw["agents"]),
        f"must be {{domain: one of {', '.join(raw['agents'])}}}",
    )
    need("budget", lambda value: _is_table(value, _is_count), "must be {system: {name: whole number}}")
    need(
        "odd_replies",
        lambda value: _is_odd_replies(value, raw["agents"]),
        f"must be {{system: {{one of the agents: {{one of {', '.join(CAUSES)}: whole number}}}}}}",
    )
    need("exact", _is_exact, "must be null or {name: number from 0 to 1, or {training seed: the same}}")
    listed = {key: tuple(raw[key]) for key in ("agents", "roles", "training_seeds", "eval_seeds")}
    return Summary(**{**raw, **listed})


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_list(value: Any, kind: type) -> bool:
    good = isinstance(value, list) and bool(value) and all(type(part) is kind for part in value)
    return good and len(set(value)) == len(value)


def _is_table(value: Any, cell: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(
        isinstance(row, dict) and all(cell(part) for part in row.values()) for row in value.values()
    )


def _is_odd_replies(value: Any, agents: list[str]) -> bool:
    return isinstance(value, dict) and all(
        _is_table(of_system, _is_count)
        and set(of_system) <= set(agents)
        and set().union(*of_system.values()) <= set(CAUSES)
        for of_system in value.values()
    )


def _is_exact(value: Any) -> bool:
    def is_expected(part: Any) -> bool:
        return _is_share(part) or (isinstance(part, dict) and bool(part) and all(map(_is_share, part.values())))

    return value is None or (isinstance(value, dict) and all(map(is_expected, value.values())))
