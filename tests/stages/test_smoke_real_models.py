"""The ladder on models behind a real server: recorded once, then replayed without a call to the same file."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from model_server import model_server

ROOT = Path(__file__).parents[2]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_ladder_is_replayed_from_what_was_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)

    def stage(mode: str, *command: str) -> None:
        agents = [{"name": n, "model": f"openai/{n}", "api_base": server.url} for n in ("first", "thinker")]
        pool: dict[str, Any] = {"kind": "litellm", "agents": agents, "simulated": None, "responses": mode}
        params = PARAMS | {"tasks": ["demo_math"], "pool": pool}
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        script, *arguments = command
        subprocess.run([sys.executable, ROOT / "stages" / script, *arguments], cwd=tmp_path, check=True, timeout=120)

    saw = tmp_path / "reports" / "smoke.json"
    with model_server() as server:
        stage("record", "split.py", "--task", "demo_math")
        stage("record", "smoke.py")
        recorded, calls = saw.read_bytes(), len(server.bodies)
        saw.unlink()
        stage("replay", "smoke.py")
        assert len(server.bodies) == calls
    assert saw.read_bytes() == recorded
    assert b"cut in reasoning" in recorded
    assert server.url.encode() not in recorded
