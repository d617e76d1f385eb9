"""Fabricated outputs of the stages before the report, in the forms that `trinity.report.inputs` describes."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from trinity.config import Config, parse_config
from trinity.rng import uniform

PARAMS = Path(__file__).parents[2] / "params.yaml"
AGENTS = ("atlas", "birch", "cedar")
DOMAINS = ("equations", "areas", "calendar")
METHODS = ("cma", "rs", "reinforce", "sft")
SKILL = {"cma": 0.85, "rs": 0.65, "reinforce": 0.6, "sft": 0.75}
EVAL_SEEDS = (0, 1, 2)
Row = dict[str, Any]


def config(tasks: Sequence[str], **changes: Mapping[str, Any]) -> Config:
    """The committed params.yaml with other tasks, fewer draws and changed sections."""
    raw = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))
    raw["tasks"] = list(tasks)
    raw["report"]["bootstrap"] = 200
    for section, values in changes.items():
        raw[section].update(values)
    return parse_config(yaml.safe_dump(raw))


def recorded(tasks: Sequence[str]) -> Config:
    """A configuration with a recorded pool."""
    return config(
        tasks,
        pool={"kind": "recorded", "simulated": None},
        episode={"max_turns": 1, "roles": ["worker"]},
        data={"outcomes": {task: {"path": "table.jsonl"} for task in tasks}},
    )


def summary(task: str, items: int, simulated: bool, seeds: Sequence[int], roles: Sequence[str]) -> dict[str, Any]:
    """A summary.json."""
    exact = {
        "best_single": 0.6,
        "best_domain_agent": 0.8,
        "best_static": 0.7,
        "best_policy": 0.9,
        "random": 0.5,
        **{f"trinity_{method}": {str(seed): SKILL[method] for seed in seeds} for method in METHODS},
    }
    return {
        "task": task,
        "simulated": simulated,
        "pool": "simulated" if simulated else "recorded",
        "encoder": "tiny-qwen3",
        "grading": "robust",
        "sandbox": "bwrap" if task == "demo_code" else None,
        "n_train": 4 * items,
        "n_valid": items,
        "n_test": items,
        "agents": list(AGENTS),
        "roles": list(roles),
        "best_single": "birch",
        "best_by_domain": dict(zip(DOMAINS, AGENTS, strict=True)),
        "training_seeds": list(seeds),
        "eval_seeds": list(EVAL_SEEDS),
        "budget": {f"trinity_{method}": {"training_episodes": 12000, "validation_episodes": 900} for method in METHODS},
        "odd_replies": {},
        "exact": exact if simulated else None,
    }


def episodes(task: str, items: int, simulated: bool, seeds: Sequence[int], roles: Sequence[str]) -> list[Row]:
    """Rows of an episodes.csv; outcomes differ between evaluation seeds only where simulated."""
    rows = []
    systems: list[tuple[str, Sequence[int]]] = [(f"trinity_{method}", seeds) for method in METHODS]
    systems += [(f"single_{agent}", [-1]) for agent in AGENTS] + [("random", [-1])]
    if simulated:
        systems += [(f"single5x_{agent}", [-1]) for agent in AGENTS]
    for system, training_seeds in systems:
        for training_seed in training_seeds:
            for eval_seed in EVAL_SEEDS:
                repeat = eval_seed if simulated else 0
                for item in range(items):
                    key = (task, system, training_seed, repeat, item)
                    rows.append(_row(system, training_seed, eval_seed, item, key, roles))
    return rows


def _row(system: str, training_seed: int, eval_seed: int, item: int, key: tuple[Any, ...], roles: Sequence[str]) -> Row:
    name = system.split("_")[1] if "_" in system else system
    specialist = DOMAINS[AGENTS.index(name)] if name in AGENTS else None
    domain = DOMAINS[item % len(DOMAINS)]
    skill = SKILL.get(name, 0.5) if specialist is None else (0.9 if domain == specialist else 0.4)
    turns = 1 if name in AGENTS or len(roles) == 1 else 1 + int(4 * uniform(*key, "turns"))
    agents, letters = [], []
    for turn in range(turns):
        strays = uniform(*key, "stray", turn) < 0.2
        agents.append(str(AGENTS.index(name) if name in AGENTS else 1 if strays else DOMAINS.index(domain)))
        letters.append("W" if turns == 1 or turn == 1 else "TWV"[int(3 * uniform(*key, "role", turn))])
    return {
        "system": system,
        "training_seed": training_seed,
        "eval_seed": eval_seed,
        "item": f"item-{item:03d}",
        "domain": domain,
        "reward": float(uniform(*key, "reward") < skill),
        "turns": turns,
        "agents": ">".join(agents),
        "roles": ">".join(letters),
        "accepted": int(letters[-1] == "V"),
        "prompt_tokens": 200 * turns,
        "completion_tokens": 400 * turns + int(100 * uniform(*key, "length")),
        "cut": int(uniform(*key, "cut") < 0.05),
    }


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Rows of one form under their header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_json(path: Path, value: Any) -> None:
    """Any JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def history(task: str, method: str, seeds: Sequence[int]) -> list[Row]:
    """Rows of a history."""
    if method == "sft":
        return [
            {"seed": seed, "lr": lr, "epoch": epoch, "loss": 1 / epoch, "J_valid": 0.5 + 0.2 * (lr > 0.01)}
            for seed in seeds
            for lr in (1e-6, 1e-3, 1e-1)
            for epoch in (1, 2)
        ]
    rows = []
    for seed in seeds:
        for iteration in range(1, 31):
            gain = (SKILL[method] - 0.5) * (1 - 0.85**iteration)
            mean = 0.5 + gain + 0.06 * (uniform(task, method, seed, iteration) - 0.5)
            rows.append(
                {
                    "seed": seed,
                    "iteration": iteration,
                    "episodes": 400 * iteration,
                    "J_mean": mean,
                    "J_best": mean + 0.1,
                    "J_worst": mean - 0.1,
                    "J_of_mean": mean + 0.02 if method == "cma" else "",
                    "J_valid": mean + 0.01 if iteration % 5 == 0 else "",
                    "sigma": 0.5 if method == "cma" else "",
                    **{f"agent_{agent}": 1 / len(AGENTS) for agent in AGENTS},
                    "turns": 2.5,
                    "divergence": 0.3,
                    "validation_episodes": 0,
                }
            )
    return rows


def write_run(
    root: Path,
    tasks: Sequence[str],
    items: int = 30,
    simulated: bool = True,
    seeds: Sequence[int] = (0,),
    roles: Sequence[str] = ("thinker", "worker", "verifier"),
) -> None:
    """Everything that the report reads, under a root."""
    for task in tasks:
        folder = root / "data" / "evaluation" / task
        write_csv(folder / "episodes.csv", episodes(task, items, simulated, seeds, roles))
        write_json(folder / "summary.json", summary(task, items, simulated, seeds, roles))
        for method in METHODS:
            write_csv(root / "reports" / "history" / task / f"{method}.csv", history(task, method, seeds))
        headroom = {"best_single": {"value": 0.61, "low": 0.55, "high": 0.66}, "oracle": 0.9, "cost": {"calls": 1200}}
        write_json(root / "reports" / "headroom" / f"{task}.json", headroom)
    rungs = [{"name": name, "passed": True, "saw": {"n": 13312}} for name in ("S1", "S2", "S7")]
    write_json(root / "reports" / "smoke.json", {"rungs": rungs, "simulated": simulated})
