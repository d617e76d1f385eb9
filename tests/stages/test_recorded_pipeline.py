"""Every stage on a table of recorded outcomes, with singular-value scales: no preset may break unseen."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from trinity.presets import preset_text

ROOT = Path(__file__).parents[2]
KINDS = ("sum", "city")


def parameters() -> dict[str, Any]:
    """Preset `recorded` on the demo's encoder, small."""
    raw: dict[str, Any] = yaml.safe_load(preset_text("recorded"))
    raw["tasks"], raw["data"]["outcomes"] = ["toy"], {"toy": {"path": "data/outcomes/toy.jsonl", "kinds": None}}
    raw["slm"] = yaml.safe_load(preset_text("demo"))["slm"]
    raw["svf"]["enabled"] = True
    raw["pool"]["agents"] = [{"name": "adder"}, {"name": "guide"}]
    raw["optim"] |= {"m": 12, "iterations": 4, "validate_every": 2, "seeds": [0], "population": 8}
    raw["baselines"]["methods"] = []
    raw["report"]["bootstrap"] = 100
    return raw


def table() -> str:
    """Each agent is right on its own kind of question."""
    rows = []
    for number in range(160):
        kind = KINDS[number % 2]
        question = (
            f"What is {number} plus {3 * number}?" if kind == "sum" else f"Which city lies at kilometre {number}?"
        )
        scores = {"adder": float(kind == "sum"), "guide": float(kind == "city")}
        rows.append(json.dumps({"id": f"q{number}", "task": kind, "question": question, "scores": scores}))
    return "\n".join(rows) + "\n"


def test_all_stages_run_and_the_agents_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    (tmp_path / "data" / "outcomes").mkdir(parents=True)
    (tmp_path / "data" / "outcomes" / "toy.jsonl").write_text(table(), encoding="utf-8")
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(parameters()), encoding="utf-8")
    for script, *arguments in (
        ("split.py", "--task", "toy"), ("smoke.py",), ("headroom.py", "--task", "toy"),
        ("train.py", "--task", "toy", "--method", "cma"), ("evaluate.py", "--task", "toy"), ("report.py",),
    ):  # fmt: skip
        command = [sys.executable, str(ROOT / "stages" / script), *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (script, done.stderr[-2000:])
    ladder = json.loads((tmp_path / "reports" / "smoke.json").read_text())["rungs"]
    assert all(rung["passed"] for rung in ladder)
    metrics = json.loads((tmp_path / "reports" / "metrics.json").read_text())["toy"]
    assert metrics["trinity_cma"]["accuracy"] > metrics["best_single"]["accuracy"]
