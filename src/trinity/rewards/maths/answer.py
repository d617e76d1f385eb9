r"""Where a reply states its answer: the last box, else the last "answer is", else the last maths.

Plain expressions count where there is no maths between delimiters.

All regular expressions run in linear time, so that a reply of a megabyte is read in a fraction of a second.
"""

import re
from collections.abc import Iterator

from trinity.rewards.maths.units import is_unit

_BRACES = re.compile(r"\\(?:boxed|fbox|framebox)\s{0,9}\{|\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\\(?:boxed|fbox)(?: {0,9}(-?\w+(?:\.\d+)?)| {0,9}(\\[dt]?frac\{[^{}]*\}\{[^{}]*\}))")
_JOINS = (
    r"(?:\s|\$|\\[()]|\\q?quad(?![a-z])|\\[,;: ]|\\text\{\s*,?\s*(?:and|or)\s*\}|,|;|\b(?:and|or)\b"
    r"|[a-zA-Z](?:_\{?\d\}?)? ?=){1,40}"
)
_BETWEEN_BOXES = re.compile(rf"(?=[^\n]{{0,80}}(?:,|;|and|or)){_JOINS}")
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
    r"[.!?](?=\s|$)|,?[ \t](?:because|since|as|which|where|so|for which|by)\b|,[ \t]who\b"
    r"|[ \t]\((?=or\b|[a-zA-Z]{3})",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"[ \t](?:such that|if|when)\b", re.IGNORECASE)
_LETTER = r"(?<![A-Za-z0-9_])[A-Za-z](?![A-Za-z0-9_'’])|(?<=\d)[A-Za-z](?![A-Za-z0-9_'’])"
_NUMBER = (
    r"\d{1,3}(?:,\d{3}){1,9}(?!,?\d)(?:\.\d+)?|\d{1,3}(?: \d{3}){1,9}(?! ?\d)|\d{1,9} \d{1,9}/\d{1,9}(?![\d.])"
    r"|\d+(?:\.\d+)?|\.\d+"
)
_AREA = r"(?<=\d)[ ]?(?:[cdkm]?m|ft|in|yd|mi)(?:\^\{?[23]\}?|[²³])(?!\w)"
_NAME = r"(?<![A-Za-z])(?:sqrt\([^()\n]{1,40}\)|pi\b)"
_ATOM = rf"(?:{_NUMBER}|{_NAME}|{_LETTER}|[√π∞]|[(\[](?:[^()\[\]\nA-Za-z]|[A-Za-z](?![A-Za-z])){{1,60}}[)\]])"
_EXPRESSION = re.compile(
    rf"(?<![\w.\\^])[-−+]?{_ATOM}"
    rf"(?:{_AREA}|{_ATOM}"
    rf"|[ ]?(?:(?<= )\*\*(?= )|\*\*(?! )|[<>]=|[-−+*/^=<>≤≥×·÷:])[ ]?[-−+]?{_ATOM}|[!%°²³]|(?<=\d)[ ]?(?:percent|%))*"
)
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
# Two asterisks between word characters are a power.
_MARKDOWN = re.compile(r"(?<![\w)])\*\*|\*\*(?![\w(])|__|`")
_BOLD = re.compile(r"\*\*([^*\n]{1,60})\*\*")
_VERB = re.compile(r"\b(?:is|are|was|equals|(?:will|must|should) be)\b[ \t]*(?!not\b)")
_MATHS_NEXT = re.compile(
    r"(?:(?:exactly|only|about|approximately|therefore|thus|then) )?(?:\$|\\[(\[]|[-−+]?[\d.√π∞(\[])"
)
# What is said of a number that is not the answer: before it, behind it, and of the whole reply.
_DENIED_BEFORE = re.compile(
    r"(?:\bnot|n't|n’t|\breject(?:s|ed)?|\bdiscard|\brule out)[ \t$(\\]{1,4}"
    r"(?:(?:that|equal to|be)[ \t$(\\]{1,4})?$"
    r"|\b(?:theorem|lemma|step|figure|case|part|section|equation|question|problem|example|method|exercise) $",
    re.IGNORECASE,
)
_DENIED_BEHIND = re.compile(
    r"[$)\]\\ \t]{0,5}(?:(?:is|are|was|does|do)(?: not\b|n't\b|n’t\b)"
    r"|(?:is|are|was) (?:rejected|impossible|invalid|extraneous|wrong|incorrect)\b|(?:cannot|can't|can’t) be\b"
    r"|was my (?:first |initial )?guess\b)"
)
_NO_ANSWER = re.compile(
    r"\b(?:I|we) (?:could not|couldn['’]t|cannot|can['’]t|can not|do not|don['’]t|did not|didn['’]t"
    r"|(?:am|was|are|were) (?:unable to|not able to)) "
    r"(?:(?:know|decide|tell|say)(?: (?:the|what the) (?:final )?answer(?: is)?)?[.!]?\s{0,9}$"
    r"|(?:find|determine|give|compute|know|reach) (?:the|an|any) (?:final )?answer\b|solve (?:this|it)\b)",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"(?:Therefore|Thus|So|Hence|Altogether|In total|In all|Finally|Consequently|In conclusion)\b|[^.!?\n]{0,200}"
    r"\b(?:is|are|equals) [$]?$",
)
MATHS_WORDS = frozenset((
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln", "exp",
    "sqrt", "pi", "and", "or", "inf", "infinity",
))  # fmt: skip


def stated_answer(text: str) -> str | None:
    """What a careful reader takes for the final answer of a reply; None where there is none."""
    for find in (last_box, _cut_box, _tagged, last_statement, _last_line, _whole, _last_said, _last_bold):
        found = find(text)
        if found:
            return found
    return None


