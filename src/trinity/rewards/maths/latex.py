r"""An answer in one spelling: what LaTeX, Unicode and plain text write differently without meaning anything different.

The result is LaTeX with few commands: sizes, spacing and dollar signs are gone, words stand in `\text{...}` (also words
that were written plainly), thousands have no separators where that is certain. Nothing here computes. All regular
expressions run in linear time.
"""

import re

from trinity.rewards.maths.numerals import without_number_words
from trinity.rewards.maths.units import UNITS, is_unit

FUNCTIONS = (
    "arcsin", "arccos", "arctan", "arccot", "sinh", "cosh", "tanh", "coth", "sin", "cos", "tan", "cot", "sec", "csc",
    "log", "ln", "exp", "lg",
)  # fmt: skip
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "×": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "÷": r"\div ",
    "√": r"\sqrt ",
    "π": r"\pi ", "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "λ": r"\lambda ", "φ": r"\phi ", "∞": r"\infty ",
    "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "∈": r"\in ", "∪": r"\cup ", "∩": r"\cap ",
    "∅": r"\emptyset ", "ℝ": r"\reals ", "°": r"\degree ", "º": r"\degree ", "±": r"\pm ", "∓": r"\mp ",
    "½": r"\frac{1}{2}",
    "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅕": r"\frac{1}{5}",
    "⅛": r"\frac{1}{8}", "⟨": r"\langle ", "⟩": r"\rangle ", "€": r"\text{euros}",
    "£": r"\text{pounds}", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "′": "'", "’": "'", "“": '"', "”": '"',
    "\u200b": "", "٪": r"\%", "％": r"\%", "，": ", ", "：": ":", "（": "(", "）": ")",
}  # fmt: skip
_TRANSLATION = str.maketrans(_SIGNS)
_SYNONYMS = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "leq": "le", "leqslant": "le", "geq": "ge", "geqslant": "ge",
    "lt": "<", "gt": ">", "neq": "ne", "lbrace": "{", "rbrace": "}", "colon": ":", "lvert": "|", "rvert": "|",
    "vert": "|",
    "mid": "|", "land": "text{and}", "wedge": "text{and}", "lor": "text{or}", "vee": "text{or}",
    "varnothing": "emptyset",
    "infin": "infty", "ast": "cdot", "dbinom": "binom", "tbinom": "binom", "varphi": "phi", "varepsilon": "epsilon",
    "thickapprox": "approx", "simeq": "approx", "doteq": "approx", "backslash": "setminus", "degree": "degree",
    "percent": "%", "dots": "ldots", "cdots": "ldots", "lbrack": "[", "rbrack": "]", "equiv": "equiv",
}  # fmt: skip
_BARE = frozenset("<>:|[]")
_DROPPED = re.compile(
    r"\\(?:left|right|middle|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|quad|qquad|rm|bf|it"
    r"|thinspace|phantom\{[^{}]*\}|hspace\*?\{[^{}]*\}|label\{[^{}]*\}|mathstrut|strut|nonumber)(?![A-Za-z])\.?"
    r"|\\[;:> ]|~"
)
_DELIMITER = re.compile(r"(?<!\\)\$|\\[()]|\\\[|\\\](?!\d)")
_WRAPPED = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|[mh]box|math(?:rm|bf|it|sf|tt|normal|cal|bb|frak)|operatorname\*?|bm"
    r"|boldsymbol|emph|underline|boxed|fbox|(?:over|under)set\{\\text\{[^{}]*\}\})\s{0,9}\{((?:[^{}\\]|\\.|\^\{-?\d\})*)\}"
)
_ABBREVIATED = {"DNE": r"\text{does not exist}", r"\text{DNE}": r"\text{does not exist}"}
_LABELLED_NUMBER = re.compile(
    r"(?:(?:[A-Za-z]+ ){1,9}(?:is|are|equals) )?([-+]?\d[\d.,]*(?: ?/ ?\d+)?)(?: ?([A-Za-z][A-Za-z /^-]*))?"
)
_NO_UNIT = re.compile(r"(?:[A-Za-z]{1,2}|and|more|less|plus|minus|times|over|out)\b")
_SQUARED_METRES = re.compile(r"(?<=\d) ?([cdkm]?m)([²³])")
_SUPERSCRIPT = re.compile("[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_SUPERSCRIPTS = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "-+0123456789")
_INFIX = re.compile(r"\{([^{}]{1,200})\\(over|choose)(?![A-Za-z])([^{}]{1,200})\}")
_ROW_GAP = re.compile(r"\\\\\[[\d.]{1,5}(?:pt|em|ex|mm|cm)\]")
_TEMPERATURE = re.compile(r"\\degree ?(?:\\text\{)?([CF])(?:elsius|ahrenheit)?\b\}?")
# ]0, 9[ is the open interval in many countries.
_TURNED = re.compile(r"([\[\]]) ?([^\[\](),\s][^\[\](),]{0,79},[^\[\](),]{1,80})([\[\]])")
_TOKEN = re.compile(r"\\(?:begin|end)\{[^{}]*\}|\\text\{[^{}]*\}|\\[A-Za-z]+|\\.|[A-Za-z]+(?:'s)?|.", re.DOTALL)
_CONNECTIVES = frozenset(("and", "or"))
_PLAIN = {
    "pi": r"\pi ", "infinity": r"\infty ", "inf": r"\infty ", "sqrt": r"\sqrt ", "oo": r"\infty ", "theta": r"\theta ",
    "cup": r"\cup ", "alpha": r"\alpha ", "beta": r"\beta ", "lambda": r"\lambda ",
}  # fmt: skip
_WORDS = frozenset(
    ("yes", "no", "odd", "all", "non", "none", "the", "is", "mod", "not", "any", "pm", "am", "per", "sq", "to")
)
_THOUSANDS_MARKED = re.compile(r"(?<=\d)(?:\{,\}|,\\!|\\,|\\ |,\\,|\\:|\\;)[ ]?(?=\d{3}(?!\d))")
_THOUSANDS_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d])(?! \d)")
_REPEATED = re.compile(r"(?<![\d.])(\d{0,20}\.\d{0,20}?(\d)\2\2{1,20})(?:\.{3}|\\[lc]?dots(?![a-z])|…)")
_RATIO_WORD = re.compile(r"(?<=\d) ?\\text\{to\} ?(?=\d)")
_SYSTEM = re.compile(
    r"(?:\\\{ ?)?\\begin\{(cases|array|aligned|gathered)\}(?:\{[lcr| ]*\})?(.*)"
    r"\\end\{(?:cases|array|aligned|gathered)\}\.?",
    re.DOTALL,
)
_LIST_IN_TEXT = re.compile(r"\\text\{([^{}]*(?:,| and | or )[^{}]*)\}")
_DECIMAL_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d)")
_SCIENTIFIC = re.compile(r"(?<=\d) ?(?:[x*]|\\times) ?10 ?\^")
_EXPONENT = re.compile(r"(?<![A-Za-z\\])(\d+(?:\.\d*)?|\.\d+)[eE]([-+]?\d{1,9})(?![\w.])")
ROW = "\x01"  # between rows of a matrix
_IDLE_SPACE = re.compile(r"(?<=[{(\[^_=<>+*/-]) | (?=[})\]^_=<>+*/-])|(?<=[A-Za-z]) (?=[{(\[\\])")
_DEGREES = re.compile(r"\^ ?(?:\\circ(?![A-Za-z])|\{ ?(?:\\circ(?![A-Za-z])|\\degree(?![A-Za-z])) ?\})|\\deg(?![a-z])")


