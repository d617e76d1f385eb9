r"""Where a reply states its answer: the last box, else the last "answer is", else the last maths.

Plain expressions count where there is no maths between delimiters.

All regular expressions run in linear time, so that a reply of a megabyte is read in a fraction of a second.
"""

import re
from collections.abc import Iterator

_BRACES = re.compile(r"\\(?:boxed|fbox|framebox)\s{0,9}\{|\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\(?:boxed|fbox)(?: {0,9}(-?\w+(?:\.\d+)?)| {0,9}(\\[dt]?frac\{[^{}]*\}\{[^{}]*\}))")
_STATEMENT = re.compile(
    r"\banswers?[ \t]*(?:\([^()\n]{0,40}\)[ \t]*)?(?:(?:here|then|therefore|thus|to (?:the|this) \w+)[ \t]+)?"
    r"(?:[:=]|\b(?:is|are|must be|should be|would be|will be|equals)\b(?![ \t]+not\b))",
    re.IGNORECASE,
)
_LEAD = re.compile(r"^(?:[ \t]|:|=|therefore\b|thus\b|then\b|simply\b|just\b|hence\b|,)+", re.IGNORECASE)
_SEGMENT = re.compile(
    r"(?<!\\)\$\$((?:[^$\\]|\\.){1,9999})\$\$|(?<!\\)\$((?:[^$\\\n]|\\.){1,9999})\$"
    r"|\\\(((?:[^\\\n]|\\[^()]){1,9999})\\\)|\\\[((?:[^\\]|\\[^\[\]]){1,9999})\\\]",
    re.DOTALL,
)
_JOINT = re.compile(r"[ \t]*(?:,|;|\band\b|\bor\b|,[ \t]*(?:and|or)\b|\\cup)[ \t]*")
_AFTER = re.compile(r"[ \t]*(?:\\?%|percent(?:age)?\b|degrees?\b)")
_SENTENCE_END = re.compile(
    r"[.!?](?=\s|$)|,?[ \t](?:because|since|as|which|where|so|for which|by)\b|[ \t]\((?=[a-zA-Z]{3})", re.IGNORECASE
)
_LETTER = r"(?<![A-Za-z0-9_])[A-Za-z](?![A-Za-z0-9_'’])|(?<=\d)[A-Za-z](?![A-Za-z0-9_'’])"
_NUMBER = (
    r"\d{1,3}(?:,\d{3}){1,9}(?![\d,]*\d)(?:\.\d+)?|\d{1,3}(?: \d{3}){1,9}(?! ?\d)|\d{1,9} \d{1,9}/\d{1,9}(?![\d.])"
    r"|\d+(?:\.\d+)?|\.\d+"
)
_ATOM = rf"(?:{_NUMBER}|{_LETTER}|[√π∞]|[(\[](?:[^()\[\]\nA-Za-z]|[A-Za-z](?![A-Za-z])){{1,60}}[)\]])"
_EXPRESSION = re.compile(
    rf"(?<![\w.\\])[-−+]?{_ATOM}"
    rf"(?:{_ATOM}|[ ]?(?:\*\*|[<>]=|[-−+*/^=<>≤≥×·÷:])[ ]?[-−+]?{_ATOM}|[!%°]|(?<=\d)[ ]?(?:percent|%))*"
)
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_MARKDOWN = re.compile(r"\*\*|__|`")
MATHS_WORDS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "log",
        "ln",
        "exp",
        "sqrt",
        "pi",
        "and",
        "or",
        "inf",
        "infinity",
    ]
)


def stated_answer(text: str) -> str | None:
    """What a careful reader takes for the final answer of a reply; None where there is none."""
    for find in (last_box, _tagged, last_statement, _last_line, _whole, _last_maths, _last_expression):
        found = find(text)
        if found:
            return found
    return None


def last_box(text: str) -> str | None:
    r"""What stands in the last box whose braces balance (`\boxed{...}`, `\fbox{...}`), or in `\boxed 5`; None without.

    Empty boxes do not count ("put it in \boxed{}"). One pass with a stack: linear however deep boxes are nested.
    """
    best: tuple[int, str] | None = None
    stack: list[tuple[int, int, bool]] = []
    closed: list[tuple[int, int, int]] = []
    for match in _BRACES.finditer(text):
        token = match.group()
        if token.endswith("{") and token != "\\{":
            stack.append((match.start(), match.end(), len(token) > 1))
        elif token == "}" and stack:
            start, inner, boxed = stack.pop()
            if boxed and text[inner : inner + 200].strip(" \t\n$}"):
                closed.append((start, inner, match.start()))
    if closed:
        start, inner, end = max(closed)
        best = start, text[inner:end].strip()
    for bare in _BARE_BOX.finditer(text, best[0] if best else 0):
        best = bare.start(), bare.group(1) or bare.group(2)
    return best[1] if best else None


