"""Many episodes at once, turn by turn.

All episodes take their first turn together, then their second, and so on: the policy decides for all of them in one
call, and what the pool answers never depends on which reply came first. Episodes of one item that made the same choices
so far share one transcript, and equal requests of a turn are made once: under the `Pool` contract their replies are the
same.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from trinity.coordinator.base import Policy, State
from trinity.llm.base import Pool
from trinity.orchestration.rules import EpisodeRules
from trinity.rewards.grader import Grader
from trinity.rng import Key
from trinity.types import Decision, Episode, Item, Request, Response, Transcript, Verdict

Node = tuple[str, int, tuple[tuple[int, str], ...]]


@dataclass(frozen=True)
class Job:
    """One episode to run.

    Attributes:
        candidate: Which theta of the policy decides.
        sample_index: Part of every request: another index is another sample of the pool.
        key: Keys the policy's draws, with item and turn. Candidates whose jobs share it share random numbers.
    """

    item: Item
    candidate: int = 0
    sample_index: int = 0
    key: tuple[Key, ...] = ()


class Rollouts:
    """Runs episodes on one pool under one set of rules.

    Args:
        pool: Answers the requests.
        grader: Gives the reward of the latest Worker's uncut reply; no Worker, no reward: 0.
        rules: The inner loop.
        concurrency: Requests in flight at once; changes no result.
    """

    def __init__(self, pool: Pool, grader: Grader, rules: EpisodeRules, concurrency: int) -> None:
        self.pool = pool
        self.grader = grader
        self.rules = rules
        self._concurrency = concurrency
        self._runner = asyncio.Runner()

    def __enter__(self) -> "Rollouts":
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    def run(self, policy: Policy, jobs: Sequence[Job], rules: EpisodeRules | None = None) -> list[Episode]:
        """Runs every job to its end; episodes come back in the order of the jobs."""
        return self._runner.run(self._run(policy, jobs, rules or self.rules))

    async def _run(self, policy: Policy, jobs: Sequence[Job], rules: EpisodeRules) -> list[Episode]:
        transcripts = [Transcript(job.item.question) for job in jobs]
        # Jobs at one node have the same item, sample index and choices so far, hence the same transcript object.
        nodes: list[Node] = [(job.item.id, job.sample_index, ()) for job in jobs]
        shared: dict[Node, Transcript] = {}
        active = list(range(len(jobs)))
        while active:
            states = [State(jobs[i].item.id, transcripts[i], jobs[i].candidate, jobs[i].key) for i in active]
            decisions = policy.decide(states)
            arrivals: list[Node] = []
            for i, decision in zip(active, decisions, strict=True):
                item_id, sample_index, path = nodes[i]
                arrivals.append((item_id, sample_index, (*path, (decision.agent, decision.role.value))))
            edges: dict[Node, tuple[int, Decision]] = {}
            for i, decision, arrival in zip(active, decisions, arrivals, strict=True):
                edges.setdefault(arrival, (i, decision))
            requests = [
                rules.request(jobs[i].item.id, transcripts[i], decision, jobs[i].sample_index)
                for i, decision in edges.values()
            ]
            responses = await self._answer(requests)
            for (arrival, (i, decision)), response in zip(edges.items(), responses, strict=True):
                shared[arrival] = rules.advance(transcripts[i], decision, response)
            for i, arrival in zip(active, arrivals, strict=True):
                transcripts[i], nodes[i] = shared[arrival], arrival
            active = [i for i in active if not rules.finished(transcripts[i])]
        works = [(job.item, transcript.latest_work) for job, transcript in zip(jobs, transcripts, strict=True)]
        self.grader.grade_all((item, work) for item, work in works if work)
        return [self._episode(job, transcript) for job, transcript in zip(jobs, transcripts, strict=True)]

    async def _answer(self, requests: Sequence[Request]) -> list[Response]:
        limit = asyncio.Semaphore(self._concurrency)

        async def answer(request: Request) -> Response:
            async with limit:
                return await self.pool.generate(request)

        # Two paths can lead to one request: what an agent reads does not say who spoke before.
        unique = list(dict.fromkeys(requests))
        replies = await asyncio.gather(*(answer(request) for request in unique))
        reply_to = dict(zip(unique, replies, strict=True))
        return [reply_to[request] for request in requests]

    def _episode(self, job: Job, transcript: Transcript) -> Episode:
        work = transcript.latest_work
        reward = self.grader.grade(job.item, work).value if work else 0.0
        accepted = transcript.turns[-1].verdict is Verdict.ACCEPT
        return Episode(job.item, transcript, reward, accepted, job.candidate)
