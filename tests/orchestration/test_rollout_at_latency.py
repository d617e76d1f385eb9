"""Episodes while replies take their time: nobody waits for another's, and whatever ends a run ends it cleanly."""

import asyncio
import gc
import io
import logging
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandboxes import SANDBOX
from trinity.config import load_config
from trinity.config.pool import Agent
from trinity.config.pool import Pool as PoolSection
from trinity.coordinator.base import Policy, State
from trinity.coordinator.fixed import FixedPolicy, RandomPolicy
from trinity.errors import ConfigError, PoolError
from trinity.llm.base import Pool
from trinity.llm.call import Call, Reply
from trinity.llm.client import Client
from trinity.llm.failures import Limits
from trinity.llm.registry import make_pool
from trinity.llm.remote import RemotePool
from trinity.llm.simulated import SimulatedPool
from trinity.llm.store.database import Database
from trinity.orchestration import rollout
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.rules import make_rules
from trinity.rewards.grader import Grader
from trinity.rng import uniform
from trinity.tasks.demo.task import DemoTask
from trinity.types import Decision, Episode, Request, Response, Role

CONFIG = load_config(Path(__file__).parents[2] / "params.yaml")
RULES = replace(make_rules(CONFIG), max_turns=4)
ITEMS = DemoTask("demo_freeform", CONFIG.data.seed).load().items["train"][:6]
RANDOM = RandomPolicy(3, tuple(Role))
THINKING = FixedPolicy(((Decision(0, Role.THINKER),),))
JOBS = [Job(item, key, key=("run", key)) for item in ITEMS for key in range(6)]
ONE_EACH = [Job(item) for item in ITEMS]


@dataclass
class LatePool:
    """The simulated pool, after whatever `wait` does with a request; counts by request what began and what ended."""

    wait: Callable[[Request], object] = lambda request: None
    pool: Pool = field(default_factory=lambda: make_pool(CONFIG, ITEMS))
    began: list[Request] = field(default_factory=list)
    ended: list[Request] = field(default_factory=list)

    @property
    def agents(self) -> tuple[str, ...]:
        return self.pool.agents

    async def generate(self, request: Request) -> Response:
        self.began.append(request)
        waited = self.wait(request)
        if asyncio.iscoroutine(waited):
            await waited
        self.ended.append(request)
        return await self.pool.generate(request)


@contextmanager
def opened(pool: Pool, concurrency: int = 64) -> Iterator[Rollouts]:
    with Grader(SANDBOX) as grader, Rollouts(pool, grader, RULES, concurrency) as rollouts:
        yield rollouts


@pytest.fixture(scope="module")
def expected() -> list[Episode]:
    with opened(LatePool(), 1) as rollouts:
        return [rollouts.run(RANDOM, [job])[0] for job in JOBS]


