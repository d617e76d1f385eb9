"""Packs: what goes in comes out, the same entries are the same file, and no order of packs matters."""

import gzip
import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stored_responses import digests, entry, fill, pack
from trinity.errors import StoreError
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database, Entry
from trinity.llm.store.packs import Taken, packs_directory, read_new_packs, read_pack, take_in, write_pack
from trinity.types import Message

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 10**6)
calls = st.builds(
    Call,
    st.sampled_from(["openai/small", "openrouter/großes-modell"]),
    st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts), max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["temperature", "max_tokens", "extra"]), st.floats(0, 2) | numbers | texts),
    st.integers(0, 3),
)
replies = st.builds(
    Reply,
    texts,
    st.sampled_from(["stop", "length", "content_filter"]),
    numbers,
    numbers,
    numbers,
    st.none() | st.floats(0, 1e6),
    texts,
    st.booleans(),
)
entries = st.builds(Entry, calls, replies, st.floats(0, 4e9))
SHARED = [entry(str(question)).call for question in range(4)]
rivals = st.builds(Entry, st.sampled_from(SHARED), replies, st.sampled_from([1.0, 2.0, 3.0]))


def distinct(made: Sequence[Entry]) -> list[Entry]:
    """One entry a call, in the order of keys."""
    found = {each.call.key: each for each in made}
    return [found[key] for key in sorted(found)]


@given(st.lists(entries, min_size=1, max_size=8).map(distinct))
@settings(max_examples=60, deadline=None)
def test_what_is_packed_is_read(made: list[Entry]) -> None:
    with TemporaryDirectory() as folder:
        path = pack(Path(folder), *made)
        read = list(read_pack(path))
        assert [(each.call.key, each.reply, each.created) for each in read] == [
            (each.call.key, each.reply, each.created) for each in made
        ]
        first = path.read_bytes()
        assert pack(Path(folder), *reversed(read)) == path
        assert path.read_bytes() == first


@given(st.lists(st.lists(rivals, min_size=1, max_size=4).map(distinct), min_size=2, max_size=3))
@settings(max_examples=25, deadline=None)
def test_no_order_of_imports_matters(groups: list[list[Entry]]) -> None:
    with TemporaryDirectory() as folder:
        packs = [pack(Path(folder), *group) for group in groups]
        results = []
        for number, order in enumerate(itertools.permutations(packs)):
            database = Database(Path(folder) / str(number))
            for path in order:
                take_in(database, path)
            results.append(digests(database))
            database.close()
        assert all(result == results[0] for result in results)
        earliest = {
            key: min((each for group in groups for each in group if each.call.key == key), key=rank).digest
            for key in results[0]
        }
        assert results[0] == earliest


def rank(each: Entry) -> tuple[float, bytes]:
    return each.created, each.digest


def test_the_name_is_the_content_and_nothing_else_is_in_the_bytes(tmp_path: Path) -> None:
    first, second = pack(tmp_path / "a", entry("x"), entry("y")), pack(tmp_path / "b", entry("y"), entry("x"))
    assert (first.name, first.read_bytes()) == (second.name, second.read_bytes())
    assert pack(tmp_path / "a", entry("x"), entry("y", created=2.0)).name != first.name
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_nothing_to_pack_leaves_nothing(tmp_path: Path) -> None:
    assert write_pack(tmp_path, []) is None
    with pytest.raises(ValueError, match="order"):
        write_pack(tmp_path, sorted([entry("x"), entry("y")], key=lambda each: each.call.key, reverse=True))
    assert list(tmp_path.iterdir()) == []


def test_the_remains_of_a_killed_writer_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / ".part").write_bytes(b"half of a pack")
    path = pack(tmp_path, entry())
    assert list(tmp_path.iterdir()) == [path]
    assert len(list(read_pack(path))) == 1


def damage_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def damage_flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)


def damage_rewrite(path: Path) -> None:
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b'"text":"2"', b'"text":"3"')))


def damage_name(path: Path) -> None:
    path.rename(path.with_name("0123456789abcdef.jsonl.gz"))


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_cut, damage_flip, damage_rewrite, damage_name, damage_empty])
def test_a_damaged_pack_is_one_line_and_nothing_of_it_is_taken(damage: Callable[[Path], None], tmp_path: Path) -> None:
    made = packs_directory(tmp_path / ".trinity" / "responses")
    damage(pack(made, *(entry(str(number)) for number in range(50))))
    (path,) = made.iterdir()
    database = Database(tmp_path / ".trinity" / "responses")
    for read in (lambda: list(read_pack(path)), lambda: take_in(database, path), lambda: read_new_packs(database)):
        with pytest.raises(StoreError, match="dvc pull") as caught:
            read()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
    assert digests(database) == {}


