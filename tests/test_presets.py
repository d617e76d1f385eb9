"""Starting points for params.yaml, and the command that writes one."""

import asyncio
import sys
from pathlib import Path

import pytest

from model_server import model_server
from trinity import cli
from trinity.config import Config, load_config, parse_config
from trinity.llm.client import Client
from trinity.llm.failures import Limits
from trinity.llm.remote import call_of
from trinity.presets import PRESETS, preset_text, write_preset
from trinity.types import Decoding, Message, Request, RequestMeta, Role

ROOT = Path(__file__).parents[1]
KEPT = Path(".trinity/params.before.yaml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def preset(name: str) -> Config:
    return parse_config(preset_text(name), name)


def trinity(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """Runs a command; returns its exit code."""
    monkeypatch.setattr(sys, "argv", ["trinity", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code


def test_the_presets_are_the_files_of_the_package() -> None:
    assert sorted(PRESETS) == sorted(path.stem for path in (ROOT / "src/trinity/presets").glob("*.yaml"))


@pytest.mark.parametrize(
    "name, kind", [("demo", "simulated"), ("recorded", "recorded"), ("local", "litellm"), ("openrouter", "litellm")]
)
def test_each_preset_is_valid(name: str, kind: str) -> None:
    assert preset(name).pool.kind == kind


def test_the_committed_params_are_the_demo() -> None:
    assert (ROOT / "params.yaml").read_text(encoding="utf-8") == preset_text("demo")


def test_the_openrouter_preset_keeps_the_specification() -> None:
    config = preset("openrouter")
    assert config.tasks == ["math500", "mmlu", "rlpr", "livecodebench"]
    assert (config.optim.sigma0, config.optim.m, config.optim.iterations) == (0.1, 16, 60)
    assert (config.episode.max_turns, config.episode.max_tokens, config.episode.roles) == (5, 4096, list(Role))
    assert (config.slm.model, config.slm.read_position, config.svf.enabled) == ("Qwen/Qwen3-0.6B", -2, True)
    assert (config.head.features, len(config.agents), config.baselines.sft.lrs[0]) == ("l2", 3, 1e-6)


LEAST_REASONING = {"qwen": {"effort": "none"}, "gemini": {"effort": "minimal"}, "deepseek": {"effort": "none"}}


def test_the_openrouter_preset_asks_for_the_least_reasoning_as_documented() -> None:
    config = preset("openrouter")
    agents = {agent.name: agent for agent in config.pool.agents}
    assert {name: agent.params for name, agent in agents.items()} == {
        name: {"extra_body": {"reasoning": least}} for name, least in LEAST_REASONING.items()
    }
    page = (ROOT / "docs/pool.md").read_text(encoding="utf-8")
    for name, agent in agents.items():
        assert agent.price is not None
        row = next(line for line in page.splitlines() if line.startswith(f"| `{agent.model}`"))
        assert f"`effort: {LEAST_REASONING[name]['effort']}`" in row
        assert f"| {agent.price.input:g} | {agent.price.output:g} |" in row
    assert config.eval.single_factor * (config.episode.max_tokens or 0) == 20_480


def test_what_openrouter_would_receive() -> None:
    config = preset("openrouter")
    decoding = Decoding(config.episode.max_tokens, config.episode.temperature, config.episode.top_p)
    with model_server() as server:
        for agent in config.pool.agents:
            request = Request(agent.name, (Message("user", "?"),), decoding, 0, RequestMeta("i", Role.WORKER))
            here = agent.model_copy(update={"api_base": server.url})
            asyncio.run(Client(here, Limits.of(config.pool)).attempt(call_of(here, request)))
    assert [body.pop("messages") for body in server.bodies] == [[{"role": "user", "content": "?"}]] * 3
    assert server.bodies == [
        {
            "model": model, "temperature": 0.0, "top_p": 1.0, "max_tokens": 4096, "usage": {"include": True},
            "reasoning": LEAST_REASONING[name],
        }
        for name, model in (
            ("qwen", "qwen/qwen3.5-35b-a3b"),
            ("gemini", "google/gemini-3.1-flash-lite"),
            ("deepseek", "deepseek/deepseek-v4-flash"),
        )
    ]  # fmt: skip


def test_the_recorded_preset_has_one_worker_turn_without_scales() -> None:
    config = preset("recorded")
    assert not config.svf.enabled
    assert (config.episode.max_turns, config.episode.roles) == (1, [Role.WORKER])
    assert config.optim.iterations >= 40
    assert len(set(config.optim.seeds)) == 3


def test_writing_keeps_the_former_file_and_shows_the_difference(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = preset_text("demo").replace("\n  m: 24\n", "\n  m: 99\n")
    Path("params.yaml").write_text(mine, encoding="utf-8")
    assert trinity(monkeypatch, "preset", "demo") == 0
    shown = capsys.readouterr()
    assert [line for line in shown.out.splitlines() if line[:1] in "+-" and line[:3] not in {"+++", "---"}] == [
        "-  m: 99", "+  m: 24",
    ]  # fmt: skip
    assert "preset demo written" in shown.err
    assert Path("params.yaml").read_text(encoding="utf-8") == preset_text("demo")
    assert KEPT.read_text(encoding="utf-8") == mine

    assert trinity(monkeypatch, "preset", "demo") == 0
    assert capsys.readouterr().out == "params.yaml is the preset demo already\n"
    assert KEPT.read_text(encoding="utf-8") == mine


def test_a_dry_run_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("params.yaml").write_text(preset_text("demo"), encoding="utf-8")
    assert trinity(monkeypatch, "preset", "openrouter", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "\n-  kind: simulated" in out
    assert "\n+  kind: litellm" in out
    assert [path.name for path in folder.iterdir()] == ["params.yaml"]
    assert Path("params.yaml").read_text(encoding="utf-8") == preset_text("demo")


def test_where_no_file_stood_the_preset_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trinity(monkeypatch, "preset", "recorded") == 0
    assert load_config() == preset("recorded")
    assert not KEPT.exists()


def test_a_broken_file_can_be_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("params.yaml").write_bytes(b"data: \xff[")
    assert trinity(monkeypatch, "preset", "local") == 0
    assert load_config() == preset("local")
    assert KEPT.read_bytes() == b"data: \xff["


def test_an_unknown_preset_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trinity(monkeypatch, "preset", "nothing") == 2
    assert "'nothing'" in (err := capsys.readouterr().err)
    assert all(name in err for name in PRESETS)
    assert not list(folder.iterdir())


def test_a_second_preset_does_not_push_out_an_edited_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    edited = preset_text("demo").replace("  m: 24", "  m: 7")
    Path("params.yaml").write_text(edited, encoding="utf-8")
    write_preset("recorded")
    write_preset("local")
    assert Path(".trinity/params.before.yaml").read_text(encoding="utf-8") == edited
