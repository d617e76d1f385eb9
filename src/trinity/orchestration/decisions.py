"""Decisions of a policy beside the calls in flight."""

import asyncio
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from trinity.coordinator.base import Policy, State
from trinity.types import Decision

QUICK_SECONDS = 0.001


class Decider:
    """Lets a policy decide in a thread, so that calls go on meanwhile; in place where that takes no time to speak of.

    Args:
        policy: Decides.
        thread: An executor of one thread.
    """

    def __init__(self, policy: Policy, thread: ThreadPoolExecutor) -> None:
        self._policy, self._thread = policy, thread
        self._seconds = math.inf

    def decide(self, states: Sequence[State]) -> asyncio.Future[list[Decision]]:
        """One decision a state, in order, or what the policy raised."""
        loop = asyncio.get_running_loop()
        if self._seconds * len(states) > QUICK_SECONDS:
            return loop.run_in_executor(self._thread, self._timed, states)
        decided: asyncio.Future[list[Decision]] = loop.create_future()
        try:
            decided.set_result(self._timed(states))
        except Exception as error:
            decided.set_exception(error)
        return decided

    def _timed(self, states: Sequence[State]) -> list[Decision]:
        start = time.perf_counter()
        decisions = self._policy.decide(states)
        seconds = (time.perf_counter() - start) / len(states)
        # A slow batch is remembered over some quick ones; the first knows of none before it.
        self._seconds = seconds if math.isinf(self._seconds) else max(seconds, self._seconds / 2)
        return decisions
