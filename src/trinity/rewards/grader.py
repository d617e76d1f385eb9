"""Which reward reads an item, and a memory of what was graded before."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, Self

from trinity.config.tasks import Sandbox as Section
from trinity.errors import RewardError
from trinity.rewards.base import Grade, Reward
from trinity.rewards.choice import ChoiceReward
from trinity.rewards.code import CodeReward
from trinity.rewards.freeform import FreeformReward
from trinity.rewards.maths.reward import MathReward
from trinity.rewards.reasoning_gym import ReasoningGymReward
from trinity.rewards.sandbox.runner import Sandbox
from trinity.types import Item, Response


class Grader:
    """Grades replies to any item; the same text to the same item is graded once.

    Close it, or use it as a context manager, to end the child processes of the math and code rewards.

    Args:
        sandbox: Where code runs: the section of params.yaml.
        mode: robust: the right verdict; official: the verdict that papers report (docs/grading.md).
        remember: Whether grades are kept; not for a stream of replies that never repeat.
    """

    def __init__(
        self, sandbox: Section, mode: Literal["robust", "official"] = "robust", *, remember: bool = True
    ) -> None:
        self._sandbox = Sandbox(sandbox)
        self._workers = sandbox.workers
        self._remember = remember
        self._makers: dict[str, Callable[[], Reward]] = {
            "math": lambda: MathReward(mode),
            "choice": lambda: ChoiceReward(mode),
            "freeform": lambda: FreeformReward(mode),
            "code": lambda: CodeReward(self._sandbox, mode),
            "reasoning_gym": ReasoningGymReward,
            "judge": _judged,
            "recorded": _recorded,
        }
        self._rewards: dict[str, Reward] = {}
        self._grades: dict[tuple[str, str, str, float | None], Grade] = {}

    def grade(self, item: Item, response: Response) -> Grade:
        """The grade of one reply to one item.

        Raises:
            RewardError: the item's reward is unknown, refused, or could not be computed.
        """
        key = _key(item, response)
        known = self._grades.get(key)
        if known is not None:
            return known
        grade = self._reward(item)(item, response)
        if self._remember:
            self._grades[key] = grade
        return grade

    def grade_all(self, answers: Iterable[tuple[Item, Response]]) -> None:
        """Grades many replies, `sandbox.workers` at once; `grade` then has them in memory.

        Raises:
            RewardError: see `grade`; of several, the first in order.
        """
        new = {_key(item, reply): (item, reply) for item, reply in answers if _key(item, reply) not in self._grades}
        for item, _ in new.values():
            self._reward(item)
        if len(new) > 1:
            with ThreadPoolExecutor(self._workers) as pool:
                for _ in pool.map(lambda answer: self.grade(*answer), new.values()):
                    pass

    @property
    def sandbox_level(self) -> str | None:
        """The level that code ran at; None if none ran."""
        return self._sandbox.level if "code" in self._rewards else None

    def close(self) -> None:
        """Ends the child processes."""
        for reward in self._rewards.values():
            if isinstance(reward, MathReward | CodeReward | ReasoningGymReward):
                reward.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _reward(self, item: Item) -> Reward:
        if item.reward not in self._makers:
            raise RewardError(
                f"item {item.id!r} of {item.task}: unknown reward {item.reward!r}; known: {', '.join(self._makers)}"
            )
        if item.reward not in self._rewards:
            self._rewards[item.reward] = self._makers[item.reward]()
        return self._rewards[item.reward]


def _key(item: Item, response: Response) -> tuple[str, str, str, float | None]:
    return item.task, item.id, response.text, response.score


def _recorded() -> Reward:
    from trinity.rewards.recorded import RecordedReward

    return RecordedReward()


def _judged() -> Reward:
    raise RewardError(
        "a judge's points are no reward and are never made one (spec section 0.3.3): mt_bench cannot be trained on"
    )
