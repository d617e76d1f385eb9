"""The simulated pool: what it says of its replies' odds is what it draws, and it reads the prompt alone."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import log, sqrt
from pathlib import Path
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trinity.config import load_config
from trinity.config.pool import Simulated, SimulatedAgent, SimulatedLength, SimulatedVerifier
from trinity.errors import ConfigError, PoolError
from trinity.llm.base import Pool
from trinity.llm.simulated import SimulatedPool, worker_odds
from trinity.orchestration.rules import EpisodeRules
from trinity.roles.prompts import load_prompts
from trinity.tasks.demo.task import KINDS, DemoTask
from trinity.types import SPLITS, Decision, Decoding, Item, Request, Response, Role, Transcript

DEMO = load_config(Path(__file__).parents[2] / "params.yaml")
ANSWERS = {"right": "Thus: 42", "wrong": "Thus: 41", "malformed": "Thus, who knows"}
ITEM = Item("i1", "toy", "sums", "What is 6 * 7?", "freeform", "42", ANSWERS)
SCARCE = 0.00001


def agent(
    skill: float = 0.6,
    plan: float = 0.5,
    malformed: float = 0.25,
    hit: float = 0.7,
    false_alarm: float = 0.2,
    median: float = 300,
    sigma: float = 0.6,
) -> SimulatedAgent:
    return SimulatedAgent(
        skill={"sums": skill},
        malformed=malformed,
        plan=plan,
        verifier=SimulatedVerifier(hit=hit, false_alarm=false_alarm),
        length=SimulatedLength(median=median, sigma=sigma),
    )


def pool_of(seed: int = 0, items: tuple[Item, ...] = (ITEM,), **agents: SimulatedAgent) -> SimulatedPool:
    agents = agents or {"ann": agent(), "bob": agent(skill=0.3, plan=0.1)}
    return SimulatedPool(Simulated(seed=seed, agents=agents), tuple(agents), items)


def rules_of(pool: Pool, max_tokens: int = 512) -> EpisodeRules:
    return EpisodeRules(pool.agents, tuple(Role), load_prompts(None), 9, Decoding(max_tokens), 8000)


def said(*turns: tuple[int, Role, str], item: Item = ITEM) -> Transcript:
    """A transcript in which these agents said these texts in these roles."""
    transcript = Transcript(item.question)
    rules = rules_of(pool_of())
    for number, role, text in turns:
        transcript = rules.advance(transcript, Decision(number, role), Response(text, "stop", 1, 1))
    return transcript


def request(
    pool: Pool,
    role: Role,
    transcript: Transcript | None = None,
    number: int = 0,
    sample: int = 0,
    max_tokens: int = 512,
) -> Request:
    rules = rules_of(pool, max_tokens)
    return rules.request(ITEM.id, transcript or Transcript(ITEM.question), Decision(number, role), sample)


def draw(pool: Pool, asked: Request, samples: int) -> list[Response]:
    async def all_samples() -> list[Response]:
        return [await pool.generate(replace(asked, sample_index=index)) for index in range(samples)]

    return asyncio.run(all_samples())


def odds(pool: SimulatedPool, asked: Request) -> dict[tuple[str, str], float]:
    return {(reply.text, reply.finish_reason): share for share, reply in pool.distribution(asked)}


def chance_of(pool: SimulatedPool, asked: Request, text: str) -> float:
    return odds(pool, asked).get((text, "stop"), 0.0)


SHARES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0]))


@given(
    SHARES, SHARES, SHARES, SHARES, SHARES, st.floats(1, 5000), st.sampled_from([0.0, 0.5, 2.0]), st.integers(1, 9000)
)
def test_the_odds_of_any_agent_sum_to_1(
    skill: float, plan: float, malformed: float, hit: float, false_alarm: float, median: float, sigma: float, limit: int
) -> None:
    pool = pool_of(ann=agent(skill, plan, malformed, hit, false_alarm, median, sigma))
    for transcript in (said(), said((0, Role.THINKER, plan_of(pool))), said((0, Role.WORKER, ANSWERS["right"]))):
        for role in Role:
            distribution = pool.distribution(request(pool, role, transcript, max_tokens=limit))
            assert sum(share for share, _ in distribution) == pytest.approx(1, abs=1e-12)
            assert all(share > 0 for share, _ in distribution)
            assert len({(reply.text, reply.finish_reason) for _, reply in distribution}) == len(distribution)


def plan_of(pool: SimulatedPool, number: int = 0) -> str:
    """What an agent says as a Thinker."""
    ((share, reply),) = pool.distribution(request(pool, Role.THINKER, number=number))
    assert share == 1
    return reply.text


@pytest.mark.parametrize(
    "role, turns",
    [
        (Role.WORKER, []),
        (Role.WORKER, ["plan"]),
        (Role.VERIFIER, ["right"]),
        (Role.VERIFIER, ["wrong"]),
        (Role.THINKER, []),
    ],
)
def test_replies_come_as_often_as_stated(role: Role, turns: list[str]) -> None:
    pool, samples = pool_of(), 3000
    spoken = [(0, Role.THINKER, plan_of(pool)) if turn == "plan" else (0, Role.WORKER, ANSWERS[turn]) for turn in turns]
    asked = request(pool, role, said(*spoken))
    counts: Counter[tuple[str, str]] = Counter(
        (reply.text, reply.finish_reason) for reply in draw(pool, asked, samples)
    )
    stated = odds(pool, asked)
    assert set(counts) <= set(stated)
    for reply, share in stated.items():
        assert abs(counts[reply] - samples * share) <= 4 * sqrt(samples * share * (1 - share))


def test_a_workers_odds_are_those_of_its_skill_and_length() -> None:
    pool = pool_of()
    within = NormalDist().cdf(log(512 / 300) / 0.6)
    stated = odds(pool, request(pool, Role.WORKER))
    assert stated[ANSWERS["right"], "stop"] == pytest.approx(within * 0.6)
    assert stated[ANSWERS["wrong"], "stop"] == pytest.approx(within * 0.4 * 0.75)
    assert stated[ANSWERS["malformed"], "stop"] == pytest.approx(within * 0.4 * 0.25)
    assert stated[ANSWERS["malformed"], "length"] == pytest.approx(1 - within)


def test_a_plan_turns_its_share_of_the_failures_into_right_answers() -> None:
    pool = pool_of()
    within = NormalDist().cdf(log(512 / 300) / 0.6)
    anns, bobs = plan_of(pool, 0), plan_of(pool, 1)

    def right(*texts: str) -> float:
        transcript = said(*((0, Role.THINKER, text) for text in texts))
        return chance_of(pool, request(pool, Role.WORKER, transcript), ANSWERS["right"]) / within

    assert right() == right("A plan of no agent.") == pytest.approx(0.6)
    assert right(anns) == right(bobs, anns) == pytest.approx(0.6 + 0.5 * 0.4)
    assert right(bobs) == right(anns, bobs) == right(bobs, anns, bobs) == pytest.approx(0.6 + 0.1 * 0.4)
    # Whoever works: the plan is its author's, the skill the Worker's.
    by_bob = request(pool, Role.WORKER, said((0, Role.THINKER, anns)), number=1)
    assert chance_of(pool, by_bob, ANSWERS["right"]) == pytest.approx(within * (0.3 + 0.5 * 0.7))
    assert worker_odds(agent(), "sums", 0.5, 512).right == pytest.approx(within * 0.8)


@pytest.mark.parametrize(
    "answers, revise",
    [
        (["right"], 0.2),
        (["wrong"], 0.7),
        (["malformed"], 0.7),
        (["wrong", "right"], 0.2),
        (["right", "wrong"], 0.7),
        (["right", "malformed"], 0.7),
        (["right", "wrong", "right"], 0.2),
        ([], 0.7),
    ],
)
@pytest.mark.parametrize("between", [[], [(1, Role.THINKER, "Look again.")], [(1, Role.VERIFIER, "VERDICT: REVISE")]])
def test_a_verifier_judges_the_latest_answer(
    answers: list[str], revise: float, between: list[tuple[int, Role, str]]
) -> None:
    pool = pool_of()
    asked = request(pool, Role.VERIFIER, said(*((0, Role.WORKER, ANSWERS[kind]) for kind in answers), *between))
    refusing = [share for (text, _), share in odds(pool, asked).items() if "VERDICT: REVISE" in text]
    assert refusing == [pytest.approx(revise)]


@pytest.mark.parametrize("right, wrong", [("Answer: 4", "Answer: 42"), ("Answer: 42", "Answer: 4")])
def test_an_answer_that_another_begins_with_is_told_apart(right: str, wrong: str) -> None:
    item = replace(ITEM, extra={"right": right, "wrong": wrong, "malformed": "Answer:"})
    pool = pool_of(items=(item,))
    for kind, revise in (("right", 0.2), ("wrong", 0.7), ("malformed", 0.7)):
        for earlier in item.extra.values():
            turns = [(0, Role.WORKER, earlier), (0, Role.WORKER, item.extra[kind])]
            asked = request(pool, Role.VERIFIER, said(*turns, item=item))
            assert [s for (text, _), s in odds(pool, asked).items() if "REVISE" in text] == [pytest.approx(revise)]


def test_lengths_follow_the_log_normal_and_are_cut_at_max_tokens() -> None:
    pool, samples = pool_of(), 3000
    replies = draw(pool, request(pool, Role.WORKER), samples)
    cut = [reply for reply in replies if reply.finish_reason == "length"]
    assert {(reply.text, reply.completion_tokens) for reply in cut} == {(ANSWERS["malformed"], 512)}
    within = NormalDist().cdf(log(512 / 300) / 0.6)
    assert abs(len(cut) - samples * (1 - within)) < 4 * sqrt(samples * within * (1 - within))
    lengths = sorted(reply.completion_tokens for reply in replies if reply.finish_reason == "stop")
    assert lengths[0] >= 1
    assert lengths[-1] <= 512
    below = sum(length <= 300 for length in lengths) / len(lengths)
    assert below == pytest.approx(0.5 / within, abs=0.04)
    assert chance_of(pool, request(pool, Role.WORKER, max_tokens=100_000), ANSWERS["right"]) == pytest.approx(0.6)
    assert odds(pool, request(pool, Role.WORKER, max_tokens=1))[ANSWERS["malformed"], "length"] > 1 - SCARCE


def test_a_fixed_length_is_cut_or_not() -> None:
    pool = pool_of(ann=agent(median=300, sigma=0))
    assert odds(pool, request(pool, Role.WORKER, max_tokens=299)) == {(ANSWERS["malformed"], "length"): 1.0}
    assert all(reason == "stop" for _, reason in odds(pool, request(pool, Role.WORKER, max_tokens=300)))


def test_the_same_request_gets_the_same_reply_and_another_sample_another() -> None:
    pool = pool_of()
    asked = request(pool, Role.WORKER)
    replies = draw(pool, asked, 60)
    assert draw(pool_of(), asked, 60) == replies
    assert [draw(pool, replace(asked, sample_index=0), 1)[0] for _ in range(3)] == [replies[0]] * 3
    assert len(set(replies)) > 30
    others: Mapping[str, tuple[SimulatedPool, Request]] = {
        "seed": (pool_of(seed=1), asked),
        "agent": (pool_of(ann=agent(), bob=agent()), replace(asked, agent="bob")),
        "messages": (pool, request(pool, Role.WORKER, said((0, Role.THINKER, "Look again.")))),
    }
    for what, (other_pool, other) in others.items():
        texts = [reply.text for reply in draw(other_pool, other, 60)]
        assert texts != [reply.text for reply in replies], what


@settings(max_examples=20)
@given(st.permutations(range(12)))
def test_the_order_of_requests_does_not_matter(order: list[int]) -> None:
    pool = pool_of()
    asked = [request(pool, role, number=number, sample=s) for role in Role for number in (0, 1) for s in (0, 1)]
    alone = [draw_one(pool_of(), each) for each in asked]
    assert {index: draw_one(pool, asked[index]) for index in order} == dict(enumerate(alone))


def draw_one(pool: Pool, asked: Request) -> Response:
    return asyncio.run(pool.generate(asked))


def test_what_it_cannot_answer_is_one_clear_line() -> None:
    pool = pool_of()
    asked = request(pool, Role.WORKER)
    for wrong, line in (
        (replace(asked, agent="eve"), "simulated pool: no agent 'eve'; it has ann, bob"),
        (
            replace(asked, meta=replace(asked.meta, item_id="i9")),
            "simulated pool: no item 'i9': it answers the questions it was made for",
        ),
    ):
        with pytest.raises(PoolError) as refused:
            draw_one(pool, wrong)
        assert str(refused.value) == line
    with pytest.raises(ConfigError) as lacking:
        pool_of(items=(ITEM, replace(ITEM, id="i2", domain="verse"), replace(ITEM, id="i3", domain="maps")))
    assert str(lacking.value) == "params.yaml: pool.simulated.agents.ann.skill: no entry for maps, verse"


@pytest.mark.parametrize("task", KINDS)
def test_no_known_answer_of_a_demo_item_hides_in_another(task: str) -> None:
    splits = DemoTask(task, DEMO.data.seed).load().items
    assert DEMO.pool.simulated is not None
    demo = SimulatedPool(DEMO.pool.simulated, DEMO.agents, [replace(ITEM, domain=next(iter(KINDS[task].domains)))])
    plans = [plan_of(demo, number) for number in range(len(DEMO.agents))]
    for item in (item for split in SPLITS for item in splits[split]):
        texts = {kind: item.extra[kind] for kind in ANSWERS}
        assert len(set(texts.values())) == 3
        for kind, text in texts.items():
            assert text == text.strip(), "a cap would change it"
            assert len(text) <= DEMO.roles.max_output_chars
            assert text not in item.question
            assert all(plan not in text and plan not in item.question for plan in plans)
            # At the same place the longer one is taken; at a later place the shorter one would be.
            assert all(other.rfind(text) <= 0 for name, other in texts.items() if name != kind), item.id
