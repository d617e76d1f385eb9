"""Which pool params.yaml asks for."""

from collections.abc import Sequence

from trinity.config import Config
from trinity.errors import PoolError
from trinity.llm.base import Pool
from trinity.types import Item


def make_pool(config: Config, items: Sequence[Item]) -> Pool:
    """The pool of params.yaml for these items.

    Raises:
        PoolError: the client for real LLMs is asked for; it is not built yet.
    """
    if config.pool.kind == "recorded":
        from trinity.llm.recorded import RecordedPool

        return RecordedPool(config.agents, items)
    if config.pool.kind == "simulated" and config.pool.simulated is not None:
        from trinity.llm.simulated import SimulatedPool

        return SimulatedPool(config.pool.simulated, config.agents, items)
    raise PoolError(
        f"params.yaml: pool.kind: {config.pool.kind}: its client is not built yet, use simulated or recorded"
    )
