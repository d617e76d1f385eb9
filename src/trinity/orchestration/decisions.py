"""Decisions of a policy, taken for whoever waits, many at a time, beside the calls in flight."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from trinity.coordinator.base import Policy, State
from trinity.types import Decision

QUIET_STEPS = 8
"""Steps of the event loop without a newcomer after which the waiting states are decided."""


class Decider:
    """Collects the states that wait for a decision and lets the policy decide them together.

    The policy runs in a thread, one batch at a time; what arrives meanwhile makes the next batch. Under the `Policy`
    contract a state's decision does not depend on its batch.

    Args:
        policy: Decides.
        thread: An executor of one thread.
    """

    def __init__(self, policy: Policy, thread: ThreadPoolExecutor) -> None:
        self._policy, self._thread = policy, thread
        self._waiting: list[tuple[State, asyncio.Future[Decision]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def decide(self, state: State) -> Decision:
        """The policy's decision at a state.

        Raises:
            Exception: whatever the policy raised.
        """
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._waiting.append((state, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        while self._waiting:
            await self._until_quiet()
            batch, self._waiting = self._waiting, []
            try:
                decisions = await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._decide, [state for state, _ in batch]
                )
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), decision in zip(batch, decisions, strict=True):
                if not future.done():
                    future.set_result(decision)
        self._worker = None

    async def _until_quiet(self) -> None:
        """Lets all arrive that are on their way without waiting for a reply: larger batches are cheaper."""
        before, quiet = -1, 0
        while quiet < QUIET_STEPS:
            quiet = quiet + 1 if len(self._waiting) == before else 0
            before = len(self._waiting)
            await asyncio.sleep(0)

    def _decide(self, states: Sequence[State]) -> list[Decision]:
        return self._policy.decide(states)
