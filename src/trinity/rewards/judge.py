"""MT-Bench's judge: an LLM of the pool rates one answer from 1 to 10 (arXiv 2306.05685, single-answer grading).

Points are never made a reward of 0 or 1, and a rating that the judge's reply does not hold is missing, not low.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from trinity.errors import RewardError
from trinity.llm.base import Pool
from trinity.types import Decoding, Item, Message, Request, RequestMeta, Response, Role

DECODING = Decoding(max_tokens=2048, temperature=0.0)
WITH_REFERENCE = frozenset(("math", "reasoning", "coding"))
LOWEST, HIGHEST = 1.0, 10.0

_DOUBLE = re.compile(r"\[\[(\d+\.?\d*)\]\]")
_SINGLE = re.compile(r"\[(\d+\.?\d*)\]")
_SCORE = r"\s{0,9}(\d{1,9}(?:\.\d{0,9})?)\s{0,9}(?:/\s{0,9}10\s{0,9})?"
# Where the score stands, the surest first: behind "Rating:", anywhere, in single brackets behind it or at the end.
_PLACES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\brating\b[\s:*_]{{0,9}}(?:is[\s:*_]{{0,9}})?\[\[{_SCORE}\]\]",
        rf"\[\[{_SCORE}\]\]",
        rf"\brating\b[\s:*_]{{0,9}}(?:is[\s:*_]{{0,9}})?\[{_SCORE}\]",
        rf"\[{_SCORE}\][\s.*_]{{0,9}}\Z",
    )
)


@dataclass(frozen=True)
class Rating:
    """What the judge gave.

    Attributes:
        score: From 1 to 10 (official: any number); None where its reply holds none: left out of means, and counted.
        reason: The judge's reply.
    """

    score: float | None
    reason: str


class Judge:
    """Rates answers to MT-Bench's questions.

    Args:
        pool: Any pool.
        agent: Which of its agents is the judge.
        mode: How the score is read; see `rating_in`.

    Raises:
        RewardError: the pool has no such agent.
    """

    def __init__(self, pool: Pool, agent: str, mode: Literal["robust", "official"] = "robust") -> None:
        if agent not in pool.agents:
            raise RewardError(f"grading.judge: no agent {agent}; agents of the pool: {', '.join(pool.agents)}")
        self._pool = pool
        self._agent = agent
        self._mode: Literal["robust", "official"] = mode

    async def rate(self, item: Item, response: Response) -> Rating:
        """The rating of one answer; of a second turn's, with the first exchange before it.

        Raises:
            PoolError: the judge could not be reached.
            RewardError: the item is none of MT-Bench, or lacks the reference that its category needs.
        """
        # The request's role is opaque to real pools; to judge is a verifier's work.
        request = Request(
            self._agent, judge_prompt(item, response.text), DECODING, 0, RequestMeta(item.id, Role.VERIFIER)
        )
        reply = await self._pool.generate(request)
        return Rating(rating_in(reply.text, self._mode), reply.text)


def judge_prompt(item: Item, answer: str) -> tuple[Message, ...]:
    """The messages that FastChat sends for a question of this category and turn.

    Raises:
        RewardError: the item's reference is not MT-Bench's, or lacks the reference answer that its category needs.
    """
    reference = item.reference
    if not isinstance(reference, Mapping) or not {"category", "turn", "answer", "first"} <= reference.keys():
        raise RewardError(f"item {item.id!r} of {item.task}: not a question of MT-Bench: no category and turn")
    with_reference = reference["category"] in WITH_REFERENCE
    if with_reference and reference["answer"] is None:
        raise RewardError(
            f"item {item.id!r} of {item.task}: {reference['category']} is judged against a reference answer: give it"
        )
    question = str(item.extra.get("stem", item.question))
    values = {"question": question, "answer": answer, "ref_answer_1": reference["answer"]}
    name = "single-math-v1" if with_reference else "single-v1"
    if reference["turn"] == 2:
        name += "-multi-turn"
        first, first_answer = reference["first"]
        values = {
            "question_1": first,
            "answer_1": first_answer,
            "question_2": question,
            "answer_2": answer,
            "ref_answer_1": reference.get("first_answer"),
            "ref_answer_2": reference["answer"],
        }
        if with_reference and values["ref_answer_1"] is None:
            raise RewardError(
                f"item {item.id!r} of {item.task}: no reference answer to the first turn: give it as first_answer"
            )
    template = _templates()[name]
    return Message("system", template["system"]), Message("user", template["user"].format(**values))


def rating_in(text: str, mode: Literal["robust", "official"]) -> float | None:
    """The score that a judge's reply holds; None without one.

    Official, as FastChat reads it (llm_judge/common.py, commit 0e6d3e4b): the first [[n]], else the first [n], whatever
    n is.
    Robust: the last [[n]] (or [[n/10]]) behind "Rating:", else the last [[n]], else [n] behind "Rating:" or at the end;
    from 1 to 10, or it is none. Brackets may be escaped.
    """
    if mode == "official":
        match = _DOUBLE.search(text) or _SINGLE.search(text)
        return float(match.group(1)) if match else None
    plain = text.replace("\\[", "[").replace("\\]", "]")
    found = next((scores for place in _PLACES if (scores := place.findall(plain))), [])
    score = float(found[-1]) if found else None
    return score if score is not None and LOWEST <= score <= HIGHEST else None


@cache
def _templates() -> Mapping[str, Mapping[str, str]]:
    import yaml

    text = files("trinity.rewards").joinpath("judge_prompts.yaml").read_text(encoding="utf-8")
    templates: Mapping[str, Mapping[str, str]] = yaml.safe_load(text)
    return templates
