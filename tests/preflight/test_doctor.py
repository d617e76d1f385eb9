"""`trinity doctor`: what is missing and what is there, a line each; one call to each real model."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from model_server import ModelServer, model_server
from trinity import cli
from trinity.presets import preset_text
from trinity.rewards.sandbox.levels import best_level

NO_PORT = "http://127.0.0.1:9/v1"
SECRET = "sk-or-v1-nobody-may-ever-print-this"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.chdir(tmp_path)
    for name in ("DVC_ROOT", "OPENROUTER_API_KEY", "OPENAI_API_KEY", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)
    with model_server() as served:
        yield served


class Doctor:
    """Runs the command in the current folder."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *options: str) -> tuple[object, list[str]]:
        """Its exit code and the lines of its output."""
        self._monkeypatch.setattr(sys, "argv", ["trinity", "doctor", *options])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return end.value.code, self._capsys.readouterr().out.splitlines()


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(monkeypatch, capsys)


def write_params(agents: list[dict[str, Any]], **pool: Any) -> None:
    """The demo, with real models for a pool."""
    raw = yaml.safe_load(preset_text("demo"))
    raw["pool"] |= {"kind": "litellm", "agents": agents, "simulated": None, "tries": 1} | pool
    Path("params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")


def local(url: str, *models: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": model, "model": f"openai/{model}", "api_base": url, **more} for model in models]


def the(lines: list[str], start: str) -> str:
    """The one line that starts so."""
    (found,) = [line for line in lines if line.startswith(start)]
    return found


def test_the_demo_lacks_nothing_and_is_quick(server: ModelServer, doctor: Doctor) -> None:
    Path("params.yaml").write_text(preset_text("demo"), encoding="utf-8")
    code, lines = doctor()
    assert code == 0
    assert the(lines, "sandbox") == f"sandbox: {best_level(('bwrap', 'landlock'))}"
    assert the(lines, "encoder") == "encoder: tiny-qwen3, made from its configuration, hidden size 16"
    assert the(lines, "disk").endswith("about 1 GB are needed")
    assert the(lines, "dvc").startswith("dvc: no repository here")
    assert lines[-1] == ("nothing is missing: demo_math, demo_choice, demo_freeform, demo_code on the simulated pool")
    command = (
        "import sys; sys.argv = ['trinity', 'doctor']\nfrom trinity import cli\ntry: cli.main()\n"
        "finally: print(sorted({'litellm', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]"
    assert [path.name for path in Path().iterdir()] == ["params.yaml"]


def test_each_model_is_asked_once_and_a_second_doctor_reads_it_back(server: ModelServer, doctor: Doctor) -> None:
    write_params(local(server.url, "first", "second", price={"input": 1.0, "output": 2.0}), budget_usd=1.0)
    code, lines = doctor()
    assert code == 0
    assert the(lines, "agent first") == (
        f"agent first: openai/first at {server.url}; no key sent; 1 and 2 US dollars per million tokens read and "
        "written (params.yaml)"
    )
    assert the(lines, "answer of first") == (
        "answer of first: 64 tokens (at most 64), 0 of them reasoning; cut; asked now, stored and read back"
    )
    assert lines[-1].endswith("on the litellm pool")
    assert sorted(body["model"] for body in server.bodies) == ["first", "second"]
    code, lines = doctor()
    assert (code, len(server.bodies)) == (0, 2)
    assert the(lines, "answer of second").endswith("stored before, not asked again")


def test_a_server_that_gives_another_name_is_said_also_of_a_stored_reply(server: ModelServer, doctor: Doctor) -> None:
    write_params(local(server.url, "first", "wrong-port"))
    for _ in range(2):
        code, lines = doctor()
        assert code == 0
        assert the(lines, "note: wrong-port").startswith(
            f"note: wrong-port is openai/wrong-port, and the server at {server.url} says that it is "
            "models/another.gguf: "
        )
        assert not any(line.startswith("note: first") for line in lines)


@pytest.mark.parametrize("budget", [{"budget_calls": 1}, {"budget_usd": 1e-4}])
def test_a_budget_that_is_spent_is_missing(server: ModelServer, doctor: Doctor, budget: dict[str, float]) -> None:
    agents = local(server.url, "first", price={"input": 0.5, "output": 1.5})
    write_params(agents)
    assert doctor()[0] == 0
    write_params(agents, **budget)
    code, lines = doctor()
    assert code == 1
    assert the(lines, "missing budget").startswith(f"missing budget: nothing is left of pool.{next(iter(budget))} ")
    assert doctor("--offline")[0] == 1
    write_params(agents, budget_calls=2)
    assert doctor()[0] == 0


def test_offline_and_replay_make_no_call(server: ModelServer, doctor: Doctor) -> None:
    write_params(local(server.url, "first"))
    code, lines = doctor("--offline")
    assert (code, server.bodies) == (0, [])
    assert "answers: not asked for (--offline)" in lines
    write_params([{"name": "far", "model": "openrouter/some/far"}], responses="replay")
    code, lines = doctor()
    assert code == 1
    assert lines[0].startswith("missing answer of agent far: replay: no stored response of agent far")
    assert the(lines, "agent far").endswith("; no key needed (replay); no price")


def test_a_server_that_went_down_is_missing_though_its_answer_is_stored(doctor: Doctor, server: ModelServer) -> None:
    with model_server() as short_lived:
        write_params(local(short_lived.url, "first"))
        assert doctor()[0] == 0
    code, lines = doctor()
    assert code == 1
    assert lines[0] == f"missing server of agent first: does not answer at {short_lived.url}: start it"
    assert not any(line.startswith("nothing is missing") for line in lines)
    assert doctor("--offline")[0] == 0


def test_all_that_is_wrong_is_told_together_and_first(
    server: ModelServer, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trinity.preflight.doctor._free_gb", lambda path: 0.25)
    agents = [
        {"name": "router", "model": "openrouter/some/model"},
        {"name": "odd", "model": "nobodys-provider/model"},
        {"name": "none"},
        *local(server.url, "greedy", "first", price={"input": 0.0, "output": 0.0}),
        *local(NO_PORT, "absent", price={"input": 0.0, "output": 0.0}),
        *local(server.url, "unpriced"),
    ]
    write_params(agents, budget_usd=1.0)
    code, lines = doctor()
    assert code == 1
    told = [line for line in lines if line.startswith("missing ")]
    assert lines[: len(told)] == told
    starts = [
        "missing model of agent none: ",
        "missing key OPENROUTER_API_KEY: ",
        "missing price of agent router: pool.budget_usd needs one",
        "missing price of agent odd: ",
        "missing price of agent unpriced: ",
        "missing provider of agent odd: litellm knows none for nobodys-provider/model",
        f"missing server of agent absent: does not answer at {NO_PORT}: start it",
        "missing answer of agent greedy: wrote 100 tokens where max_tokens is 64",
        "missing space: 0.2 GB free at .trinity/responses, about 5 GB",
        f"missing space: 0.2 GB free at {Path('.dvc/cache')}, about 5 GB",
    ]
    assert [line[: len(start)] for line, start in zip(told, starts, strict=True)] == starts
    assert "answer of first: 64 tokens" in "\n".join(lines)
    assert "; key not set; no price" in the(lines, "agent router: openrouter/some/model")
    assert the(lines, "answer of router") == "answer of router: not asked (no key, no price)"
    assert the(lines, "answer of odd") == "answer of odd: not asked (no provider)"
    assert the(lines, "answer of none") == "answer of none: not asked (no model)"
    assert the(lines, "answer of absent") == "answer of absent: not asked (no server)"
    assert not any(line.startswith("nothing is missing") for line in lines)


def test_no_value_of_a_key_is_ever_shown_or_stored(
    server: ModelServer, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    write_params(local(server.url, "first", "strict", key_env="MY_KEY", params={"extra_body": {"reasoning": {}}}))
    code, lines = doctor()
    assert code == 1
    assert "key MY_KEY set" in the(lines, "agent first")
    assert the(lines, "missing answer of agent strict").startswith("missing answer of agent strict: the request is ref")
    assert server.authorizations == [f"Bearer {SECRET}"] * 2
    assert SECRET not in "\n".join(lines)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 1
    assert not any(SECRET.encode() in path.read_bytes() for path in written)


def test_encoder_disk_and_dvc_as_they_are(server: ModelServer, doctor: Doctor) -> None:
    model = Path("model")
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"hidden_size": 576}), encoding="utf-8")
    raw = yaml.safe_load(preset_text("demo"))
    raw["slm"] |= {"model": "model", "tiny": None}
    raw["tasks"] = ["demo_math"]
    Path("params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    Path(".dvc").mkdir()
    Path(".dvc/config").write_text("[core]\n    autostage = false\n", encoding="utf-8")
    code, lines = doctor()
    assert code == 0
    assert the(lines, "encoder") == "encoder: model, hidden size 576"
    assert the(lines, "sandbox") == "sandbox: not needed, no task has code"
    assert the(lines, "dvc").startswith("dvc: repository, no remote: `dvc remote add")
    Path(".dvc/config.local").write_text(
        "['remote \"shelf\"']\n    url = /somewhere\n[cache]\n    dir = ../elsewhere\n"
    )
    code, lines = doctor()
    assert the(lines, "dvc") == "dvc: repository, remote shelf"
    assert " GB free at .dvc/../elsewhere;" in the(lines, "disk")
