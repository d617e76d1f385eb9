"""A stand-in for real models: replies and latencies that depend on the request alone, and a server that gives them.

`python -m trinity.bench.standin MEAN SIGMA` serves them in a process of its own as an OpenAI-compatible server, prints
its port, and ends when its standard input does.
"""

import asyncio
import contextlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

from trinity.errors import TrinityError
from trinity.rng import integer, uniform
from trinity.types import Item

ACCEPTS, SOLVES = 0.25, 0.6
_QUESTION = re.compile(r"What is (\d+) plus (\d+)\?")
_STEPS = "First the tens are added, then the ones, then what is carried over. "


@dataclass(frozen=True)
class Latency:
    """Seconds until a reply: log-normal, whose tail is heavy; constant where sigma is 0.

    Attributes:
        mean: Of the seconds.
        sigma: Of their logarithm.
    """

    mean: float
    sigma: float

    @cache  # noqa: B019 - a few thousand requests of one bench
    def of(self, model: str, prompt: str) -> float:
        """Seconds that this request takes whenever it comes."""
        if self.sigma == 0:
            return self.mean
        quantile = NormalDist().inv_cdf(uniform("latency", model, prompt) or 0.5)
        return self.mean * math.exp(self.sigma * quantile - self.sigma**2 / 2)


def items(count: int) -> list[Item]:
    """Questions that the stand-in can answer."""
    pairs = [(11 + 7 * number, 5 + 13 * number) for number in range(count)]
    return [
        Item(
            f"sum-{first}-{second}", "sums", "sums",
            f"What is {first} plus {second}? Put the answer into \\boxed{{}}.", "math", str(first + second),
        )
        for first, second in pairs
    ]  # fmt: skip


def reply_text(model: str, prompt: str) -> str:
    """Some hundred words, an answer and a verdict, so that a reply serves in any role."""
    question = _QUESTION.search(prompt)
    value = int(question[1]) + int(question[2]) if question else 0
    if uniform("solves", model, prompt) >= SOLVES:
        value += 1 + integer(9, "wrong", model, prompt)
    verdict = "ACCEPT" if uniform("accepts", model, prompt) < ACCEPTS else "REVISE"
    return f"{_STEPS * (4 + integer(9, 'length', model, prompt))}\n\\boxed{{{value}}}\nVERDICT: {verdict}"


@contextlib.contextmanager
def serving(latency: Latency) -> Iterator[str]:
    """The address of a server in a process of its own.

    Raises:
        TrinityError: it did not start.
    """
    command = [sys.executable, "-m", "trinity.bench.standin", str(latency.mean), str(latency.sigma)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            port = process.stdout.readline().strip()
            if not port:
                raise TrinityError("bench: the stand-in's server did not start")
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.stdin.close()


async def _serve(latency: Latency) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = re.search(rb"content-length: *(\d+)", head)
                body = json.loads(await reader.readexactly(int(length[1]) if length else 0))
                prompt = "\n".join(message["content"] for message in body["messages"])
                await asyncio.sleep(latency.of(body["model"], prompt))
                reply = json.dumps(_completion(body["model"], prompt)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(reply)
                )
                writer.write(reply)
        writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    server.close()


def _completion(model: str, prompt: str) -> dict[str, Any]:
    text = reply_text(model, prompt)
    read, written = len(prompt) // 4, len(text) // 4
    return {
        "id": "standin", "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }  # fmt: skip


if __name__ == "__main__":
    asyncio.run(_serve(Latency(float(sys.argv[1]), float(sys.argv[2]))))
