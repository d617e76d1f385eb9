"""Trying a call again: with growing, keyed waits that honour what the provider asks for, and say so."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from trinity.llm.call import Call, Reply
from trinity.llm.failures import CallFailed, Transient
from trinity.rng import uniform

FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 1.0, 60.0, 600.0
Attempt = Callable[[Call], Awaitable[Reply]]


def wait_before(attempt: int, call: Call, asked: float | None, first_wait: float = FIRST_WAIT) -> float:
    """Seconds before an attempt (2, 3, ...): doubling up to a minute, spread by a keyed draw.

    What the provider asks for is never undercut, up to ten minutes.
    """
    doubled = min(LONGEST_WAIT, first_wait * 2.0 ** min(attempt - 2, 100))  # 2 to the power of thousands is no float
    own = doubled * (0.5 + uniform("retry", call.key.hex(), attempt))
    return own if asked is None else max(min(asked, LONGEST_ASKED), min(own, 1.0))


async def persistently(
    attempt: Attempt,
    call: Call,
    agent: str,
    tries: int,
    first_wait: float = FIRST_WAIT,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> tuple[Reply, int]:
    """Attempts a call until a reply comes; says on stderr when it tries again.

    Args:
        attempt: Makes one attempt.
        call: What is asked.
        agent: For what is said.
        tries: Attempts at the most.
        first_wait: Seconds before the second attempt, on average; every next wait is twice as long.
        sleep: Waits so many seconds; may raise to give up.

    Returns:
        The reply and the number of attempts.

    Raises:
        CallFailed: another attempt cannot help, or the last one failed too.
    """
    for number in range(1, tries + 1):
        try:
            return await attempt(call), number
        except Transient as failure:
            if number == tries:
                failed = "1 attempt failed" if tries == 1 else f"{tries} attempts failed, the last with"
                raise type(failure)(
                    f"agent {agent}: {failed}: {failure}: what was answered is stored; "
                    "run the same command again when the provider answers (pool.tries, pool.read_seconds)"
                ) from None
            wait = wait_before(number + 1, call, failure.retry_after, first_wait)
            print(f"{agent}, try {number + 1} of {tries}, {failure.kind}, next in {wait:.0f} s", file=sys.stderr)
            await sleep(wait)
    raise CallFailed(f"agent {agent}: pool.tries must be at least 1")
