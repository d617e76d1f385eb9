"""Where the program stands in a reply."""

import ast
import re
from dataclasses import dataclass
from typing import Literal

LONGEST = 200_000  # characters of a text that is parsed to see whether it is a program

_OPENING = re.compile(r"^([ \t]*(?:(?:[-*>+]|\d{1,3}[.)])[ \t]+)*)(`{3,}|~{3,})[ \t]*([^`]*)$")
_OPENING_BEHIND_TEXT = re.compile(r"(?<!`)(`{3,})(?:python3?|py)?[ \t]{0,9}$", re.IGNORECASE)
_QUOTE = re.compile(r"[ \t]*>[> \t]*")
_PYTHON = frozenset(("python", "python3", "py", "py3", "python-3", "ipython", "pycon"))
_MARKDOWN = frozenset(("", "markdown", "md"))


@dataclass(frozen=True)
class _Block:
    language: str
    text: str


def program_in(text: str, mode: Literal["robust", "official"], function: str | None = None) -> str:
    """The program that a reply hands in; empty where there is none.

    Official, by LiveCodeBench's rule (extraction_utils.py, commit 28fef95e): what stands between the last two lines
    that hold three backticks; with fewer than two such lines nothing. Robust: the last fenced block of Python.

    Args:
        text: The reply.
        mode: See above.
        function: Its name, where a function is asked for: the last block that defines it, or a class Solution, wins.

    A robust block is tagged as Python, or not tagged and a program. Fences may have tildes, more than three characters
    (then shorter ones inside are text), indentation, or no end (a cut reply). Without any fence a reply that is a
    program as a whole counts. A line of three backticks inside a string of the program ends it: that is not seen
    through, unless it is indented by more than three.
    """
    if mode == "official":
        lines = text.split("\n")
        fences = [number for number, line in enumerate(lines) if "```" in line]
        return "\n".join(lines[fences[-2] + 1 : fences[-1]]) if len(fences) >= 2 else ""
    blocks = _blocks(text.replace("\r\n", "\n"), 0)
    if not blocks:
        return text if _is_program(text) else ""
    tagged = [block for block in blocks if block.language in _PYTHON]
    programs = [block for block in blocks if block in tagged or (not block.language and _is_program(block.text))]
    if function is not None:
        defines = re.compile(
            rf"^(?:(?:async[ \t]+)?def[ \t]+{re.escape(function)}\b|class[ \t]+Solution\b"
            rf"|{re.escape(function)}[ \t]*=)",
            re.MULTILINE,
        )
        programs = [block for block in programs if defines.search(block.text)] or programs
    candidates = programs or [block for block in blocks if not block.language]
    return candidates[-1].text if candidates else ""


def _blocks(text: str, depth: int) -> list[_Block]:
    blocks: list[_Block] = []
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        opened = _opened(lines[position])
        if opened is None:
            position += 1
            continue
        indent, fence, info = opened
        if quote := _QUOTE.match(indent):
            indent = indent[quote.end() :]
            _unquote(lines, position + 1, quote.group().count(">"))
        end = _end_of_block(lines, position + 1, indent, fence)
        inside = [_dedented(line, len(indent)) for line in lines[position + 1 : end]]
        if end < len(lines) and not _is_closing(lines[end], indent, fence):
            inside.append(_dedented(lines[end], len(indent)).rstrip().rstrip(fence[0]).rstrip())
        language = info.strip().split()[0].lower().strip("{}.:") if info.strip() else ""
        content = "\n".join(inside)
        nested = _blocks(content, depth + 1) if language in _MARKDOWN and len(fence) > 3 and depth < 3 else []
        blocks += nested or [_Block(language, content)]
        position = end + 1
    return blocks


def _opened(line: str) -> tuple[str, str, str] | None:
    """Indentation, fence and info string of a line that opens a block, at its start or behind a sentence."""
    opening = _OPENING.match(line)
    if opening is not None:
        return opening.group(1), opening.group(2), opening.group(3)
    behind = _OPENING_BEHIND_TEXT.search(line)
    if behind is None or not line[: behind.start()].strip() or "`" in line[: behind.start()]:
        return None
    return "", behind.group(1), "python"


def _unquote(lines: list[str], start: int, depth: int) -> None:
    """Takes the marks of a block quote off the lines that have them, up to the first that has none."""
    mark = re.compile(rf"(?:[ \t]*>){{{depth}}} ?")
    for number in range(start, len(lines)):
        quoted = mark.match(lines[number])
        if quoted is None:
            return
        lines[number] = lines[number][quoted.end() :]


def _end_of_block(lines: list[str], start: int, indent: str, fence: str) -> int:
    for number in range(start, len(lines)):
        line = lines[number].rstrip()
        # Some close a block behind the last line of code.
        if _is_closing(line, indent, fence):
            return number
        code = line.rstrip("`").strip()
        if code and line.endswith(fence) and "`" not in code and "#" not in code:
            return number
    return len(lines)


def _is_closing(line: str, indent: str, fence: str) -> bool:
    stripped = line.strip()
    within = len(line) - len(line.lstrip()) <= len(indent) + 3
    return within and len(stripped) >= len(fence) and not stripped.strip(fence[0])


def _dedented(line: str, width: int) -> str:
    return line[width:] if not line[:width].strip() else line


def _is_program(text: str) -> bool:
    """Whether a text is Python and more than values: a page of numbers or one word is Python too."""
    if len(text) > LONGEST:
        return False
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call | ast.Await)
        for statement in statements
    )
