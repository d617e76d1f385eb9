"""Many episodes at once.

Each episode goes on as soon as its reply is there; none waits for another's. What decides and what is asked depends on
the transcript alone, so neither the order of replies nor the number of requests in flight changes an episode. Episodes
of one item that made the same choices so far share one transcript, and equal requests of a run are made once: under the
`Pool` contract their replies are the same.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from trinity.coordinator.base import Policy, State
from trinity.llm.base import Pool
from trinity.orchestration.decisions import Decider
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
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="policy")

    def __enter__(self) -> "Rollouts":
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()
        self._thread.shutdown()

    def run(self, policy: Policy, jobs: Sequence[Job], rules: EpisodeRules | None = None) -> list[Episode]:
        """Runs every job to its end; episodes come back in the order of the jobs.

        Raises:
            TrinityError: a call got no reply, or a decision could not be taken. Requests in flight are answered first,
                new ones are not made.
        """
        rules = rules or self.rules
        run = _Run(self.pool, Decider(policy, self._thread), rules, self._concurrency)
        transcripts = self._runner.run(run.all(jobs))
        works = [(job.item, transcript.latest_work) for job, transcript in zip(jobs, transcripts, strict=True)]
        self.grader.grade_all((item, work) for item, work in works if work)
        return [self._episode(job, transcript) for job, transcript in zip(jobs, transcripts, strict=True)]

    def _episode(self, job: Job, transcript: Transcript) -> Episode:
        work = transcript.latest_work
        reward = self.grader.grade(job.item, work).value if work else 0.0
        accepted = transcript.turns[-1].verdict is Verdict.ACCEPT
        return Episode(job.item, transcript, reward, accepted, job.candidate)


class _Stopped(Exception):
    """Another episode of the run has failed: no new request is made."""


class _Run:
    """The state of one run: what is under way, by node and by request."""

    def __init__(self, pool: Pool, decider: Decider, rules: EpisodeRules, concurrency: int) -> None:
        self._pool, self._decider, self._rules = pool, decider, rules
        self._limit = asyncio.Semaphore(concurrency)
        self._nodes: dict[Node, asyncio.Task[Transcript]] = {}
        self._requests: dict[Request, asyncio.Task[Response]] = {}
        self._failed = False

    async def all(self, jobs: Sequence[Job]) -> list[Transcript]:
        """The final transcripts, in the order of the jobs; the first failure only after all has settled."""
        ends = await asyncio.gather(*(self._episode(job) for job in jobs), return_exceptions=True)
        failures = [end for end in ends if isinstance(end, BaseException)]
        for failure in sorted(failures, key=lambda failure: isinstance(failure, _Stopped)):
            raise failure
        return [end for end in ends if isinstance(end, Transcript)]

    async def _episode(self, job: Job) -> Transcript:
        try:
            transcript = Transcript(job.item.question)
            # Jobs at one node have the same item, sample index and choices so far, hence the same transcript object.
            node: Node = (job.item.id, job.sample_index, ())
            while not self._rules.finished(transcript):
                decision = await self._decider.decide(State(job.item.id, transcript, job.candidate, job.key))
                node = (*node[:2], (*node[2], (decision.agent, decision.role.value)))
                if node not in self._nodes:
                    self._nodes[node] = asyncio.create_task(self._turn(job, transcript, decision))
                transcript = await self._nodes[node]
            return transcript
        except Exception:
            self._failed = True
            raise

    async def _turn(self, job: Job, transcript: Transcript, decision: Decision) -> Transcript:
        request = self._rules.request(job.item.id, transcript, decision, job.sample_index)
        # Two paths can lead to one request: what an agent reads does not say who spoke before.
        if request not in self._requests:
            self._requests[request] = asyncio.create_task(self._answer(request))
        return self._rules.advance(transcript, decision, await self._requests[request])

    async def _answer(self, request: Request) -> Response:
        async with self._limit:
            if self._failed:
                raise _Stopped
            try:
                return await self._pool.generate(request)
            except Exception:
                self._failed = True
                raise
