"""Many episodes at once.

Each episode goes on as soon as its reply is there; none waits for another's. What decides and what is asked depends on
the transcript alone, so neither the order of replies nor the number of requests in flight changes an episode. Episodes
of one item that made the same choices so far share one transcript, and equal requests of a run are made once: under the
`Pool` contract their replies are the same.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from trinity.coordinator.base import Policy, State
from trinity.llm.base import Pool
from trinity.orchestration.decisions import Decider
from trinity.orchestration.rules import EpisodeRules
from trinity.rewards.grader import Grader
from trinity.rng import Key
from trinity.types import Decision, Episode, Item, Request, Response, Transcript, Verdict

PROGRESS_AFTER = 3.0
"""Seconds after which a run shows its progress: with a pool that answers at once it shows none."""


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

        On a terminal, a run that takes long shows how many episodes have ended.

        Raises:
            Exception: the first that the pool or the policy raised. Requests in flight are answered before, new ones
                are not made.
        """
        from tqdm import tqdm

        with tqdm(
            total=len(jobs), desc="episodes", unit="episode", delay=PROGRESS_AFTER, leave=False, disable=None
        ) as progress:
            decider = Decider(policy, self._thread)
            run = _Run(self.pool, decider, rules or self.rules, self._concurrency, progress.update)
            transcripts = self._runner.run(run.all(jobs))
        works = [(job.item, transcript.latest_work) for job, transcript in zip(jobs, transcripts, strict=True)]
        self.grader.grade_all((item, work) for item, work in works if work)
        return [self._episode(job, transcript) for job, transcript in zip(jobs, transcripts, strict=True)]

    def _episode(self, job: Job, transcript: Transcript) -> Episode:
        work = transcript.latest_work
        reward = self.grader.grade(job.item, work).value if work else 0.0
        accepted = transcript.turns[-1].verdict is Verdict.ACCEPT
        return Episode(job.item, transcript, reward, accepted, job.candidate)


@dataclass(eq=False)
class _Place:
    """Where episodes of one item, sample index and sequence of choices stand.

    Attributes:
        transcript: None as long as its latest reply is awaited.
        awaiting: The jobs that stand here until then.
        onward: The places that were chosen from here.
    """

    transcript: Transcript | None = None
    awaiting: list[int] = field(default_factory=list)
    onward: dict[Decision, "_Place"] = field(default_factory=dict)


@dataclass(eq=False)
class _Asked:
    """A request that was made, and the places that its reply leads to: transcript, decision, place."""

    leads: list[tuple[Transcript, Decision, _Place]] = field(default_factory=list)
    reply: Response | None = None


class _Run:
    """One run: every episode waits for a decision, then for a reply, in turn.

    The policy decides for all who wait, one batch at a time, while calls are in flight; who comes meanwhile is in the
    next batch. A pool that answers at once answers all of a batch before the next.
    """

    def __init__(
        self, pool: Pool, decider: Decider, rules: EpisodeRules, concurrency: int, ended: Callable[[], object]
    ) -> None:
        self._pool, self._decider, self._rules, self._ended = pool, decider, rules, ended
        self._limit = asyncio.Semaphore(concurrency)
        self._jobs: Sequence[Job] = ()
        self._places: list[_Place] = []
        self._undecided: list[int] = []
        self._batch: list[int] = []
        self._deciding: asyncio.Future[list[Decision]] | None = None
        self._asked: dict[Request, _Asked] = {}
        self._flying: dict[Request, asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._failure: BaseException | None = None

    async def all(self, jobs: Sequence[Job]) -> list[Transcript]:
        """The final transcripts, in the order of the jobs."""
        self._jobs, self._places = jobs, [_Place()] * len(jobs)
        roots: dict[tuple[str, str, int], _Place] = {}
        for index, job in enumerate(jobs):
            root = (job.item.task, job.item.id, job.sample_index)
            self._arrive(index, roots.setdefault(root, _Place(Transcript(job.item.question))))
        try:
            self._next_batch()
            while self._deciding or self._flying:
                await self._news.wait()
                self._news.clear()
                self._next_batch()
        except BaseException as error:  # an interrupt
            self._failure = error
            for waiting in [self._deciding, *self._flying.values()]:
                if waiting is not None:
                    waiting.cancel()
            await asyncio.gather(*self._flying.values(), return_exceptions=True)
        if self._failure is not None:
            raise self._failure
        return [place.transcript for place in self._places if place.transcript is not None]

    def _next_batch(self) -> None:
        """Has the policy decide for all who wait, unless it is still busy with others."""
        while self._undecided and self._deciding is None and self._failure is None:
            self._batch, self._undecided = sorted(self._undecided), []
            states = [
                State(job.item.id, transcript, job.candidate, job.key)
                for index in self._batch
                for job, transcript in [(self._jobs[index], self._places[index].transcript)]
                if transcript is not None
            ]
            self._deciding = self._decider.decide(states)
            if self._deciding.done():
                self._choose_all(self._deciding)
            else:
                self._deciding.add_done_callback(self._choose_all)

    def _choose_all(self, decided: asyncio.Future[list[Decision]]) -> None:
        """Goes on with a batch that is decided."""
        self._deciding = None
        self._news.set()
        if decided.cancelled():
            return
        try:
            for index, decision in zip(self._batch, decided.result(), strict=True):
                self._choose(index, decision)
        except Exception as error:
            self._failure = self._failure or error

    def _choose(self, index: int, decision: Decision) -> None:
        here = self._places[index]
        there = here.onward.get(decision)
        if there is None:
            there = here.onward[decision] = _Place()
            assert here.transcript is not None
            self._ask(self._jobs[index], here.transcript, decision, there)
        self._arrive(index, there)

    def _ask(self, job: Job, transcript: Transcript, decision: Decision, place: _Place) -> None:
        request = self._rules.request(job.item.id, transcript, decision, job.sample_index)
        # Two paths can lead to one request: what an agent reads does not say who spoke before.
        asked = self._asked.get(request)
        if asked is None:
            asked = self._asked[request] = _Asked()
            self._flying[request] = asyncio.create_task(self._answer(request, asked))
        asked.leads.append((transcript, decision, place))
        self._lead_on(asked)

    async def _answer(self, request: Request, asked: _Asked) -> None:
        """Gets the reply and goes on with it; asks for none after a failure."""
        try:
            async with self._limit:
                if self._failure is None:
                    asked.reply = await self._pool.generate(request)
            self._lead_on(asked)
        except (Exception, asyncio.CancelledError) as error:
            self._failure = self._failure or error
        finally:
            del self._flying[request]
            self._news.set()

    def _lead_on(self, asked: _Asked) -> None:
        if asked.reply is None:
            return
        for transcript, decision, place in asked.leads:
            place.transcript = self._rules.advance(transcript, decision, asked.reply)
            for index in place.awaiting:
                self._arrive(index, place)
        asked.leads = []

    def _arrive(self, index: int, place: _Place) -> None:
        self._places[index] = place
        if place.transcript is None:
            place.awaiting.append(index)
        elif self._rules.finished(place.transcript):
            self._ended()
        else:
            self._undecided.append(index)
