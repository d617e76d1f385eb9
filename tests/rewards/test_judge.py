import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared_files import shared
from trinity.errors import PoolError, RewardError
from trinity.rewards.judge import Judge, judge_prompt, rating_in
from trinity.types import Item, Request, Response

OWN = Path(__file__).parents[2] / "src/trinity/rewards/judge_prompts.yaml"


class Scripted:
    """A pool whose one agent says what it was told to, and remembers what it was asked."""

    agents = ("judge",)

    def __init__(self, text: str | None) -> None:
        self._text = text
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> Response:
        self.requests.append(request)
        if self._text is None:
            raise PoolError("judge: no answer")
        return Response(self._text, "stop", 1, 1)


def item(category: str, turn: int = 1, answer: str | None = None, **reference: Any) -> Item:
    first = ["Name a city.", "Paris"] if turn == 2 else None
    filled = {"category": category, "turn": turn, "answer": answer, "first": first, **reference}
    return Item("81", "mt_bench", category, "Conversation so far ...", "judge", filled, {"stem": "Now a {river}."})


def reply(text: str) -> Response:
    return Response(text, "stop", 1, 1)


@pytest.mark.parametrize(
    ("text", "robust", "official"),
    [
        ("Rating: [[7]]", 7.0, 7.0),
        ("Rating: [[8.5]]", 8.5, 8.5),
        ("Rating: [7]", 7.0, 7.0),
        ("[[3]] was the other's. Rating: [[9]]", 9.0, 3.0),
        ("[1] see above. Rating: [[9]]", 9.0, 9.0),
        ("Rating: [[9/10]]", 9.0, None),
        ("Rating: [[11]]", None, 11.0),
        ("Rating: [[0]]", None, 0.0),
        ("Rating: [[08]]", 8.0, 8.0),
        ("Rating: [[rating]]", None, None),
        ("Rating: 7", None, None),
        ("Rating: [[8]] out of [[10]]", 8.0, 8.0),
        ("**Rating:** [[5]]. A perfect answer would be [[10]].", 5.0, 5.0),
        ("Rating: [[3]] at first. Final rating: [[4]]", 4.0, 3.0),
        ("See source [1] and [2]. Rating: 7", None, 1.0),
        ("See source [1] and [2]. Rating: [7]", 7.0, 1.0),
        ("A good answer. [7]", 7.0, 7.0),
        ("Rating: \\[\\[7\\]\\]", 7.0, None),
        ("", None, None),
    ],
)
def test_rating_in(text: str, robust: float | None, official: float | None) -> None:
    assert rating_in(text, "robust") == robust
    assert rating_in(text, "official") == official


def test_a_rating_is_asked_for_as_fastchat_does() -> None:
    pool = Scripted("Good. Rating: [[10]]")
    rating = asyncio.run(Judge(pool, "judge").rate(item("writing"), reply("The {Seine}")))
    assert rating.score == 10
    (request,) = pool.requests
    assert (request.agent, request.decoding.temperature, request.decoding.max_tokens) == ("judge", 0.0, 2048)
    assert [message.role for message in request.messages] == ["system", "user"]
    assert (
        "[Question]\nNow a {river}.\n\n[The Start of Assistant's Answer]\nThe {Seine}\n" in request.messages[1].content
    )


def test_a_second_turn_shows_the_first_and_the_references() -> None:
    _, user = judge_prompt(item("math", 2, "the Seine", first_answer="a city"), "Seine")
    for part in (
        "### User:\nName a city.\n\n### Reference answer:\na city\n\n"
        "### User:\nNow a {river}.\n\n### Reference answer:\nthe Seine",
        "### User:\nName a city.\n\n### Assistant A:\nParis\n\n### User:\nNow a {river}.\n\n### Assistant A:\nSeine",
    ):
        assert part in user.content
    _, plain = judge_prompt(item("writing", 2), "Seine")
    assert "Reference" not in plain.content


def test_a_reply_without_a_rating_is_missing_and_not_low() -> None:
    rating = asyncio.run(Judge(Scripted("I cannot say."), "judge").rate(item("writing"), reply("x")))
    assert rating.score is None
    assert rating.reason == "I cannot say."


def test_a_judge_that_does_not_answer_is_an_error() -> None:
    with pytest.raises(PoolError):
        asyncio.run(Judge(Scripted(None), "judge").rate(item("writing"), reply("x")))


def test_mistakes_are_errors() -> None:
    with pytest.raises(RewardError, match=r"grading\.judge: no agent other; agents of the pool: judge"):
        Judge(Scripted(""), "other")
    with pytest.raises(RewardError, match="math is judged against a reference"):
        judge_prompt(item("math"), "x")
    with pytest.raises(RewardError, match="first_answer"):
        judge_prompt(item("math", 2, "the Seine"), "x")
    with pytest.raises(RewardError, match="not a question of MT-Bench"):
        judge_prompt(Item("1", "t", "d", "q", "judge", "text"), "x")


def test_the_prompts_are_fastchats_word_for_word() -> None:
    text = shared("data/mt_bench/judge_prompts.jsonl").read_text(encoding="utf-8")
    theirs = {row["name"]: row for row in map(json.loads, text.splitlines())}
    ours = yaml.safe_load(OWN.read_text(encoding="utf-8"))
    assert ours == {
        name: {"system": theirs[name]["system_prompt"], "user": theirs[name]["prompt_template"]}
        for name in ("single-v1", "single-math-v1", "single-v1-multi-turn", "single-math-v1-multi-turn")
    }


@pytest.mark.parametrize("piece", ["[[", "rating ", "Rating: [[", "[[1", "[1]", " ", "[7] ", "\\["])
def test_a_megabyte_is_read_in_linear_time(piece: str) -> None:
    started = time.process_time()
    rating_in(piece * (10**6 // len(piece)), "robust")
    assert time.process_time() - started < 5
