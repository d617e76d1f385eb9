"""Processes that share a store, and processes that are killed."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from faulty_server import Asked, FaultyServer, Reaction, answer
from remote_pools import answers, ask, figure, pool_config, processes, request, stored

from trinity.config import Config
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database
from trinity.llm.store.ledger import Budget, Claimed, Ledger, Purpose
from trinity.rng import uniform
from trinity.types import Message

Configure = Callable[..., Config]
CONCURRENCY = 8


def slowly(asked: Asked) -> Reaction:
    return replace(answer(asked), delay=0.01 + 0.03 * uniform("delay", asked.digest))


def kill(process: BaseProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    assert process.exitcode == -signal.SIGKILL


def check_kills(configure: Configure, directory: Path, kills: int, number: int) -> None:
    """A recording is killed and started again; in the end all is there, and only what was in flight was paid twice."""
    requests = [request(f"question {index}") for index in range(number)]
    context = processes()
    with FaultyServer(slowly) as server:
        config = pool_config(configure, server.url)
        for turn in range(kills):
            kept, before = set(stored(directory)), server.asked.copy()
            start = server.requests
            child = context.Process(target=ask, args=(config, directory, requests, CONCURRENCY))
            child.start()
            target = start + 1 + int(uniform("kill", turn) * number / kills)
            while server.requests < target:
                assert child.is_alive()
                time.sleep(0.002)
            time.sleep(0.02 * uniform("then", turn))
            kill(child)
            assert all(server.asked[text] == before[text] for text in kept)  # what was stored is not asked again
            lost = set(server.asked - before) - set(stored(directory))
            assert len(lost) <= CONCURRENCY
        texts = answers(ask(config, directory, requests, CONCURRENCY))
        assert set(server.asked) == {one.messages[-1].content for one in requests}
        assert number < server.requests <= number + kills * CONCURRENCY
        assert stored(directory) == dict(zip((one.messages[-1].content for one in requests), texts, strict=True))
        assert texts == answers(ask(pool_config(configure, server.url), directory / "calm", requests))
        assert figure(directory, "SELECT calls FROM totals") == number
        assert figure(directory, "SELECT count(*) FROM spent") == number
        assert figure(directory, "SELECT count(*) FROM claims") == 0


def test_a_killed_recording_pays_again_only_what_was_in_flight(configure: Configure, tmp_path: Path) -> None:
    check_kills(configure, tmp_path, 4, 80)


@pytest.mark.slow
def test_a_recording_killed_at_20_points_pays_again_only_what_was_in_flight(
    configure: Configure, tmp_path: Path
) -> None:
    check_kills(configure, tmp_path, 20, 400)


def test_what_two_processes_ask_at_once_is_paid_once(configure: Configure, tmp_path: Path) -> None:
    requests = [request(f"question {index}") for index in range(40)]
    with FaultyServer(slowly) as server:
        config = pool_config(configure, server.url)
        context = processes()
        children = [
            context.Process(target=ask, args=(config, tmp_path, order, CONCURRENCY))
            for order in (requests, requests[::-1], requests[20:] + requests[:20])
        ]
        for child in children:
            child.start()
        for child in children:
            child.join(60)
            assert child.exitcode == 0
        assert set(server.asked.values()) == {1}
        assert len(stored(tmp_path)) == server.requests == 40
        assert figure(tmp_path, "SELECT calls FROM totals") == 40
        assert figure(tmp_path, "SELECT sum(calls) FROM reused") == 80


def entry(index: int) -> tuple[Call, Reply]:
    call = Call("openai/tiny", (Message("user", f"question {index}"),), {"temperature": 0.0}, 0)
    return call, Reply(f"answer {index} " * 500, "stop", 11, 7, usd=0.001)


def claim_and_wait(directory: Path, said: Connection) -> None:
    ledger = Ledger(Database(directory), Budget())
    assert ledger.claim(entry(0)[0].key, 0.0) is Claimed.MINE
    said.send(True)
    time.sleep(600)


def write_for_ever(directory: Path, said: Connection, first: int) -> None:
    """Claims and settles one call after another, and tells of each when it is settled."""
    database = Database(directory)
    ledger = Ledger(database, Budget(usd=1e6))
    for index in range(first, first + 100_000):
        call, reply = entry(index)
        assert ledger.claim(call.key, 0.01) is Claimed.MINE
        ledger.settle(call.key, call, reply, Purpose("alpha", "worker", "test"), 0.1, 1, keep=True)
        said.send(index)


def test_the_claim_of_a_process_that_lives_is_waited_for_and_that_of_a_killed_one_taken_over(tmp_path: Path) -> None:
    context = processes()
    here, there = context.Pipe()
    child = context.Process(target=claim_and_wait, args=(tmp_path, there))
    child.start()
    assert here.recv()
    database = Database(tmp_path)
    ledger = Ledger(database, Budget())
    key = entry(0)[0].key
    ledger.void_claims_of_the_dead()
    assert ledger.claim(key, 0.0) is Claimed.OTHERS
    kill(child)
    ledger.void_claims_of_the_dead()
    assert ledger.claim(key, 0.0) is Claimed.MINE
    ledger.close()
    database.close()


def test_a_pool_takes_over_what_a_killed_process_had_claimed(configure: Configure, tmp_path: Path) -> None:
    context = processes()
    with FaultyServer(lambda asked: replace(answer(asked), delay=3600.0)) as server:
        config = pool_config(configure, server.url)
        child = context.Process(target=ask, args=(config, tmp_path, [request("one")]))
        child.start()
        while not server.requests:
            time.sleep(0.01)
        server.choose = answer
        kill(child)
        started = time.monotonic()
        answers(ask(config, tmp_path, [request("one")]))
        assert time.monotonic() - started < 20.0
        assert server.requests == 2
        assert figure(tmp_path, "SELECT calls FROM totals") == 1


def test_writes_that_are_killed_in_the_middle_are_whole_or_absent(tmp_path: Path) -> None:
    context = processes()
    acknowledged = 0
    for turn in range(6):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=write_for_ever, args=(tmp_path, there, turn * 1_000_000))
        child.start()
        while here.recv() < turn * 1_000_000 + 5:
            acknowledged += 1
        acknowledged += 1
        time.sleep(0.05 * uniform("kill", turn))
        kill(child)
        there.close()
        while here.poll():
            try:
                here.recv()
            except EOFError:
                break
            acknowledged += 1
        entries = stored(tmp_path)  # checks every entry
        assert acknowledged <= len(entries) <= acknowledged + turn + 1  # one may be settled and not yet told
        assert figure(tmp_path, "PRAGMA integrity_check") == "ok"
        assert figure(tmp_path, "SELECT calls FROM totals") == len(entries)
        assert figure(tmp_path, "SELECT count(*) FROM spent") == len(entries)
    database = Database(tmp_path)
    Ledger(database, Budget()).close()
    assert database.rows("SELECT count(*) FROM claims")[0][0] == 0
    assert not list((tmp_path / "owners").iterdir())
    database.close()


def settle_some(directory: Path, indices: range) -> None:
    database = Database(directory)
    ledger = Ledger(database, Budget(calls=10_000))
    for index in indices:
        call, reply = entry(index)
        if ledger.claim(call.key, 0.0) is Claimed.MINE:
            ledger.settle(call.key, call, reply, Purpose("alpha", "worker", "test"), 0.1, 1, keep=True)
    ledger.close()
    database.close()


def test_several_processes_open_a_new_store_and_write_at_once(tmp_path: Path) -> None:
    context = processes()
    children = [context.Process(target=settle_some, args=(tmp_path, range(n * 50, n * 50 + 100))) for n in range(5)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert stored(tmp_path) == {f"question {index}": entry(index)[1].text for index in range(300)}
    assert figure(tmp_path, "SELECT calls FROM totals") == 300
    assert figure(tmp_path, "SELECT count(DISTINCT key) FROM spent") == 300
