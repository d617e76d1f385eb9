"""The reward of a recorded outcome: the score that came with it."""

from trinity.errors import RewardError
from trinity.rewards.base import Grade
from trinity.types import Item, Response


class RecordedReward:
    """Passes on the score of a reply that a recorded pool gave (`Reward`)."""

    def __call__(self, item: Item, response: Response) -> Grade:
        """The recorded score.

        Raises:
            RewardError: the reply has no score, so it came from another pool.
        """
        if response.score is None:
            raise RewardError(
                f"item {item.id!r} of {item.task}: the reply has no recorded score: "
                "items of an outcome table need pool.kind: recorded"
            )
        return Grade(response.score, "recorded")
