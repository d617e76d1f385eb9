import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fabricated
import pytest
from fabricated import Row

from trinity.errors import DataError
from trinity.report.checks import flattened, read_ladder
from trinity.report.histories import read_history
from trinity.report.inputs import Evaluation, read_evaluation

ROLES = ("thinker", "worker", "verifier")


def rows() -> list[Row]:
    return fabricated.episodes("demo", 4, True, (0, 1), ROLES)


def read(folder: Path, episodes: list[Row], **changes: Any) -> Evaluation:
    fabricated.write_csv(folder / "demo" / "episodes.csv", episodes)
    summary = fabricated.summary("demo", 4, True, (0, 1), ROLES) | changes
    fabricated.write_json(folder / "demo" / "summary.json", summary)
    return read_evaluation(folder / "demo")


def test_rewards_are_found_whatever_the_order_of_rows(tmp_path: Path) -> None:
    written = rows()
    evaluation = read(tmp_path, written)
    backwards = read(tmp_path / "backwards", written[::-1])
    rewards = evaluation.rewards("trinity_cma")
    assert rewards.shape == (2, 3, 4)
    for row in written:
        if row["system"] == "trinity_cma":
            place = (row["training_seed"], row["eval_seed"], evaluation.items.index(row["item"]))
            assert rewards[place] == row["reward"]
    assert (rewards == backwards.rewards("trinity_cma")).all()
    assert backwards.domains == evaluation.domains == ("equations", "areas", "calendar", "equations")


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("system", "single_oak", "system must be one of random, single5x_atlas"),
        ("training_seed", "7", r"training_seed must be one of \[0, 1\] \(summary.json\) if trained, else -1, got '7'"),
        ("training_seed", "-1", r"training_seed must be one of .* if trained, else -1"),
        ("training_seed", "zero", "training_seed must be a whole number, got 'zero'"),
        ("eval_seed", "9", r"eval_seed must be one of \[0, 1, 2\]"),
        ("reward", "1.5", "reward must be from 0 to 1, got '1.5'"),
        ("reward", "nan", "reward must be a number, got 'nan'"),
        ("reward", "", "reward must be a number, got ''"),
        ("turns", "0", "turns must be 1 or more"),
        ("agents", "3", "agents must hold one of 0, 1, 2 a turn, joined by >, got '3'"),
        ("agents", "0>1>2>0>1", "agents must hold one of"),
        ("roles", "X", "roles must hold one of T, V, W a turn"),
        ("accepted", "yes", "accepted must be 0 or 1, got 'yes'"),
        ("cut", "-1", "cut must be 0 or more"),
        ("completion_tokens", "1.5", "completion_tokens must be a whole number"),
        ("item", "item-001", "item is there twice for its system and seeds"),
        ("domain", "elsewhere", "domain must be the same for all rows of an item"),
    ],
)
def test_a_bad_cell_is_one_line_naming_file_and_row(tmp_path: Path, column: str, value: str, told: str) -> None:
    written = rows()
    written[2][column] = value
    row = 4 if column != "domain" else r"\d+"
    with pytest.raises(DataError, match=rf"^\S*episodes\.csv: row {row}: {told}[^\n]*$"):
        read(tmp_path, written)


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        (lambda row: row["system"] != "single_birch", "no row of single_birch"),
        (lambda row: row["system"] != "single5x_birch", "no row of single5x_birch"),
        (lambda row: row["item"] != "item-003", "3 items, but n_test is 4"),
        (
            lambda row: (row["system"], row["item"], row["eval_seed"]) != ("random", "item-002", 1),
            "random, training seed -1: 11 of 12 rows",
        ),
    ],
)
def test_rows_that_are_absent_are_missed(tmp_path: Path, keep: Callable[[Row], bool], told: str) -> None:
    with pytest.raises(DataError, match=told):
        read(tmp_path, [row for row in rows() if keep(row)])


