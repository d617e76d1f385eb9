r"""Multiple choice: the letter that is stated last, or the first one as simple-evals reads it."""

import re
from typing import Literal

from trinity.rewards.base import Grade
from trinity.types import Item, Response

LETTERS = "ABCDEFGHIJ"

_STYLED = re.compile(r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|mbox)\s{0,9}\{([^{}]*)\}")
_BOXED = re.compile(
    r"\\(?:boxed|fbox)\s{0,9}\{\s{0,9}(?:(?i:the )?(?i:correct )?(?i:option|choice|answer)(?i: is)?[: ]{0,3})?"
    r"\(?([A-Ja-j])(?:\)?[.:]?\s{0,9}|[).:][^{}]{0,300})\}"
)
_DECORATION = re.compile(r"\\[()\[\]]|[*_`$#>~]")

_SPACE = r"[ \t]{0,9}"
_NAME = r"(?:answer|option|choice|solution|response)"
_VERB = r"(?:is|was|are|(?:would|must|should|will) be|has to be|(?:seems|appears) to be|becomes)"
_FILLER = (
    r"(?:(?:the|option|choice|letter|answer|number|therefore|thus|hence|then|clearly|definitely|most|likely|probably"
    rf"|indeed|simply|just|correct|best|as follows)\b{_SPACE}|[:=\-–—,]{_SPACE}){{0,5}}"
)
_ABOUT = r"(?:(?:to|for|of|among|from|in|here|choice|option|letter)\b[^.:\n]{0,60}?)?"
_CHOSEN = (
    r"(?:\bI(?:'d|'ll| would| will| must)? (?:therefore |thus )?"
    r"(?:choose|chose|pick|select|say|go with|opt for|answer)"
    r"|\b(?:choose|pick|select|choosing|going with|go with|points to|leads to|corresponds to|matches)"
    r"(?= (?:option|choice|answer|\()))"
)
_LEAD = (
    rf"(?i:\b{_NAME}\b{_SPACE}(?:\([^()\n]{{0,40}}\){_SPACE})?{_ABOUT}(?:\b{_VERB}\b|[:=–—]|-(?= )){_SPACE}{_FILLER}"
    rf"|\b{_NAME} (?=\(?[A-J]\)?[ .]*$)|{_CHOSEN} {_SPACE}{_FILLER})"
)
# A and I are words too: "the answer is A because ..." states A, "the answer is I think ..." states nothing.
_GOES_ON = r"(?:because|since|as|for|by|with|and|not|given|which|where)"
_BARE = rf"(?:[B-HJ]|[AI](?![ \t]+(?!{_GOES_ON}\b)[a-z])(?!'))"
_BOTH = r"(?:,|/|&|\bor\b|\band\b|, (?:or|and))"
_ALONE = rf"(?![\w'])(?!{_SPACE}{_BOTH}{_SPACE}(?:option )?[(\[]?[A-J]\b(?!'))"
_SO = r"(?i:\b(?:therefore|thus|hence|so|finally)\b)"
_STATED = re.compile(
    rf"{_LEAD}(?:[(\[]([A-Ja-j])[)\]]{_ALONE}|({_BARE}){_ALONE}|([a-j])[.)]?{_SPACE}$)"
    rf"|^{_SPACE}[-•]?{_SPACE}[(\[]?([A-J])[)\].:]{{0,3}}{_SPACE}$"
    rf"|^{_SPACE}[(\[]?([A-J])[)\]]?,? (?:because|since)\b"
    rf"|{_SO},?{_SPACE}(?i:(?:it is|it's|it must be|option|choice) ){{0,2}}[(\[]?({_BARE})[)\]]?\.?{_SPACE}$"
    rf"|(?<![\w(\[])[(\[]?({_BARE})[)\]]? (?i:is|was|seems|must be) (?i:(?:clearly|indeed|therefore|thus|definitely) )?"
    r"(?i:(?:the|our|my) )?(?i:only |most |single )?(?i:correct|right|best|true|final|answer\b|accurate)"
    rf"|\b(?i:is|be) (?i:option |choice )?[(\[]([A-J])[)\]]\.?{_SPACE}$",
    re.MULTILINE,
)
_NEGATED = re.compile(
    r"(?:\bnot\b|n't\b|\bnever\b|\bneither\b|\bcannot\b|\bif\b|\bwhether\b|\bsuppose\b)[^.;:,\n]{0,30}$", re.IGNORECASE
)
_LISTED = re.compile(rf"^{_SPACE}[(\[]?([A-J])[).\]:]{_SPACE}\S")
_TRANSLATION = str.maketrans({"：": ":", "（": "(", "）": ")", "’": "'", "\u00a0": " ", "．": "."})

