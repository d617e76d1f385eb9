"""Made-up stored responses, and two packs of one call that differ."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database, Entry
from trinity.llm.store.packs import write_pack
from trinity.types import Message

AGENTS = [
    {"name": "ash", "model": "openai/small", "api_base": "http://127.0.0.1:9/v1"},
    {"name": "elm", "model": "openai/large", "api_base": "http://127.0.0.1:9/v1", "params": {"effort": "low"}},
]
POOL = {"kind": "litellm", "agents": AGENTS, "responses": "replay"}


def call(question: str = "1 + 1?", model: str = "openai/small", **params: Any) -> Call:
    decoding = {"temperature": 0.0, "top_p": 1.0, "max_tokens": 64}
    return Call(model, (Message("user", question),), {**decoding, **params}, 0)


def entry(question: str = "1 + 1?", text: str = "2", created: float = 1.0, **changes: Any) -> Entry:
    """A stored response; `changes` are fields of the call's model and params."""
    return Entry(call(question, **changes), Reply(text, "stop", 7, 3, usd=0.5, model="small-v1"), created)


def pack(directory: Path, *entries: Entry) -> Path:
    """The pack of some entries, in whatever order they come."""
    path = write_pack(directory, sorted(entries, key=lambda each: each.call.key))
    assert path is not None
    return path


def fill(database: Database, entries: Iterable[Entry]) -> None:
    with database.transaction():
        for each in entries:
            database.insert(each)


def digests(database: Database) -> dict[bytes, bytes]:
    """What a store holds: by key, the digest of its reply and time."""
    return {each.call.key: each.digest for each in database.entries()}
