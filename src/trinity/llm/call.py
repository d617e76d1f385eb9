"""A call to a real model and its reply, as they are sent, stored and counted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

from trinity.types import Message

FinishReason = Literal["stop", "length", "content_filter"]
MOST_TOKENS, MOST_USD, MOST_SAMPLES = 10**9, 1e6, 2**63 - 1
"""Beyond, a count or a price of one call is none."""


@dataclass(frozen=True, eq=False)
class Call:
    """Everything that affects a reply, and nothing else.

    Attributes:
        model: As litellm names it.
        messages: What is read.
        params: Decoding and whatever else is sent with every call of the agent.
        sample: Which of several independent replies; always 0 at temperature 0, where one is paid.
    """

    model: str
    messages: tuple[Message, ...]
    params: Mapping[str, Any]
    sample: int

    @cached_property
    def canonical(self) -> bytes:
        """The call as JSON, the same bytes for equal calls."""
        value = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
            "params": dict(self.params),
            "sample": self.sample,
        }
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")

    @cached_property
    def key(self) -> bytes:
        """SHA-256 of `canonical`: 32 bytes."""
        return sha256(self.canonical).digest()

    @classmethod
    def parse(cls, canonical: bytes) -> "Call":
        """The call of its canonical JSON.

        Raises:
            ValueError: it is no call.
        """
        value = json.loads(canonical)
        if not isinstance(value, dict) or set(value) != {"model", "messages", "params", "sample"}:
            raise ValueError("not a call")
        try:
            messages = tuple(Message(message["role"], message["content"]) for message in value["messages"])
        except (TypeError, KeyError):
            raise ValueError("not a call") from None
        texts = [value["model"], *(text for message in messages for text in (message.role, message.content))]
        if not all(isinstance(text, str) and _encodes(text) for text in texts) or not isinstance(value["params"], dict):
            raise ValueError("not a call")
        if type(value["sample"]) is not int or not 0 <= value["sample"] <= MOST_SAMPLES:
            raise ValueError("not a call")
        return cls(value["model"], messages, value["params"], value["sample"])

    def describe(self) -> str:
        """One line that names it: model, the start of its key, decoding, and the end of its last message."""
        last = " ".join(self.messages[-1].content.split()) if self.messages else ""
        shown = last if len(last) <= 80 else f"{last[:40]} ... {last[-40:]}"
        params = ", ".join(f"{name}={value}" for name, value in sorted(self.params.items()))
        line = f"{self.model} [{self.key.hex()[:12]}] ({params}, sample {self.sample}): {shown!r}"
        return " ".join(line.split())


@dataclass(frozen=True)
class Usage:
    """What a call was charged for; see `Reply`."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    usd: float | None


@dataclass(frozen=True)
class Reply:
    """A completed reply of a real model.

    Attributes:
        text: Without what a reasoning model thought.
        prompt_tokens: As the provider counted; estimated where `estimated` says so.
        reasoning_tokens: The part of completion_tokens spent on reasoning, where the provider says it.
        usd: Price; None where it is not known.
        model: The version that answered, as the provider names it.
        estimated: Whether the provider gave no usage, so that tokens are a quarter of the bytes.
    """

    text: str
    finish_reason: FinishReason
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int = 0
    usd: float | None = None
    model: str = ""
    estimated: bool = False

    @property
    def usage(self) -> Usage:
        """What it was charged for."""
        return Usage(self.model, self.prompt_tokens, self.completion_tokens, self.reasoning_tokens, self.usd)

    @cached_property
    def canonical(self) -> bytes:
        """The reply as JSON."""
        fields = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "reasoning_tokens", "usd", "model")
        value = {name: getattr(self, name) for name in (*fields, "estimated")}
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")

    @classmethod
    def parse(cls, canonical: bytes) -> "Reply":
        """The reply of its JSON.

        Raises:
            ValueError: it is no reply.
        """
        value = json.loads(canonical)
        try:
            reply = cls(**value)
        except TypeError:
            raise ValueError("not a reply") from None
        whole = (reply.prompt_tokens, reply.completion_tokens, reply.reasoning_tokens)
        if (
            not isinstance(reply.text, str)
            or not isinstance(reply.model, str)
            or not _encodes(reply.text + reply.model)
            or reply.finish_reason not in ("stop", "length", "content_filter")
            or any(type(count) is not int or not 0 <= count <= MOST_TOKENS for count in whole)
            or type(reply.estimated) is not bool
            or type(reply.usd) not in (int, float, type(None))
            or not 0 <= (reply.usd or 0) <= MOST_USD
        ):
            raise ValueError("not a reply")
        return reply


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