_FIRST = re.compile(r"(?i)Answer[ \t]*:[ \t]*([A-D])")
_FIRST_OF_TEN = re.compile(r"(?i)Answer[ \t]*:[ \t]*([A-J])")
_REMOVED = (
    "**",
    "$\\boxed{",
    "\\boxed{",
    "$}",
    "\\$",
    "$\\text{",
    "$",
    "\\mathrm{",
    "\\{",
    "\\text",
    "\\(",
    "\\mathbf{",
    "{",
)


def last_letter(text: str, letters: str = LETTERS) -> str | None:
    """The letter stated last: after "answer is" or "answer:", in a box, alone on a line, or as "C is correct".

    None if there is none. Markdown and LaTeX around it do not matter. Two letters stated at once ("A or B") state none,
    nor does "not A".

    Args:
        text: The reply.
        letters: Those that the question has.
    """
    plain = _STYLED.sub(r"\1", text.translate(_TRANSLATION))
    plain = _DECORATION.sub("", _BOXED.sub(r"\nAnswer: \1\n", plain))
    stated = None
    for match in _STATED.finditer(plain):
        letter = next(group for group in match.groups() if group).upper()
        before = plain[max(0, match.start() - 40) : match.start()]
        if letter in letters and not _NEGATED.search(before):
            stated = letter
    return stated or _closing_option(plain, letters)


def first_letter(text: str, letters: str = LETTERS[:4]) -> str | None:
    """The letter behind the first "Answer:", as simple-evals reads it (common.py, commit ee3b0318); None without.

    Its pattern knows A to D. For questions with more choices, which it has none of, it is the same pattern to J.
    """
    for piece in _REMOVED:
        text = text.replace(piece, "")
    match = (_FIRST if len(letters) <= 4 else _FIRST_OF_TEN).search(text)
    return match.group(1) if match else None


class ChoiceReward:
    """A `Reward` for items whose reference is a letter.

    Where `item.extra["choices"]` says how many choices there are (a number or a list), letters beyond are none.

    Args:
        mode: robust: the letter stated last. official: simple-evals's first match, as it stands, with its case.
    """

    def __init__(self, mode: Literal["robust", "official"] = "robust") -> None:
        self._mode = mode

    def __call__(self, item: Item, response: Response) -> Grade:
        """1 if the letter is the reference."""
        reference = str(item.reference).strip().upper()
        choices = item.extra.get("choices")
        count = choices if isinstance(choices, int) else len(choices) if choices else None
        if self._mode == "robust":
            letter = last_letter(response.text, LETTERS[:count])
        else:
            letter = first_letter(response.text, LETTERS[: count or max(4, LETTERS.find(reference) + 1)])
        if letter is None:
            return Grade(0.0, "no letter stated")
        return Grade(float(letter == reference), f"stated {letter}")


def _closing_option(text: str, letters: str) -> str | None:
    """The letter of a last line such as `C) 12 metres`, unless it ends a list of the options."""
    lines = [line for line in text.strip().split("\n") if line.strip()][-2:]
    match = _LISTED.match(lines[-1]) if lines else None
    if match is None or match.group(1) not in letters or (len(lines) > 1 and _LISTED.match(lines[0])):
        return None
    return match.group(1)
