"""What a server can do to one attempt, and what becomes of it: the same for every provider of litellm."""

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from faulty_server import (
    Asked,
    Choice,
    FaultyServer,
    Reaction,
    answer,
    broke_off,
    not_utf8,
    page,
    refusal,
    reply_text,
    reset,
    stall,
    truncated,
)  # fmt: skip

from trinity.config.pool import Agent, Price
from trinity.llm import diagnosis, failures
from trinity.llm.call import Call, Reply
from trinity.llm.client import Client
from trinity.types import Message

MODELS = ("openai/tiny", "openrouter/maker/tiny")
LONG = "This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens"
UPSTREAM = {
    "error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "temperature is not supported"}}
}


@pytest.fixture(scope="module")
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as running:
        yield running


def attempt(server: FaultyServer, choose: Choice, model: str = MODELS[0], text: str = "hé?", **agent: object) -> Reply:
    server.choose = choose
    client = Client(
        Agent.model_validate({"name": "alpha", "model": model, "api_base": server.url, **agent}),
        failures.Limits(1.0, 0.3),
    )
    call = Call(model, (Message("user", text),), {"temperature": 0.0, "max_tokens": 5}, 0)
    return asyncio.run(client.attempt(call))


FAILURES: dict[str, tuple[Choice, type[failures.CallFailed], str]] = {
    "429": (refusal(429, "slow down"), failures.RateLimited, "429: slow down"),
    "500": (refusal(500), failures.ServerFailed, "500"),
    "502": (refusal(502), failures.ServerFailed, "502"),
    "503": (refusal(503), failures.ServerFailed, "503"),
    "504": (refusal(504), failures.TimedOut, "at the provider"),
    "529": (refusal(529), failures.ServerFailed, "529"),
    "408": (refusal(408), failures.TimedOut, "at the provider"),
    "reset": (reset, failures.ServerFailed, "broke off"),
    "reset before the body": (lambda asked: replace(answer(asked), cut=0), failures.ServerFailed, "broke off"),
    "stall": (stall, failures.TimedOut, "0.3 s of silence"),
    "silence": (lambda asked: replace(answer(asked), delay=9.0), failures.TimedOut, "0.3 s of silence"),
    "truncated JSON": (truncated, failures.Malformed, "malformed reply"),
    "no body": (lambda asked: Reaction(b""), failures.Malformed, "malformed reply"),
    "a list": (lambda asked: Reaction(b"[]"), failures.Malformed, "malformed reply"),
    "null": (lambda asked: Reaction(b"null"), failures.Malformed, "malformed reply"),
    "HTML with 200": (page(200), failures.Malformed, "malformed reply"),
    "HTML with 502": (page(502), failures.ServerFailed, "502"),
    "not UTF-8": (not_utf8, failures.Malformed, "malformed reply"),
    "no choices": (lambda asked: answer(asked, choices=[]), failures.Malformed, "no choices"),
    "choices null": (lambda asked: answer(asked, choices=None), failures.Malformed, "choices"),
    "content a number": (lambda asked: answer(asked, content=7), failures.Malformed, "malformed reply"),
    "an error with 200": (
        lambda asked: Reaction(b'{"error": {"message": "upstream broke", "code": 502}}'),
        failures.ServerFailed,
        "upstream broke",
    ),
    "broke off": (broke_off, failures.ServerFailed, "finish reason error"),
    "a finish reason that nobody knows": (
        lambda asked: answer(asked, content="all", finish_reason="load_shed"), failures.CallFailed, "'load_shed'",
    ),
    "an error without a code, with 200": (
        lambda asked: Reaction(b'{"error": {"message": "busy"}}'), failures.ServerFailed, "answers with an error",
    ),
    "an error of one word, with 200": (
        lambda asked: Reaction(b'{"error": "busy"}'), failures.ServerFailed, "answers with an error",
    ),
    "an error with code 0, with 200": (
        lambda asked: Reaction(b'{"error": {"message": "busy", "code": 0}}'), failures.ServerFailed, "an error",
    ),
    "redirect into nowhere": (
        lambda asked: Reaction(b"", 307, {"Location": "http://127.0.0.1:1/"}),
        failures.NoConnection,
        "is the server running?",
    ),
    "401": (refusal(401), failures.NoKey, "the key is refused"),
    "402": (refusal(402, "Insufficient credits"), failures.NoKey, "no credit left"),
    "403": (refusal(403), failures.NoKey, "may not use"),
    "404": (refusal(404, "no such model"), failures.UnknownModel, "404: no such model"),
    "HTML with 404": (page(404), failures.UnknownModel, "404"),
    "400": (refusal(400, "bad thing"), failures.CallFailed, "400: bad thing"),
    "400 from upstream": (
        lambda asked: Reaction(json.dumps(UPSTREAM).encode(), 400), failures.CallFailed, "temperature is not supported",
    ),
    "422": (refusal(422), failures.CallFailed, "422"),
    "too long": (refusal(400, LONG, "context_length_exceeded"), failures.ContextExceeded, "roles.max_output_chars"),
    "too long, llama.cpp": (
        refusal(400, "Requested tokens (5000) exceed context window of 4096"), failures.ContextExceeded, "longer than",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("model", MODELS)
def test_a_failure_has_its_type_and_one_line_that_says_what_it_was(server: FaultyServer, model: str, name: str) -> None:
    choose, kind, said = FAILURES[name]
    if name == "400 from upstream" and model == MODELS[0]:
        said = "Provider returned error"  # OpenAI's own pages have no upstream
    with pytest.raises(failures.CallFailed) as raised:
        attempt(server, choose, model)
    assert type(raised.value) is kind
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "Traceback" not in str(raised.value)
    permanent = (failures.NoKey, failures.UnknownModel, failures.ContextExceeded)
    assert isinstance(raised.value, failures.Transient) == (kind not in (*permanent, failures.CallFailed))


REPLIES: dict[str, tuple[Choice, Reply]] = {
    "content null": (
        lambda asked: answer(asked, content=None), Reply("", "stop", 11, 7),
    ),
    "cut": (lambda asked: answer(asked, content="half", finish_reason="length"), Reply("half", "length", 11, 7)),
    "cut in reasoning": (
        lambda asked: answer(
            asked, content=None, finish_reason="length",
            usage={"prompt_tokens": 11, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 5}},
        ),
        Reply("", "length", 11, 5, reasoning_tokens=5),
    ),
    "filtered": (
        lambda asked: answer(asked, content="", finish_reason="content_filter"), Reply("", "content_filter", 11, 7),
    ),
    "a tool that nobody offered": (
        lambda asked: answer(asked, content=None, finish_reason="tool_calls"), Reply("", "stop", 11, 7),
    ),
    "whole, in another's word": (
        lambda asked: answer(asked, content="all", finish_reason="eos_token"), Reply("all", "stop", 11, 7),
    ),
    "cut, in another's word": (
        lambda asked: answer(asked, content="half", finish_reason="model_length"), Reply("half", "length", 11, 7),
    ),
    "filtered, in another's word": (
        lambda asked: answer(asked, content="", finish_reason="SAFETY"), Reply("", "content_filter", 11, 7),
    ),
    "a thought that the template began": (
        lambda asked: answer(asked, content="2 and 2\n</think>\n\n4"), Reply("4", "stop", 11, 7),
    ),
    "a thought that the cap ended": (
        lambda asked: answer(asked, content="<think>2 and", finish_reason="length"), Reply("", "length", 11, 7),
    ),
    "a whole thought": (
        lambda asked: answer(asked, content="<think>2 and 2</think>4"), Reply("4", "stop", 11, 7),
    ),
    "a thought after a blank line": (
        lambda asked: answer(asked, content="\n<think>2 and 2</think>\n4"), Reply("4", "stop", 11, 7),
    ),
    "code about thoughts": (
        lambda asked: answer(asked, content="t.split('</think>')[-1]"),
        Reply("t.split('</think>')[-1]", "stop", 11, 7),
    ),
    "reasoning counted apart": (
        lambda asked: answer(
            asked,
            usage={"prompt_tokens": 11, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 90}},
        ),
        Reply("hé? -> ", "stop", 11, 95, reasoning_tokens=90),
    ),
    "words about thoughts": (
        lambda asked: answer(asked, content="use <think>...</think>"), Reply("use <think>...</think>", "stop", 11, 7),
    ),
    "usage null": (lambda asked: answer(asked, content="x" * 40, usage=None), Reply("x" * 40, "stop", 1, 10)),
    "usage of nothing": (
        lambda asked: answer(asked, content="x" * 40, usage={"prompt_tokens": 0, "completion_tokens": 0}),
        Reply("x" * 40, "stop", 1, 10),
    ),
    "usage out of this world": (
        lambda asked: answer(asked, content="x" * 40, usage={"prompt_tokens": 10**30, "completion_tokens": 1}),
        Reply("x" * 40, "stop", 1, 10),
    ),
    "lone surrogate": (lambda asked: answer(asked, content="a\ud800b"), Reply("a?b", "stop", 11, 7)),
    "controls": (lambda asked: answer(asked, content="a\0b\r\n\u2028c"), Reply("a\0b\r\n\u2028c", "stop", 11, 7)),
    "2 MB": (lambda asked: answer(asked, content="é" * 1_000_000), Reply("é" * 1_000_000, "stop", 11, 7)),
}  # fmt: skip


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("model", MODELS)
def test_a_completed_reply_is_a_reply_however_odd(server: FaultyServer, model: str, name: str) -> None:
    choose, expected = REPLIES[name]
    version = f"{model.partition('/')[2]}-2026"
    estimated = name.startswith("usage")
    got = attempt(server, choose, model)
    if name == "reasoning counted apart":
        got = replace(got, text=expected.text)  # the server's own
    assert got == replace(expected, model=version, estimated=estimated)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "choose",
    [
        refusal(400, "Your request was rejected as a result of our safety system.", "content_policy_violation"),
        refusal(400, "The response was filtered due to Azure OpenAI's content management policy.", "content_filter"),
        refusal(403, "tiny requires moderation. Your input was flagged for violence"),
    ],
)
def test_a_prompt_that_the_provider_filters_is_a_filtered_reply_that_costs_nothing(
    server: FaultyServer, model: str, choose: Choice
) -> None:
    assert attempt(server, choose, model) == Reply("", "content_filter", 0, 0, usd=0.0)


