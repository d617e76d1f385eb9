import json
import subprocess
import sys
from pathlib import Path

import pytest

from trinity import bench

ROOT = Path(__file__).parents[1]


def test_the_sandbox_keeps_up_with_a_bare_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(bench, "ROUNDS", 3)
    measured = bench.sandbox(40, 8)
    assert set(measured) == {"level", "workers", "runs_per_s", "bare_runs_per_s", "ratio"}
    assert measured["level"] in {"bwrap", "landlock"}
    assert measured["ratio"] == pytest.approx(measured["runs_per_s"] / measured["bare_runs_per_s"], abs=0.02)
    assert measured["ratio"] > 0.5  # about 2 on a quiet machine


@pytest.mark.slow
def test_a_hundred_small_runs_a_second() -> None:
    command = [sys.executable, "-m", "trinity.cli", "bench", "sandbox", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    assert measured["level"] != "bwrap" or measured["runs_per_s"] >= 100
