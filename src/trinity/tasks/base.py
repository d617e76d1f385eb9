"""The seam between a benchmark and the pipeline."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from trinity.types import Item, Split


@dataclass(frozen=True)
class Splits:
    """The items of a task by split, and what the manifest says of where they come from (JSON-able)."""

    items: Mapping[Split, tuple[Item, ...]]
    provenance: Mapping[str, Any]


class Task(Protocol):
    """A benchmark: a name and the items of its three splits, before duplicates are removed and the caps hold."""

    @property
    def name(self) -> str:
        """As in params.yaml."""
        ...

    @property
    def reward(self) -> str:
        """Which grader reads the answers."""
        ...

    @property
    def evaluation_only(self) -> bool:
        """Whether it has a test split alone, so that nothing can be trained on it."""
        ...

    def load(self) -> Splits:
        """Reads or makes the items.

        Raises:
            DataError: the source is absent or a row of it is unusable; names file and row.
        """
        ...