def last_box(text: str) -> str | None:
    r"""What stands in the last box whose braces balance (`\boxed{...}`, `\fbox{...}`), or in `\boxed 5`; None without.

    Boxes that nothing but a comma, "and" or "or" parts are one answer.
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
        best = max(closed)[0], _with_boxes_before(text, closed)
    for bare in _BARE_BOX.finditer(text, best[0] if best else 0):
        best = bare.start(), bare.group(1) or bare.group(2)
    return best[1] if best else None


def _with_boxes_before(text: str, boxes: list[tuple[int, int, int]]) -> str:
    """The content of the last box, after that of the boxes it is tied to."""
    parts: list[str] = []
    first = 0
    for start, inner, end in sorted(boxes, reverse=True):
        if not parts or (end < first and first - end < 80 and _BETWEEN_BOXES.fullmatch(text, end + 1, first)):
            parts.append(text[inner:end].strip())
            first = start
        elif end < first:
            break
    return ", ".join(reversed(parts))


def _cut_box(text: str) -> str | None:
    """A number in a box that a cut reply leaves open at its end."""
    content = text[-200:].rpartition("\\boxed{")[2] if "\\boxed{" in text[-200:] else ""
    whole = content.count("{") == content.count("}") and "\n" not in content and any(map(str.isdigit, content))
    return content.strip(" $") if whole else None


def last_statement(text: str) -> str | None:
    """What follows the last "answer is" or "answer:", up to the end of its sentence; None without one."""
    plain = _MARKDOWN.sub("", text)
    for match in reversed(list(_STATEMENT.finditer(plain))[-20:]):
        rest = plain[match.end() : match.end() + 20_000]
        stated = _LEAD.sub("", rest.lstrip()).lstrip()
        stated = stated if stated.startswith(("$$", "\\[")) else stated.split("\n")[0]
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
    """The answer at the start of what follows "the answer is", or of what "is" in the sentence there."""
    segments = list(_segments(sentence[:2_000]))

    def outside(match: re.Match[str]) -> bool:
        return not any(segment.start() < match.start() < segment.end() for segment in segments)

    clause = sentence
    for stops in (_SENTENCE_END, _CONDITION):
        stop = next(filter(outside, stops.finditer(clause[:2_000])), None)
        clause = clause[: stop.start()] if stop else clause
    if clause[:1].isalpha() and len(clause) <= 2_000:
        verbs = [match.end() for match in filter(outside, _VERB.finditer(clause)) if match.end() < len(clause)]
        counted = [end for end in verbs if _MATHS_NEXT.match(clause, end)]
        numbers = [match for match in _EXPRESSION.finditer(clause) if any(map(str.isdigit, match.group()))]
        if counted or (verbs and not numbers):
            return _of_sentence(sentence[(counted or verbs)[-1] :])
        if not segments and len(numbers) == 1 and len(clause.split()) > 3:
            return _with_unit(clause, numbers[0])
    if segments and len(sentence[: segments[0].start()].split()) <= 6:
        return _joined(sentence, segments[0])
    end = _SENTENCE_END.search(sentence)
    words = sentence[: end.start()] if end else sentence
    return (_CONDITION.split(words)[0] if words[:1].isdigit() else words).rstrip(" \t.,;:").lstrip(" \t,;:") or None


def _with_unit(text: str, number: re.Match[str]) -> str:
    word = re.compile(r" ?([A-Za-z]{1,20})(?!\w)").match(text, number.end())
    return number.group() + (word.group() if word and is_unit(word[1]) else "")


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


def _last_said(text: str) -> str | None:
    """The last maths between delimiters, or a plain expression where a later sentence concludes with it."""
    if _NO_ANSWER.search(text[-1_000:]):
        return None
    segments = [found for found in _segments(text) if not _denied(text, found)]
    expressions = [
        found
        for found in _EXPRESSION.finditer(text, segments[-1].end() if segments else 0)
        if any(map(str.isdigit, found.group())) and not _denied(text, found)
    ]
    if segments and not (expressions and _concludes(text, segments[-1].end(), expressions[-1].start())):
        first = len(segments) - 1
        while first and _JOINT.fullmatch(text, segments[first - 1].end(), segments[first].start()):
            first -= 1
        return _joined(text, segments[first])
    if not expressions:
        return None
    first = len(expressions) - 1
    while first and "=" in expressions[first].group() and "=" in expressions[first - 1].group():
        if not _JOINT.fullmatch(text, expressions[first - 1].end(), expressions[first].start()):
            break
        first -= 1
    last = expressions[-1]
    return text[expressions[first].start() : last.start()] + _with_unit(text, last)


def _denied(text: str, found: re.Match[str]) -> bool:
    before = text[max(0, found.start() - 40) : found.start()]
    return bool(_DENIED_BEFORE.search(before) or _DENIED_BEHIND.match(text, found.end()))


def _concludes(text: str, end: int, start: int) -> bool:
    """Whether what stands at `start` is in a later sentence than `end`, one that draws a conclusion."""
    between = text[max(end - 4, start - 300) : start]  # a full stop may be inside the dollar signs
    stops = list(re.finditer(r"[.!?](?=[\s$\\])|\n", between))
    return bool(stops) and bool(_CONCLUSION.match(between[stops[-1].end() :].lstrip("$)]\\ \n")))


def _last_bold(text: str) -> str | None:
    """The last words in bold of a reply without any maths."""
    bold = _BOLD.findall(text[-1_000:])
    return bold[-1].strip(" .") if bold and not _NO_ANSWER.search(text[-1_000:]) else None
