"""Trying a call again: with growing, keyed waits that honour what the provider asks for, and say so."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from trinity.llm.call import Call, Reply
from trinity.llm.client import CallFailed, Transient
from trinity.rng import uniform

FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 1.0, 60.0, 600.0
Attempt = Callable[[Call], Awaitable[Reply]]


def wait_before(attempt: int, call: Call, asked: float | None) -> float:
    """Seconds before an attempt (2, 3, ...): doubling up to a minute, spread by a keyed draw.

    What the provider asks for is honoured up to ten minutes, and never undercut.
    """
    own = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 2)) * (0.5 + uniform("retry", call.key.hex(), attempt))
    return own if asked is None else max(min(asked, LONGEST_ASKED), min(own, 1.0))


async def persistently(
    attempt: Attempt, call: Call, agent: str, tries: int, say: Callable[[str], None] | None = None
) -> tuple[Reply, int]:
    """Attempts a call until a reply comes.

    Args:
        attempt: Makes one attempt.
        call: What is asked.
        agent: For what is said.
        tries: Attempts at the most.
        say: Told of every further attempt; prints to stderr by default.

    Returns:
        The reply and the number of attempts.

    Raises:
        CallFailed: another attempt cannot help, or the last one failed too.
    """
    say = say or _print
    for number in range(1, tries + 1):
        try:
            return await attempt(call), number
        except Transient as failure:
            if number == tries:
                raise type(failure)(
                    f"agent {agent}: {tries} attempts failed, the last with: {failure}: what was answered is stored; "
                    "run the same command again when the provider answers (pool.tries, pool.read_seconds)"
                ) from None
            wait = wait_before(number + 1, call, failure.retry_after)
            say(f"{agent}, try {number + 1} of {tries}, {failure.kind}, next in {wait:.0f} s")
            await asyncio.sleep(wait)
    raise CallFailed(f"agent {agent}: pool.tries must be at least 1")


def _print(line: str) -> None:
    print(line, file=sys.stderr)
