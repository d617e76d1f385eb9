import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from trinity.config import Config
from trinity.coordinator.fixed import FixedPolicy, RandomPolicy
from trinity.orchestration.setting import Setting
from trinity.systems.base import UNTRAINED, Routed
from trinity.systems.evaluate import COLUMNS, Row, evaluate, write_rows
from trinity.systems.headroom import single_systems
from trinity.types import Decision, Item, Request, Response, Role

PLAN, WORK, CHECK = (Role.THINKER, Role.WORKER, Role.VERIFIER)


@pytest.fixture
def setting(configure: Callable[..., Config], demo_setting: Callable[..., Setting]) -> Setting:
    return demo_setting(configure({"episode.max_tokens": 300}), "demo_math", 3, 3, None)


def column(rows: list[Row], name: str) -> list[str | int]:
    return [row[COLUMNS.index(name)] for row in rows]


def test_a_row_an_episode_in_the_order_of_systems_seeds_and_items(setting: Setting) -> None:
    policy = FixedPolicy(((Decision(2, PLAN), Decision(0, WORK), Decision(1, CHECK)),))
    trained = Routed("trinity_cma", policy, setting.rollouts.rules, training_seed=4)
    items = setting.test[:6]
    rows, _ = evaluate([trained, *single_systems(setting.rollouts)], setting.rollouts, items, [0, 7])
    assert len(rows) == 4 * 2 * 6
    assert column(rows, "system")[:13] == ["trinity_cma"] * 12 + ["single_atlas"]
    assert column(rows, "eval_seed")[:12] == [0] * 6 + [7] * 6
    assert column(rows, "item")[:12] == [item.id for item in items] * 2
    assert column(rows, "domain")[:6] == [item.domain for item in items]
    assert column(rows, "training_seed") == [4] * 12 + [UNTRAINED] * 36
    first = dict(zip(COLUMNS, rows[0], strict=True))
    assert first["agents"] == "2>0>1"
    assert first["roles"] == "T>W>V"
    assert first["turns"] == 3
    assert first["reward"] in {"0", "1"}
    assert first["accepted"] in {0, 1}
    assert int(first["prompt_tokens"]) > int(first["completion_tokens"]) > 0
    single = dict(zip(COLUMNS, rows[-1], strict=True))
    assert (single["system"], single["turns"], single["agents"], single["roles"]) == ("single_cedar", 1, "2", "W")
    assert single["accepted"] == 0


def test_an_accepted_episode_says_so(setting: Setting) -> None:
    policy = FixedPolicy(((Decision(0, WORK), Decision(0, CHECK)),))
    rows, _ = evaluate([Routed("x", policy, setting.rollouts.rules)], setting.rollouts, setting.test, [0])
    seen = set(zip(column(rows, "accepted"), column(rows, "roles"), strict=True))
    assert (1, "W>V") in seen
    assert (0, "W>V>V") in seen
    assert (0, "W>V") not in seen


def test_an_evaluation_seed_is_another_sample_and_repeats(setting: Setting) -> None:
    single = single_systems(setting.rollouts)[:1]
    one, again, other = (evaluate(single, setting.rollouts, setting.test, [seed])[0] for seed in (0, 0, 1))
    assert one == again
    assert column(one, "completion_tokens") != column(other, "completion_tokens")


def test_five_times_the_tokens_cut_fewer_replies(setting: Setting) -> None:
    plain, matched = (
        evaluate(single_systems(setting.rollouts, factor), setting.rollouts, setting.test, [0])[0] for factor in (1, 5)
    )
    cut_plain, cut_matched = (sum(map(int, column(rows, "cut"))) for rows in (plain, matched))
    assert cut_plain > 0.2 * len(plain)
    assert cut_matched < 0.05 * len(matched)
    assert max(map(int, column(plain, "completion_tokens"))) == 300
    assert 300 < max(map(int, column(matched, "completion_tokens"))) <= 1500
    assert sum(map(float, column(matched, "reward"))) > sum(map(float, column(plain, "reward")))


