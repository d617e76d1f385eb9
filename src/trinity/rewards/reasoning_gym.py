"""Answers to the puzzles of the reasoning-gym library, by its own scorers; a score below 1 counts as 0.

The answer is what stands in the last `<answer>...</answer>`, the library's own convention (its answers may have several
lines). The scorers run in a child with limits; those that execute the answer's text are refused.
"""

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from trinity.errors import RewardError
from trinity.rewards.base import Grade
from trinity.rewards.child import Child, Limits
from trinity.types import Item, Response

PACKAGE = "reasoning-gym"
# The version whose scorers were read: another may execute answers where this one does not.
VERSION = "0.1.25"
INSTALL = "pip install -e '.[reasoning-gym]'"

LIMITS = Limits(cpu_seconds=10, wall_seconds=60, memory_bytes=2 << 30)

_EVALUATES = "its scorer passes the answer to eval(), which runs code"
_PARSES = "its scorer passes the answer to sympy's parse_expr, which runs code"
REFUSED: Mapping[str, str] = {
    "binary_matrix": _EVALUATES,
    "n_queens": _EVALUATES,
    "spiral_matrix": _EVALUATES,
    "string_insertion": _EVALUATES,
    "countdown": _PARSES,
    "intermediate_integration": _PARSES,
    "polynomial_multiplication": _PARSES,
    "puzzle24": _PARSES,
    "simple_integration": _PARSES,
    "codeio": "it runs the programs of its data file, whose output is not the same in every run",
    "game_of_life_halting": "its scorer takes any text for right",
    "composite": "it is a mixture: name its parts as tasks of their own",
}


def refusal(generator: str) -> str | None:
    """Why a generator of the library cannot be a task on this machine, and what to do; None if it can."""
    if generator in REFUSED:
        return f"reasoning_gym.{generator}: {REFUSED[generator]}: choose another generator"
    try:
        installed = version(PACKAGE)
    except PackageNotFoundError:
        return f"reasoning_gym.{generator}: {PACKAGE} is not installed: {INSTALL}"
    if installed != VERSION:
        return (
            f"reasoning_gym.{generator}: {PACKAGE} {installed} is installed, but only the scorers of {VERSION} are "
            f"known not to run answers as code: {INSTALL}"
        )
    return None


def tagged_answer(text: str) -> str | None:
    """What stands in the last `<answer>...</answer>`, without white space around it; None without one."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    return text[start + len("<answer>") : end].strip() if start >= 0 else None


class ReasoningGymReward:
    """A `Reward` for items whose reference is `{"generator": name, "entry": the library's entry, packed}`.

    `trinity.rewards.packed` packs an entry, so that it comes back from JSON as it was.
    """

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._child = Child("trinity.rewards.reasoning_gym_child", limits)

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the library's scorer gives the full score; an answer that it cannot read or score in time gets 0.

        Raises:
            RewardError: the generator is refused, or the library is absent or of another version, or the score could
                not be computed for a reason that is not the answer's.
        """
        generator = item.reference["generator"]
        reason = refusal(generator)
        if reason is not None:
            raise RewardError(f"item {item.id!r} of {item.task}: {reason}")
        answer = tagged_answer(response.text)
        if not answer:
            return Grade(0.0, "no tagged answer")
        reply = self._child.call({"generator": generator, "entry": item.reference["entry"], "answer": answer})
        if reply.ending == "wall":
            raise RewardError(
                f"item {item.id!r} of {item.task}: scoring the answer got no CPU time: is the machine overloaded?"
            )
        try:
            score = float(reply.text)
        except ValueError:
            return Grade(0.0, f"could not be scored ({reply.text[:100] or reply.ending})")
        return Grade(float(score >= 1), f"scored {score:.3g} by the library")

    def close(self) -> None:
        """Ends the child."""
        self._child.close()
