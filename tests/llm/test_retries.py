"""Calls that are tried again: when, how often, and what is said of it."""

import asyncio
import time

import pytest

from trinity.llm.call import Call, Reply
from trinity.llm.failures import CallFailed, Malformed, NoKey, RateLimited, ServerFailed
from trinity.llm.retries import LONGEST_ASKED, persistently, wait_before
from trinity.types import Message

CALL = Call("openai/tiny", (Message("user", "?"),), {"temperature": 0.0}, 0)
REPLY = Reply("yes", "stop", 1, 1)


class Server:
    """Fails with what it is given, in turn, then answers."""

    def __init__(self, *failures: CallFailed) -> None:
        self.failures = list(failures)
        self.attempts = 0

    async def attempt(self, call: Call) -> Reply:
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)
        return REPLY


def test_it_answers_after_failures_and_says_each_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(RateLimited("slow down"), ServerFailed("500"), Malformed("HTML"))
    assert asyncio.run(persistently(server.attempt, CALL, "alpha", 8, 0.001)) == (REPLY, 4)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "alpha, try 2 of 8, rate limit, next in 0 s",
        "alpha, try 3 of 8, server failure, next in 0 s",
        "alpha, try 4 of 8, malformed reply, next in 0 s",
    ]


def test_what_persists_ends_in_one_line_of_the_last_failures_type() -> None:
    server = Server(*[ServerFailed("502: gone")] * 9)
    with pytest.raises(
        ServerFailed, match=r"agent alpha: 3 attempts failed.*502: gone.*is stored.*run the same"
    ) as got:
        asyncio.run(persistently(server.attempt, CALL, "alpha", 3, 0.001))
    assert server.attempts == 3
    assert "\n" not in str(got.value)


def test_one_attempt_is_one() -> None:
    with pytest.raises(ServerFailed, match=r"agent alpha: 1 attempt failed: 502: gone: what was answered"):
        asyncio.run(persistently(Server(ServerFailed("502: gone")).attempt, CALL, "alpha", 1, 0.001))


def test_what_another_attempt_cannot_mend_is_not_tried_again() -> None:
    server = Server(NoKey("the key is refused"))
    with pytest.raises(NoKey):
        asyncio.run(persistently(server.attempt, CALL, "alpha", 8, 0.001))
    assert server.attempts == 1


def test_retry_after_is_waited_for() -> None:
    started = time.monotonic()
    asyncio.run(persistently(Server(RateLimited("slow down", 0.4)).attempt, CALL, "alpha", 8, 0.001))
    assert 0.4 <= time.monotonic() - started < 30.0


def test_waits_grow_are_keyed_and_bounded() -> None:
    waits = [wait_before(attempt, CALL, None) for attempt in range(2, 12)]
    assert waits == [wait_before(attempt, CALL, None) for attempt in range(2, 12)]
    other = Call("openai/tiny", (Message("user", "!"),), {"temperature": 0.0}, 0)
    assert wait_before(2, other, None) != waits[0]
    for attempt, wait in enumerate(waits, 2):
        middle = min(60.0, 2.0 ** (attempt - 2))
        assert 0.5 * middle <= wait <= 1.5 * middle
    assert wait_before(5000, CALL, None) <= 90.0


def test_what_a_provider_asks_for_is_never_undercut_up_to_ten_minutes() -> None:
    assert wait_before(9, CALL, 7.0) == 7.0
    assert wait_before(2, CALL, 120.0) == 120.0
    assert wait_before(2, CALL, 1e9) == LONGEST_ASKED
    assert 0.5 <= wait_before(5, CALL, 0.0) <= 1.0
