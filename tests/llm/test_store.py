"""The response store: what is written is read, in any order, and what is damaged or foreign is said in one line."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from remote_pools import figure, processes

from trinity.errors import StoreError
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import DamagedEntry, Database, Entry, store_directory
from trinity.llm.store.ledger import Budget, Ledger
from trinity.types import Message

MESSAGES = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text())
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
PARAMS = st.dictionaries(st.text(), VALUES | st.lists(VALUES) | st.dictionaries(st.text(), VALUES), max_size=4)
CALLS = st.builds(Call, st.text(), st.lists(MESSAGES, max_size=3).map(tuple), PARAMS, st.integers(0, 9))
COUNTS = st.integers(0, 10**9)
REPLIES = st.builds(
    Reply, st.text(), st.sampled_from(["stop", "length", "content_filter"]), COUNTS, COUNTS, COUNTS,
    st.none() | st.floats(0, 1e6), st.text(), st.booleans(),
)  # fmt: skip
FEW = [Call("openai/tiny", (Message("user", text),), {"temperature": 0.0}, 0) for text in "abc"]
ENTRIES = st.lists(
    st.builds(
        Entry, st.sampled_from(FEW),
        st.sampled_from([Reply(text, "stop", 1, 1) for text in "xyz"]), st.sampled_from([1.0, 2.0, 3.5]),
    ),
    max_size=8,
)  # fmt: skip
CALL, REPLY = FEW[0], Reply("a reply", "stop", 11, 7, usd=0.5, model="tiny-2026")


@contextmanager
def opened(directory: Path) -> Iterator[Database]:
    database = Database(directory)
    try:
        yield database
    finally:
        database.close()


def insert(database: Database, entries: Sequence[Entry]) -> None:
    with database.transaction():
        for entry in entries:
            database.insert(entry)


@given(CALLS)
def test_a_call_is_its_canonical_json(call: Call) -> None:
    parsed = Call.parse(call.canonical)
    assert (parsed.model, parsed.messages, parsed.params, parsed.sample) == (
        call.model, call.messages, call.params, call.sample,
    )  # fmt: skip
    assert parsed.canonical == call.canonical
    assert parsed.key == call.key
    assert "\n" not in call.describe()


@given(REPLIES)
def test_a_reply_is_its_canonical_json(reply: Reply) -> None:
    assert Reply.parse(reply.canonical) == reply


@given(PARAMS)
def test_the_order_of_parameters_is_no_part_of_a_call(params: dict[str, object]) -> None:
    turned = dict(reversed(list(params.items())))
    assert replace(CALL, params=turned).key == replace(CALL, params=params).key


def test_whatever_affects_a_reply_is_part_of_the_key() -> None:
    others = [
        CALL,
        replace(CALL, model="openai/small"),
        replace(CALL, messages=(Message("system", "a"),)),
        replace(CALL, messages=(Message("user", "b"),)),
        replace(CALL, messages=(*CALL.messages, *CALL.messages)),
        replace(CALL, params={"temperature": 0.5}),
        replace(CALL, params={}),
        replace(CALL, sample=1),
    ]
    assert len({call.key for call in others}) == len(others)


@pytest.mark.parametrize(
    "text",
    [
        b"[]", b"{}", b"nothing", b"\xff", b'{"model": "m", "messages": 3, "params": {}, "sample": 0}',
        b'{"model": "m", "messages": [{"role": "user", "content": 3}], "params": {}, "sample": 0}',
        b'{"model": 3, "messages": [], "params": {}, "sample": 0}',
        b'{"model": "m", "messages": [], "params": [], "sample": 0}',
        b'{"model": "m", "messages": [], "params": {}, "sample": "0"}',
        b'{"model": "m", "messages": [], "params": {}, "sample": -1}',
        b'{"model": "m", "messages": [], "params": {}, "sample": 9223372036854775808}',
    ],
)  # fmt: skip
def test_what_is_no_call_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Call.parse(text)


@pytest.mark.parametrize(
    "change",
    [
        {"text": None}, {"finish_reason": "error"}, {"prompt_tokens": -1}, {"completion_tokens": 1.5}, {"usd": "1"},
        {"usd": -1.0}, {"usd": 1e308}, {"usd": True}, {"model": None}, {"prompt_tokens": 2**63}, {"estimated": 1},
        {"reasoning_tokens": 10**9 + 1}, {"completion_tokens": True},
    ],
)  # fmt: skip
def test_what_is_no_reply_is_refused(change: dict[str, object]) -> None:
    wrong = replace(REPLY, **change)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not a reply"):
        Reply.parse(wrong.canonical)
    with pytest.raises(ValueError, match="not a reply"):
        Reply.parse(b'{"text": "x"}')


@settings(max_examples=25, deadline=None)
@given(ENTRIES, st.randoms(use_true_random=False))
def test_entries_merge_the_same_in_any_order_and_any_number_of_times(entries: list[Entry], random: object) -> None:
    again = [*entries, *entries]
    random.shuffle(again)  # type: ignore[attr-defined]
    merged = []
    for order in (entries, again):
        with TemporaryDirectory() as folder, opened(Path(folder)) as database:
            insert(database, order)
            merged.append([(e.call.key, e.reply, e.created) for e in database.entries()])
    assert merged[0] == merged[1]
    earliest = {e.call.key: min(other.created for other in entries if other.call.key == e.call.key) for e in entries}
    assert {key: created for key, _, created in merged[0]} == earliest


def test_insert_says_whether_it_changed_anything(tmp_path: Path) -> None:
    with opened(tmp_path) as database, database.transaction():
        assert database.insert(Entry(CALL, REPLY, 2.0))
        assert not database.insert(Entry(CALL, REPLY, 2.0))
        assert not database.insert(Entry(CALL, replace(REPLY, text="later"), 3.0))
        assert database.insert(Entry(CALL, replace(REPLY, text="earlier"), 1.0))
        found = database.get(CALL.key)
        assert found is not None
        assert found.text == "earlier"


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        with pytest.raises(AttributeError):
            insert(database, [Entry(CALL, REPLY, 1.0), None])  # type: ignore[list-item]
        assert database.get(CALL.key) is None
        insert(database, [Entry(CALL, REPLY, 1.0)])
        assert database.get(CALL.key) == REPLY


def test_holds_answers_for_many_at_once(tmp_path: Path) -> None:
    calls = [replace(CALL, sample=sample) for sample in range(1201)]
    with opened(tmp_path) as database:
        insert(database, [Entry(call, REPLY, 1.0) for call in calls[::2]])
        assert database.holds([call.key for call in calls]) == {call.key for call in calls[::2]}


def test_a_large_reply_is_read_back(tmp_path: Path) -> None:
    large = replace(REPLY, text="é\0\n" * 700_000)
    with opened(tmp_path) as database:
        insert(database, [Entry(CALL, large, 1.0)])
    with opened(tmp_path) as database:
        assert database.get(CALL.key) == large


DAMAGES = {
    "reply": "UPDATE replies SET reply = replace(reply, 'a reply', 'another')",
    "reply of bytes": "UPDATE replies SET reply = x'ff'",
    "no reply": "UPDATE replies SET reply = ''",
    "digest": "UPDATE replies SET digest = x'00'",
    "time": "UPDATE replies SET created = created + 1",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_row_is_never_an_answer(damage: str, tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        insert(database, [Entry(CALL, REPLY, 1.0)])
        database.connection.execute(DAMAGES[damage])
        for read in (database.get, database.entry):
            with pytest.raises(DamagedEntry, match=f"entry {CALL.key.hex()[:12]} is damaged: .*verify") as raised:
                read(CALL.key)
            assert "\n" not in str(raised.value)


def not_a_database(path: Path) -> None:
    path.write_bytes(b"no database at all " * 100)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 + 100])


def of_another_format(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()


def of_another_program(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE replies (key TEXT)")
    connection.execute("PRAGMA application_id=7")
    connection.close()


@pytest.mark.parametrize("harm", [not_a_database, cut, of_another_format, of_another_program])
def test_a_file_that_is_no_store_is_one_line(harm: Callable[[Path], None], tmp_path: Path) -> None:
    with opened(tmp_path) as database:
        insert(database, [Entry(replace(CALL, sample=sample), REPLY, 1.0) for sample in range(50)])
        path = database.path
    harm(path)
    with pytest.raises(StoreError, match=r"store\.sqlite: .*response store.*") as raised, opened(tmp_path) as database:
        list(database.entries())
    assert "\n" not in str(raised.value)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be opened"):
        Database(tmp_path / "file" / "responses")


def open_as_nobody(directory: Path) -> None:
    os.setuid(65534)
    for step in (lambda: Ledger(Database(directory), Budget()), lambda: Database(directory / "new")):
        with pytest.raises(StoreError) as raised:
            step()
        assert str(directory) in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_that_may_only_be_read_is_one_line(exists: bool) -> None:
    with TemporaryDirectory() as folder:
        directory = Path(folder)
        if exists:
            Database(directory).close()
        directory.chmod(0o555)
        child = processes().Process(target=open_as_nobody, args=(directory,))
        child.start()
        child.join(30)
        assert child.exitcode == 0


def test_the_store_lies_in_the_repository_that_dvc_runs_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DVC_ROOT", raising=False)
    assert store_directory() == Path(".trinity") / "responses"
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    assert store_directory() == tmp_path / ".trinity" / "responses"


def test_an_empty_store_counts_nothing(tmp_path: Path) -> None:
    assert figure(tmp_path, "SELECT calls + usd FROM totals") == 0
