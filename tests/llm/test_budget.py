"""No call is made that could pass the budget, however many ask at once."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from faulty_server import FaultyServer, answer, refusal
from remote_pools import answers, ask, figure, pool_config, processes, request, stored

from trinity.config import Config
from trinity.errors import BudgetReached, PoolError
from trinity.llm.failures import CallFailed
from trinity.types import Response

Configure = Callable[..., Config]
PRICE = {"price": {"input": 1.0, "output": 10.0}}
"""US dollars per million tokens."""
COST = (11 * 1.0 + 7 * 10.0) / 1e6
"""What a reply of the server costs."""
RESERVED = ((len("question 100") + 64) * 1.0 + 100 * 10.0) / 1e6
"""What the longest request is reserved for."""


def many(number: int) -> list[str]:
    return [f"question {index}" for index in range(number)]


def refused(outcomes: Sequence[Response | BaseException]) -> list[BudgetReached]:
    errors = [outcome for outcome in outcomes if not isinstance(outcome, Response)]
    for error in errors:
        assert isinstance(error, BudgetReached), error
    return [error for error in errors if isinstance(error, BudgetReached)]


def test_of_500_at_once_10_are_made(configure: Configure, tmp_path: Path) -> None:
    requests = [request(text) for text in many(500)]
    with FaultyServer(lambda asked: replace(answer(asked), delay=0.05)) as server:
        config = pool_config(configure, server.url, budget_calls=10)
        outcomes = ask(config, tmp_path, requests, concurrency=500)
        assert server.requests == len(stored(tmp_path)) == 10
        errors = refused(outcomes)
        assert len(errors) == 490
        assert "pool.budget_calls 10 (made 10): raise it in params.yaml and run the same command again" in str(
            errors[0]
        )
        assert figure(tmp_path, "SELECT count(*) FROM claims") == 0

        kept = set(server.asked)
        config = pool_config(configure, server.url, budget_calls=30)
        assert len(refused(ask(config, tmp_path, requests, concurrency=500))) == 470
        assert server.requests == len(stored(tmp_path)) == 30
        assert all(server.asked[text] == 1 for text in kept)


def test_of_500_at_once_only_what_the_dollars_allow_is_under_way(configure: Configure, tmp_path: Path) -> None:
    budget = 10 * RESERVED
    with FaultyServer(lambda asked: replace(answer(asked), delay=0.02)) as server:
        config = pool_config(configure, server.url, PRICE, budget_usd=budget)
        outcomes = ask(config, tmp_path, [request(text) for text in many(500)], concurrency=500)
        spent = figure(tmp_path, "SELECT usd FROM totals")
        assert server.most_at_once == 10
        assert spent == pytest.approx(server.requests * COST)
        assert spent <= budget
        # What was reserved and not used is free again: far more than 10 calls fit, until the next could pass.
        assert (budget - RESERVED) / COST <= server.requests <= budget / COST
        errors = refused(outcomes)
        assert len(errors) == 500 - server.requests
        assert f"pool.budget_usd {budget:g} (spent {spent:.4f}, next call up to 0.0011)" in str(errors[0])


def test_a_reply_beyond_max_tokens_passes_the_budget_by_its_excess_alone(configure: Configure, tmp_path: Path) -> None:
    budget = 1.5 * RESERVED  # one at a time
    with FaultyServer() as server:
        server.choose = lambda asked: answer(
            asked,
            usage={"prompt_tokens": 11, "completion_tokens": 1000 if asked.text == "question 3" else 7},
        )
        config = pool_config(configure, server.url, PRICE, budget_usd=budget)
        outcomes = ask(config, tmp_path, [request(text) for text in many(20)], concurrency=20)
        spent = figure(tmp_path, "SELECT usd FROM totals")
        excess = (11 * 1.0 + 1000 * 10.0) / 1e6 - RESERVED
        assert server.most_at_once == 1
        assert budget < spent <= budget + excess
        assert server.requests == 4
        assert len(refused(outcomes)) == 16


def test_a_call_that_fails_frees_what_was_reserved(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer(refusal(400)) as server:
        config = pool_config(configure, server.url, budget_calls=1)
        for outcome in ask(config, tmp_path, [request(text) for text in many(3)]):
            assert isinstance(outcome, CallFailed)
        server.choose = answer
        outcomes = ask(config, tmp_path, [request("one"), request("two")])
        assert len(refused(outcomes)) == 1
        assert figure(tmp_path, "SELECT calls FROM totals") == 1


def test_what_is_stored_costs_nothing(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer() as server:
        requests = [request(text) for text in many(5)]
        answers(ask(pool_config(configure, server.url, budget_calls=5), tmp_path, requests))
        answers(ask(pool_config(configure, server.url, budget_calls=0), tmp_path, requests))
        config = pool_config(configure, server.url, budget_calls=5)
        assert len(refused(ask(config, tmp_path, [*requests, request("new")]))) == 1
        assert server.requests == 5


def test_live_calls_count_too(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer() as server:
        config = pool_config(configure, server.url, budget_calls=3, responses="live")
        assert len(refused(ask(config, tmp_path, [request("same")] * 5))) == 2
        assert server.requests == 3


def test_dollars_without_a_price_are_refused_before_any_call(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer() as server:
        config = pool_config(configure, server.url, budget_usd=1.0)
        (outcome,) = ask(config, tmp_path, [request("one")])
        assert isinstance(outcome, PoolError)
        assert "price of agent alpha (openai/tiny) is not known" in str(outcome)
        assert server.requests == 0


def test_the_budget_holds_over_processes(configure: Configure, tmp_path: Path) -> None:
    with FaultyServer(lambda asked: replace(answer(asked), delay=0.05)) as server:
        config = pool_config(configure, server.url, budget_calls=10)
        context = processes()
        children = [
            context.Process(target=ask, args=(config, tmp_path, [request(f"{child} {text}") for text in many(40)]))
            for child in range(3)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join(60)
            assert child.exitcode == 0
        assert server.requests == len(stored(tmp_path)) == 10
        assert figure(tmp_path, "SELECT calls FROM totals") == 10
