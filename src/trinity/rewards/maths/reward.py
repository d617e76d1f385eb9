"""Maths: the answer that a reply states, against the reference as text, as numbers, then symbolically in a child."""

import re
from fractions import Fraction
from typing import Literal

from trinity.errors import RewardError
from trinity.rewards.base import Grade
from trinity.rewards.child import Child, Limits
from trinity.rewards.maths.answer import last_box, stated_answer
from trinity.rewards.maths.latex import normalised
from trinity.types import Item, Response

# math-verify's own limit is 5 s, by a signal that neither a thread nor a long C computation can get.
LIMITS = Limits(cpu_seconds=5, wall_seconds=60, memory_bytes=2 << 30)
LONGEST = 10_000  # characters of an answer that is compared by more than its text

_NUMBER = re.compile(r"[+-]?\d{1,1000}(?:\.\d{1,1000})?")


class MathReward:
    """A `Reward` for items whose reference is the answer as LaTeX or plain text.

    Args:
        mode: robust: the right verdict (`trinity.rewards.maths.answer`, `trinity.rewards.maths.equality`). official:
            what papers report for MATH-500, the verdict of math-verify on the whole reply.
        limits: Of one comparison; one that takes longer is a 0.
    """

    def __init__(self, mode: Literal["robust", "official"] = "robust", limits: Limits = LIMITS) -> None:
        self._mode = mode
        self._child = Child("trinity.rewards.maths.child", limits)

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the answer equals the reference; a comparison that takes too long does not.

        Raises:
            RewardError: the reference is empty, or the comparison could not be made for a reason that is not the
                answer's.
        """
        reference = str(item.reference)
        if len(reference) <= LONGEST and not normalised(reference):
            raise RewardError(f"item {item.id!r} of {item.task}: the reference is empty: give it the answer")
        if self._mode == "official":
            return self._compare(item, reference, response.text, "by math-verify")
        reference = (last_box(reference) if reference.count("\\boxed") == 1 else None) or reference
        answer = stated_answer(response.text)
        if answer is None or not answer.strip():
            return Grade(0.0, "no answer stated")
        if answer.strip() == reference.strip():
            return Grade(1.0, "equal as text")
        if max(len(answer), len(reference)) > LONGEST:  # then only the same text is right
            return Grade(0.0, f"an answer of {len(answer)} characters")
        gold, given = normalised(reference), normalised(answer)
        if not given:
            return Grade(0.0, "no answer stated")
        if gold == given:
            return Grade(1.0, "equal as text")
        if _NUMBER.fullmatch(gold) and _NUMBER.fullmatch(given):
            return Grade(float(Fraction(gold) == Fraction(given)), f"compared as numbers: {given[:40]}")
        return self._compare(item, reference, answer, f"symbolically: {' '.join(answer.split())[:40]}")

    def close(self) -> None:
        """Ends the child."""
        self._child.close()

    def _compare(self, item: Item, gold: str, answer: str, how: str) -> Grade:
        reply = self._child.call({"gold": gold, "answer": answer, "mode": self._mode})
        if reply.ending == "wall":
            raise RewardError(
                f"item {item.id!r} of {item.task}: comparing answers got no CPU time: is the machine overloaded?"
            )
        if reply.text not in {"equal", "different"}:
            return Grade(0.0, f"could not be compared ({reply.ending})")
        return Grade(float(reply.text == "equal"), f"{reply.text} {how}")