def test_a_whole_training_seed_that_is_absent_is_missed(tmp_path: Path) -> None:
    kept = [row for row in rows() if (row["system"], row["training_seed"]) != ("trinity_cma", 1)]
    with pytest.raises(DataError, match="trinity_cma: no row of training seed 1"):
        read(tmp_path, kept)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("simulated", "yes", "simulated: must be true or false, got 'yes'"),
        ("n_train", -1, "n_train: must be a whole number, 0 or more"),
        ("agents", [], "agents: must be a non-empty list"),
        ("roles", ["boss"], "roles: must be from thinker, worker, verifier"),
        ("best_single", "oak", "best_single: must be one of atlas, birch, cedar"),
        ("eval_seeds", [0, 0], "eval_seeds: must be a non-empty list of whole numbers, each once"),
        ("budget", {"trinity_cma": 3}, "budget: must be"),
        ("exact", {"best_policy": 1.2}, "exact: must be null"),
        ("task", "other", "task: must be demo"),
        ("colour", "red", "exactly the keys"),
    ],
)
def test_a_bad_summary_is_one_line_naming_file_and_key(tmp_path: Path, key: str, value: Any, told: str) -> None:
    with pytest.raises(DataError, match=rf"^\S*summary\.json: {told}|summary\.json: must be an object with {told}"):
        read(tmp_path, rows(), **{key: value})


def test_absent_and_torn_files_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"summary\.json: not found: run `dvc repro`"):
        read_evaluation(tmp_path)
    (tmp_path / "summary.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"summary\.json: is not JSON"):
        read_evaluation(tmp_path)
    (tmp_path / "cma.csv").write_text("seed,iteration\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"cma\.csv: no column episodes, J_mean"):
        read_history(tmp_path / "cma.csv", "cma")


def test_a_history_may_leave_blank_what_was_not_measured_and_nothing_else(tmp_path: Path) -> None:
    written = fabricated.history("demo", "rs", (0, 1))
    fabricated.write_csv(tmp_path / "rs.csv", written)
    history = read_history(tmp_path / "rs.csv", "rs")
    assert history.seeds == (0, 1)
    best = [max(r["J_valid"] for r in written if r["seed"] == seed and r["J_valid"] != "") for seed in (0, 1)]
    assert history.best_valid() == pytest.approx(sum(best) / 2)
    written[3]["J_mean"] = ""
    fabricated.write_csv(tmp_path / "rs.csv", written)
    with pytest.raises(DataError, match=r"rs\.csv: row 5: J_mean must be a number, got ''"):
        read_history(tmp_path / "rs.csv", "rs")


def test_sft_takes_the_rate_that_validated_best_and_passes_over_blanks(tmp_path: Path) -> None:
    written: list[Row] = [
        {"seed": 0, "lr": 0.001, "epoch": 1, "loss": 0.9, "J_valid": 0.7},
        {"seed": 0, "lr": 0.1, "epoch": 1, "loss": 0.8, "J_valid": 0.7},
        {"seed": 0, "lr": 0.5, "epoch": 1, "loss": 0.7, "J_valid": 0.6},
        {"seed": 0, "lr": 0.5, "epoch": 2, "loss": 0.7, "J_valid": ""},
    ]
    fabricated.write_csv(tmp_path / "sft.csv", written)
    chosen = read_history(tmp_path / "sft.csv", "sft").chosen(0)
    assert chosen is not None
    assert chosen["lr"] == 0.1


def test_the_ladder_and_headroom_are_printed_by_dotted_name(tmp_path: Path) -> None:
    tree = {"oracle": {"value": 0.91234, "low": 0.9, "high": 0.92}, "cost": {"calls": 3, "free": True}, "seeds": [0, 1]}
    assert flattened(tree) == (
        ("oracle", "0.9123 [0.9, 0.92]"),
        ("cost.calls", "3"),
        ("cost.free", "yes"),
        ("seeds", "0, 1"),
    )
    (tmp_path / "smoke.json").write_text(json.dumps({"rungs": [{"name": "S1"}], "simulated": True}), encoding="utf-8")
    with pytest.raises(DataError, match=r"smoke\.json: needs simulated and rungs"):
        read_ladder(tmp_path / "smoke.json")
