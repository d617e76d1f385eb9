"""`trinity plan`: what it says of splits, stores, prices and settings."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trinity.config import Config
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database, store_directory
from trinity.llm.store.ledger import Budget, Ledger, Purpose
from trinity.orchestration.setting import open_setting
from trinity.plan.callees import Callee, Callees, model_calls
from trinity.plan.estimate import Plan
from trinity.plan.show import as_dict, as_text
from trinity.systems.headroom import Headroom
from trinity.tasks.demo.task import DemoTask
from trinity.tasks.splits import cap_splits, splits_directory, write_splits
from trinity.types import Item, Role, Split

TASK = "demo_choice"
PRICES = {"ash": (1.0, 2.0), "elm": (3.0, 6.0)}
AGENTS = [
    {"name": name, "model": f"openai/{name}", "price": {"input": read, "output": written}}
    for name, (read, written) in PRICES.items()
]
REAL: Mapping[str, Any] = {
    "pool.kind": "litellm", "pool.agents": AGENTS, "pool.budget_usd": None,
    "tasks": [TASK], "data.n_train": 12, "data.n_valid": 4, "data.n_test": 5,
    "episode.max_turns": 3, "episode.max_tokens": 100,
    "optim.population": 5, "optim.m": 6, "optim.iterations": 3, "optim.seeds": [0],
    "baselines.methods": ["sft"], "eval.seeds": [0, 1],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_ROOT", raising=False)


@pytest.fixture
def splits(configure: Callable[..., Config]) -> Mapping[Split, tuple[Item, ...]]:
    """The items of `REAL`, on disk."""
    config = configure(REAL)
    loaded = DemoTask(TASK, config.data.seed).load()
    write_splits(splits_directory(TASK), TASK, loaded, config.data)
    return cap_splits(TASK, loaded, config.data).items


@contextmanager
def ledger(stage: str = "headroom") -> Iterator[Callable[..., None]]:
    """`pay(call, agent, role, ...)`: stores a reply as a pool would."""
    with closing(Database(store_directory())) as database, closing(Ledger(database, Budget())) as book:

        def pay(call: Call, agent: str, role: Role = Role.WORKER, tokens: tuple[int, int] = (200, 40)) -> None:
            reply = Reply("text", "stop", *tokens, usd=0.25)
            book.claim(call.key, 0.0)
            book.settle(call.key, call, reply, Purpose(agent, role.value, stage), 2.0, 1, keep=True)

        yield pay


def calls(plan: Plan, stage: str) -> tuple[float, float]:
    amounts = plan.of(stage, TASK).amounts
    return amounts.calls.low, amounts.calls.high


ROUTING = {
    "tasks": ["mmlu"], "data.caps": {"mmlu": {"train": 880, "valid": 220, "test": 50}},
    "pool.kind": "litellm", "pool.agents": [{"name": name, "model": f"openai/{name}"} for name in "abc"],
    "episode.max_turns": 1, "episode.roles": ["worker"],
}  # fmt: skip


def training_calls(config: Config) -> float:
    """Most calls of all stages that ask training and validation items: 1,100 together."""
    plan = Plan(config)
    return plan.total().requests.high - plan.of("evaluate", "mmlu").requests.high - len(config.agents)  # rung S6


@settings(max_examples=15, deadline=None)
@given(
    population=st.integers(4, 500),
    m=st.integers(1, 200),
    iterations=st.integers(1, 20),
    seeds=st.integers(1, 2),
    minibatch=st.sampled_from(["shared", "per_candidate"]),
)
def test_one_turn_routing_never_costs_more_than_items_times_agents(
    configure: Callable[..., Config], population: int, m: int, iterations: int, seeds: int, minibatch: str
) -> None:
    changes = {
        "optim.population": min(population, 8) if minibatch == "per_candidate" else population,
        "optim.m": m, "optim.iterations": iterations, "optim.minibatch": minibatch, "optim.seeds": list(range(seeds)),
    }  # fmt: skip
    assert training_calls(configure({**ROUTING, **changes})) <= 3300


@pytest.mark.parametrize("population, m, iterations", [(33, 16, 60), (528, 64, 20), (4, 1, 20)])
def test_one_turn_routing_over_1100_items_and_3_agents_costs_3300(
    configure: Callable[..., Config], population: int, m: int, iterations: int
) -> None:
    config = configure(
        {**ROUTING, "optim.population": population, "optim.m": m, "optim.iterations": iterations}
    )  # fmt: skip
    assert training_calls(config) == 3300


def test_two_agents_that_are_one_model_are_paid_once(configure: Callable[..., Config]) -> None:
    twins = [{"name": name, "model": "openai/one"} for name in "ab"]
    other = {"name": "c", "model": "openai/one", "params": {"effort": "low"}}
    config = configure({**ROUTING, "pool.agents": [*twins, other]})
    estimate = Plan(config).of("headroom", "mmlu")
    assert (estimate.requests.low, estimate.requests.high) == (1760, 1760)


def test_seeds_are_paid_apart_only_where_replies_are_sampled(configure: Callable[..., Config]) -> None:
    cold = Plan(configure({**ROUTING, "eval.seeds": [0, 1, 2]})).of("evaluate", "mmlu").requests
    warm = Plan(configure({**ROUTING, "eval.seeds": [0, 1, 2], "episode.temperature": 0.7})).of("evaluate", "mmlu")
    assert (cold.low, cold.high) == (50 * 3 * 2, 50 * 3 * 2)
    assert (warm.requests.low, warm.requests.high) == (50 * 3 * 2 * 3, 50 * 3 * 2 * 3)


def test_a_cap_of_its_own_makes_the_longer_single_the_same_request(configure: Callable[..., Config]) -> None:
    agents = [{"name": "a", "model": "openai/a", "decoding": {"max_tokens": 50}}, {"name": "b", "model": "openai/b"}]
    requests = Plan(configure({**ROUTING, "pool.agents": agents})).of("evaluate", "mmlu").requests
    assert (requests.low, requests.high) == (50 * 3, 50 * 3)


def test_what_is_stored_is_taken_off(
    configure: Callable[..., Config], splits: Mapping[Split, tuple[Item, ...]]
) -> None:
    config = configure(REAL)
    callees = Callees(config)
    everything = len(splits["train"]) * len(AGENTS)
    assert calls(Plan(config), "headroom") == (everything, everything)
    with ledger() as pay:
        for item in splits["train"][:7]:
            pay(callees.call(Callee(0, Role.WORKER, 1, 0), item.question), "ash")
        pay(model_calls(config)[1], "elm")
    plan = Plan(config)
    assert calls(plan, "headroom") == (everything - 7, everything - 7)
    assert (plan.stored.replies, plan.stored.others, plan.stored.models_held) == (8, 0, 1)
    # Labels are the headroom's calls: 17 left; validation: some path an item, at least two turns with a Verifier.
    assert plan.of("train sft", TASK).amounts.calls.low == everything - 7 + 2 * len(splits["valid"])
    assert calls(Plan(configure({**REAL, "pool.responses": "live"})), "headroom") == (everything, everything)
    assert calls(Plan(configure({**REAL, "episode.max_tokens": 99})), "headroom") == (everything, everything)


def test_deeper_turns_that_may_be_stored_lower_only_the_low(
    configure: Callable[..., Config], splits: Mapping[Split, tuple[Item, ...]]
) -> None:
    config = configure(REAL)
    callees = Callees(config)
    with ledger() as pay:
        for agent, entry in enumerate(AGENTS):
            for item in splits["train"]:
                pay(callees.call(Callee(agent, Role.WORKER, 1, 0), item.question), str(entry["name"]))
    before = Plan(config)
    touched, valid = before.of("train cma", TASK).requests.low / 2 - len(splits["valid"]), len(splits["valid"])
    assert calls(before, "train cma")[0] == touched + 2 * valid  # the first turn may be one that is held
    with ledger("train cma") as pay:
        for number in range(3):
            pay(callees.call(Callee(0, Role.VERIFIER, 1, 0), f"a transcript {number}"), "ash", Role.VERIFIER)
    after = Plan(config)
    assert after.stored.others == 3
    assert calls(after, "train cma") == (touched + 2 * valid - 3, calls(before, "train cma")[1])
    assert "the store holds 27 replies, 24 of them to first turns" in as_text(after, config.pool)


def test_tokens_and_dollars_come_from_replies_and_prices(
    configure: Callable[..., Config], splits: Mapping[Split, tuple[Item, ...]]
) -> None:
    config = configure(REAL)
    callees = Callees(config)
    unmeasured = Plan(config).of("headroom", TASK).amounts
    assert (unmeasured.completion_tokens.low, unmeasured.completion_tokens.high) == (24, 24 * 100)
    with ledger() as pay:
        for agent, entry in enumerate(AGENTS):
            for item in splits["train"][:3]:
                call = callees.call(Callee(agent, Role.WORKER, 1, 0), item.question)
                read = len(call.messages[0].content) // 2
                pay(call, str(entry["name"]), tokens=(read, 40 + 20 * agent))
    amounts = Plan(config).of("headroom", TASK).amounts
    left = len(splits["train"]) - 3
    assert amounts.completion_tokens.low == amounts.completion_tokens.high == left * (40 + 60)
    prompt = amounts.prompt_tokens.low / (2 * left)
    assert prompt == pytest.approx(unmeasured.prompt_tokens.low / 24 * 2, rel=0.02)
    assert amounts.usd.low == pytest.approx(left * (prompt * 4 + 40 * 2 + 60 * 6) / 1e6)
    assert amounts.usd.low == amounts.usd.high


def test_time_is_all_work_at_once_to_all_work_at_the_narrowest(
    configure: Callable[..., Config], splits: Mapping[Split, tuple[Item, ...]]
) -> None:
    config = configure({**REAL, "run.concurrency": 8, "pool.concurrency": {"ash": 2, "elm": 3}})
    callees = Callees(config)
    with ledger() as pay:
        for agent, entry in enumerate(AGENTS):
            pay(callees.call(Callee(agent, Role.WORKER, 1, 0), splits["train"][0].question), str(entry["name"]))
    seconds = Plan(config).of("headroom", TASK).seconds
    work = 2.0 * 2 * (len(splits["train"]) - 1)
    assert seconds.low == pytest.approx(work / 5)
    assert seconds.high == pytest.approx(work / 2 + 2 * 2.0)


def test_an_unknown_price_is_said_and_left_out(configure: Callable[..., Config]) -> None:
    agents = [AGENTS[0], {"name": "own", "model": "openai/own", "api_base": "http://127.0.0.1:9/v1"}]
    config = configure({**REAL, "pool.agents": agents})
    plan = Plan(config)
    assert plan.of("headroom", TASK).amounts.usd.high > 0
    assert as_dict(plan, config.pool)["unpriced"] == ["own"]
    text = as_text(plan, config.pool)
    assert "the price of own is not known and left out of the dollars" in text
    assert "missing price" not in text
    headroom = next(line for line in text.splitlines() if line.startswith("headroom"))
    assert " and unknown " in headroom
    of_own = plan.of("headroom", TASK).amounts.unpriced
    assert (of_own.low, of_own.high) == (12, 12)  # the other twelve are of the agent with a price


def test_where_no_price_is_known_no_amount_is_made_up(configure: Callable[..., Config]) -> None:
    agents = [{"name": name, "model": f"openai/{name}", "api_base": "http://127.0.0.1:9/v1"} for name in "ab"]
    config = configure({**REAL, "pool.agents": agents, "pool.budget_usd": 5.0})
    text = as_text(Plan(config), config.pool)
    table, _, lines = text.partition("\n\n")
    assert "$" not in table
    assert table.count("unknown") == len(table.splitlines()) - 1
    assert "missing price of a, b: pool.budget_usd needs one" in lines


def test_the_call_of_rung_s6_measures_no_worker(
    configure: Callable[..., Config], splits: Mapping[Split, tuple[Item, ...]]
) -> None:
    agents = [{**agent, "decoding": {"max_tokens": 50}} for agent in AGENTS]  # S6 is then decoded as an episode is
    config = configure({**REAL, "pool.agents": agents})
    with ledger("smoke") as pay:
        pay(model_calls(config)[0], "ash", tokens=(20, 50))
    assert not Plan(config).stored.measured
    with ledger() as pay:
        pay(Callees(config).call(Callee(0, Role.WORKER, 1, 0), splits["train"][0].question), "ash", tokens=(200, 10))
    measured = Plan(config).stored.measured["ash", Role.WORKER]
    assert (measured.replies, measured.completion) == (1, 10)


def test_what_is_assumed_is_said(configure: Callable[..., Config]) -> None:
    config = configure({**REAL, "optim.population": None, "tasks": [TASK, "rlpr"]})
    text = as_text(Plan(config), config.pool)
    assert "assumed: sizes of demo_choice: its splits are not made yet" in text
    assert "assumed: population 33" in text
    assert "task rlpr is left out" in text
    assert "assumed: 4 characters of a prompt are a token" in text
    Path("data").mkdir()
    Path("data/ladder.json").write_text('{"passed": true, "population": 7}', encoding="utf-8")
    assert "assumed: population" not in as_text(Plan(config), config.pool)


def test_splits_of_other_caps_are_not_believed(
    configure: Callable[..., Config], splits: Mapping[Split, tuple[Item, ...]]
) -> None:
    config = configure({**REAL, "data.n_train": 30})
    plan = Plan(config)
    assert calls(plan, "headroom") == (60, 60)
    assert any("was" not in note and "other data.*" in note for note in plan.notes())


def test_replay_and_simulated_pools_pay_nothing(configure: Callable[..., Config]) -> None:
    config = configure({**REAL, "pool.responses": "replay"})
    assert not Plan(config).paid
    assert "replay: nothing is asked or paid" in as_text(Plan(config), config.pool)
    demo = configure({"tasks": [TASK]})
    described = as_dict(Plan(demo), demo.pool)
    assert described["paid"] is False
    assert described["total"]["calls"]["high"] > 0
    assert "usd" not in described["total"]
    assert "simulated: nothing is paid" in as_text(Plan(demo), demo.pool)


def test_a_real_pool_is_asked_exactly_what_was_planned(
    configure: Callable[..., Config], splits: Mapping[Split, tuple[Item, ...]]
) -> None:
    from model_server import model_server

    with model_server() as server:
        agents = [{"name": name, "model": f"openai/{name}", "api_base": server.url} for name in ("ash", "elm")]
        config = configure({**REAL, "pool.agents": agents})
        planned = calls(Plan(config), "headroom")
        with open_setting(config, TASK, "headroom") as setting:
            Headroom.measure(setting.rollouts, setting.train)
        assert planned == (len(server.bodies), len(server.bodies))
    plan = Plan(config)
    assert calls(plan, "headroom") == (0, 0)
    assert plan.stored.calls == planned[0]
    assert plan.stored.measured["ash", Role.WORKER].completion > 0


def test_the_command_prints_one_json_object_and_loads_no_heavy_library(configure: Callable[..., Config]) -> None:
    raw = configure(REAL).model_dump(mode="json")
    Path("params.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    code = (
        "import sys; sys.argv = ['trinity', 'plan', '--json']\n"
        "from trinity.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print([m for m in ('torch', 'litellm', 'pandas', 'httpx') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    plan = json.loads(done.stdout)
    assert [row["stage"] for row in plan["stages"]] == ["smoke", "headroom", "train cma", "train sft", "evaluate"]
    assert not Path(".trinity").exists()
