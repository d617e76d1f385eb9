"""The seam between the coordinator's decisions and whatever answers them."""

from typing import Protocol

from trinity.types import Request, Response


class Pool(Protocol):
    """A set of named agents that answer requests.

    A completed reply is returned whatever it holds; a reply that could not be had raises `PoolError`.
    """

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents, in the order of the head's rows."""
        ...

    async def generate(self, request: Request) -> Response:
        """Answers one request; the same request and sample index always get the same reply."""
        ...
