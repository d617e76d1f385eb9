"""What is missing is said all together, one line a thing, before any work."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trinity import cli
from trinity.config import Config, parse_config
from trinity.errors import TrinityError
from trinity.preflight import missing, require_all
from trinity.presets import preset_text
from trinity.rewards.sandbox.levels import best_level

ROOT = Path(__file__).parents[1]
NO_CLIENT = "missing pool client: pool.kind litellm is not built yet: set pool.kind to simulated or recorded"
ABSENT = "nobody-at-all/absent-model"


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
OWN_PROMPTS = (Path(__file__).parents[1] / "src/trinity/roles/prompts.yaml").read_bytes()
MODEL = f"missing model {ABSENT}: run `hf download {ABSENT}` once while connected"


def test_the_demo_lacks_nothing() -> None:
    assert missing(preset("demo")) == []
    require_all(preset("demo"))


def test_all_that_openrouter_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trinity.rewards.sandbox.levels.missing", lambda level: "not on this machine")
    monkeypatch.setattr("trinity.rewards.sandbox.levels.best_level", best_level.__wrapped__)
    config = preset("openrouter", device="cuda:99")
    lines = missing(config)
    key = "missing key OPENROUTER_API_KEY: export OPENROUTER_API_KEY=... in the shell that runs dvc"
    device = lines.pop(3)
    assert device.startswith("missing device cuda:99: ")
    assert device.endswith(" CUDA devices are visible: set slm.device to auto or cpu")
    sandbox = lines.pop()
    assert sandbox.startswith(
        "missing sandbox: no sandbox, and code from a model runs nowhere else: bwrap: not on this "
    )
    assert lines == [NO_CLIENT, key, MODEL, NO_COMMIT]
    lines.append(sandbox)
    with pytest.raises(TrinityError) as refused:
        require_all(config)
    assert str(refused.value).split("\n") == missing(config)
    monkeypatch.setenv("OPENROUTER_API_KEY", "a value that nothing may print")
    assert missing(config) == [line for line in [*lines[:3], device, *lines[3:]] if line != key]


def test_local_servers_need_no_key() -> None:
    assert missing(preset("local")) == [NO_CLIENT, MODEL]


def test_an_agent_without_a_model() -> None:
    config = parse_config(preset_text("local").replace("model: openai/second, ", ""))
    assert missing(config)[:2] == [
        NO_CLIENT,
        "missing model of agent second: set pool.agents: model to a litellm model name",
    ]


def test_an_absent_table_and_the_model_folder_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = (
        "missing data data/outcomes/llmrouter.jsonl: make it with `trinity import-outcomes`, "
        "or set data.outcomes.llmrouter.path"
    )
    assert missing(preset("recorded")) == [MODEL, table]
    folder = f"put a folder with config.json, tokenizer and safetensors at {tmp_path / 'model'}"
    here = preset("recorded", model=str(tmp_path / "model"))
    assert missing(here)[0].endswith(f"`hf download {tmp_path / 'model'}` once while connected, or {folder}")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text("{}", encoding="utf-8")
    assert missing(here) == [table]
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


def test_the_doctor_tells_all_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["trinity", "doctor"])
    for text, code, lines in (
        (
            preset_text("demo"),
            0,
            [
                "nothing is missing: demo_math, demo_choice, demo_freeform, demo_code on the simulated pool; "
                f"sandbox: {best_level(('bwrap', 'landlock'))}"
            ],
        ),
        (preset_text("local").replace("Qwen/Qwen3-0.6B", ABSENT), 1, [NO_CLIENT, MODEL]),
    ):
        Path("params.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert end.value.code == code
        assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("stage", [["split.py", "--task", "demo_math"], ["smoke.py"]], ids=["split", "smoke"])
def test_a_stage_checks_before_it_works(stage: list[str], tmp_path: Path) -> None:
    text = preset_text("local").replace("Qwen/Qwen3-0.6B", ABSENT)
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    command = [sys.executable, str(ROOT / "stages" / stage[0]), *stage[1:]]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [NO_CLIENT, MODEL]
    assert [path.name for path in tmp_path.iterdir()] == ["params.yaml"]