def last_statement(text: str) -> str | None:
    """What follows the last "answer is" or "answer:", up to the end of its sentence; None without one."""
    plain = _MARKDOWN.sub("", text)
    for match in reversed(list(_STATEMENT.finditer(plain))[-20:]):
        rest = plain[match.end() : match.end() + 20_000]
        stated = _LEAD.sub("", rest.lstrip(" \t"))
        stated = stated if stated.startswith(("$$", "\\[")) else stated.lstrip().split("\n")[0]
        found = _of_sentence(_LEAD.sub("", stated).strip())
        if found:
            return found
    return None


def _tagged(text: str) -> str | None:
    """What stands in the last answer tag."""
    _, opened, behind = text.rpartition("<answer>")
    return behind.partition("</answer>")[0].strip() or None if opened else None


def _last_line(text: str) -> str | None:
    """The last line in the form of GSM8K's solutions, `#### 18` or `A: 18`."""
    line = _MARKDOWN.sub("", text.rstrip()[-2_000:]).split("\n")[-1]
    match = re.fullmatch(r"(?:####|A:)[ \t]+(.+)", line)
    return _of_sentence(match.group(1)) if match else None


def _of_sentence(sentence: str) -> str | None:
    """The answer at the start of what follows "the answer is"."""
    segment = next(_segments(sentence), None)
    if segment and len(sentence[: segment.start()].split()) <= 6:
        return _joined(sentence, segment)
    end = _SENTENCE_END.search(sentence)
    return (sentence[: end.start()] if end else sentence).rstrip(" \t.,;:").lstrip(" \t,;:") or None


def _joined(text: str, first: re.Match[str]) -> str:
    """A segment of maths with those that "and", "or" or a comma tie to it, and a percent sign or unit behind."""
    parts, last = [_content(first)], first
    while (joint := _JOINT.match(text, last.end())) and (following := _SEGMENT.match(text, joint.end())):
        parts += [joint.group(), _content(following)]
        last = following
    behind = _AFTER.match(text, last.end())
    return "".join(parts) + (behind.group() if behind else "")


def _segments(text: str) -> Iterator[re.Match[str]]:
    """Maths between delimiters; a dollar sign before a sum of money opens none."""
    position = 0
    while match := _SEGMENT.search(text, position):
        inline = match.group(2)
        money = inline is not None and (
            text[match.end() : match.end() + 1].isdigit()
            or (inline[-1] in " +-*/=<" and inline[0] != " ")
            or (inline[0].isdigit() and "\\" not in inline and len(_WORD.findall(inline)) > 2)
        )
        if not money:
            yield match
        position = match.start() + 1 if money else match.end()


def _content(segment: re.Match[str]) -> str:
    return next(group for group in segment.groups() if group is not None)


def _whole(text: str) -> str | None:
    """A reply that is nothing but an answer: one short line without words of prose, or a word or two."""
    line = _MARKDOWN.sub("", text).strip()
    if not line or "\n" in line or len(line) > 300:
        return None
    if "$" in line or "\\(" in line or "\\[" in line:
        segment = _SEGMENT.match(line)
        return line if segment and segment.end() >= len(line.rstrip(".")) else None
    prose = [word for word in _WORD.findall(line) if word.lower() not in MATHS_WORDS]
    alone = len(line.split()) == 1 or not any(character.isdigit() for character in line)
    return line.rstrip(".") if not prose or (alone and len(prose) <= 3) else None


def _last_maths(text: str) -> str | None:
    segments = list(_segments(text))
    if not segments:
        return None
    first = len(segments) - 1
    while first and _JOINT.fullmatch(text, segments[first - 1].end(), segments[first].start()):
        first -= 1
    return _joined(text, segments[first])


def _last_expression(text: str) -> str | None:
    """The last run of plain maths that holds a digit: `(3, 4)`, `2√3`, `y = 2x + 3`, `1,234.50`."""
    found = [match.group() for match in _EXPRESSION.finditer(text) if any(map(str.isdigit, match.group()))]
    return found[-1] if found else None
