"""Many episodes at once: the same results as alone, and no request made twice."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandboxes import SANDBOX
from trinity.config import load_config
from trinity.config.pool import Simulated
from trinity.coordinator.fixed import FixedPolicy, RandomPolicy
from trinity.errors import PoolError
from trinity.llm.base import Pool
from trinity.llm.registry import make_pool
from trinity.llm.simulated import SimulatedPool
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.rules import make_rules
from trinity.rewards.grader import Grader
from trinity.rng import uniform
from trinity.tasks.demo.task import DemoTask
from trinity.types import Decision, Episode, Request, Response, Role

CONFIG = load_config(Path(__file__).parents[2] / "params.yaml")
RULES = make_rules(CONFIG)
ITEMS = DemoTask("demo_freeform", CONFIG.data.seed).load().items["train"][:6]
RANDOM = RandomPolicy(3, tuple(Role))
T, W, V = Role.THINKER, Role.WORKER, Role.VERIFIER


@dataclass
class WatchedPool:
    """Counts what the simulated pool is asked, and lets replies arrive out of order."""

    pool: Pool = field(default_factory=lambda: make_pool(CONFIG, ITEMS))
    asked: Counter[Request] = field(default_factory=Counter)
    flying: int = 0
    most: int = 0
    failing: str = ""

    @property
    def agents(self) -> tuple[str, ...]:
        return self.pool.agents

    async def generate(self, request: Request) -> Response:
        self.asked[request] += 1
        self.flying += 1
        self.most = max(self.most, self.flying)
        for _ in range(int(10 * uniform(request.agent, request.messages[0].content, request.sample_index))):
            await asyncio.sleep(0)
        self.flying -= 1
        if request.agent == self.failing:
            raise PoolError(f"{request.agent}: HTTP 502")
        return await self.pool.generate(request)


@contextmanager
def opened(pool: Pool, concurrency: int = 16) -> Iterator[Rollouts]:
    with Grader(SANDBOX) as grader, Rollouts(pool, grader, RULES, concurrency) as rollouts:
        yield rollouts


def jobs_of(keys: int) -> list[Job]:
    """Jobs under random routing: every item, two sample indices, some keys."""
    return [Job(item, key, sample, ("run", key)) for item in ITEMS for sample in (0, 1) for key in range(keys)]


@pytest.fixture(scope="module")
def expected() -> dict[tuple[str, int, int], Episode]:
    """Each job run alone, one request at a time."""
    with opened(WatchedPool(), 1) as rollouts:
        return {id_of(job): rollouts.run(RANDOM, [job])[0] for job in jobs_of(4)}


def id_of(job: Job) -> tuple[str, int, int]:  # items hold a mapping, so that jobs cannot be keys
    return job.item.id, job.sample_index, job.candidate


@pytest.mark.parametrize("concurrency", [1, 2, 16, 1000])
def test_concurrency_and_arrival_change_nothing(
    concurrency: int, expected: dict[tuple[str, int, int], Episode]
) -> None:
    pool = WatchedPool()
    with opened(pool, concurrency) as rollouts:
        episodes = rollouts.run(RANDOM, jobs_of(4))
    assert episodes == [expected[id_of(job)] for job in jobs_of(4)]
    assert pool.most <= concurrency
    assert pool.most >= min(concurrency, 16)
    assert set(pool.asked.values()) == {1}


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_order_and_company_change_nothing(data: st.DataObject) -> None:
    everyone = jobs_of(4)
    chosen = data.draw(st.lists(st.sampled_from(range(len(everyone))), min_size=1, max_size=12))
    with opened(WatchedPool()) as rollouts:
        together = rollouts.run(RANDOM, [everyone[index] for index in chosen])
        alone = [rollouts.run(RANDOM, [everyone[index]])[0] for index in chosen]
    assert together == alone
    assert [episode.item for episode in together] == [everyone[index].item for index in chosen]
    assert [episode.candidate for episode in together] == [everyone[index].candidate for index in chosen]


def test_the_random_episodes_are_worth_comparing(expected: dict[tuple[str, int, int], Episode]) -> None:
    episodes = list(expected.values())
    assert {episode.reward for episode in episodes} == {0.0, 1.0}
    assert {episode.accepted for episode in episodes} == {True, False}
    assert len({tuple(turn.decision for turn in episode.transcript.turns) for episode in episodes}) > 20


def sequence(*turns: tuple[int, Role]) -> tuple[Decision, ...]:
    return tuple(Decision(agent, role) for agent, role in turns)


def asked_by(policy: FixedPolicy, jobs: list[Job]) -> tuple[int, list[Episode]]:
    pool = WatchedPool()
    with opened(pool) as rollouts:
        episodes = rollouts.run(policy, jobs)
    assert set(pool.asked.values()) == {1}
    return sum(pool.asked.values()), episodes


def test_candidates_that_choose_alike_share_their_requests() -> None:
    same = FixedPolicy((sequence((0, T), (1, T), (2, W)),) * 5)
    count, episodes = asked_by(same, [Job(item, candidate) for candidate in range(5) for item in ITEMS])
    assert count == 3 * len(ITEMS)
    for candidate in range(5):
        ours = episodes[candidate * len(ITEMS) : (candidate + 1) * len(ITEMS)]
        assert [replace(episode, candidate=0) for episode in ours] == episodes[: len(ITEMS)]


def test_candidates_share_up_to_where_they_part() -> None:
    parting = FixedPolicy((sequence((0, T), (1, T), (2, W)), sequence((0, T), (1, W), (2, T))))
    count, _ = asked_by(parting, [Job(item, candidate) for item in ITEMS for candidate in (0, 1)])
    assert count == (1 + 2 + 2) * len(ITEMS)


def test_paths_that_look_alike_share_too() -> None:
    """The verdicts before any Worker are equal texts, whoever gave them: the next agent reads the same."""
    silent = {"hit": 1.0, "false_alarm": 1.0}
    assert CONFIG.pool.simulated is not None
    raw = CONFIG.pool.simulated.model_dump()
    for agent in raw["agents"].values():
        agent["verifier"] = silent
    pool = WatchedPool(SimulatedPool(Simulated.model_validate(raw), CONFIG.agents, ITEMS))
    policy = FixedPolicy(tuple(sequence((agent, V), (2, T), (2, W)) for agent in range(3)))
    with opened(pool) as rollouts:
        episodes = rollouts.run(policy, [Job(item, candidate) for candidate in range(3) for item in ITEMS])
    assert set(pool.asked.values()) == {1}
    assert sum(pool.asked.values()) == (3 + 1 + 1) * len(ITEMS)
    assert [e.reward for e in episodes] == 3 * [e.reward for e in episodes[: len(ITEMS)]]


def test_another_sample_index_is_another_request() -> None:
    thinking = FixedPolicy((sequence((0, T)),))
    assert asked_by(thinking, [Job(item, sample_index=s) for item in ITEMS for s in (0, 1, 1)])[0] == 6 * len(ITEMS)


def test_a_pool_that_fails_stops_the_run_and_rewards_nothing() -> None:
    pool = WatchedPool(failing="birch")
    with opened(pool) as rollouts:
        with pytest.raises(PoolError, match="birch: HTTP 502"):
            rollouts.run(RANDOM, jobs_of(2))
        pool.failing = ""
        episodes = rollouts.run(RANDOM, jobs_of(2))
    with opened(WatchedPool()) as fresh:
        assert fresh.run(RANDOM, jobs_of(2)) == episodes


def test_no_jobs_no_episodes() -> None:
    pool = WatchedPool()
    with opened(pool) as rollouts:
        assert rollouts.run(RANDOM, []) == []
    assert not pool.asked