def test_what_is_sent_is_the_call_and_nothing_of_litellms_own_is_tried_again(server: FaultyServer) -> None:
    before, bodies = server.requests, list[Asked]()

    def keep(asked: Asked) -> Reaction:
        bodies.append(asked)
        return refusal(500)(asked)

    for model in MODELS:
        with pytest.raises(failures.ServerFailed):
            attempt(server, keep, model, text="a\ud800b")
    assert server.requests == before + len(MODELS)
    for asked in bodies:
        assert asked.body["messages"] == [{"role": "user", "content": "a?b"}]
        assert asked.body["temperature"] == 0.0
        assert asked.body["max_tokens"] == 5


def test_the_reply_is_that_of_the_request(server: FaultyServer) -> None:
    seen: list[str] = []

    def keep(asked: Asked) -> Reaction:
        seen.append(reply_text(asked))
        return answer(asked)

    assert [attempt(server, keep, text=text).text for text in ("one", "two")] == seen
    assert seen[0] != seen[1]


@pytest.mark.parametrize("model", MODELS)
def test_retry_after_is_read_as_seconds_and_as_a_date(server: FaultyServer, model: str) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    asked: list[float | None] = []
    for header in ({"Retry_After": "7"}, {"Retry_After": date}, {"Retry_After": "soon"}, {}):
        with pytest.raises(failures.RateLimited) as raised:
            attempt(server, refusal(429, **header), model)
        asked.append(raised.value.retry_after)
    assert asked[0] == 7.0
    assert asked[2] is None
    assert asked[3] is None
    assert asked[1] is not None
    assert 25.0 < asked[1] <= 30.0
    with pytest.raises(failures.ServerFailed) as unavailable:
        attempt(server, refusal(503, Retry_After="3"), model)
    assert unavailable.value.retry_after == 3.0


