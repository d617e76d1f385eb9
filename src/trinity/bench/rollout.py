"""Episodes at latency: how close they come to the bound, what they cost in CPU, and one candidate after another."""

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trinity.bench.standin import Latency, items, reply_text, serving
from trinity.config import Config, load_config
from trinity.config.pool import Agent, Pool
from trinity.coordinator.base import Policy, State
from trinity.coordinator.fixed import FixedPolicy, RandomPolicy
from trinity.llm.call import Call, Reply
from trinity.llm.client import Client
from trinity.llm.failures import Limits
from trinity.llm.remote import RemotePool
from trinity.llm.store.database import Database
from trinity.orchestration.rollout import Job, Rollouts
from trinity.orchestration.rules import make_rules
from trinity.rewards.grader import Grader
from trinity.types import Decision, Episode, Request, Role, Transcript

PROVIDER = "openai/"
AGENTS = ("ann", "bob", "cal")
CANDIDATES, ITEMS, TURNS, CONCURRENCY = 33, 16, 5, 64
LATENCY = Latency(mean=1.0, sigma=0.6)
RIVAL_TURNS, RIVAL_LATENCY = 2, Latency(mean=0.2, sigma=0.0)
"""The shape in which a public replication, one candidate after another, made 528 episodes in 13.4 s."""

MakeClient = Callable[[Agent, Limits], Client]


def measure(
    candidates: int = CANDIDATES, latency: Latency = LATENCY, rival_latency: Latency = RIVAL_LATENCY
) -> dict[str, Any]:
    """Random routing through the real pool: litellm, a store in a temporary folder, a stand-in for the models.

    The bound is max(longest chain, total / concurrency) over the distinct calls made, in latencies of the server.

    CPU is that of this process, all threads. Ours is that of a run in which the stand-in answers in the process
    after the same latencies: all but litellm, the policy included (random routing has no encoder). litellm's is what
    the run against the server took more. Where other processes use the caches, each of the 64 times a second that this
    one wakes up costs more: a run at a tenth of the latencies shows how much of it is that.

    A run with one call at a time tells whether results depend on concurrency.
    """
    jobs = _jobs(candidates)
    config = _config(TURNS, "http://within.invalid/v1")
    answers = Answers()
    serial = _run(config, jobs, answers.after(Latency(0.0, 0.0)), concurrency=1)
    calls, chains = _latencies(config, serial.episodes, latency)
    # Before litellm is loaded, and with answers that stand ready: neither is our own work.
    within = _run(config, jobs, answers.after(latency))
    dense = _run(config, jobs, answers.after(Latency(latency.mean / 10, latency.sigma)))
    with serving(latency) as address:
        served = _run(_config(TURNS, address), jobs, Client)
    bound = max(max(chains), sum(calls) / CONCURRENCY)

    def each(seconds: float) -> float:
        return round(1000 * seconds / len(jobs), 3)

    return {
        "episodes": len(jobs),
        "calls": served.calls,
        "distinct_calls": len(calls),
        "turns": round(statistics.mean(len(episode.transcript.turns) for episode in served.episodes), 2),
        "latency": f"log-normal, mean {latency.mean:g} s, sigma {latency.sigma:g}",
        "latency_max_s": round(max(calls), 3),
        "longest_chain_s": round(max(chains), 3),
        "bound_s": round(bound, 3),
        "wall_s": round(served.wall, 3),
        "ratio": round(served.wall / bound, 3),
        "ratio_without_litellm": round(within.wall / bound, 3),
        "cpu_ms_per_episode": each(within.cpu),
        "cpu_ms_at_tenth_latency": each(dense.cpu),
        "policy_ms_per_episode": each(within.policy),
        "encoder_ms_per_episode": 0.0,
        "litellm_ms_per_episode": each(served.cpu - within.cpu),
        "identical_to_serial": served.episodes == within.episodes == dense.episodes == serial.episodes,
        **_against_one_by_one(candidates, rival_latency),
    }


def _against_one_by_one(candidates: int, latency: Latency) -> dict[str, Any]:
    """Episodes of two turns: all together, and one candidate after another with nothing shared between candidates."""
    jobs = _jobs(candidates)
    with serving(latency) as address:
        config = _config(RIVAL_TURNS, address)
        ours = _run(config, jobs, Client)
        rival = _run(config, jobs, Client, group=ITEMS)
    return {
        "two_turns_wall_s": round(ours.wall, 2),
        "two_turns_calls": ours.calls,
        "two_turns_episodes_per_s": round(len(jobs) / ours.wall, 1),
        "one_by_one_wall_s": round(rival.wall, 2),
        "one_by_one_calls": rival.calls,
        "one_by_one_episodes_per_s": round(len(jobs) / rival.wall, 1),
        "speedup": round(rival.wall / ours.wall, 1),
    }