def normalised(text: str) -> str:
    """The answer in the spelling that `trinity.rewards.maths.forms` reads: one text for most ways to write the same."""
    text = _SQUARED_METRES.sub(r" \\text{\1}\2", text)
    text = _SUPERSCRIPT.sub(lambda match: f"^{{{match.group().translate(_SUPERSCRIPTS)}}}", text)
    text = _INFIX.sub(_prefix_command, _ROW_GAP.sub(r"\\\\", text))
    # Outside a matrix, two backslashes are one that somebody escaped.
    text = text.replace("\\\\", ROW if "\\begin{" in text else "\\").translate(_TRANSLATION)
    text = text.replace("\\$", r"\text{dollars}").replace(" !=", r"\ne ")
    text = _REPEATED.sub(r"\1\\overline{\2}", text)
    text = _DECIMAL_COMMA.sub(".", _THOUSANDS_MARKED.sub("", text))
    text = _DROPPED.sub(" ", _DELIMITER.sub(" ", text.replace("\\,", " ").replace("\\!", "")))
    for _ in range(4):  # wrappers in wrappers; deeper ones stay and are read as unknown commands
        text, found = _WRAPPED.subn(_unwrapped, text)
        if not found:
            break
    text = "".join(map(_spelled, _TOKEN.findall(text)))
    text = _DEGREES.sub(r"\\degree ", text)
    text = _EXPONENT.sub(r"\1\\times 10^{\2}", _SCIENTIFIC.sub(r"\\times 10^", text.replace("**", "^")))
    text = _TEMPERATURE.sub(r"\\text{deg\1}", _IDLE_SPACE.sub("", " ".join(text.split())))
    text = _THOUSANDS_SPACED.sub(lambda match: match.group().replace(" ", ""), text)
    text = _TURNED.sub(_round_brackets, _RATIO_WORD.sub(":", text))
    system, listed = _SYSTEM.fullmatch(text), _LIST_IN_TEXT.fullmatch(text)
    if system and (system.group(1) != "array" or "=" in system.group(2)):
        text = system.group(2).strip(ROW + " ").replace(ROW, ", ").replace("&", "")
    if listed:
        return normalised(listed.group(1))
    text = text.rstrip(" .,;:?\"'`*").lstrip(" ,;:\"'`*")
    return _ABBREVIATED.get(text) or without_number_words(text)


