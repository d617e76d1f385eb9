"""Claims, the budget and what is counted, whatever is claimed, settled and released in whatever order."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trinity.errors import BudgetReached
from trinity.llm.call import Call, Reply
from trinity.llm.store.database import Database
from trinity.llm.store.ledger import Budget, Claimed, Ledger, Purpose, Reused
from trinity.types import Message

PURPOSE = Purpose("alpha", "worker", "train")


def call(index: int) -> Call:
    return Call("openai/tiny", (Message("user", f"question {index}"),), {"temperature": 0.0}, 0)


def reply(usd: float | None) -> Reply:
    return Reply("answer", "stop", 11, 7, reasoning_tokens=3, usd=usd, model="tiny-2026")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path)


def settle(ledger: Ledger, index: int, usd: float | None, keep: bool = True) -> None:
    key = call(index).key
    ledger.settle(key, call(index), reply(usd), PURPOSE, 0.5, 2, keep=keep)


def test_a_claim_is_one_processes_and_ends_with_the_reply(database: Database) -> None:
    mine, others = Ledger(database, Budget()), Ledger(Database(database.path.parent), Budget())
    key = call(0).key
    assert mine.claim(key, 0.0) is Claimed.MINE
    assert others.claim(key, 0.0) is Claimed.OTHERS
    others.release(key)  # not its own: it stays
    assert others.claim(key, 0.0) is Claimed.OTHERS
    settle(mine, 0, 0.25)
    assert others.claim(key, 0.0) is Claimed.OTHERS  # it is in the store
    assert database.get(key) == reply(0.25)
    assert others.spent() == (0.25, 1)


def test_a_released_claim_is_free_and_counts_nothing(database: Database) -> None:
    mine, others = Ledger(database, Budget()), Ledger(Database(database.path.parent), Budget())
    assert mine.claim(call(0).key, 1.0) is Claimed.MINE
    mine.release(call(0).key)
    assert others.claim(call(0).key, 1.0) is Claimed.MINE
    assert mine.spent() == (0.0, 0)


def test_closing_gives_back_claims(database: Database) -> None:
    mine = Ledger(database, Budget())
    mine.claim(call(0).key, 1.0)
    mine.close()
    mine.close()
    assert database.rows("SELECT * FROM claims") == []
    assert list((database.path.parent / "owners").iterdir()) == []


def test_what_is_reserved_makes_others_wait_and_what_is_spent_refuses_them(database: Database) -> None:
    ledger = Ledger(database, Budget(usd=1.0))
    assert ledger.claim(call(0).key, 0.7) is Claimed.MINE
    assert ledger.claim(call(1).key, 0.7) is Claimed.WAIT
    settle(ledger, 0, 0.1)
    assert ledger.claim(call(1).key, 0.7) is Claimed.MINE
    settle(ledger, 1, 0.7)
    with pytest.raises(BudgetReached, match=r"pool\.budget_usd 1 \(spent 0\.8000, next call up to 0\.7000\): raise it"):
        ledger.claim(call(2).key, 0.7)
    assert ledger.claim(call(2).key, 0.2) is Claimed.MINE  # a cheaper one fits


def test_calls_that_may_be_made_are_counted_with_those_under_way(database: Database) -> None:
    ledger = Ledger(database, Budget(calls=2))
    assert [ledger.claim(call(index).key, 0.0) for index in range(3)] == [Claimed.MINE, Claimed.MINE, Claimed.WAIT]
    settle(ledger, 0, None)
    ledger.release(call(1).key)
    assert ledger.claim(call(2).key, 0.0) is Claimed.MINE
    settle(ledger, 2, None)
    with pytest.raises(BudgetReached, match=r"pool\.budget_calls 2 \(made 2\)"):
        ledger.claim(call(3).key, 0.0)


def test_a_settled_call_is_accounted_whether_kept_or_not(database: Database) -> None:
    ledger = Ledger(database, Budget())
    for index, keep in enumerate((True, False)):
        ledger.claim(call(index).key, 0.0)
        settle(ledger, index, 0.25, keep)
    assert [database.get(call(index).key) for index in range(2)] == [reply(0.25), None]
    rows = database.rows(
        "SELECT agent, role, stage, model, prompt_tokens, completion_tokens, reasoning_tokens, usd, seconds, tries "
        "FROM spent"
    )
    assert rows == [("alpha", "worker", "train", "tiny-2026", 11, 7, 3, 0.25, 0.5, 2)] * 2
    assert ledger.spent() == (0.5, 2)


def test_reuse_adds_up_and_is_no_spending(database: Database) -> None:
    ledger = Ledger(database, Budget())
    once = Reused().plus(reply(0.5)).plus(reply(None))
    assert once == Reused(2, 22, 14, 0.5)
    ledger.reuse(PURPOSE, once)
    ledger.reuse(PURPOSE, once)
    assert database.rows("SELECT * FROM reused") == [("alpha", "worker", "train", 4, 44, 28, 1.0)]
    assert ledger.spent() == (0.0, 0)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["claim", "settle", "release"]), st.integers(0, 5), st.integers(0, 8), st.integers(0, 8),
        st.integers(0, 1),
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(STEPS, st.integers(0, 20) | st.none(), st.integers(0, 6) | st.none())
def test_spending_and_reservations_never_pass_the_budget(
    steps: list[tuple[str, int, int, int, int]], usd: int | None, calls: int | None
) -> None:
    """Of two owners in any order, with prices in whole dollars and no reply above what was reserved."""
    with TemporaryDirectory() as folder:
        databases = [Database(Path(folder)), Database(Path(folder))]
        ledgers = [Ledger(database, Budget(usd, calls)) for database in databases]
        claims: dict[int, tuple[int, int]] = {}  # by call: who, and what is reserved
        spent, made = 0, 0
        for step, index, reserve, price, who in steps:
            key = call(index).key
            if step == "claim":
                try:
                    outcome = ledgers[who].claim(key, reserve)
                except BudgetReached:
                    assert index not in claims
                    assert (usd is not None and spent + reserve > usd) or (calls is not None and made + 1 > calls)
                    continue
                if outcome is Claimed.MINE:
                    assert index not in claims
                    claims[index] = (who, reserve)
                if outcome is Claimed.OTHERS:
                    assert index in claims or databases[who].get(key) is not None
            elif index in claims and claims[index][0] == who:
                _, reserved = claims.pop(index)
                if step == "release":
                    ledgers[who].release(key)
                else:
                    cost = min(price, reserved)
                    settle(ledgers[who], index, cost)
                    spent, made = spent + cost, made + 1
            assert ledgers[who].spent() == (spent, made)
            reserved_now = sum(reserved for _, reserved in claims.values())
            assert usd is None or spent + reserved_now <= usd
            assert calls is None or made + len(claims) <= calls
        for ledger, database in zip(ledgers, databases, strict=True):
            ledger.close()
            database.close()