@pytest.fixture
def complaints(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What asyncio says of tasks and futures that nobody looked after; it must say nothing."""
    lines: list[str] = []
    with caplog.at_level(logging.WARNING, "asyncio"):
        yield lines
        gc.collect()
        lines.extend(record.getMessage() for record in caplog.records if record.name == "asyncio")
    assert not lines


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), concurrency=st.sampled_from([1, 3, 16, 500]))
def test_no_order_of_replies_changes_an_episode(expected: list[Episode], seed: int, concurrency: int) -> None:
    async def some_time(request: Request) -> None:
        await asyncio.sleep(0.004 * uniform(seed, request.agent, request.messages[0].content) ** 3)

    pool = LatePool(some_time)
    with opened(pool, concurrency) as rollouts:
        assert rollouts.run(RANDOM, JOBS) == expected
    assert len(set(pool.began)) == len(pool.began) == len(pool.ended)


def test_a_straggler_holds_nobody_up() -> None:
    """Its first reply comes only when all others have ended: turn by turn, none of them would."""
    others = RULES.max_turns * (len(ITEMS) - 1)

    async def last_of_all(request: Request) -> None:
        if request.meta.item_id == ITEMS[2].id and len(pool.began) <= len(ITEMS):
            async with asyncio.timeout(10):
                while len(pool.ended) < others:
                    await asyncio.sleep(0.001)

    pool = LatePool(last_of_all)
    with opened(pool) as rollouts:
        episodes = rollouts.run(THINKING, ONE_EACH)
    assert [len(episode.transcript.turns) for episode in episodes] == [RULES.max_turns] * len(ITEMS)
    assert [request.meta.item_id for request in pool.ended[others:]] == [ITEMS[2].id] * RULES.max_turns


def test_stragglers_cost_the_longest_chain_and_not_the_slowest_of_every_turn() -> None:
    """Every item has one slow turn, each item another one: turn by turn they would add up."""
    slow = 0.3
    turns: dict[str, int] = {}

    async def once_slow(request: Request) -> None:
        turn = turns[request.meta.item_id] = turns.get(request.meta.item_id, -1) + 1
        await asyncio.sleep(slow if ITEMS[turn].id == request.meta.item_id else 0.002)

    with opened(LatePool(once_slow)) as rollouts:
        start = time.monotonic()
        rollouts.run(THINKING, ONE_EACH[: RULES.max_turns])
        wall = time.monotonic() - start
    assert slow < wall < slow * RULES.max_turns


@dataclass
class WatchedPolicy:
    """Counts its batches, after whatever `before` does with one."""

    policy: Policy = RANDOM
    before: Callable[[Sequence[State]], object] = lambda states: None
    batches: list[int] = field(default_factory=list)

    def decide(self, states: Sequence[State]) -> list[Decision]:
        self.before(states)
        self.batches.append(len(states))
        return self.policy.decide(states)


@pytest.mark.parametrize("concurrency", [1, 16, 1000])
def test_with_a_pool_that_answers_at_once_a_turn_is_one_batch(concurrency: int, expected: list[Episode]) -> None:
    policy = WatchedPolicy()
    pool = make_pool(CONFIG, ITEMS)
    assert isinstance(pool, SimulatedPool)
    with opened(pool, concurrency) as rollouts:
        episodes = rollouts.run(policy, JOBS)
    assert episodes == expected
    lengths = [len(episode.transcript.turns) for episode in episodes]
    assert policy.batches == [sum(length > turn for length in lengths) for turn in range(max(lengths))]


def test_replies_come_in_while_a_slow_policy_decides() -> None:
    """The second batch is decided only when the slow reply is there, which needs the event loop."""
    there = threading.Event()

    async def slow_for_one(request: Request) -> None:
        if request.meta.item_id == ITEMS[0].id:
            await asyncio.sleep(0.2)
            there.set()

    def ponder(states: Sequence[State]) -> None:
        time.sleep(0.05)
        if policy.batches:
            assert there.wait(10)

    policy = WatchedPolicy(THINKING, ponder)
    with opened(LatePool(slow_for_one)) as rollouts:
        rollouts.run(policy, ONE_EACH)
    assert policy.batches[:2] == [len(ITEMS), len(ITEMS) - 1]


def test_who_comes_while_a_batch_is_decided_makes_the_next_one() -> None:
    async def one_after_another(request: Request) -> None:
        await asyncio.sleep(0.02 * [item.id for item in ITEMS].index(request.meta.item_id))

    policy = WatchedPolicy(THINKING, lambda states: time.sleep(0.15))
    with opened(LatePool(one_after_another)) as rollouts:
        rollouts.run(policy, ONE_EACH)
    assert policy.batches[:3] == [len(ITEMS), 1, len(ITEMS) - 1]


def test_after_a_failure_calls_in_flight_are_answered_and_no_new_one_is_made(complaints: list[str]) -> None:
    async def fails_early(request: Request) -> None:
        await asyncio.sleep(0.01)
        if request.meta.item_id == ITEMS[1].id:
            raise PoolError("first failure")
        await asyncio.sleep(0.05)
        if request.meta.item_id == ITEMS[2].id:
            raise PoolError("second failure")

    pool = LatePool(fails_early)
    with opened(pool, concurrency=4) as rollouts, pytest.raises(PoolError, match="first failure"):
        rollouts.run(THINKING, ONE_EACH)
    assert [request.meta.item_id for request in pool.began] == [item.id for item in ITEMS[:4]]
    assert [request.meta.item_id for request in pool.ended] == [ITEMS[0].id, ITEMS[3].id]


class Answering(Client):
    """A model that answers 50 ms later, or fails after 10 where the prompt says so."""

    def __init__(self, agent: Agent, limits: Limits) -> None:
        self.agent = agent

    async def attempt(self, call: Call) -> Reply:
        await asyncio.sleep(0.01)
        if ITEMS[1].question in call.messages[0].content:
            raise PoolError("no reply")
        await asyncio.sleep(0.04)
        return Reply("Look it up.", "stop", 10, 3)


def test_what_was_in_flight_at_a_failure_is_stored(tmp_path: Path, complaints: list[str]) -> None:
    agents = [Agent(name=name, model=f"openai/{name}") for name in CONFIG.agents]
    config = CONFIG.model_copy(update={"pool": PoolSection(kind="litellm", agents=agents)})
    with (
        closing(RemotePool(config, "train", tmp_path / "a" / "b", Answering)) as pool,
        opened(pool, concurrency=4) as rollouts,
        pytest.raises(PoolError, match="no reply"),
    ):
        rollouts.run(THINKING, ONE_EACH)
    with closing(Database(tmp_path / "a" / "b")) as database:
        stored = [entry.call.messages[0].content for entry in database.entries()]
        assert database.rows("SELECT calls FROM totals") == [(3,)]
        assert database.rows("SELECT count(*) FROM claims") == [(0,)]
    assert {item.id for item in ITEMS for prompt in stored if item.question in prompt} == {
        ITEMS[index].id for index in (0, 2, 3)
    }


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_a_policy_that_raises_stops_the_run(batch: int, complaints: list[str], expected: list[Episode]) -> None:
    def refuse(states: Sequence[State]) -> None:
        if len(policy.batches) == batch:
            raise ConfigError("logits are not finite")

    async def some_time(request: Request) -> None:
        await asyncio.sleep(0.01 * uniform(request.agent, request.messages[0].content))

    policy, pool = WatchedPolicy(RANDOM, refuse), LatePool(some_time)
    with opened(pool) as rollouts:
        with pytest.raises(ConfigError, match="not finite"):
            rollouts.run(policy, JOBS)
        assert sorted(map(hash, pool.began)) == sorted(map(hash, pool.ended))
        assert (len(pool.began) == 0) == (batch == 0)
        assert rollouts.run(RANDOM, JOBS) == expected


def test_a_policy_that_forgets_a_state_is_found_out() -> None:
    class Forgetful:
        def decide(self, states: Sequence[State]) -> list[Decision]:
            return RANDOM.decide(states)[1:]

    with opened(LatePool()) as rollouts, pytest.raises(ValueError, match="shorter"):
        rollouts.run(Forgetful(), JOBS)


@pytest.mark.parametrize("turn", [1, 3])
def test_an_interrupt_ends_the_run_at_once(turn: int, complaints: list[str], expected: list[Episode]) -> None:
    stopped: list[Request] = []

    async def interrupted(request: Request) -> None:
        if len(pool.began) == (turn - 1) * len(ITEMS) + 3:
            signal.raise_signal(signal.SIGINT)
        if len(pool.began) > (turn - 1) * len(ITEMS):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                stopped.append(request)
                raise

    pool = LatePool(interrupted)
    with opened(pool) as rollouts:
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            rollouts.run(THINKING, ONE_EACH)
        assert time.monotonic() - start < 10
        assert len(stopped) == len(pool.began) - len(pool.ended) > 0
        pool.wait = lambda request: None
        assert rollouts.run(RANDOM, JOBS) == expected


def test_an_interrupt_while_the_policy_decides_ends_the_run(
    complaints: list[str], caplog: pytest.LogCaptureFixture, expected: list[Episode]
) -> None:
    def long_thought(states: Sequence[State]) -> None:
        if policy.batches:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(0.2)

    policy, pool = WatchedPolicy(THINKING, long_thought), LatePool()
    with opened(pool) as rollouts:
        with pytest.raises(KeyboardInterrupt):
            rollouts.run(policy, ONE_EACH)
        assert len(pool.began) == len(ONE_EACH)
        assert rollouts.run(RANDOM, JOBS) == expected
        with pytest.raises(KeyboardInterrupt):
            rollouts.run(policy, ONE_EACH)
    assert not caplog.records


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream, shown", [(Terminal, True), (io.StringIO, False)])
def test_a_long_run_counts_its_episodes_on_a_terminal(
    stream: type[io.StringIO], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def some_time(request: Request) -> None:
        await asyncio.sleep(0.02 if request.meta.item_id == ITEMS[0].id else 0.12)

    monkeypatch.setattr(rollout, "PROGRESS_AFTER", 0.01)
    monkeypatch.setattr("sys.stderr", stream())
    with opened(LatePool(some_time)) as rollouts:
        rollouts.run(THINKING, ONE_EACH)
    written = rollouts_stderr()
    assert bool(re.search(rf"episodes: .*[1-5]/{len(ITEMS)} ", written)) is shown
    assert shown or not written


def test_a_quick_run_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    with opened(make_pool(CONFIG, ITEMS)) as rollouts:
        rollouts.run(RANDOM, JOBS)
    assert rollouts_stderr() == ""


def rollouts_stderr() -> str:
    assert isinstance(sys.stderr, io.StringIO)
    return sys.stderr.getvalue()
