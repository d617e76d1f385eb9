"""The stages one after another on a cut demo, in this process: what each leaves for the next."""

import csv
import json
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trinity.config import Config
from trinity.smoke import coordinator_rungs
from trinity.systems.evaluate import COLUMNS

ROOT = Path(__file__).parents[2]
CHANGES = {
    "tasks": ["demo_choice"],
    "data.n_train": 24,
    "data.n_valid": 6,
    "data.n_test": 9,
    "optim.population": 5,
    "optim.m": 6,
    "optim.iterations": 3,
    "optim.validate_every": 2,
    "optim.seeds": [0, 1],
    "baselines.methods": ["sft"],
    "baselines.sft.epochs": 2,
    "report.bootstrap": 100,
    "eval.seeds": [0, 1],
}


def stage(name: str, *arguments: str) -> None:
    """Runs a stage's script as DVC does, in the working directory."""
    before = sys.argv
    sys.argv = [f"stages/{name}.py", *arguments]
    try:
        runpy.run_path(str(ROOT / "stages" / f"{name}.py"), run_name="__main__")
    finally:
        sys.argv = before


@pytest.fixture(scope="module")
def ran(configure: Callable[..., Config], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which all stages up to evaluation have run."""
    folder = tmp_path_factory.mktemp("pipeline")
    config = configure(CHANGES)
    (folder / "params.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(coordinator_rungs, "S7_SEEDS", 1)
        stage("split", "--task", "demo_choice")
        stage("smoke")
        stage("headroom", "--task", "demo_choice")
        for method in ("cma", "sft"):
            stage("train", "--task", "demo_choice", "--method", method)
        stage("evaluate", "--task", "demo_choice")
        yield folder


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as source:
        return list(csv.DictReader(source))


def test_the_ladder_leaves_what_each_rung_saw(ran: Path) -> None:
    ladder = read(ran / "reports/smoke.json")
    assert ladder["simulated"] is True
    assert [rung["name"] for rung in ladder["rungs"]] == [
        "S1", "S2", "S3", "S4", "S5", "S7", "probe", "gate a", "gate b", "S8",
    ]  # fmt: skip
    assert all(rung["passed"] and rung["saw"] and rung["proves"] for rung in ladder["rungs"])


def test_the_headroom_is_that_of_the_training_items(ran: Path) -> None:
    headroom = read(ran / "reports/headroom/demo_choice.json")
    assert (headroom["items"], headroom["chosen_on"], headroom["simulated"]) == (24, "train", True)
    assert headroom["choice"]["best_single"] in {"atlas", "birch", "cedar"}
    assert set(headroom["choice"]["by_domain"]) == {"calendar", "units", "sequences"}
    assert headroom["cost"]["episodes"] == 5 * 6 * 3 * 2
    for entry in headroom["measured"].values():
        assert entry["low"] <= entry["value"] <= entry["high"]
    assert headroom["exact"]["best_static"] < headroom["exact"]["best_policy"]


def test_a_training_leaves_a_coordinator_a_seed_and_one_history(ran: Path) -> None:
    for method in ("cma", "sft"):
        folder = ran / "models/demo_choice" / method
        assert sorted(path.name for path in folder.iterdir()) == ["seed_0", "seed_1", "training.json"]
        thetas = [(folder / f"seed_{seed}" / "theta.safetensors").read_bytes() for seed in (0, 1)]
        assert thetas[0] != thetas[1]
        assert read(folder / "seed_1" / "layout.json")["seed"] == 1
        training = read(folder / "training.json")
        assert set(training) == {"0", "1"}
        assert set(training["0"]) == {"training_episodes", "validation_episodes", "chosen_at", "validation"}
    assert read(ran / "models/demo_choice/cma/training.json")["0"]["training_episodes"] == 5 * 6 * 3
    history = rows_of(ran / "reports/history/demo_choice/cma.csv")
    assert [(row["seed"], row["iteration"]) for row in history] == [(s, i) for s in "01" for i in "123"]
    sweep = rows_of(ran / "reports/history/demo_choice/sft.csv")
    assert len(sweep) == 2 * 3 * 2
    assert {float(row["lr"]) for row in sweep} == {1e-6, 1e-3, 0.1}


def test_the_evaluation_has_every_system_seed_and_item(ran: Path) -> None:
    rows = rows_of(ran / "data/evaluation/demo_choice/episodes.csv")
    assert tuple(rows[0]) == COLUMNS
    agents = ("atlas", "birch", "cedar")
    trained = [(f"trinity_{method}", seed) for method in ("cma", "sft") for seed in "01"]
    untrained = [f"{kind}_{name}" for kind in ("single", "single5x") for name in agents]
    systems = [*trained, *((name, "-1") for name in (*untrained, "random"))]
    assert list(dict.fromkeys((row["system"], row["training_seed"]) for row in rows)) == systems
    assert len(rows) == len(systems) * 2 * 9
    assert {row["eval_seed"] for row in rows} == {"0", "1"}
    assert {row["reward"] for row in rows} <= {"0", "1"}


def test_the_summary_says_what_the_figures_are_of(ran: Path) -> None:
    summary = read(ran / "data/evaluation/demo_choice/summary.json")
    assert (summary["n_train"], summary["n_valid"], summary["n_test"]) == (24, 6, 9)
    assert (summary["simulated"], summary["pool"], summary["encoder"]) == (True, "simulated", "tiny-qwen3")
    assert summary["best_single"] == read(ran / "reports/headroom/demo_choice.json")["choice"]["best_single"]
    assert summary["budget"]["trinity_cma"] == {
        "training_episodes": 2 * 5 * 6 * 3,
        "validation_episodes": 2 * (3 * 6 + 3 * 6),
    }
    assert set(summary["exact"]["trinity_cma"]) == {"0", "1"}
    assert all(0 <= value <= 1 for value in summary["exact"]["trinity_sft"].values())


def test_a_stage_run_again_writes_the_same_bytes(ran: Path) -> None:
    written = [
        ran / "reports/headroom/demo_choice.json",
        ran / "reports/history/demo_choice/cma.csv",
        ran / "models/demo_choice/cma/seed_1/theta.safetensors",
        ran / "models/demo_choice/cma/training.json",
        ran / "data/evaluation/demo_choice/episodes.csv",
        ran / "data/evaluation/demo_choice/summary.json",
    ]
    before = [path.read_bytes() for path in written]
    for path in written:
        if path.suffix == ".csv":
            path.unlink()
    stage("headroom", "--task", "demo_choice")
    stage("train", "--task", "demo_choice", "--method", "cma")
    stage("evaluate", "--task", "demo_choice")
    assert [path.read_bytes() for path in written] == before


def fails(capsys: pytest.CaptureFixture[str], name: str, *arguments: str) -> str:
    """Standard error of a stage that ends with exit code 1."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        stage(name, *arguments)
    assert end.value.code == 1
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


def test_a_failed_rung_fails_the_stage_by_its_name(
    ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ran / "data/splits", tmp_path / "data/splits")
    text = (ran / "params.yaml").read_text(encoding="utf-8")
    assert "read_position: -2" in text
    (tmp_path / "params.yaml").write_text(text.replace("read_position: -2", "read_position: -1"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(coordinator_rungs, "S7_SEEDS", 1)
    error = fails(capsys, "smoke")
    assert "S1    FAILED" in error
    assert "ladder: S1 (extraction is deterministic and reads the head-input position): the read position" in error
    rungs = {rung["name"]: rung["passed"] for rung in read(tmp_path / "reports/smoke.json")["rungs"]}
    assert rungs["S1"] is False
    assert rungs["S4"] is True


def test_a_minibatch_that_does_not_fit_is_one_line(
    ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ran / "data/splits", tmp_path / "data/splits")
    text = (ran / "params.yaml").read_text(encoding="utf-8")
    assert "  m: 6\n" in text
    (tmp_path / "params.yaml").write_text(text.replace("  m: 6\n", "  m: 25\n"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    error = fails(capsys, "train", "--task", "demo_choice", "--method", "cma")
    assert error.strip().count("\n") == 0
    assert "optim.m" in error
    assert not (tmp_path / "models").exists()


def test_evaluation_without_a_training_says_so(
    ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ran, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy/models/demo_choice/sft/seed_1")
    monkeypatch.chdir(tmp_path / "copy")
    error = fails(capsys, "evaluate", "--task", "demo_choice")
    assert "models/demo_choice/sft/seed_1" in error
    assert "train the coordinator first" in error