def test_a_file_of_the_users_own_is_not_advised_to_be_removed(tmp_path: Path) -> None:
    database = Database(tmp_path / "store")
    params = tmp_path / "params.yaml"
    params.write_text("pool: {}\n", encoding="utf-8")
    with pytest.raises(StoreError) as refused:
        take_in(database, params)
    assert str(refused.value) == f"{params}: not a pack (.jsonl.gz)"
    copied = pack(tmp_path / "usb", entry())
    damage_cut(copied)
    with pytest.raises(StoreError, match=r"copy it again from where it was made$") as damaged:
        take_in(database, copied)
    assert "remove" not in str(damaged.value)


@pytest.mark.parametrize(
    "change",
    [
        {"created": float("nan")},
        {"created": 10**400},
        {"created": -1.0},
        {"created": True},
        {"created": "1"},
        {"call": {"model": ["m"], "messages": [], "params": {}, "sample": 0}},
        {"call": {"model": "m", "messages": [{"role": "user", "content": 3}], "params": {}, "sample": 0}},
        {"call": {"model": "m", "messages": [], "params": [], "sample": 0}},
        {"call": {"model": "m", "messages": [], "params": {"top_k": float("nan")}, "sample": 0}},
        {"call": {"model": "m", "messages": [], "params": {}, "sample": 10**30}},
        {"reply": {"text": "2"}},
        {"reply": {"text": "2", "finish_reason": "stop", "prompt_tokens": 10**30, "completion_tokens": 1}},
        {"reply": {"text": "2", "finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 1, "usd": 1e308}},
        {"reply": None},
    ],
)
def test_a_line_that_is_no_response_is_named(change: dict[str, object], tmp_path: Path) -> None:
    path = pack(tmp_path, entry())
    line = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps(line | change).encode()))
    with pytest.raises(StoreError, match="line 1: no stored response"):
        list(read_pack(path))


def test_packs_of_the_repository_are_taken_in_once(tmp_path: Path) -> None:
    store = tmp_path / ".trinity" / "responses"
    pack(packs_directory(store), entry("x"), entry("y"))
    database = Database(store)
    assert read_new_packs(database) == Taken(new=2)
    assert read_new_packs(database) == Taken()
    pack(packs_directory(store), entry("y"), entry("z"))
    assert read_new_packs(database) == Taken(new=1, known=1)


def test_what_differs_is_counted_by_what_gave_way(tmp_path: Path) -> None:
    database = Database(tmp_path / "store")
    fill(database, [entry("x", "2", 5.0), entry("y", "2", 5.0), entry("z", "2", 5.0)])
    path = pack(tmp_path, entry("x", "two", 1.0), entry("y", "two", 9.0), entry("z", "2", 1.0), entry("new"))
    assert take_in(database, path) == Taken(new=1, known=1, replaced=1, left_out=1)
    kept = {each.call.messages[0].content: (each.reply.text, each.created) for each in database.entries()}
    assert kept == {"x": ("two", 1.0), "y": ("2", 5.0), "z": ("2", 1.0), "new": ("2", 1.0)}


DYING = """\
import os, signal, sys
from pathlib import Path
from trinity.llm.store.database import Database
from trinity.llm.store.packs import read_new_packs

class Dying(Database):
    inserted = 0

    def insert(self, entry):
        self.inserted += 1
        if self.inserted == 2500:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().insert(entry)

read_new_packs(Dying(Path(sys.argv[1])))
"""


def test_a_process_killed_while_it_takes_in_a_pack_takes_it_in_again(tmp_path: Path) -> None:
    store = tmp_path / ".trinity" / "responses"
    made = [entry(f"question {number}") for number in range(3000)]
    pack(packs_directory(store), *made)
    done = subprocess.run([sys.executable, "-c", DYING, str(store)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    database = Database(store)
    assert read_new_packs(database) == Taken(new=1000, known=2000)
    assert digests(database) == {each.call.key: each.digest for each in made}
    assert read_new_packs(database) == Taken()
