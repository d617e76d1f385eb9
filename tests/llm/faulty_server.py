"""An OpenAI-compatible server of the tests' own: its replies are a function of the request, its faults are chosen.

It runs on 127.0.0.1 in a thread, counts what it receives, and can also send half a reply, garbage, or nothing at all.
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from trinity.rng import uniform

PHRASES = {200: "OK", 302: "Found", 429: "Too Many Requests"}


@dataclass(frozen=True)
class Asked:
    """What came in.

    Attributes:
        times: How often this very body came, this time included.
    """

    body: Mapping[str, Any]
    digest: str
    times: int

    @property
    def text(self) -> str:
        """The last message."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Reaction:
    """What goes out.

    Attributes:
        delay: Seconds before anything is sent.
        cut: Bytes of the body after which the connection is reset; None: all is sent.
        stall: Whether nothing follows what is sent.
    """

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    delay: float = 0.0
    cut: int | None = None
    stall: bool = False


Choice = Callable[[Asked], Reaction]


def reply_text(asked: Asked) -> str:
    """What a faultless server says: it depends on all that was sent."""
    return f"{asked.text[:40]} -> {asked.digest[:16]}"


def completion(asked: Asked, **changes: Any) -> dict[str, Any]:
    """A faultless reply as a value; `changes` replace `content`, `finish_reason`, `usage` or `choices`."""
    text = reply_text(asked)
    choice = {
        "index": 0,
        "finish_reason": changes.get("finish_reason", "stop"),
        "message": {"role": "assistant", "content": changes.get("content", text)},
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": f"{asked.body['model']}-2026",
        "choices": changes.get("choices", [choice]),
        "usage": changes.get("usage", {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}),
    }


def answer(asked: Asked, **changes: Any) -> Reaction:
    """A faultless reply."""
    return Reaction(json.dumps(completion(asked, **changes)).encode())


def refusal(status: int, message: str = "no", code: str | None = None, **headers: str) -> Choice:
    """A page that says no, as OpenAI writes it; header names with _ for -."""
    body = json.dumps({"error": {"message": message, "type": "error", "param": None, "code": code}}).encode()
    all_headers = {"Content-Type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
    return lambda asked: Reaction(body, status, all_headers)


def page(status: int) -> Choice:
    """An HTML page of some gateway."""
    return lambda asked: Reaction(b"<html><body>gateway</body></html>", status, {"Content-Type": "text/html"})


def reset(asked: Asked) -> Reaction:
    """The connection is reset in the middle of the reply."""
    return replace(answer(asked), cut=60)


def broke_off(asked: Asked) -> Reaction:
    """Half of a text, and OpenRouter's word for an upstream that failed on the way."""
    return answer(asked, content="half of", finish_reason="error", usage=None)


def not_utf8(asked: Asked) -> Reaction:
    """A reply with bytes in it that are no UTF-8."""
    return Reaction(answer(asked).body.replace(b"->", b"\xff\xfe"))


def truncated(asked: Asked) -> Reaction:
    """Half of the JSON, under headers that call it whole."""
    return Reaction(answer(asked).body[:60])


def stall(asked: Asked) -> Reaction:
    """Headers and half of the reply, then silence."""
    return replace(answer(asked), cut=60, stall=True)


def first(times: int, fault: Choice) -> Choice:
    """The first attempts of every call meet a fault, the next are answered."""
    return lambda asked: fault(asked) if asked.times <= times else answer(asked)


TRANSIENT: tuple[Choice, ...] = (
    refusal(429), refusal(429, Retry_After="0"), refusal(500), refusal(502), refusal(503), page(200), page(502), reset,
    truncated, not_utf8, broke_off, lambda asked: answer(asked, choices=[]), lambda asked: Reaction(b""),
)  # fmt: skip


def often(share: float) -> Choice:
    """That share of the attempts, drawn by call and attempt, meets one of the transient faults."""

    def choose(asked: Asked) -> Reaction:
        if uniform("fault", asked.digest, asked.times) >= share:
            return answer(asked)
        return TRANSIENT[int(uniform("which", asked.digest, asked.times) * len(TRANSIENT))](asked)

    return choose


class FaultyServer:
    """Serves `/v1/chat/completions` while it is entered.

    Args:
        choose: How it reacts; faultless by default. May be replaced while it serves.

    Attributes:
        received: How often each request came, by the digest of its body.
        asked: How often each last message came.
        authorization: The header of that name, of every request.
        most_at_once: The most requests that were under way together.
    """

    def __init__(self, choose: Choice = answer) -> None:
        self.choose = choose
        self.received: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.authorization: list[str] = []
        self.most_at_once = 0
        self._now = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> "FaultyServer":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024), self._loop
        ).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """The api_base."""
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    @property
    def requests(self) -> int:
        """All that came."""
        return sum(self.received.values())

    async def _stop(self) -> None:
        self._server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            digest = sha256(raw).hexdigest()
            self.received[digest] += 1
            self.authorization.append(headers.get("authorization", ""))
            asked = Asked(json.loads(raw) if raw else {}, digest, self.received[digest])
            self.asked[asked.text if raw else ""] += 1
            reaction = self.choose(asked)
            await asyncio.sleep(reaction.delay)
            return await self._send(writer, reaction)
        finally:
            self._now -= 1

    async def _send(self, writer: asyncio.StreamWriter, reaction: Reaction) -> bool:
        lines = [f"HTTP/1.1 {reaction.status} {PHRASES.get(reaction.status, 'No')}"]
        lines += [f"{name}: {value}" for name, value in reaction.headers.items()]
        lines += [f"Content-Length: {len(reaction.body)}", "", ""]
        writer.write("\r\n".join(lines).encode("latin-1") + reaction.body[: reaction.cut])
        await writer.drain()
        if reaction.stall:
            await asyncio.sleep(3600)
        if reaction.cut is not None:
            await asyncio.sleep(0.02)  # what was sent arrives before the reset
            return False
        return True
