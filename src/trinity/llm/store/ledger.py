"""Who may make which call: one process at a time a call, within the budget; and what was spent.

A claim reserves the most that a call can cost before it is made, and is settled with its price after it. Claims of a
process that died are void: each process holds a lock on a file of its own for as long as it lives.
"""

import fcntl
import os
import secrets
from dataclasses import astuple, dataclass
from enum import Enum

from trinity.errors import BudgetReached, StoreError
from trinity.llm.call import Call, Reply, Usage
from trinity.llm.store.database import Database, Entry, now


@dataclass(frozen=True)
class Budget:
    """The most that all calls of a store may cost, in US dollars and in number; None: no limit."""

    usd: float | None = None
    calls: int | None = None


@dataclass(frozen=True)
class Purpose:
    """What a call is accounted under."""

    agent: str
    role: str
    stage: str


@dataclass(frozen=True)
class Reused:
    """What replies that were taken from the store would have cost."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0

    def plus(self, reply: Reply) -> "Reused":
        """One reply more."""
        return Reused(
            self.calls + 1,
            self.prompt_tokens + reply.prompt_tokens,
            self.completion_tokens + reply.completion_tokens,
            self.usd + (reply.usd or 0.0),
        )


class Claimed(Enum):
    """What became of a claim."""

    MINE = "mine"
    OTHERS = "others"
    WAIT = "wait"


class Ledger:
    """Claims, budget and spending of one store.

    Args:
        database: The store.
        budget: Refuses what could pass it.
    """

    def __init__(self, database: Database, budget: Budget) -> None:
        self._database, self._budget = database, budget
        self._owners = database.path.parent / "owners"
        self._owner = f"{os.getpid()}-{secrets.token_hex(4)}"
        made = self._owners / f".{self._owner}"
        try:
            self._owners.mkdir(exist_ok=True)
            self._lock = os.open(made, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            made.rename(self._owners / self._owner)  # locked before others see it
        except OSError as error:
            raise StoreError(f"{self._owners}: the response store cannot be used: {error.strerror}") from None
        self.void_claims_of_the_dead()

    def close(self) -> None:
        """Gives back what is still claimed."""
        if self._lock < 0:
            return
        try:
            with self._database.transaction():
                self._database.connection.execute("DELETE FROM claims WHERE owner=?", (self._owner,))
            (self._owners / self._owner).unlink(missing_ok=True)
        finally:
            os.close(self._lock)
            self._lock = -1

    def claim(self, key: bytes, usd: float) -> Claimed:
        """Reserves a call that may cost up to `usd`.

        Args:
            key: Of the call; one of its own for a call that is made whatever the store holds.
            usd: The most that it can cost.

        Returns:
            MINE: it may be made, and must be settled or released. OTHERS: a process is making it, or has made it: look
            into the store again. WAIT: what others have reserved may leave room or not: ask again when a call ends.

        Raises:
            BudgetReached: it could pass the budget even if nothing else were in flight.
        """
        connection = self._database.connection
        with self._database.transaction():
            taken = connection.execute(
                "SELECT 1 FROM claims WHERE key=? UNION ALL SELECT 1 FROM replies WHERE key=?", (key, key)
            ).fetchone()
            if taken:
                return Claimed.OTHERS
            if self._budget != Budget():
                spent_usd, spent_calls = self.spent()
                open_usd, open_calls = connection.execute("SELECT total(usd), count(*) FROM claims").fetchone()
                if self._passes(spent_usd + usd, spent_calls + 1):
                    raise BudgetReached(self._refusal(spent_usd, spent_calls, usd))
                if self._passes(spent_usd + open_usd + usd, spent_calls + open_calls + 1):
                    return Claimed.WAIT
            connection.execute("INSERT INTO claims VALUES (?, ?, ?)", (key, self._owner, usd))
        return Claimed.MINE

    def settle(
        self, claim: bytes, call: Call, reply: Reply, purpose: Purpose, seconds: float, tries: int, *, keep: bool
    ) -> bool:
        """Stores a reply, counts what it cost and ends the claim, all or nothing.

        Args:
            claim: The key that was claimed.
            call: What was asked.
            reply: What came; a price that is not known counts as 0.
            purpose: What it is accounted under.
            seconds: From the first attempt to the reply.
            tries: Attempts that it took.
            keep: Whether the reply is stored, or only counted.

        Returns:
            Whether the store holds another reply to this call: an earlier one, which stays.
        """
        created = now()
        with self._database.transaction():
            other = keep and not self._database.insert(Entry(call, reply, created))
            self._count(call, reply.usage, purpose, seconds, tries, created)
            self._end(claim)
        return other

    def charge(self, call: Call, usage: Usage, purpose: Purpose, seconds: float) -> None:
        """Counts what is charged though no reply came of it; the claim stays."""
        with self._database.transaction():
            self._count(call, usage, purpose, seconds, 1, now())

    def _count(self, call: Call, usage: Usage, purpose: Purpose, seconds: float, tries: int, created: float) -> None:
        self._database.connection.execute(
            "INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                call.key, purpose.agent, purpose.role, purpose.stage, usage.model, usage.prompt_tokens,
                usage.completion_tokens, usage.reasoning_tokens, usage.usd, seconds, tries, created,
            ),
        )  # fmt: skip
        self._database.connection.execute("UPDATE totals SET usd = usd + ?, calls = calls + 1", (usage.usd or 0.0,))

    def highest_price(self, agent: str) -> list[tuple[int, int, float]]:
        """Of the calls of an agent that had a price, tokens read and written and US dollars of the dearest 100."""
        return [
            (read, written, usd)
            for read, written, usd in self._database.rows(
                "SELECT prompt_tokens, completion_tokens, usd FROM spent WHERE agent=? AND usd > 0 "
                "ORDER BY usd DESC LIMIT 100", agent,
            )
        ]  # fmt: skip

    def release(self, claim: bytes) -> None:
        """Ends a claim whose call got no reply."""
        with self._database.transaction():
            self._end(claim)

    def _end(self, claim: bytes) -> None:
        self._database.connection.execute("DELETE FROM claims WHERE key=? AND owner=?", (claim, self._owner))

    def reuse(self, purpose: Purpose, reused: Reused) -> None:
        """Counts replies that were taken from the store."""
        with self._database.transaction():
            self._database.connection.execute(
                "INSERT INTO reused VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent, role, stage) DO UPDATE SET "
                "calls = calls + excluded.calls, prompt_tokens = prompt_tokens + excluded.prompt_tokens, "
                "completion_tokens = completion_tokens + excluded.completion_tokens, usd = usd + excluded.usd",
                (purpose.agent, purpose.role, purpose.stage, *astuple(reused)),
            )

    def spent(self) -> tuple[float, int]:
        """US dollars and calls of this store so far, imported responses left out."""
        usd, calls = self._database.rows("SELECT usd, calls FROM totals")[0]
        return usd, calls

    def void_claims_of_the_dead(self) -> None:
        """Ends the claims of processes that no longer live."""
        for (owner,) in self._database.rows("SELECT DISTINCT owner FROM claims WHERE owner != ?", self._owner):
            if self._lives(owner):
                continue
            with self._database.transaction():
                self._database.connection.execute("DELETE FROM claims WHERE owner=?", (owner,))
        for path in self._owners.iterdir():
            if path.name != self._owner and not path.name.startswith(".") and not self._lives(path.name):
                path.unlink(missing_ok=True)

    def _lives(self, owner: str) -> bool:
        try:
            descriptor = os.open(self._owners / owner, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _passes(self, usd: float, calls: int) -> bool:
        budget = self._budget
        return (budget.usd is not None and usd > budget.usd) or (budget.calls is not None and calls > budget.calls)

    def _refusal(self, spent_usd: float, spent_calls: int, usd: float) -> str:
        limits = []
        if self._budget.usd is not None:
            limits.append(f"pool.budget_usd {self._budget.usd:g} (spent {spent_usd:.4f}, next call up to {usd:.4f})")
        if self._budget.calls is not None:
            limits.append(f"pool.budget_calls {self._budget.calls} (made {spent_calls})")
        return (
            f"budget reached: {', '.join(limits)}: raise it in params.yaml and run the same command again: what was "
            "answered is kept and not paid again"
        )