def test_a_connection_that_does_not_come_about_has_a_limit_of_its_own() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:  # the queue is full: further connections get no answer at all
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        base = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        client = Client(Agent(name="alpha", model="openai/tiny", api_base=base), failures.Limits(0.2, 30.0))
        started = time.monotonic()
        with pytest.raises(failures.TimedOut, match=r"0\.2 s to connect"):
            asyncio.run(client.attempt(Call("openai/tiny", (Message("user", "?"),), {}, 0)))
        assert time.monotonic() - started < 20.0
        for one in waiting:
            one.close()


def test_a_server_that_is_not_there_is_said() -> None:
    client = Client(Agent(name="alpha", model="openai/tiny", api_base="http://127.0.0.1:9/v1"), failures.Limits(1, 1))
    with pytest.raises(
        failures.NoConnection, match=r"^no connection to http://127\.0\.0\.1:9/v1: is the server running\?"
    ) as raised:
        asyncio.run(client.attempt(Call("openai/tiny", (Message("user", "?"),), {}, 0)))
    assert raised.value.kind == "no connection"
    assert "object at 0x" not in str(raised.value)
    assert "ssl" not in str(raised.value)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (401, "see the value of MY_OWN_KEY"),
        (402, "see the account at the provider"),
        (403, "see the value of MY_OWN_KEY, and the account"),
        (404, "correct pool.agents: alpha: model or api_base"),
        (400, "most often an entry of pool.agents: alpha: params"),
    ],
)
def test_a_refusal_says_where_and_what_to_do(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch, model: str, status: int, advice: str
) -> None:
    monkeypatch.setenv("MY_OWN_KEY", "a-value-of-no-meaning")
    with pytest.raises(failures.CallFailed) as raised:
        attempt(server, refusal(status, "bad thing"), model, key_env="MY_OWN_KEY")
    said = str(raised.value)
    assert said.startswith("agent alpha: ")
    assert f" at {server.url} ({status}: bad thing): " in said
    assert said.endswith(f": {advice}")


