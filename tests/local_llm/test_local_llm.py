"""The whole pipeline on a real small model behind a real server: recorded, then replayed to the same report.

`make test-local-llm` fetches the model and runs this.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from trinity.presets import preset_text

ROOT = Path(__file__).parents[2]
SERVER = Path(__file__).with_name("small_server.py")
MODEL = ROOT / ".trinity" / "local-llm" / "smollm2.gguf"
TASK = "small"
CHANGES = {
    "tasks": [TASK],
    "data.n_train": 12,
    "data.n_valid": 6,
    "data.n_test": 12,
    "episode.max_turns": 2,
    "optim.population": 4,
    "optim.m": 3,
    "optim.iterations": 2,
    "optim.validate_every": 2,
    "optim.seeds": [0],
    "baselines.methods": [],
    "eval.seeds": [0],
    "eval.single_factor": 2,
    "report.bootstrap": 100,
    "run.concurrency": 4,
}

pytestmark = [
    pytest.mark.local_llm,
    pytest.mark.skipif(not MODEL.is_file(), reason="the model is not here: make test-local-llm fetches it"),
]


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Base address of a server that answers."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, str(SERVER), "serve", str(MODEL), str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except OSError:
                assert server.poll() is None, "the server ended while starting"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def parameters(url: str) -> dict[str, Any]:
    """Preset `local` with two agents on one model, which differ in how long they may write."""
    raw: dict[str, Any] = yaml.safe_load(preset_text("local"))
    demo = yaml.safe_load(preset_text("demo"))
    raw["slm"] = demo["slm"]
    own = {"model": "openai/smollm2", "api_base": url, "params": {"extra_body": {"cache_prompt": False}}}
    raw["pool"]["agents"] = [
        {"name": "short", **own, "decoding": {"max_tokens": 12}},
        {"name": "long", **own, "decoding": {"max_tokens": 40}},
    ]
    raw["pool"]["concurrency"] = {}
    for key, value in CHANGES.items():
        *sections, name = key.split(".")
        section = raw
        for part in sections:
            section = section[part]
        section[name] = value
    return raw


def repository(folder: Path, raw: dict[str, Any]) -> None:
    """A fresh repository with the pipeline and these parameters."""
    folder.mkdir()
    for name in ("stages", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("dvc.yaml", ".gitignore", ".dvcignore"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("outcomes", "sources"):
        (folder / "data" / name).mkdir(parents=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    run(folder, "git", "init", "-q")
    run(folder, "dvc", "init", "-q")


def run(folder: Path, *command: str) -> str:
    """What a command prints; fails with its last lines."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "DVC_NO_ANALYTICS": "1"}
    environment.pop("DVC_ROOT", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, (command, done.stdout[-1500:], done.stderr[-3000:])
    return done.stdout


def results(folder: Path) -> dict[str, bytes]:
    """Every file of models/ and reports/."""
    files = sorted(path for name in ("models", "reports") for path in (folder / name).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_recorded_then_replayed_to_the_same_report(url: str, tmp_path: Path) -> None:
    raw = parameters(url)
    first, second = tmp_path / "first", tmp_path / "second"
    repository(first, raw)
    assert "smollm2" in run(first, "trinity", "doctor")
    run(first, "dvc", "repro", "-q")
    recorded = results(first)
    assert {"reports/report.md", "reports/metrics.json", "reports/smoke.json"} <= set(recorded)
    assert any(name.startswith("models/") for name in recorded)
    rungs = {rung["name"]: rung for rung in json.loads(recorded["reports/smoke.json"])["rungs"]}
    assert rungs["S6"]["passed"]
    assert rungs["S8"]["passed"]
    stats = json.loads(run(first, "trinity", "responses", "stats", "--json"))
    assert stats["entries"] > 50
    run(first, "trinity", "responses", "pack")

    # Elsewhere, with no server to ask: the address is one where nothing listens.
    raw["pool"]["responses"] = "replay"
    for agent in raw["pool"]["agents"]:
        agent["api_base"] = "http://127.0.0.1:9/v1"
    repository(second, raw)
    shutil.copytree(first / "data" / "responses", second / "data" / "responses")
    run(second, "dvc", "repro", "-q")
    replayed = results(second)
    assert replayed.keys() == recorded.keys()
    assert [name for name in recorded if replayed[name] != recorded[name]] == []
