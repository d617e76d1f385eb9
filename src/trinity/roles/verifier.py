"""The Verifier's verdict (spec section 4.6)."""

import re

from trinity.types import Verdict

# Markdown or LaTeX may stand around: `**VERDICT:** ACCEPT`, `> Verdict: *revise*.`, `\boxed{\text{VERDICT: ACCEPT}}`.
_MARKS = r"(?:[\s*_`#>~\"'\[\](){}$.|-]|\\(?:f?boxed|text[a-z]*|math[a-z]*)?)*"
_LINE = re.compile(
    rf"{_MARKS}(?:(?:my|the|final|overall){_MARKS}){{0,3}}VERDICT{_MARKS}[:=]{_MARKS}"
    r"(ACCEPT|REVISE)(?:ED|D)?(?![A-Za-z])(.*)",
    re.IGNORECASE,
)
# A verdict line is short; matching no more of a line than this keeps hostile text from costing time.
_LINE_CHARS = 200


def parse_verdict(text: str) -> Verdict:
    """The last line `VERDICT: ACCEPT|REVISE` of a reply, any case, Markdown around it; REVISE where there is none.

    A line that names both words (an echo of the instruction) decides nothing and counts as REVISE.
    """
    for line in reversed(text.splitlines()):
        if match := _LINE.match(line[:_LINE_CHARS]):
            word, rest = match.groups()
            ambiguous = re.search(r"\b(?:ACCEPT|REVISE)\b", rest, re.IGNORECASE)
            return Verdict.REVISE if ambiguous else Verdict(word.upper())
    return Verdict.REVISE
