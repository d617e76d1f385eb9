"""A key goes to its provider and nowhere else."""

import json
import logging
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from faulty_server import Asked, Choice, FaultyServer, Reaction, answer, first, refusal
from remote_pools import ask, pool_config, request

from trinity.config import Config
from trinity.llm.store.database import Database
from trinity.llm.store.packs import write_pack

KEY = "UNMISTAKABLE.0123-4567_89abcdef"  # of no pattern that litellm itself takes out
OTHER = "sk-proj-ANOTHER-UNMISTAKABLE-987654"
MODELS = ("openai/tiny", "openrouter/maker/tiny")
ECHO = f"Incorrect API key provided: {KEY} (Authorization: Bearer {KEY})"


def html(asked: Asked) -> Reaction:
    return Reaction(f"<html>{ECHO}</html>".encode(), 502, {"Content-Type": "text/html", "X-Key": KEY})


def not_json(asked: Asked) -> Reaction:
    return Reaction(f'{{"error": "{ECHO}'.encode())


def late(asked: Asked) -> Reaction:
    """The key comes where a shortened page would cut it in two."""
    return refusal(400, "x" * 140 + KEY)(asked)


FAULTS: dict[str, Choice] = {
    "401": refusal(401, ECHO), "403": refusal(403, ECHO), "400": refusal(400, ECHO), "404": refusal(404, ECHO),
    "500": first(1, refusal(500, ECHO)), "429": first(1, refusal(429, ECHO)), "HTML": html, "no JSON": not_json,
    "late": late, "none": answer,
    "upstream": lambda asked: Reaction(
        json.dumps({"error": {"message": "failed", "metadata": {"raw": ECHO}}}).encode(), 400
    ),
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_a_key_is_in_no_file_no_output_no_log_and_no_error(
    configure: Callable[..., Config],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    model: str,
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    directory = tmp_path / ".trinity" / "responses"
    with FaultyServer() as server:
        agent = {"model": model, "key_env": "OPENROUTER_API_KEY"}
        config = pool_config(configure, server.url, agent, tries=2)
        for name, fault in FAULTS.items():
            server.choose = fault
            for outcome in ask(config, directory, [request(name)]):
                said += [str(outcome), repr(outcome)]
                if isinstance(outcome, BaseException):
                    said += traceback.format_exception(outcome)
        replay = pool_config(configure, server.url, agent, responses="replay")
        said += [str(outcome) for outcome in ask(replay, directory, [request("absent")])]
        assert set(server.authorization) == {f"Bearer {KEY}"}  # it was sent, so it could have come out
    database = Database(directory)
    write_pack(tmp_path / "data", database.entries())
    database.close()
    output = capfd.readouterr()
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 2
    assert "try 2 of 2" in output.err
    assert any("[key]" in text for text in said)
    for text in [*said, output.out, output.err, caplog.text]:
        assert KEY[:20] not in text
    for content in written:
        assert KEY[:20].encode() not in content
    assert KEY not in config.model_dump_json()


@pytest.mark.parametrize("model", MODELS)
def test_a_providers_key_is_not_sent_to_a_server_of_ones_own(
    configure: Callable[..., Config], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "LITELLM_API_KEY"):
        monkeypatch.setenv(name, OTHER)
    with FaultyServer() as server:
        ask(pool_config(configure, server.url, {"model": model}), tmp_path, [request("one")])
        assert server.authorization == ["Bearer none"]
