"""Rung S6 against a real HTTP server: parameters accepted, max_tokens honoured, the reply stored and read back."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer, model_server
from trinity.config import Config
from trinity.smoke.episode_rungs import ordered
from trinity.smoke.ladder import Rung, RungFailed
from trinity.smoke.pool_rung import MOST_TOKENS, pool_rungs

Configure = Callable[..., Config]
NO_PORT = "http://127.0.0.1:9/v1"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)
    with model_server() as served:
        yield served


def agents(url: str, *models: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": model, "model": f"openai/{model}", "api_base": url, **more} for model in models]


def rung(configure: Configure, agents: list[dict[str, Any]], **pool: Any) -> Rung:
    """S6 of a pool with these agents."""
    changes = {"pool.kind": "litellm", "pool.agents": agents, "pool.simulated": None, "pool.tries": 1}
    (found,) = pool_rungs(configure(changes | {f"pool.{name}": value for name, value in pool.items()}))
    return found


def test_no_rung_where_the_pool_is_simulated(configure: Configure) -> None:
    assert pool_rungs(configure()) == []


def test_it_stands_before_what_costs(configure: Configure) -> None:
    s6 = rung(configure, agents(NO_PORT, "first"))
    others = [Rung(name, "", dict) for name in ("S8", "gate b", "S1", "gate a")]
    assert [r.name for r in ordered([*others, s6])] == ["S1", "gate a", "S6", "gate b", "S8"]


def test_each_model_is_asked_once_and_what_it_saw_is_the_same_from_the_store(
    server: ModelServer, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-the-provider")
    pool = agents(server.url, "first", "second", params={"extra_body": {"reasoning": {"effort": "none"}}})
    saw = rung(configure, pool).climb()
    assert saw["first"] == {
        "model": "first-v1", "max_tokens": MOST_TOKENS, "tokens": MOST_TOKENS, "reasoning_tokens": 0,
        "finish_reason": "length", "cause": "cut", "read_back": True,
    }  # fmt: skip
    assert sorted(body["model"] for body in server.bodies) == ["first", "second"]
    assert all(body["reasoning"] == {"effort": "none"} for body in server.bodies)
    assert all(body["max_tokens"] == MOST_TOKENS for body in server.bodies)
    assert not any("sk-a-key" in header for header in server.authorizations)

    for mode in ("record", "replay"):
        elsewhere = [agent | {"api_base": NO_PORT} for agent in pool]
        again = rung(configure, elsewhere, responses=mode).climb()
        assert json.dumps(again) == json.dumps(saw)
    assert len(server.bodies) == 2


def test_a_limit_that_is_not_honoured_fails_and_the_others_are_asked_too(
    server: ModelServer, configure: Configure
) -> None:
    pool = agents(server.url, "greedy", "first") + agents(NO_PORT, "absent")
    with pytest.raises(RungFailed) as failed:
        rung(configure, pool).climb()
    message = str(failed.value)
    assert "greedy: wrote 100 tokens where max_tokens is 64" in message
    assert "absent: agent absent: 1 attempt failed" in message
    assert "first:" not in message
    assert [body["model"] for body in server.bodies].count("first") == 1


def test_parameters_that_a_model_refuses_are_told(server: ModelServer, configure: Configure) -> None:
    pool = agents(server.url, "strict", params={"extra_body": {"reasoning": {"effort": "none"}}})
    with pytest.raises(RungFailed, match=r"strict: .*the request is refused.*unknown parameter reasoning"):
        rung(configure, pool).climb()
    assert rung(configure, agents(server.url, "strict")).climb()["strict"]["tokens"] == MOST_TOKENS


def test_a_cap_spent_on_reasoning_is_seen(server: ModelServer, configure: Configure) -> None:
    saw = rung(configure, agents(server.url, "thinker")).climb()["thinker"]
    assert (saw["cause"], saw["reasoning_tokens"]) == ("cut in reasoning", MOST_TOKENS)


def test_the_agents_own_limit_is_the_one_that_counts(server: ModelServer, configure: Configure) -> None:
    saw = rung(configure, agents(server.url, "greedy", decoding={"max_tokens": 100})).climb()
    assert (saw["greedy"]["max_tokens"], saw["greedy"]["tokens"]) == (100, 100)


def test_live_stores_nothing_and_replay_makes_no_call(server: ModelServer, configure: Configure) -> None:
    pool = agents(server.url, "first")
    assert rung(configure, pool, responses="live").climb()["first"]["read_back"] is None
    with pytest.raises(RungFailed, match="replay: no stored response of agent first"):
        rung(configure, pool, responses="replay").climb()
    assert len(server.bodies) == 1


def test_the_budget_stops_it_before_a_call(server: ModelServer, configure: Configure) -> None:
    pool = agents(server.url, "first", price={"input": 1.0, "output": 1.0})
    with pytest.raises(RungFailed, match=r"budget reached: pool\.budget_usd 1e-06"):
        rung(configure, pool, budget_usd=1e-6).climb()
    assert server.bodies == []
