"""Errors that end a run with one clear line instead of a traceback."""


class TrinityError(Exception):
    """Something a user can mend: the message says what is wrong, where, and what to do."""


class ConfigError(TrinityError):
    """params.yaml does not say what it must say."""


class DataError(TrinityError):
    """A data file, a row of it, or a split is not usable."""


class PoolError(TrinityError):
    """A pool could not answer; never turned into a reward."""


class RewardError(TrinityError):
    """A reward could not be computed; never turned into a 0."""


class BudgetReached(PoolError):
    """The next call could pass pool.budget_usd or pool.budget_calls."""


class NotStored(PoolError):
    """Replay asked for a response that the store does not hold."""


class StoreError(PoolError):
    """The response store is damaged, of another format, or cannot be written."""
