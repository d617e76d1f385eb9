"""Maths with a boxed answer: the last box, compared as text, then as whole numbers, then symbolically."""

import re

from trinity.errors import RewardError
from trinity.rewards.base import Grade
from trinity.rewards.child import Child, Limits
from trinity.types import Item, Response

# math-verify's own limit is 5 s, by a signal that neither a thread nor a long C computation can get.
LIMITS = Limits(cpu_seconds=5, wall_seconds=60, memory_bytes=2 << 30)

_BOX = re.compile(r"\\boxed\s*\{")
_WHOLE = re.compile(r"[+-]?\d{1,1000}")


def last_box(text: str) -> str | None:
    r"""What stands in the last `\boxed{...}` whose braces balance; None without one."""
    for match in reversed(list(_BOX.finditer(text))):
        depth, position = 1, match.end()
        while position < len(text):
            character = text[position]
            if character == "\\":
                position += 1  # the next character is escaped
            elif character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth == 0:
                    return text[match.end() : position].strip()
            position += 1
    return None


class MathReward:
    """A `Reward` for items whose reference is the answer as LaTeX or plain text.

    math-verify takes gold and answer in that order and takes nearby boxes for one set: so the box is found here.
    """

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._child = Child("trinity.rewards.math_child", limits)

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the last boxed answer equals the reference; a comparison that takes too long does not.

        Raises:
            RewardError: the comparison could not be made for a reason that is not the answer's.
        """
        box = last_box(response.text)
        answer = _plain(box) if box is not None else ""
        if not answer:
            return Grade(0.0, "no boxed answer")
        gold = _plain(str(item.reference))
        if answer == gold:
            return Grade(1.0, "equal as text")
        if _WHOLE.fullmatch(answer) and _WHOLE.fullmatch(gold):
            return Grade(float(int(answer) == int(gold)), "compared as whole numbers")
        return self._compare(item, gold, answer)

    def close(self) -> None:
        """Ends the child."""
        self._child.close()

    def _compare(self, item: Item, gold: str, answer: str) -> Grade:
        reply = self._child.call({"gold": gold, "answer": answer})
        if reply.ending == "wall":
            raise RewardError(
                f"item {item.id!r} of {item.task}: comparing answers got no CPU time: is the machine overloaded?"
            )
        if reply.text not in {"equal", "different"}:
            return Grade(0.0, f"could not be compared ({reply.ending})")
        return Grade(float(reply.text == "equal"), f"symbolically {reply.text}")


def _plain(answer: str) -> str:
    return answer.strip().strip("$").strip()
