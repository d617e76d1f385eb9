"""What is missing is said all together, one line a thing, before any work."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from trinity.config import Config, parse_config
from trinity.errors import TrinityError
from trinity.preflight import missing, require_all
from trinity.presets import preset_text
from trinity.rewards.sandbox.levels import best_level

ROOT = Path(__file__).parents[2]
ABSENT = "nobody-at-all/absent-model"
KEY = "missing key OPENROUTER_API_KEY: export OPENROUTER_API_KEY=... in the shell that runs dvc"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def preset(name: str, **changes: str) -> Config:
    """A preset, with some texts in it replaced."""
    text = preset_text(name).replace("Qwen/Qwen3-0.6B", ABSENT).replace("HuggingFaceTB/SmolLM2-135M-Instruct", ABSENT)
    for old, new in changes.items():
        assert f"{old}: " in text
        head, _, tail = text.partition(f"{old}: ")
        text = f"{head}{old}: {new}\n{tail.partition(chr(10))[2]}"
    return parse_config(text)


SET = "openbmb/RLPR-Train-Dataset"
NO_COMMIT = (
    f"missing data: task rlpr: no commit of {SET} is pinned: set data.revision.rlpr to the 40 digits of one (listed at "
    f"https://huggingface.co/datasets/{SET}/commits/main), or data.source.rlpr to a copy of rlpr_train.parquet"
)
OWN_PROMPTS = (ROOT / "src/trinity/roles/prompts.yaml").read_bytes()
TABLE = (
    "missing data data/outcomes/llmrouter.jsonl: make it with `trinity import-outcomes`, "
    "or set data.outcomes.llmrouter.path"
)
MODEL = f"missing model {ABSENT}: run `hf download {ABSENT}` once while connected"


def test_the_demo_lacks_nothing() -> None:
    assert missing(preset("demo")) == []
    require_all(preset("demo"))


def test_all_that_openrouter_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trinity.rewards.sandbox.levels.missing", lambda level: "not on this machine")
    monkeypatch.setattr("trinity.rewards.sandbox.levels.best_level", best_level.__wrapped__)
    config = preset("openrouter", device="cuda:99")
    lines = missing(config)
    device = lines.pop(2)
    assert device.startswith("missing device cuda:99: ")
    assert device.endswith(" CUDA devices are visible: set slm.device to auto or cpu")
    sandbox = lines.pop()
    assert sandbox.startswith(
        "missing sandbox: no sandbox, and code from a model runs nowhere else: bwrap: not on this "
    )
    assert lines == [KEY, MODEL, NO_COMMIT]
    lines.append(sandbox)
    with pytest.raises(TrinityError) as refused:
        require_all(config)
    assert str(refused.value).split("\n") == missing(config)
    monkeypatch.setenv("OPENROUTER_API_KEY", "a-value-that-nothing-may-print")
    told = missing(config)
    assert told == [MODEL, device, NO_COMMIT, sandbox]
    assert "a-value-that-nothing-may-print" not in "".join(told)


def litellm(agents: Sequence[Mapping[str, Any]], **pool: Any) -> Config:
    """The demo with real models for a pool."""
    raw = yaml.safe_load(preset_text("demo"))
    raw["pool"] |= {"kind": "litellm", "agents": agents, "simulated": None} | pool
    return parse_config(yaml.safe_dump(raw))


def test_only_what_a_provider_needs_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    server = {"name": "mine", "model": "openai/mine", "api_base": "http://127.0.0.1:1/v1"}
    router = {"name": "router", "model": "openrouter/some/model"}
    assert missing(litellm([server])) == []
    assert missing(litellm([server, router, router | {"name": "again"}])) == [KEY]
    assert missing(litellm([router], responses="replay")) == []
    own = litellm([server | {"key_env": "MY_SERVERS_KEY"}, router | {"key_env": "MY_OTHER_KEY"}])
    assert [line.split(":")[0] for line in missing(own)] == ["missing key MY_OTHER_KEY", "missing key MY_SERVERS_KEY"]
    monkeypatch.setenv("OPENROUTER_API_KEY", "")
    assert missing(litellm([router])) == [KEY]
    monkeypatch.setenv("OPENROUTER_API_KEY", "set")
    assert missing(litellm([router])) == []


def test_a_budget_needs_prices_and_litellm_is_asked_only_for_a_providers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "set")
    price = {"input": 1.0, "output": 2.0}
    server = {"name": "mine", "model": "openai/mine", "api_base": "http://127.0.0.1:1/v1"}
    agents: list[dict[str, Any]] = [server, server | {"name": "priced", "price": price}]
    (line,) = missing(litellm(agents, budget_usd=1.0))
    assert line.startswith("missing price of agent mine: pool.budget_usd needs one")
    assert missing(litellm(agents)) == []
    assert missing(litellm(agents, budget_usd=1.0, responses="replay")) == []
    (line,) = missing(litellm([{"name": "far", "model": "openrouter/nobody/no-such-model"}], budget_usd=1.0))
    assert line.startswith("missing price of agent far: ")
    (tmp_path / "params.yaml").write_text(litellm(agents, budget_usd=1.0).model_dump_json(), encoding="utf-8")
    command = (
        "import sys\nfrom pathlib import Path\nfrom trinity.config import load_config\n"
        "from trinity.preflight import missing\n"
        "print(len(missing(load_config(Path('params.yaml')))), 'litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n"


def test_an_agent_without_a_model() -> None:
    assert missing(litellm([{"name": "second"}])) == [
        "missing model of agent second: set pool.agents: model to PROVIDER/MODEL as litellm does"
    ]


def test_an_absent_table_and_the_model_folder_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert missing(preset("recorded")) == [MODEL, TABLE]
    folder = f"put a folder with config.json, tokenizer and safetensors at {tmp_path / 'model'}"
    here = preset("recorded", model=str(tmp_path / "model"))
    assert missing(here)[0].endswith(f"`hf download {tmp_path / 'model'}` once while connected, or {folder}")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text("{}", encoding="utf-8")
    assert missing(here) == [TABLE]
    (tmp_path / "data/outcomes").mkdir(parents=True)
    path = tmp_path / "data/outcomes/llmrouter.jsonl"
    path.write_text("{\n", encoding="utf-8")
    (broken,) = missing(here)
    assert broken.startswith("missing usable data: data/outcomes/llmrouter.jsonl: row 1: ")
    scores = dict.fromkeys(here.agents, 1)
    rows = [{"id": str(i), "question": f"{i}?", "task": "sums", "scores": scores} for i in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert missing(here) == []


def test_a_users_files_must_lie_where_dvc_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine = preset("demo", prompts="mine.yaml")
    assert missing(mine) == [
        "missing prompts mine.yaml: copy src/trinity/roles/prompts.yaml there, or set roles.prompts to null"
    ]
    Path("mine.yaml").touch()
    (line,) = missing(mine)
    assert line.startswith("missing watch on mine.yaml: move it into src/trinity/roles, ")
    Path("src/trinity/roles").mkdir(parents=True)
    latin = Path("src/trinity/roles/latin.yaml")
    latin.write_text("worker: '{Q} {C_prev}'\n", encoding="utf-8")
    (broken,) = missing(preset("demo", prompts=str(latin)))
    assert broken.startswith("missing usable data: params.yaml: roles.prompts: ")
    latin.write_bytes(OWN_PROMPTS)
    assert missing(preset("demo", prompts=str(latin))) == []

    text = preset_text("recorded").replace("HuggingFaceTB/SmolLM2-135M-Instruct", ABSENT)
    elsewhere = parse_config(text.replace("path: data/outcomes/llmrouter.jsonl", "path: llmrouter.jsonl"))
    Path("llmrouter.jsonl").touch()
    (model, line) = missing(elsewhere)
    assert model == MODEL
    assert line.startswith("missing watch on llmrouter.jsonl: move it into data/outcomes, ")


def test_an_unknown_task() -> None:
    (line,) = missing(preset("demo", tasks="[demo_math, demo_maths]"))
    assert line.startswith("missing data: task demo_maths: no such task; available: demo_math, ")


@pytest.mark.parametrize("stage", [["split.py", "--task", "demo_math"], ["smoke.py"]], ids=["split", "smoke"])
def test_a_stage_checks_before_it_works(stage: list[str], tmp_path: Path) -> None:
    text = preset_text("recorded").replace("HuggingFaceTB/SmolLM2-135M-Instruct", ABSENT)
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    command = [sys.executable, str(ROOT / "stages" / stage[0]), *stage[1:]]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [MODEL, TABLE]
    assert [path.name for path in tmp_path.iterdir()] == ["params.yaml"]
