r"""Multiple choice: the letter that is stated last, or the first one as simple-evals reads it."""

import re
from typing import Literal

from trinity.rewards.base import Grade
from trinity.types import Item, Response

LETTERS = "ABCDEFGHIJ"

# What stands around a letter and means nothing, in the order in which it goes.
_TRANSLATION = str.maketrans(
    {"：": ":", "（": "(", "）": ")", "’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "．": ".", "。": "."}
    | {chr(ord("Ａ") + number): letter for number, letter in enumerate(LETTERS)}
)
_STYLED = re.compile(r"\\(?:text(?:bf|it|rm|sf|tt)?|math(?:bf|rm|sf|it|tt)|mbox)\s{0,9}\{([^{}]*)\}")
_BOXED = re.compile(
    r"\\(?:boxed|fbox)\s{0,9}\{\{?\s{0,9}(?:(?i:the )?(?i:correct )?(?i:option|choice|answer)(?i: is)?[: ]{0,3})?"
    r"\(?([A-Ja-j])(?:\)?[.:]?\s{0,9}|[).:][^{}]{0,300})\}"
)
_CLEANED = (
    (_STYLED, r"\1"),
    (_BOXED, r"\nAnswer: \1\n"),
    (re.compile(r"<answer>"), "\nAnswer: "),
    (re.compile(r"</?[a-z]{1,10}>"), "\n"),
    (re.compile(r"^[ \t]{0,9}(?:[=-]>|[→⇒✅✔☑✓]\ufe0f?)", re.MULTILINE), ""),
    (re.compile(r"\\[()\[\]]|[*_`$>~<\"{}]|(?<!\w)#+|'(?=[A-J]')|(?<='[A-J])'"), ""),
    # A lone option below "The answer is:", unless a list of options begins there.
    (
        re.compile(
            r"\b(answer(?: is)?[ \t]{0,9}:)[ \t]{0,9}\n\s{0,9}(?=[(\[]?[A-Ja-j][).\]][ \t]"
            r"(?![^\n]{0,400}\n\s{0,9}[(\[]?[A-Ja-j][).\]:]))",
            re.IGNORECASE,
        ),
        r"\1 ",
    ),
)

_SPACE = r"[ \t]{0,9}"
_NAME = r"(?:answer|ans\b\.?|option|choice|solution|response)"
_VERB = r"(?:is|was|are|(?:would|must|should|will) be|has to be|(?:seems|appears) to be|becomes)"
_FILLER = (
    r"(?:(?:the|option|choice|letter|answer|number|therefore|thus|hence|then|clearly|definitely|most|likely|probably"
    rf"|indeed|simply|just|correct|best|as follows)\b{_SPACE}|[:=\-–—,]{_SPACE}){{0,5}}"
)
_ABOUT = r"(?:(?:to|for|of|among|from|in|here|choice|option|letter)\b[^.:\n]{0,60}?)?"
_I_CHOOSE = (
    r"\bI(?:'d|'ll|'m| am| would| will| must)? (?:therefore |thus )?"
    r"(?:choose|chose|pick|select|say|go with|going with|opt for|answer)"
)
_CHOOSE = r"\b(?:choose|pick|select|choosing|go with|going with|points to|leads to|corresponds to|matches)"
# A and I are words too: "the answer is A because ..." states A, "the answer is I think ..." states nothing.
_GOES_ON = r"(?:because|since|as|for|by|with|and|not|given|which|where|when|if|that|while|but|from|due|is|was|the)"
_LETTER = rf"([B-HJ]|[AI](?![ \t]+(?!{_GOES_ON}\b)[a-z])(?!'))"
_BOTH = r"(?:,|/|&|\bor\b|\band\b|, (?:or|and))"
# Neither the beginning of something longer ("Copper", "C++", "C-14", "E = mc") nor one of two ("A or B", "C D").
_ALONE = (
    rf"(?![\w'#+]|-\w|{_SPACE}=[ ]?[A-Za-z\\])"
    rf"(?!{_SPACE}{_BOTH}{_SPACE}(?:option )?[(\[]?[A-J]\b(?!'))"
    rf"(?!{_SPACE}[B-HJ](?:[ \t,.]|$))"
)
_LAST = rf"[(\[]?{_LETTER}[)\]]?(?={_SPACE}(?:[.!;]|$))(?!\.\w)"
_IT_IS = r"\b(?:it|this|that)(?:'s| (?:is|was|(?:must|should|would|has to) be))"
_SAID = r"(?:is|was|(?:seems|appears) to be|seems|(?:must|would|should) be)"

# How a letter is stated. Each has one group that holds it; the statement that ends last counts.
_STATEMENTS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # The answer is C. Answer: (C) 5. Correct option (of the four): C. The answer is: c) 5
        *(
            rf"(?i:\b{_NAME}{_SPACE}(?:\([^()\n]{{0,40}}\){_SPACE})?{_ABOUT}(?:\b{_VERB}\b|[:=–—]|-(?= )){_SPACE}"
            rf"{_FILLER}){letter}"
            for letter in (rf"[(\[]([A-Ja-j])[)\]]{_ALONE}", _LETTER + _ALONE, rf"([a-j])(?:\)|\.?{_SPACE}$)")
        ),
        # Ans. C. Option C
        rf"(?i:\b{_NAME}) \(?([A-Ja-j])\)?[ .]*$",
        # I choose C. I'm going with option (C)
        *(rf"(?i:{_I_CHOOSE} {_SPACE}{_FILLER}){letter}{_ALONE}" for letter in (r"[(\[]([A-J])[)\]]", _LETTER)),
        # Choose C. This corresponds to option C because
        rf"(?i:{_CHOOSE} {_SPACE}{_FILLER}){_LAST}",
        rf"(?i:{_CHOOSE} (?:the )?(?:option|choice|answer) (?:option |choice |is )?)[(\[]?{_LETTER}[)\]]?{_ALONE}",
        rf"(?i:{_CHOOSE}) \(([A-J])\){_ALONE}",
        # The correct statement is C.
        rf"(?i:\b(?:correct|right|best|true) \w{{1,20}} is ){_LAST}",
        # none of the above, i.e. D
        rf"(?i:\bof (?:the above|these)\b[,:]? (?:i\.e\.,? |that is,? |so |option |choice |which is ){{0,3}}){_LAST}",
        # A letter alone on its line; C because
        rf"^{_SPACE}[-•]?{_SPACE}[(\[]?([A-J])[)\].:]{{0,3}}{_SPACE}$",
        rf"^{_SPACE}\(?([A-J])(?:\)(?<=\(.\)))?,? (?:because|since)\b",
        # Therefore, C. Definitely C.
        rf"(?i:\b(?:therefore|thus|hence|so|finally|ergo|clearly|definitely|surely)\b)[,:]?{_SPACE}"
        rf"(?i:(?:it is|it's|it must be|option|choice) ){{0,2}}{_LAST}",
        # It's C. It should be option C.
        rf"(?i:{_IT_IS} (?:clearly |definitely |then |therefore |option |choice |answer |just ){{0,2}}){_LAST}",
        rf"\b(?i:is|be) (?i:option |choice )?[(\[]([A-J])[)\]]\.?{_SPACE}$",
        # C is the only correct answer.
        rf"(?<![\w(\[])[(\[]?([A-J])[)\]]? (?i:{_SAID}) (?i:(?:clearly|indeed|therefore|thus|definitely) )?"
        r"(?i:(?:the|our|my) )?(?i:only |most |single )?(?i:(?:correct|right|answer)\b(?! to\b)"
        rf"|(?:best|true|final|accurate)(?= (?:answer|option|choice|statement|one)\b|{_SPACE}[.!,;]|{_SPACE}$))",
        # ... leaving C. Only option C remains.
        rf"(?i:\bleaving (?:only |just )?(?:option |choice )?){_LAST}",
        r"(?i:\bonly (?:option |choice )?)[(\[]?([A-J])[)\]]? (?i:remains|is left|satisfies|fits|works)\b",
        # not A but C. Its "not" is its own, so it begins there.
        r"(?i:(?:\bnot|n't|\bneither)) [(\[]?[A-J][)\]]?(?: (?:or|nor|and) [(\[]?[A-J][)\]]?){0,3}"
        rf",? but (?:rather )?{_LAST}",
        # No wait, B. Corrected: B. No, D is.
        rf"(?i:\b(?:no|wait|hmm|actually|sorry|corrected|correction)[,:.]{{1,3}} ?|\bactually ){_LAST}",
        r"(?i:\bno, )([A-J]) is(?=[.!])",
        # Other languages
        rf"(?:答案|\b(?i:antwort|réponse|respuesta|risposta|resposta)){_SPACE}(?:是|为|ist|est|es|è|é)?{_SPACE}:?{_SPACE}{_LAST}",
    )
)
# Before a statement: it is denied, or somebody else's mistake.
_NEGATED = re.compile(
    r"(?:\bnot\b|n't\b|\bnever\b|\bneither\b|\bcannot\b|\bif\b|\bwhether\b|\bsuppose\b)[^.;:,\n]{0,30}\Z"
    r"|\b(?:mistakes?|trap|distractors?|misconceptions?|wrongly|mistakenly)\b[^.;:,\n]{0,30}\Z"
    r"|\b(?:students?|people)\b(?:[^.;:,\n]{0,60}\b(?:would|might|may|could|often))? \Z",
    re.IGNORECASE,
)
# "If the question asked for the least, the answer would be A": counts only where nothing else is stated.
_SUPPOSED = re.compile(r"\bif\b[^.;:\n]{0,100}\Z", re.IGNORECASE)
_SUPPOSED_BEHIND = re.compile(r"[^.;:\n]{0,20}\bif\b", re.IGNORECASE)
_LISTED = re.compile(rf"^{_SPACE}[(\[]?([A-J])[).\]:]{_SPACE}\S", re.MULTILINE)
_MARKED = re.compile(
    rf"^{_SPACE}[-•]?{_SPACE}[(\[]?([A-J])[).\]:]{{1,2}}{_SPACE}(?i:this is |is )?(?i:correct|right)"
    rf"(?={_SPACE}(?:[.,;:!(–—-]|because\b|since\b|$))",
    re.MULTILINE,
)
_FIRST_LINE = re.compile(rf"[(\[]?([A-HJ])(?:[).\]:]{{1,2}}|,(?= ?\d)|{_SPACE}[-–—])[ \t]{{1,9}}(?![A-J]\b)\S")
_IN_LOWER_CASE = re.compile(r"\(?([a-j])\)[^\n]*")
_AFTER_COLON = re.compile(rf"(?:[:=→]|\b(?:Correct|Final|Right)\b){_SPACE}[(\[]?([A-J])[)\]]?[.!]?$")
_REFUSED = re.compile(
    r"\W{0,9}[A-J]?\W{0,9}(?:(?:this|it) )?(?:is )?(?:incorrect|wrong|not (?:correct|right)"
    r"|excluded|eliminated?|ruled out)\b",
    re.IGNORECASE,
)