def _prefix_command(match: re.Match[str]) -> str:
    command = "frac" if match[2] == "over" else "binom"
    return f"\\{command}{{{match[1].strip()}}}{{{match[3].strip()}}}"


def _round_brackets(match: re.Match[str]) -> str:
    if match[1] == "[" and match[3] == "]":
        return match.group()
    return ("(" if match[1] == "]" else "[") + match[2] + (")" if match[3] == "[" else "]")


def _unwrapped(match: re.Match[str]) -> str:
    content, before = " ".join(match.group(1).split()), match.string[: match.start()][-4:].rstrip()
    if "\\boxed" in match.group()[:8] or "\\fbox" in match.group()[:8]:
        return f" {content} "
    if match.group().startswith("\\mathbb"):
        return r"\reals " if content == "R" else f"\\text{{set of {content}}}"
    if content in {"infinity", "pi"}:
        return _PLAIN[content]
    if before[-1:].isalnum() or before[-1:] == "}":
        unit = re.sub(r"\^\{(-?\d)\}", r"^\1", content.replace("\\cdot", " "))
        if is_unit(unit):
            return f"\\text{{{unit}}}"
    number = _LABELLED_NUMBER.fullmatch(content)
    if number and (not number[2] or is_unit(number[2]) or not _NO_UNIT.match(number[2])):
        return f" {number[1]} " + (f"\\text{{{number[2]}}}" if number[2] else "")
    if not re.search(r"[A-Za-z]{2}|[A-Za-z]\.", content):
        return f" {content} "
    return f"\\text{{{content}}}" if "\\" not in content else f" {content} "


def _spelled(token: str) -> str:
    """One token: synonyms of commands, and plain words as commands or as text."""
    if token[0] == "\\" and len(token) > 1 and token[1].isalpha():
        if token.startswith(("\\text{", "\\begin", "\\end")):
            return token.replace("\\text{ ", "\\text{")
        synonym = _SYNONYMS.get(token[1:], token[1:])
        return f" {synonym} " if synonym in _BARE else f"\\{synonym}" + (" " if synonym[-1].isalpha() else "")
    if len(token) < 2 or not token[0].isalpha():
        return token
    lower = token.lower()
    if lower in _PLAIN:
        return _PLAIN[lower]
    if lower in FUNCTIONS:
        return f"\\{lower} "
    known = token in UNITS or lower in UNITS or (len(token) == 3 and is_unit(token))
    if known or lower in _CONNECTIVES or lower in _WORDS or len(token) >= 4:
        return f"\\text{{{token}}}"
    return token