def test_a_server_that_wants_a_key_and_has_none_is_told_how(server: FaultyServer) -> None:
    with pytest.raises(failures.NoKey, match=r"name the variable .* in pool\.agents: alpha: key_env$"):
        attempt(server, refusal(401))


@pytest.mark.parametrize(
    ("model", "params", "said"),
    [
        ("tiny", {}, "names no provider"),
        ("openai/tiny", {"timeout": 3}, "TypeError"),  # given twice
        ("openai/tiny", {"temperature": {1, 2}}, "litellm failed with|refused|malformed"),  # no JSON
    ],
)
def test_what_litellm_cannot_send_is_one_line(server: FaultyServer, model: str, params: dict, said: str) -> None:  # type: ignore[type-arg]
    before = server.requests
    client = Client(Agent(name="alpha", model=model, api_base=server.url), failures.Limits(1, 1))
    with pytest.raises(failures.CallFailed, match=said) as raised:
        asyncio.run(client.attempt(Call(model, (Message("user", "?"),), params, 0)))
    assert "\n" not in str(raised.value)
    assert server.requests == before


def test_a_key_that_is_not_set_is_named_before_anything_is_sent(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = server.requests
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(failures.NoKey, match="export NO_SUCH_KEY="):
        attempt(server, answer, key_env="NO_SUCH_KEY")
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(failures.NoKey, match="export OPENROUTER_API_KEY="):
        attempt(server, answer, MODELS[1], api_base=None)
    assert server.requests == before


@pytest.mark.parametrize("reason", ["load_shed", "error"])
def test_what_is_charged_is_said_though_it_is_no_reply(server: FaultyServer, reason: str) -> None:
    with pytest.raises(failures.CallFailed) as raised:
        attempt(server, lambda asked: answer(asked, finish_reason=reason), price=Price(input=1e6, output=0.0))
    assert raised.value.charged is not None
    assert (raised.value.charged.prompt_tokens, raised.value.charged.usd) == (11, 11.0)
    with pytest.raises(failures.CallFailed) as free:
        attempt(server, lambda asked: answer(asked, finish_reason=reason, usage=None))
    assert free.value.charged is None


def test_a_proxy_is_named_where_no_connection_comes_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:secret@127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    client = Client(Agent(name="alpha", model="openai/tiny", api_base="http://127.0.0.1:9/v1"), failures.Limits(1, 1))
    with pytest.raises(failures.NoConnection, match=r"through the proxy 127\.0\.0\.1:9: see HTTP_PROXY") as raised:
        asyncio.run(client.attempt(Call("openai/tiny", (Message("user", "?"),), {}, 0)))
    assert "secret" not in str(raised.value)


def test_the_key_of_any_provider_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "abc\ndef")
    client = Client(Agent(name="alpha", model="deepseek/deepseek-chat"), failures.Limits(1, 1))
    with pytest.raises(failures.NoKey, match="key DEEPSEEK_API_KEY holds a blank"):
        asyncio.run(client.attempt(Call("deepseek/deepseek-chat", (Message("user", "?"),), {}, 0)))