_FIRST = re.compile(r"(?i)Answer[ \t]*:[ \t]*([A-D])")
_FIRST_OF_TEN = re.compile(r"(?i)Answer[ \t]*:[ \t]*([A-J])")
_REMOVED = (
    "**",
    "$\\boxed{",
    "}$",
    "\\$",
    "$\\text{",
    "$",
    "\\mathrm{",
    "\\{",
    "\\text",
    "\\(",
    "\\mathbf{",
    "{",
    "\\boxed",
)


def last_letter(text: str, letters: str = LETTERS) -> str | None:
    """The letter stated last: after "answer is" or "answer:", in a box, alone on a line, or as "C is correct".

    None if there is none. Markdown, quotes and LaTeX around it do not matter. Two letters stated at once ("A or B")
    state none, nor does "not A". Where nothing is stated, a reply that begins or ends as an answer does ("C) 5").

    Args:
        text: The reply.
        letters: Those that the question has.
    """
    plain = text.translate(_TRANSLATION)
    for decoration, kept in _CLEANED:
        plain = decoration.sub(kept, plain)
    found = [match for statement in _STATEMENTS for match in statement.finditer(plain)]
    supposed = None
    for match in sorted(found, key=lambda match: -match.start(1)):
        letter = match.group(1).upper()
        before = plain[max(0, match.start() - 120) : match.start()]
        if letter not in letters or _NEGATED.search(before[-80:]):
            continue
        if "would" not in match.group() or not (_SUPPOSED.search(before) or _SUPPOSED_BEHIND.match(plain, match.end())):
            return letter
        supposed = supposed or letter
    return supposed or _of_form(plain.strip(), letters)


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


def _of_form(text: str, letters: str) -> str | None:
    """The letter of a reply that only looks like an answer, by its first line, its last, or a list with one mark."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return None
    marked, listed = set(_MARKED.findall(text)), _LISTED.findall(text)
    first, last = ("" if _REFUSED.match(line) else line for line in (lines[0], lines[-1]))
    found = _LISTED.match(last)
    if found and len(lines) > 1 and (before := _LISTED.match(lines[-2])):
        # The end of a list, or an option named again below it.
        again = listed.count(found.group(1)) > 1 and ord(found.group(1)) != ord(before.group(1)) + 1
        found = found if again else None
    if len(marked) == 1:
        letter = marked.pop()
    elif found := found or _AFTER_COLON.search(last[-12:]) or (_IN_LOWER_CASE.fullmatch(text) if first else None):
        letter = found.group(1).upper()
    elif len(set(listed)) <= 1 and (found := _FIRST_LINE.match(first)):
        letter = found.group(1)
    else:
        return None
    return letter if letter in letters else None
