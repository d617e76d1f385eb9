"""The pool of real models on a real server: what is asked, stored, shared and survived."""

import asyncio
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from faulty_server import Asked, FaultyServer, Reaction, answer, first, often, page, refusal, stall
from remote_pools import FIRST_WAIT, answers, ask, ask_together, figure, pool_config, request, stored

from trinity.config import Config
from trinity.errors import NotStored, PoolError
from trinity.llm.call import Reply
from trinity.llm.failures import GivenUp, NoKey, ServerFailed, UnknownModel
from trinity.llm.remote import RemotePool, call_of
from trinity.llm.store.database import Database, Entry
from trinity.rng import uniform

Configure = Callable[..., Config]


def many(number: int) -> list[str]:
    return [f"question {index}" for index in range(number)]


def odd(asked: Asked) -> Reaction:
    """Replies of which a part is empty, cut, filtered, or without usage: by the request alone."""
    draw = uniform("odd", asked.digest)
    if draw < 0.1:
        return answer(asked, content=None)
    if draw < 0.2:
        return answer(asked, finish_reason="length")
    if draw < 0.3:
        return answer(asked, content="", finish_reason="content_filter")
    return answer(asked, usage=None) if draw < 0.4 else answer(asked)


def check_faults_change_nothing(configure: Configure, tmp_path: Path, number: int) -> None:
    requests = [request(text) for text in many(number)]
    with FaultyServer(odd) as server:
        config = pool_config(configure, server.url, tries=20)
        expected = ask(config, tmp_path / "calm", requests)
        answers(expected)
        fault = often(0.3)
        faulty = [0]

        def choose(asked: Asked) -> Reaction:
            if uniform("fault", asked.digest, asked.times) >= 0.3:
                return odd(asked)
            faulty[0] += 1
            return fault(asked)

        server.choose = choose
        server.received.clear()
        outcomes = ask(config, tmp_path / "stormy", requests)
        assert outcomes == expected
        assert faulty[0] > 0.3 * number  # 0.3 / (1 - 0.3) of them are expected
        assert server.requests == number + faulty[0]  # each was answered once
        assert stored(tmp_path / "stormy") == stored(tmp_path / "calm")
        assert len(stored(tmp_path / "stormy")) == number
        for query in (
            "SELECT count(*) FROM spent",
            "SELECT count(DISTINCT key) FROM spent",
            "SELECT calls FROM totals",
        ):
            assert figure(tmp_path / "stormy", query) == number
        assert figure(tmp_path / "stormy", "SELECT sum(tries) FROM spent") == number + faulty[0]
        assert figure(tmp_path / "stormy", "SELECT count(*) FROM claims") == 0
        requests_so_far = server.requests
        assert ask(config, tmp_path / "stormy", requests) == expected
        assert server.requests == requests_so_far
        assert figure(tmp_path / "stormy", "SELECT sum(calls) FROM reused") == number


def test_faults_change_no_result_and_nothing_is_lost_or_recorded_twice(configure: Configure, tmp_path: Path) -> None:
    check_faults_change_nothing(configure, tmp_path, 200)


@pytest.mark.slow
def test_faults_change_no_result_over_2000_calls(configure: Configure, tmp_path: Path) -> None:
    check_faults_change_nothing(configure, tmp_path, 2000)


