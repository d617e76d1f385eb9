from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trinity.config import Config
from trinity.llm.recorded import RecordedPool
from trinity.orchestration.setting import Setting
from trinity.systems.headroom import Headroom, single_systems, training_cost
from trinity.types import Item

AGENTS = ("atlas", "birch", "cedar")
# Two domains of three items; atlas and birch tie over all, and birch and cedar tie on the second domain.
BY_HAND = Headroom(
    AGENTS,
    ("x", "x", "x", "y", "y", "y"),
    np.array([[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1]], dtype=float),
)


def test_the_numbers_of_a_small_table() -> None:
    assert BY_HAND.best_single == "atlas"
    assert BY_HAND.best_by_domain == {"x": "atlas", "y": "birch"}
    values = {name: entry["value"] for name, entry in BY_HAND.summary(500, 0.95, 0, "toy").items()}
    assert values == pytest.approx(
        {
            "single_atlas": 3 / 6,
            "single_birch": 3 / 6,
            "single_cedar": 2 / 6,
            "best_single": 3 / 6,
            "uniform": 8 / 18,
            "best_domain_agent": 5 / 6,
            "oracle": 1.0,
        }
    )


def test_intervals_hold_the_value_and_have_no_width_where_all_items_agree() -> None:
    summary = BY_HAND.summary(2000, 0.9, 0, "toy")
    assert summary["oracle"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    single = summary["single_atlas"]
    assert single["low"] < single["value"] < single["high"]
    # Of six items with a share of one half the bootstrap's 5 % and 95 % points are 1/6 and 5/6.
    assert (single["low"], single["high"]) == pytest.approx((1 / 6, 5 / 6))


def test_intervals_are_keyed_and_widen_with_the_level() -> None:
    big = Headroom(("a",), ("x",) * 200, np.random.Generator(np.random.Philox(1)).random((1, 200)))
    assert big.summary(300, 0.95, 0, "toy") == big.summary(300, 0.95, 0, "toy")
    assert big.summary(300, 0.95, 0, "toy") != big.summary(300, 0.95, 1, "toy")
    narrow, wide = (big.summary(300, level, 0, "toy")["uniform"] for level in (0.5, 0.95))
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]


@given(st.lists(st.tuples(st.sampled_from("xyz"), *[st.sampled_from([0.0, 0.5, 1.0])] * 3), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_more_freedom_is_worth_no_less(rows: list[tuple[str, float, float, float]]) -> None:
    table = Headroom(AGENTS, tuple(row[0] for row in rows), np.array([row[1:] for row in rows]).T)
    values = {name: entry["value"] for name, entry in table.summary(100, 0.95, 0).items()}
    order = [values[name] for name in ("uniform", "best_single", "best_domain_agent", "oracle")]
    assert all(less <= more + 1e-12 for less, more in pairwise(order))
    assert values["best_single"] == max(values[f"single_{name}"] for name in AGENTS)


def test_it_is_measured_by_one_worker_call_an_agent_and_item(
    configure: Callable[..., Config], given_setting: Callable[..., Setting]
) -> None:
    scores = [(1.0, 0.0, 0.25), (0.5, 0.0, 1.0)]
    items = [
        Item(
            f"i{i}", "toy", f"d{i}", f"Question {i}?", "recorded", None, {"scores": dict(zip(AGENTS, row, strict=True))}
        )
        for i, row in enumerate(scores)
    ]
    changes = {"tasks": ["toy"], "data.outcomes": {"toy": {"path": "toy.jsonl"}}, "pool.kind": "recorded"}
    config = configure(changes | {"episode.roles": ["worker"], "episode.max_turns": 1})
    setting = given_setting(config, RecordedPool(AGENTS, items), items, items)
    headroom = Headroom.measure(setting.rollouts, setting.train)
    assert headroom.agents == AGENTS
    assert headroom.domains == ("d0", "d1")
    assert headroom.rewards.tolist() == [[1.0, 0.5], [0.0, 0.0], [0.25, 1.0]]
    assert headroom.best_by_domain == {"d0": "atlas", "d1": "cedar"}


def test_singles_are_named_by_their_budget(
    configure: Callable[..., Config], demo_setting: Callable[..., Setting]
) -> None:
    rollouts = demo_setting(configure(), n_train=3).rollouts
    assert [system.name for system in single_systems(rollouts)] == [f"single_{name}" for name in AGENTS]
    matched = single_systems(rollouts, 5, prefix="single5x")
    assert [system.name for system in matched] == [f"single5x_{name}" for name in AGENTS]
    assert {system.rules.decoding.max_tokens for system in matched} == {5 * (rollouts.rules.decoding.max_tokens or 0)}
    assert {system.rules.max_turns for system in matched} == {1}


def test_the_cost_is_that_of_all_candidates_iterations_and_seeds(configure: Callable[..., Config]) -> None:
    config = configure({"optim.m": 7, "optim.iterations": 11, "optim.seeds": [0, 1], "episode.max_turns": 3})
    assert training_cost(config, 5) == {"episodes": 7 * 11 * 2 * 5, "calls_at_most": 7 * 11 * 2 * 5 * 3}