@dataclass(frozen=True)
class _Measured:
    """A run: wall, CPU of the process and of the policy, all in seconds; calls that were made."""

    episodes: list[Episode]
    wall: float
    cpu: float
    policy: float
    calls: int


def _run(
    config: Config, jobs: Sequence[Job], client: MakeClient, concurrency: int = CONCURRENCY, group: int | None = None
) -> _Measured:
    """Runs the jobs on a new store, all together or in groups one after another, which then share no calls.

    What is loaded and connected at the first call is no part of the measurement.
    """
    if group:
        config = config.model_copy(update={"pool": config.pool.model_copy(update={"responses": "live"})})
    policy = _Timed(RandomPolicy(len(AGENTS), tuple(config.episode.roles)))
    with (
        tempfile.TemporaryDirectory() as folder,
        Grader(config.sandbox) as grader,
        contextlib.closing(Database(Path(folder) / ".trinity" / "responses")) as database,
        contextlib.closing(RemotePool(config, "bench", database.path.parent, client)) as pool,
        Rollouts(pool, grader, make_rules(config), concurrency) as rollouts,
    ):
        first = [Job(items(ITEMS + 1)[-1], agent) for agent in range(len(AGENTS))]
        rollouts.run(FixedPolicy.each_agent(len(AGENTS)), first, rollouts.rules.single_call())
        start, cpu = time.perf_counter(), time.process_time()
        episodes = [
            episode
            for begin in range(0, len(jobs), group or len(jobs))
            for episode in rollouts.run(policy, jobs[begin : begin + (group or len(jobs))])
        ]
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        ((calls,),) = database.rows("SELECT calls FROM totals")
        return _Measured(episodes, wall, cpu, policy.seconds, calls - len(first))


class _Timed:
    """A policy, and the CPU seconds that its decisions took."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.seconds = 0.0

    def decide(self, states: Sequence[State]) -> list[Decision]:
        start = time.thread_time()
        decisions = self._policy.decide(states)
        self.seconds += time.thread_time() - start
        return decisions


class Answers:
    """What the stand-in says, without HTTP and litellm; each answer is computed once."""

    def __init__(self) -> None:
        self._replies: dict[bytes, Reply] = {}

    def after(self, latency: Latency) -> MakeClient:
        """Makes clients that answer after the latencies of the server."""
        replies = self._replies

        class Within(Client):
            def __init__(self, agent: Agent, limits: Limits) -> None:
                self.agent = agent  # and no litellm

            async def attempt(self, call: Call) -> Reply:
                model, prompt = call.model.removeprefix(PROVIDER), call.messages[0].content
                if call.key not in replies:
                    text = reply_text(model, prompt)
                    replies[call.key] = Reply(text, "stop", len(prompt) // 4, len(text) // 4, model=model)
                await asyncio.sleep(latency.of(model, prompt))
                return replies[call.key]

        return Within


def _config(turns: int, address: str) -> Config:
    """params.yaml, but for the agents and the number of turns."""
    config = load_config()
    agents = [Agent(name=name, model=PROVIDER + name, api_base=address) for name in AGENTS]
    pool = Pool(kind="litellm", agents=agents, tries=1)
    episode = config.episode.model_copy(update={"max_turns": turns, "roles": list(Role), "temperature": 0.0})
    return config.model_copy(update={"pool": pool, "episode": episode})


def _jobs(candidates: int) -> list[Job]:
    """Every candidate on the same items, each with draws of its own."""
    return [Job(item, candidate, key=("bench", candidate)) for candidate in range(candidates) for item in items(ITEMS)]


def _latencies(config: Config, episodes: Sequence[Episode], latency: Latency) -> tuple[list[float], list[float]]:
    """Seconds of each distinct call, and of each episode's calls together."""
    rules = make_rules(config)
    calls: dict[Request, float] = {}
    chains = []
    for episode in episodes:
        transcript, chain = Transcript(episode.item.question), 0.0
        for turn in episode.transcript.turns:
            request = rules.request(episode.item.id, transcript, turn.decision, 0)
            calls[request] = latency.of(request.agent, request.messages[0].content)
            chain += calls[request]
            transcript = transcript.append(turn)
        chains.append(chain)
    return list(calls.values()), chains