@pytest.mark.parametrize("key", ["abc\r\nX-More: 1", "abc ", "ключ", "abc\x7f"])
def test_a_key_that_no_header_can_hold_is_named_before_anything_is_sent(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    before = server.requests
    monkeypatch.setenv("MY_OWN_KEY", key)
    with pytest.raises(failures.NoKey, match="agent alpha: key MY_OWN_KEY holds a blank") as raised:
        attempt(server, answer, key_env="MY_OWN_KEY")
    assert key not in str(raised.value)
    assert server.requests == before


def test_prices_come_from_params_then_the_provider_then_litellms_table(server: FaultyServer) -> None:
    said = {"prompt_tokens": 1000, "completion_tokens": 100, "cost": 0.5}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    price = Price(input=2.0, output=10.0)
    assert attempt(server, lambda asked: answer(asked, usage=said), MODELS[1], price=price).usd == 0.003
    assert attempt(server, lambda asked: answer(asked, usage=said), MODELS[1]).usd == 0.5
    assert attempt(server, lambda asked: answer(asked, usage=usage), MODELS[1]).usd is None
    absurd: tuple[object, ...] = (float("inf"), 1e308, 1e7, -1.0, True, "much")
    for cost in absurd:
        wrong = {**usage, "cost": cost}
        assert attempt(server, lambda asked, wrong=wrong: answer(asked, usage=wrong), MODELS[1]).usd is None  # type: ignore[misc]


@pytest.mark.parametrize(
    "status, body",
    [
        (403, {"error": {"message": "Your account has been flagged for a policy review"}}),
        (400, {"error": {"message": "Unknown parameter: 'content_filter'"}}),
        (400, {"error": {"message": "input_value='Which safety system of a reactor is passive?'"}}),
        (400, {"error": {"message": "extra inputs not permitted; input: what is a content management policy?"}}),
        (401, {"error": {"message": "invalid_request_error content_policy_violation", "code": "content_filter"}}),
        (403, {"error": {"message": "the request's input was flagged by the firewall"}}),
        (500, {"error": {"message": "Invalid prompt: your account is violating our usage policy"}}),
    ],
)
def test_a_refusal_that_is_not_of_the_prompt_is_no_reply(status: int, body: dict[str, object]) -> None:
    import httpx
    import litellm

    response = httpx.Response(status, json=body, request=httpx.Request("POST", "http://provider.invalid"))
    error = litellm.APIError(status, str(body["error"]), "openai", "tiny")
    error.__cause__ = httpx.HTTPStatusError("refused", request=response.request, response=response)
    assert not diagnosis.is_filtered(error)


def test_a_date_beyond_the_calendar_asks_for_no_wait() -> None:
    assert diagnosis._seconds("Wed, 21 Oct 99999999999999999999 07:28:00 GMT") is None
