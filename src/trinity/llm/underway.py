"""The requests of a pool that are under way in one event loop: who waits for whom, and when all give up."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping

from trinity.llm.call import Reply
from trinity.llm.client import closing_connections
from trinity.llm.failures import GivenUp


class Underway:
    """What a pool keeps for one event loop.

    Attributes:
        limits: By agent, of the requests under way.
        in_flight: By the key of their calls, replies that are awaited.
        ended: Done when the next request under way has ended.
        failed: Done once a request failed for good, until none is under way.
        turn: Held by the one request that waits for room in the budget for all that do.
        looked: When claims of dead processes were last looked for.
        connections: Closes those that litellm keeps when the loop ends.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, concurrency: Mapping[str, int]) -> None:
        self.loop = loop
        self.limits = {agent: asyncio.Semaphore(most) for agent, most in concurrency.items()}
        self.in_flight: dict[bytes, asyncio.Future[Reply]] = {}
        self.ended: asyncio.Future[None] = loop.create_future()
        self.failed: asyncio.Future[None] = loop.create_future()
        self._asking = 0
        self.turn = asyncio.Lock()
        self.looked = time.monotonic()
        self.connections = closing_connections()

    def say_ended(self) -> None:
        """Wakes whoever waits for a request to end."""
        self.ended.set_result(None)
        self.ended = self.loop.create_future()

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """Around a request. A failure for good holds for all that are under way with it."""
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1
            if self._asking == 0 and self.failed.done():
                self.failed = self.loop.create_future()

    def say_failed(self) -> None:
        """Ends the waits of whoever would try again."""
        if not self.failed.done():
            self.failed.set_result(None)

    def go_on(self) -> None:
        """Before an attempt.

        Raises:
            GivenUp: another request has failed for good.
        """
        if self.failed.done():
            raise GivenUp("not tried, as another call failed")

    async def sleep(self, seconds: float) -> None:
        """Waits, unless another request fails for good meanwhile.

        Raises:
            GivenUp: one did.
        """
        await asyncio.wait([self.failed], timeout=seconds)
        self.go_on()