def test_random_routing_is_uniform_and_keyed(setting: Setting) -> None:
    rules = setting.rollouts.rules
    random = Routed("random", RandomPolicy(3, rules.roles), rules)
    rows, _ = evaluate([random], setting.rollouts, setting.test, range(8))
    assert rows == evaluate([random], setting.rollouts, setting.test, range(8))[0]
    for name, choices in (("agents", "012"), ("roles", "TWV")):
        # First turns alone: later ones are seen only where no Verifier ended the episode.
        counts = Counter(str(value)[0] for value in column(rows, name))
        assert set(counts) == set(choices)
        expected = len(rows) / 3
        assert all(abs(count - expected) < 4.5 * (len(rows) * 2 / 9) ** 0.5 for count in counts.values())
    by_seed = [column(rows, "agents")[i * len(setting.test) : (i + 1) * len(setting.test)] for i in range(8)]
    assert by_seed[0] != by_seed[1]
    firsts = Counter((str(a)[0], str(r)[0]) for a, r in zip(column(rows, "agents"), column(rows, "roles"), strict=True))
    assert len(firsts) == 9


@dataclass(frozen=True)
class OddPool:
    """Answers by agent: one is fine, the others are amiss in ways of their own."""

    replies: Mapping[str, Response]

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(self.replies)

    async def generate(self, request: Request) -> Response:
        return self.replies[request.agent]


def test_replies_with_something_amiss_are_counted_by_system_agent_and_cause(
    configure: Callable[..., Config], given_setting: Callable[..., Setting]
) -> None:
    replies = {
        "whole": Response("\\boxed{1}", "stop", 1, 1),
        "empty": Response(" \n", "stop", 1, 1),
        "filtered": Response("so far", "content_filter", 1, 1),
        "cut": Response("so far", "length", 1, 9),
        "thinks": Response("", "length", 1, 9, reasoning_tokens=9),
        "recorded": Response("", "length", 1, 1, score=1.0),
    }
    items = [Item(str(i), "t", "d", "?", "math", "1") for i in range(3)]
    config = configure({"pool.kind": "litellm", "pool.agents": [{"name": n} for n in replies], "pool.simulated": None})
    setting = given_setting(config, OddPool(replies), items, items, items)
    rules = setting.rollouts.rules
    chain = Routed("chain", FixedPolicy(((Decision(3, WORK), Decision(4, PLAN), Decision(3, WORK)),)), rules)
    rows, odd = evaluate([*single_systems(setting.rollouts), chain], setting.rollouts, items, [0, 1])
    assert odd == {
        "single_empty": {"empty": {"empty": 6}},
        "single_filtered": {"filtered": {"filtered": 6}},
        "single_cut": {"cut": {"cut": 6}},
        "single_thinks": {"thinks": {"cut in reasoning": 6}},
        "chain": {"cut": {"cut": 12}, "thinks": {"cut in reasoning": 6}},
    }
    assert column(rows, "cut")[-1] == 3


def test_the_simulated_pools_cut_replies_are_counted_as_the_rows_say(setting: Setting) -> None:
    rows, odd = evaluate(single_systems(setting.rollouts), setting.rollouts, setting.test, [0])
    for agent in setting.rollouts.rules.agents:
        cut = sum(int(row[COLUMNS.index("cut")]) for row in rows if row[0] == f"single_{agent}")
        assert odd.get(f"single_{agent}", {}).get(agent, {}).get("cut", 0) == cut
    assert odd


def test_the_table_is_written_with_its_columns(setting: Setting, tmp_path: Path) -> None:
    rows, _ = evaluate(single_systems(setting.rollouts), setting.rollouts, setting.test[:2], [0])
    path = tmp_path / "data" / "episodes.csv"
    write_rows(path, rows)
    with path.open(encoding="utf-8") as source:
        read = list(csv.reader(source))
    assert tuple(read[0]) == COLUMNS
    assert read[1:] == [[str(value) for value in row] for row in rows]
    assert b"\r" not in path.read_bytes()
