"""Stages that ask real models say what is coming, and do not start above the budget."""

import runpy
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from trinity.config import Config
from trinity.errors import BudgetReached
from trinity.llm.call import Reply
from trinity.llm.store.database import Database, store_directory
from trinity.llm.store.ledger import Budget, Ledger, Purpose
from trinity.plan.callees import model_calls
from trinity.plan.consent import consent
from trinity.tasks.demo.task import DemoTask
from trinity.tasks.splits import splits_directory, write_splits

ROOT = Path(__file__).parents[2]
TASK = "demo_choice"
AGENTS = [
    {"name": name, "model": f"openai/{name}", "price": {"input": 1.0, "output": 1.0},
     "api_base": "http://127.0.0.1:9/v1"}
    for name in ("ash", "elm")
]  # fmt: skip
REAL: dict[str, Any] = {
    "pool.kind": "litellm", "pool.agents": AGENTS, "pool.budget_usd": None, "pool.budget_calls": None,
    "tasks": [TASK], "data.n_train": 12, "data.n_valid": 4, "data.n_test": 5, "optim.population": 5, "optim.m": 6,
}  # fmt: skip
Prepare = Callable[..., Config]


@pytest.fixture
def prepare(configure: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepare:
    """A working directory with params.yaml and splits; `prepare(changes)` is their configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)

    def make(**changes: Any) -> Config:
        config = configure({**REAL, **{f"pool.{name}": value for name, value in changes.items()}})
        Path("params.yaml").write_text(yaml.safe_dump(config.model_dump(mode="json")), encoding="utf-8")
        loaded = DemoTask(TASK, config.data.seed).load()
        write_splits(splits_directory(TASK), TASK, loaded, config.data)
        return config

    return make


def test_a_stage_says_what_is_coming(prepare: Prepare, capsys: pytest.CaptureFixture[str]) -> None:
    consent(prepare(budget_usd=100.0), "headroom", TASK)
    said = capsys.readouterr()
    assert said.out == ""
    first, last = said.err.splitlines()
    assert first.endswith("(`trinity plan` says what this rests on)")
    assert first.startswith("plan: headroom, demo_choice: 24 calls to make, ")
    assert last == "plan: left: $100.00 of pool.budget_usd ($100.00)"


@pytest.mark.parametrize(
    "changes, of",
    [
        ({"budget_calls": 23}, "23 are left of pool.budget_calls 23"),
        ({"budget_usd": 0.001}, "of pool.budget_usd 0.001"),
    ],
)
def test_above_the_budget_it_is_refused(prepare: Prepare, changes: dict[str, Any], of: str) -> None:
    with pytest.raises(BudgetReached) as refused:
        consent(prepare(**changes), "headroom", TASK)
    line = str(refused.value)
    assert "\n" not in line
    assert line.startswith("headroom, demo_choice: not started: it needs at least 24 calls ($0.00")
    assert of in line


def test_a_price_that_nobody_says_is_no_0(prepare: Prepare, capsys: pytest.CaptureFixture[str]) -> None:
    agents = [{name: value for name, value in agent.items() if name != "price"} for agent in AGENTS]
    with pytest.raises(BudgetReached, match=r"at least 24 calls \(price unknown\)"):
        consent(prepare(agents=agents, budget_calls=1), "headroom", TASK)
    consent(prepare(agents=agents, budget_usd=1.0), "headroom", TASK)
    said = capsys.readouterr().err
    assert " tokens, price unknown, " in said
    assert "plan: missing price of ash, elm: pool.budget_usd needs one" in said


def test_where_only_the_high_estimate_is_above_it_may_stop(
    prepare: Prepare, capsys: pytest.CaptureFixture[str]
) -> None:
    consent(prepare(budget_calls=200), "train cma", TASK)
    assert "plan: the stage may stop at the budget: what was answered is kept" in capsys.readouterr().err


def test_what_was_spent_is_no_longer_left(prepare: Prepare) -> None:
    config = prepare(budget_calls=24)
    consent(config, "headroom", TASK)
    with closing(Database(store_directory())) as database, closing(Ledger(database, Budget())) as book:
        call = model_calls(config)[0]
        book.claim(call.key, 0.0)
        book.settle(call.key, call, Reply("", "stop", 1, 1), Purpose("ash", "worker", "smoke"), 1.0, 1, keep=True)
    with pytest.raises(BudgetReached, match="23 are left"):
        consent(config, "headroom", TASK)


def test_what_is_not_paid_needs_no_consent(
    prepare: Prepare, configure: Callable[..., Config], capsys: pytest.CaptureFixture[str]
) -> None:
    consent(prepare(budget_calls=0, responses="replay"), "headroom", TASK)
    consent(configure({"pool.budget_calls": 0}), "evaluate", TASK)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "name, arguments, said",
    [
        ("headroom", ["--task", TASK], "headroom, demo_choice"),
        ("train", ["--task", TASK, "--method", "cma"], "train cma, demo_choice"),
        ("train", ["--task", TASK, "--method", "sft"], "train sft, demo_choice"),
        ("evaluate", ["--task", TASK], "evaluate, demo_choice"),
        ("smoke", [], "smoke, demo_choice"),
    ],
)
def test_a_paid_stage_does_not_start_without_room(
    prepare: Prepare, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    name: str, arguments: list[str], said: str,
) -> None:  # fmt: skip
    prepare(budget_calls=0)
    monkeypatch.setattr("trinity.preflight.require_all", lambda _: None)
    monkeypatch.setattr(sys, "argv", [f"stages/{name}.py", *arguments])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "stages" / f"{name}.py"), run_name="__main__")
    assert end.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{said}: not started: ")
    assert error.count("\n") == 1
    assert not (store_directory() / "store.sqlite").exists()
