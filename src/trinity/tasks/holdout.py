"""Which questions are held out where a source does not say: 20 % for test, 20 % of the rest to validate (spec 6.1)."""

from collections.abc import Sequence

from trinity.rng import uniform
from trinity.types import Split

HELD_OUT = 0.2


def ranked(purpose: str, seed: int, task: str, ids: Sequence[str]) -> list[str]:
    """The ids by a draw keyed by purpose, seed, task and id: neither their order nor a further id moves the others."""
    return sorted(ids, key=lambda identity: (uniform(purpose, seed, task, identity), identity))


def places(
    purpose: str,
    seed: int,
    task: str,
    rest: Sequence[str],
    valid: Sequence[str] | None = None,
    test: Sequence[str] | None = None,
) -> dict[str, Split]:
    """The split of each id.

    Args:
        purpose: Names the draw.
        seed: `data.seed`.
        task: Name of the task.
        rest: Ids to divide: what is not held out is the training split.
        valid: Ids of the validation split where the source fixes it; None holds out 20 % of what is not test.
        test: Ids of the test split where the source fixes it; None holds out 20 % of `rest`.
    """
    place: dict[str, Split] = dict.fromkeys(rest, "train")
    drawn = ranked(purpose, seed, task, rest)
    if test is None:
        cut = round(HELD_OUT * len(drawn))
        test, drawn = drawn[:cut], drawn[cut:]
    if valid is None:
        valid = drawn[: round(HELD_OUT * len(drawn))]
    return place | dict.fromkeys(valid, "valid") | dict.fromkeys(test, "test")
