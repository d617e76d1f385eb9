"""Why an attempt at a call got no reply: typed failures that say whether another attempt can help."""

from dataclasses import dataclass

from trinity.config.pool import Pool
from trinity.errors import PoolError
from trinity.llm.call import Usage


class CallFailed(PoolError):
    """An attempt got no reply, and another would get none either.

    Attributes:
        kind: What it was, in two or three words.
        charged: What is charged all the same, though no reply came of it; None if nothing is.
    """

    kind = "refused"
    charged: Usage | None = None


class NoKey(CallFailed):
    """The provider's key is absent, wrong, or has no credit."""

    kind = "no key"


class UnknownModel(CallFailed):
    """The provider has no such model."""

    kind = "unknown model"


class ContextExceeded(CallFailed):
    """The messages are longer than the model reads."""

    kind = "context exceeded"


class GivenUp(CallFailed):
    """Not tried again, as another call failed for good."""

    kind = "given up"


class Transient(CallFailed):
    """An attempt got no reply; another may.

    Attributes:
        retry_after: Seconds that the provider asks to wait; None if it does not say.
    """

    kind = "transport failure"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RateLimited(Transient):
    """Too many calls at once, or a quota."""

    kind = "rate limit"


class TimedOut(Transient):
    """No connection, or silence, for longer than the limits."""

    kind = "time-out"


class NoConnection(Transient):
    """Nothing answers at the address."""

    kind = "no connection"


class ServerFailed(Transient):
    """The provider's side failed, or broke off."""

    kind = "server failure"


class Malformed(Transient):
    """What came is no reply."""

    kind = "malformed reply"


@dataclass(frozen=True)
class Limits:
    """Seconds until a connection must stand, and of silence while a reply is awaited."""

    connect: float
    read: float

    @classmethod
    def of(cls, pool: Pool) -> "Limits":
        """The limits of params.yaml."""
        return cls(pool.connect_seconds, pool.read_seconds)
