"""Which pool params.yaml asks for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from trinity.config import Config
from trinity.errors import PoolError
from trinity.llm.base import Pool
from trinity.types import Item


@contextmanager
def open_pool(config: Config, items: Sequence[Item], stage: str) -> Iterator[Pool]:
    """The pool of params.yaml for these items, closed at the end.

    Args:
        config: Of params.yaml.
        items: What a simulated or recorded pool may be asked.
        stage: What the calls of real models are accounted under.

    Raises:
        PoolError: the pool cannot be made.
    """
    if config.pool.kind != "litellm":
        yield make_pool(config, items)
        return
    from trinity.llm.remote import RemotePool

    pool = RemotePool(config, stage)
    try:
        yield pool
    finally:
        pool.close()


def make_pool(config: Config, items: Sequence[Item]) -> Pool:
    """A pool that needs no closing: the simulated or recorded one of params.yaml.

    Raises:
        PoolError: params.yaml asks for real models, or the items do not fit.
    """
    if config.pool.kind == "recorded":
        from trinity.llm.recorded import RecordedPool

        return RecordedPool(config.agents, items)
    if config.pool.kind == "simulated" and config.pool.simulated is not None:
        from trinity.llm.simulated import SimulatedPool

        return SimulatedPool(config.pool.simulated, config.agents, items)
    raise PoolError(f"params.yaml: pool.kind: {config.pool.kind}: needs to be opened and closed")
