"""Multiple choice: the letter that is stated last."""

import re

from trinity.rewards.base import Grade
from trinity.types import Item, Response

_STYLED = re.compile(r"\\(?:text|textbf|mathbf|mathrm|mathsf)\s*\{([^{}]*)\}")
_BOXED = re.compile(r"\\boxed\s*\{\s*\(?([A-Ja-j])\)?\.?\s*\}")
_DECORATION = re.compile(r"\\[()\[\]]|[*_`$#>]")

_SPACE = r"[ \t]*"
_LEAD = (
    rf"(?i:\b(?:answer|option|choice){_SPACE}(?:\bis\b{_SPACE}[:=]?|[:=]){_SPACE}(?:the\b{_SPACE})?"
    rf"(?:(?:option|choice|letter)\b{_SPACE})?)"
)
# A and I are words too: "the answer is A because ..." states A, "the answer is I think ..." states nothing.
_BARE = r"(?:[B-HJ]|[AI](?![ \t]+(?!because|since|as|for|by|with)[a-z]))"
_ALONE = rf"(?![\w'])(?!{_SPACE}(?:,|/|\bor\b|\band\b){_SPACE}[(\[]?[A-J]\b)"
_STATED = re.compile(
    rf"{_LEAD}(?:[(\[]([A-Ja-j])[)\]]{_ALONE}|({_BARE}){_ALONE}|([a-j])\.?{_SPACE}$)"
    rf"|^{_SPACE}[(\[]?([A-J])[)\].:]*{_SPACE}$",
    re.MULTILINE,
)


def last_letter(text: str) -> str | None:
    """The letter A to J stated last: after "answer is" or "answer:", in a box, or alone on a line; None if none is.

    Markdown and LaTeX around it do not matter. Two letters stated at once ("A or B") state none.
    """
    plain = _DECORATION.sub("", _BOXED.sub(r"\nAnswer: \1\n", _STYLED.sub(r"\1", text)))
    matches = list(_STATED.finditer(plain))
    return next(group for group in matches[-1].groups() if group).upper() if matches else None


class ChoiceReward:
    """A `Reward` for items whose reference is a letter."""

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the letter stated last is the reference."""
        letter = last_letter(response.text)
        if letter is None:
            return Grade(0.0, "no letter stated")
        return Grade(float(letter == str(item.reference).strip().upper()), f"stated {letter}")