def test_identical_requests_in_flight_are_one(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer(lambda asked: replace(answer(asked), delay=0.1)) as server:
        config = pool_config(configure, server.url)
        outcomes = ask(config, tmp_path, [request("one"), request("two")] * 20)
        assert server.requests == 2
        assert len(set(answers(outcomes))) == 2
        assert figure(tmp_path, "SELECT calls FROM totals") == 2
        assert figure(tmp_path, "SELECT sum(calls) FROM reused") == 38


def test_a_sample_is_a_call_of_its_own_but_at_temperature_0(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer() as server:
        config = pool_config(configure, server.url)
        answers(ask(config, tmp_path, [request("cold", sample) for sample in range(3)]))
        assert server.requests == 1
        answers(ask(config, tmp_path, [request("warm", sample, temperature=0.7) for sample in range(3)]))
        assert server.requests == 4


def test_live_asks_always_and_keeps_nothing_but_the_count(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer() as server:
        answers(ask(pool_config(configure, server.url), tmp_path, [request("kept")]))
        config = pool_config(configure, server.url, responses="live")
        answers(ask(config, tmp_path, [request("kept"), request("new"), request("new")]))
        assert server.requests == 4
        assert list(stored(tmp_path)) == ["kept"]
        assert figure(tmp_path, "SELECT calls FROM totals") == 4


def test_replay_answers_from_the_store_alone_and_names_what_it_lacks(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer() as server:
        recorded = ask(pool_config(configure, server.url), tmp_path, [request("known")])
        config = pool_config(configure, "http://127.0.0.1:9/v1", responses="replay")  # not where it was recorded
        replayed = ask(config, tmp_path, [request("known"), request("unknown"), request("known", max_tokens=99)])
    assert replayed[0] == recorded[0]
    for missing, named in zip(replayed[1:], ("'unknown'", "max_tokens=99"), strict=True):
        assert isinstance(missing, NotStored)
        assert "agent alpha" in str(missing)
        assert named in str(missing)
        assert "\n" not in str(missing)


def test_a_failure_that_persists_stops_with_one_line_and_keeps_what_was_answered(
    configure: Configure, tmp_path: Path
) -> None:
    def choose(asked: Asked) -> Reaction:
        return page(502)(asked) if "3" in asked.text else answer(asked)

    with FaultyServer(choose) as server:
        config = pool_config(configure, server.url, tries=2)
        requests = [request(text) for text in many(6)]
        outcomes = ask(config, tmp_path, requests)
        failed = outcomes.pop(3)
        assert isinstance(failed, ServerFailed)
        assert "agent alpha: 2 attempts failed" in str(failed)
        assert len(answers(outcomes)) == len(stored(tmp_path)) == 5
        assert figure(tmp_path, "SELECT count(*) FROM claims") == 0
        server.choose = answer
        server.asked.clear()
        answers(ask(config, tmp_path, requests))
        assert dict(server.asked) == {"question 3": 1}


@pytest.mark.parametrize("together", [True, False])
def test_a_failure_for_good_ends_the_waits_of_others_but_not_their_attempts(
    configure: Configure, tmp_path: Path, together: bool
) -> None:
    def choose(asked: Asked) -> Reaction:
        match asked.text:
            case "waits":
                return first(1, refusal(429, Retry_After="2"))(asked)
            case "is under way":
                return replace(answer(asked), delay=0.5)
            case _:
                return replace(refusal(401)(asked), delay=0.2)

    with FaultyServer(choose) as server:
        pool = RemotePool(pool_config(configure, server.url), "test", tmp_path, together=together)
        requests = [request(text) for text in ("waits", "is under way", "fails")]
        waited, under_way, failed = asyncio.run(ask_together(pool, requests))
        pool.close()
    assert isinstance(failed, NoKey)
    answers([under_way])
    assert isinstance(waited, GivenUp) == together
    assert set(stored(tmp_path)) == {"is under way"} | (set() if together else {"waits"})
    assert figure(tmp_path, "SELECT count(*) FROM claims") == 0


def test_after_a_failure_nothing_is_tried_again_and_nothing_new_is_asked(configure: Configure, tmp_path: Path) -> None:
    def choose(asked: Asked) -> Reaction:
        if asked.text == "fails":
            return replace(refusal(401)(asked), delay=0.2)
        return replace(refusal(503)(asked), delay=0.6)  # under way when the other fails

    with FaultyServer(choose) as server:
        config = pool_config(configure, server.url, tries=8, concurrency={"alpha": 2})
        requests = [request(text) for text in ("fails", "is under way", *many(10))]
        outcomes = ask(config, tmp_path, requests)
        assert server.requests == 2
        assert isinstance(outcomes[0], NoKey)
        assert all(isinstance(outcome, GivenUp) for outcome in outcomes[1:])
        server.choose = answer
        answers(ask(config, tmp_path, requests))


def test_what_is_charged_without_a_reply_counts_in_the_budget(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer(lambda asked: answer(asked, finish_reason="error")) as server:
        price = {"price": {"input": 1000.0, "output": 1000.0}}
        config = pool_config(configure, server.url, price, tries=3, budget_calls=100)
        (outcome,) = ask(config, tmp_path, [request("one")])
        assert isinstance(outcome, ServerFailed)
        assert server.requests == 3
        assert figure(tmp_path, "SELECT calls FROM totals") == 3
        assert figure(tmp_path, "SELECT usd FROM totals") == pytest.approx(3 * 0.018)
        assert stored(tmp_path) == {}
        assert figure(tmp_path, "SELECT count(*) FROM claims") == 0


def test_a_reply_that_is_imported_while_its_call_is_in_flight_is_the_one_that_is_used(
    configure: Configure, tmp_path: Path
) -> None:
    async def import_in_the_middle(pool: RemotePool, server: FaultyServer, entry: Entry) -> list[str]:
        asking = [asyncio.create_task(pool.generate(request("one"))) for _ in range(2)]
        while not server.requests:
            await asyncio.sleep(0.01)
        database = Database(tmp_path)
        with database.transaction():
            database.insert(entry)
        database.close()
        return [reply.text for reply in await asyncio.gather(*asking)]

    with FaultyServer(lambda asked: replace(answer(asked), delay=0.3)) as server:
        config = pool_config(configure, server.url)
        call = call_of(config.pool.agents[0], request("one"))
        pool = RemotePool(config, "test", tmp_path)
        texts = asyncio.run(import_in_the_middle(pool, server, Entry(call, Reply("earlier", "stop", 1, 1), 1.0)))
        pool.close()
    assert texts == ["earlier", "earlier"]
    assert stored(tmp_path) == {"one": "earlier"}


@pytest.mark.parametrize(
    ("status", "kind"), [(401, NoKey), (402, NoKey), (403, NoKey), (404, UnknownModel), (400, PoolError)]
)
def test_what_cannot_be_mended_is_asked_once_and_not_stored(
    configure: Configure, tmp_path: Path, status: int, kind: type[PoolError]
) -> None:
    with FaultyServer(refusal(status)) as server:
        (outcome,) = ask(pool_config(configure, server.url), tmp_path, [request("one")])
        assert isinstance(outcome, kind)
        assert server.requests == 1
        assert stored(tmp_path) == {}


def test_retry_after_is_honoured_and_said(
    configure: Configure, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FaultyServer(first(1, refusal(429, Retry_After="1"))) as server:
        started = time.monotonic()
        answers(ask(pool_config(configure, server.url), tmp_path, [request("one")]))
        assert time.monotonic() - started >= 1.0
    assert capsys.readouterr().err == "alpha, try 2 of 8, rate limit, next in 1 s\n"


def test_concurrency_is_limited_by_agent(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer(lambda asked: replace(answer(asked), delay=0.02)) as server:
        config = pool_config(configure, server.url, concurrency={"alpha": 3})
        answers(ask(config, tmp_path, [request(text) for text in many(30)]))
        assert server.most_at_once == 3


def test_a_call_that_is_cancelled_gives_back_its_claim_and_stores_nothing(configure: Configure, tmp_path: Path) -> None:
    async def stop_in_the_middle(pool: RemotePool, server: FaultyServer) -> str:
        asking = asyncio.create_task(pool.generate(request("one")))
        waiting = asyncio.create_task(pool.generate(request("one")))
        while not server.requests:
            await asyncio.sleep(0.01)
        assert figure(tmp_path, "SELECT count(*) FROM claims") == 1
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.choose = answer
        return (await waiting).text  # asks in its place

    with FaultyServer(stall) as server:
        pool = RemotePool(pool_config(configure, server.url), "test", tmp_path, first_wait=FIRST_WAIT)
        text = asyncio.run(stop_in_the_middle(pool, server))
        pool.close()
        assert server.requests == 2
        assert stored(tmp_path) == {"one": text}
        assert figure(tmp_path, "SELECT count(*) FROM claims") == 0
        assert figure(tmp_path, "SELECT calls FROM totals") == 1


def test_a_run_that_is_interrupted_gives_back_all_claims(configure: Configure, tmp_path: Path) -> None:
    async def leave(pool: RemotePool, server: FaultyServer) -> None:
        tasks = [asyncio.create_task(pool.generate(request(text))) for text in many(10)]
        while server.requests < len(tasks):
            await asyncio.sleep(0.01)  # asyncio.run cancels them when this returns

    with FaultyServer(stall) as server:
        pool = RemotePool(pool_config(configure, server.url), "test", tmp_path)
        asyncio.run(leave(pool, server))
        pool.close()
    assert figure(tmp_path, "SELECT count(*) FROM claims") == 0
    assert stored(tmp_path) == {}


def test_a_pool_serves_one_loop_after_another(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer(lambda asked: replace(answer(asked), delay=0.01)) as server:
        config = pool_config(configure, server.url, concurrency={"alpha": 2}, budget_calls=1000)
        pool = RemotePool(config, "test", tmp_path)
        for number in range(3):
            requests = [request(f"{number}: {text}") for text in many(8)]
            answers(asyncio.run(ask_together(pool, requests * 2)))
        pool.close()
        assert server.requests == 24


def test_an_agent_that_is_not_there_or_has_no_model_is_named(configure: Configure, tmp_path: Path) -> None:
    config = pool_config(configure, "http://127.0.0.1:9/v1")
    (outcome,) = ask(config, tmp_path, [replace(request("one"), agent="beta")])
    assert isinstance(outcome, PoolError)
    assert "'beta'" in str(outcome)
    assert "alpha" in str(outcome)
    with pytest.raises(PoolError, match=r"missing model of agent alpha: set pool\.agents: model"):
        RemotePool(pool_config(configure, "http://127.0.0.1:9/v1", {"model": None}), "test", tmp_path)


SEVERAL_RUNS = """
    import asyncio, os, sys
    from pathlib import Path
    import yaml
    from faulty_server import FaultyServer, answer, often, refusal
    from remote_pools import ask, pool_config, request
    from trinity.config.load import parse_config

    def configure(changes):
        raw = yaml.safe_load(Path(sys.argv[2]).read_text())
        for key, value in changes.items():
            section, name = key.split(".")
            raw[section][name] = value
        return parse_config(yaml.safe_dump(raw))

    counts = []
    with FaultyServer(often(0.3)) as server:
        for run in range(5):
            for model in ("openai/tiny", "openrouter/maker/tiny"):
                config = pool_config(configure, server.url, {"model": model}, tries=20)
                ask(config, Path(sys.argv[1]), [request(f"{run} {i}") for i in range(6)])
            server.choose = refusal(401)
            ask(config, Path(sys.argv[1]), [request(f"{run} refused")])
            server.choose = often(0.3)
            counts.append(len(os.listdir("/proc/self/fd")))
    print(counts)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
def test_connections_are_closed_with_the_loop_and_files_with_the_pool(tmp_path: Path) -> None:
    here = Path(__file__).parent
    done = subprocess.run(
        [
            sys.executable, "-X", "dev", "-W", "default::ResourceWarning", "-c", textwrap.dedent(SEVERAL_RUNS),
            str(tmp_path), str(here.parents[1] / "params.yaml"),
        ],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(here)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    said = [line for line in done.stderr.splitlines() if ", try " not in line]
    assert not [line for line in said if any(word in line.lower() for word in ("unclosed", "never", "destroyed"))]
    assert "Traceback" not in done.stderr
    counts = json.loads(done.stdout)
    # The server sees a connection end a little later than the client.
    assert max(counts[2:]) <= counts[1] + 4, counts
