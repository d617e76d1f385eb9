"""The recorded pool and its reward, through the seams."""

import asyncio

import pytest

from trinity.errors import PoolError, RewardError
from trinity.llm.base import Pool
from trinity.llm.recorded import RecordedPool
from trinity.rewards.base import Grade, Reward
from trinity.rewards.recorded import RecordedReward
from trinity.types import Decoding, Item, Message, Request, RequestMeta, Response, Role

AGENTS = ("a", "b")
ITEM = Item(
    "q1", "mix", "k", "?", "recorded", None, {"scores": {"a": 0.25, "b": 1.0}, "texts": {"a": ""}, "tokens": {"a": 9}}
)
HALF = Item("q2", "mix", "k", "?", "recorded", None, {"scores": {"a": 0.0}})


def ask(agent: str, item_id: str = "q1", role: Role = Role.WORKER, sample_index: int = 0) -> Response:
    pool: Pool = RecordedPool(AGENTS, [ITEM, HALF])
    request = Request(agent, (Message("user", "?"),), Decoding(16), sample_index, RequestMeta(item_id, role))
    return asyncio.run(pool.generate(request))


def test_it_replays_the_table() -> None:
    assert ask("a") == Response("", "stop", 0, 9, 0.25)
    reply = ask("b", sample_index=3)
    assert reply == ask("b")
    assert (reply.score, reply.completion_tokens) == (1.0, 0)
    assert "recorded" in reply.text
    assert RecordedPool(AGENTS, [ITEM, ITEM]).agents == AGENTS


@pytest.mark.parametrize(
    "agent, item_id, role, said",
    [
        ("a", "q1", Role.THINKER, r"no thinker turn is recorded \(item 'q1'\)"),
        ("a", "q1", Role.VERIFIER, "no verifier turn"),
        ("c", "q1", Role.WORKER, "no agent 'c'; agents: a, b"),
        ("a", "q9", Role.WORKER, "no outcomes of item 'q9'"),
        ("b", "q2", Role.WORKER, "no outcome of agent 'b' on item 'q2'"),
    ],
)
def test_it_never_invents_an_outcome(agent: str, item_id: str, role: Role, said: str) -> None:
    with pytest.raises(PoolError, match=said):
        ask(agent, item_id, role)


def test_two_items_of_one_id_are_refused() -> None:
    with pytest.raises(PoolError, match="two items with id 'q1'"):
        RecordedPool(AGENTS, [ITEM, Item("q1", "other", "k", "?", "recorded", None)])


def test_the_reward_is_the_recorded_score() -> None:
    reward: Reward = RecordedReward()
    assert reward(ITEM, ask("a")) == Grade(0.25, "recorded")
    assert reward(HALF, ask("a", "q2")).value == 0.0
    with pytest.raises(RewardError, match=r"item 'q1' of mix: the reply has no recorded score"):
        reward(ITEM, Response("text", "stop", 1, 1))
