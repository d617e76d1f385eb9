"""A pool that replays an outcome table: one Worker turn, whose worth is already known."""

from collections.abc import Iterable, Sequence

from trinity.errors import PoolError
from trinity.types import Item, Request, Response, Role


class RecordedPool:
    """Answers with what an agent is known to have made of an item (`Pool`).

    Decoding and sample index have no effect: there is one recorded outcome an agent and item. Where the table keeps
    no text, the reply is a line that says so; where it keeps no tokens, they are 0. Prompt tokens are never recorded.
    """

    def __init__(self, agents: Sequence[str], items: Iterable[Item]) -> None:
        """Takes the items that may be asked for, of one task: their `extra` holds scores, texts and tokens by agent.

        Raises:
            PoolError: two items have the same id, so that a request could mean either.
        """
        self._agents = tuple(agents)
        self._items: dict[str, Item] = {}
        for item in items:
            if self._items.setdefault(item.id, item) != item:
                raise PoolError(f"recorded pool: two items with id {item.id!r}: give each task its own pool")

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents, in the order of the head's rows."""
        return self._agents

    async def generate(self, request: Request) -> Response:
        """The recorded outcome.

        Raises:
            PoolError: the role is not Worker, or the table has no outcome for this agent and item.
        """
        item_id, agent = request.meta.item_id, request.agent
        if request.meta.role is not Role.WORKER:
            raise PoolError(
                f"recorded pool: no {request.meta.role.value} turn is recorded (item {item_id!r}): "
                "set episode.roles: [worker]"
            )
        if agent not in self._agents:
            raise PoolError(f"recorded pool: no agent {agent!r}; agents: {', '.join(self._agents)}")
        item = self._items.get(item_id)
        if item is None:
            raise PoolError(f"recorded pool: no outcomes of item {item_id!r}")
        score = item.extra.get("scores", {}).get(agent)
        if score is None:
            raise PoolError(f"recorded pool: no outcome of agent {agent!r} on item {item_id!r}")
        return Response(
            text=item.extra.get("texts", {}).get(agent, f"[recorded outcome of {agent}; its text was not kept]"),
            finish_reason="stop",
            prompt_tokens=0,
            completion_tokens=item.extra.get("tokens", {}).get(agent, 0),
            score=score,
        )
