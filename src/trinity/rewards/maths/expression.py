r"""Reads a normalised LaTeX expression as a sympy value, exactly: decimals are fractions, nothing is rounded.

math-verify's parser leaves out what it cannot read and rounds; this one refuses instead. It reads what answers are made
of: numbers, symbols, fractions, roots, powers, functions, factorials, binomials, absolute values, floors, matrices,
repeating decimals, mixed numbers and implicit products. Imported in the child process alone.
"""

import re
from collections.abc import Callable

import sympy
from sympy import Expr, Rational, Symbol

from trinity.rewards.maths.latex import ROW

LARGEST_BITS = 200_000
LARGEST_FACTORIAL = 5_000
_TOKENS = re.compile(
    r"\s*(\d+(?:\.\d*)?|\.\d+|\\(?:begin|end)\{\w+\*?\}(?:\{[^{}]*\})?|\\text\{[^{}]*\}|\\[A-Za-z]+|\\.|[A-Za-z]|\S)"
)
_FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "cot": sympy.cot, "sec": sympy.sec, "csc": sympy.csc,
    "arcsin": sympy.asin, "arccos": sympy.acos, "arctan": sympy.atan, "arccot": sympy.acot, "sinh": sympy.sinh,
    "cosh": sympy.cosh, "tanh": sympy.tanh, "coth": sympy.coth, "log": sympy.log, "ln": sympy.log, "exp": sympy.exp,
    "lg": sympy.log,
}  # fmt: skip
_INVERSES = {"sin": sympy.asin, "cos": sympy.acos, "tan": sympy.atan, "cot": sympy.acot, "sec": sympy.asec}
_CONSTANTS = {"\\pi": sympy.pi, "e": sympy.E, "i": sympy.I, "\\infty": sympy.oo, "\\imath": sympy.I}
_GREEK = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Sigma", "Phi",
    "Psi", "Omega", "ell",
))  # fmt: skip
_GROUPS = {"(": ")", "[": "]", "{": "}", "\\{": "\\}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
_PRODUCT_SIGNS = {"*": 1, "\\cdot": 1, "\\times": 1, "/": -1, "\\div": -1}
_STARTS = frozenset(
    ("\\frac", "\\sqrt", "\\binom", "\\overline", "\\lfloor", "\\lceil", "(", "[", "{", "\\infty", "\\pi")
)


_BEFORE_MIXED = frozenset(("+", "-", "(", "{", "[", "|", "\\times", "\\cdot"))


class Unreadable(Exception):
    """The text is no expression that this parser knows."""


class TooLarge(Unreadable):
    """A power or factorial that nobody would write out."""


def read_expression(text: str) -> sympy.Basic:
    """The value of a normalised expression; a number, an expression of symbols, or a matrix.

    Raises:
        Unreadable: it is not one, or it is nested too deep.
    """
    try:
        reader = _Reader(_TOKENS.findall(text))
        value = reader.sum()
        if reader.position != len(reader.tokens):
            raise Unreadable(text)
        return value
    except (RecursionError, ValueError, TypeError, AttributeError, ZeroDivisionError, sympy.ShapeError) as error:
        raise Unreadable(text) from error


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.position = 0
        self._bars = 0

    @property
    def _next(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._next
        self.position += 1
        return token

    def _expect(self, token: str) -> None:
        if self._take() != token:
            raise Unreadable(f"no {token}")

    def sum(self) -> Expr:
        """Terms with signs between."""
        value = self._term()
        while self._next in {"+", "-"}:
            value = value + self._term() if self._take() == "+" else value - self._term()
        return value

    def _term(self) -> Expr:
        sign = 1
        while self._next in {"+", "-"}:
            sign = -sign if self._take() == "-" else sign
        value = self._factor()
        while True:
            if self._next in _PRODUCT_SIGNS:
                direction = _PRODUCT_SIGNS[self._take()]
                negative = self._next == "-"
                self.position += negative
                factor = -self._factor() if negative else self._factor()
                value = value * factor if direction == 1 else value / factor
            elif self._starts_factor():
                if self._next[0].isdigit() or self._next[0] == ".":
                    raise Unreadable("a number behind a factor")
                value = value * self._factor()
            else:
                return sign * value

    def _starts_factor(self) -> bool:
        token = self._next
        return bool(token) and (
            token in _STARTS
            or token[0].isalnum()
            or token[0] == "."
            or (token == "|" and not self._bars)
            or (token[0] == "\\" and (token[1:] in _GREEK or token[1:] in _FUNCTIONS or token in _CONSTANTS))
            or token.startswith("\\begin")
        )

    def _factor(self) -> Expr:
        value = self._postfixed()
        return _power(value, self._exponent()) if self._next == "^" else value

    def _exponent(self) -> Expr:
        self._expect("^")
        sign = 1
        while self._next in {"+", "-"}:
            sign = -sign if self._take() == "-" else sign
        value = self._postfixed()
        return sign * (_power(value, self._exponent()) if self._next == "^" else value)

    def _postfixed(self) -> Expr:
        value = self._primary()
        while self._next == "!":
            self._take()
            if not (value.is_Integer and 0 <= value <= LARGEST_FACTORIAL) and not value.free_symbols:
                raise TooLarge("factorial")
            value = sympy.factorial(value)
        return value

    def _primary(self) -> Expr:
        token = self._take()
        if token and (token[0].isdigit() or token[0] == "."):
            return self._number(token)
        if token in _GROUPS:
            value = self.sum()
            self._expect(_GROUPS[token])
            return {"\\lfloor": sympy.floor, "\\lceil": sympy.ceiling}.get(token, lambda inner: inner)(value)
        if token == "|":
            self._bars += 1
            value = self.sum()
            self._expect("|")
            self._bars -= 1
            return sympy.Abs(value)
        if token in _CONSTANTS and self._next != "_":
            return _CONSTANTS[token]
        if (len(token) == 1 and token.isalpha()) or token[1:] in _GREEK:
            return self._symbol(token)
        if token[1:] in _FUNCTIONS and token[0] == "\\":
            return self._function(token[1:])
        if token == "\\frac":
            numerator = self._argument()
            return numerator / self._argument()
        if token == "\\binom":
            upper = self._argument()
            lower = self._argument()
            if upper.is_Integer and abs(upper) > LARGEST_FACTORIAL:
                raise TooLarge("binomial")
            return sympy.binomial(upper, lower)
        if token == "\\sqrt":
            return self._root()
        if (token.startswith("\\begin{") and "matrix" in token) or token.startswith("\\begin{array"):
            return self._matrix().det() if "vmatrix" in token else self._matrix()
        raise Unreadable(token or "the end")

    def _number(self, token: str) -> Expr:
        digits = token + "0" if token.endswith(".") else token
        value = Rational(digits)
        if self._next in {"\\overline", "\\bar", "\\dot"}:
            self._take()
            cycle = "".join(self._braced())
            if "." not in token or not cycle.isdigit():
                raise Unreadable("a bar over something else")
            places = len(token.partition(".")[2])
            return value + Rational(int(cycle), (10 ** len(cycle) - 1) * 10**places)
        return value + self._proper_fraction() if token.isdigit() else value

    def _proper_fraction(self) -> Expr:
        r"""The fraction of a mixed number, `1\frac{2}{3}` or `1 2/3`; 0 where none follows, or no proper one."""
        start = self.position
        if self._next == "\\frac" and (start < 2 or self.tokens[start - 2] in _BEFORE_MIXED):
            self._take()
            parts = [self._braced() for _ in range(2)]
            if all(len(part) == 1 and part[0].isdigit() for part in parts) and self._next != "^":
                numerator, denominator = (int(part[0]) for part in parts)
                if 0 < numerator < denominator:
                    return Rational(numerator, denominator)
        elif re.fullmatch(r"\d{1,9} \d{1,9} / \d{1,9}", " ".join(self.tokens[start - 1 : start + 3])):
            numerator, denominator = int(self.tokens[start]), int(self.tokens[start + 2])
            self.position += 3
            if 0 < numerator < denominator:
                return Rational(numerator, denominator)
        self.position = start
        return sympy.S.Zero

    def _braced(self) -> list[str]:
        """The tokens of one argument without its braces: a balanced group, or one digit, letter or command."""
        if self._next != "{":
            self._first_digit_alone()
            return [self._take()]
        depth, start = 0, self.position + 1
        while self.position < len(self.tokens):
            depth += {"{": 1, "}": -1}.get(self._take(), 0)
            if depth == 0:
                return self.tokens[start : self.position - 1]
        raise Unreadable("no }")

    def _first_digit_alone(self) -> None:
        token = self._next
        if len(token) > 1 and token.isdigit():
            self.tokens[self.position : self.position + 1] = [token[0], token[1:]]

    def _argument(self) -> Expr:
        self._first_digit_alone()
        return self._primary()

    def _root(self) -> Expr:
        degree: Expr = sympy.Integer(2)
        if self._next == "[":
            self._take()
            degree = self.sum()
            self._expect("]")
        return _power(self._primary(), 1 / degree)

    def _symbol(self, token: str) -> Expr:
        name = token
        if self._next == "_":
            self._take()
            name += "_" + "".join(self._braced())
        while self._next == "'":
            name += self._take()
        return Symbol(name, real=True)

    def _function(self, name: str) -> Expr:
        function, base = _FUNCTIONS[name], None
        if self._next == "_" and name in {"log", "lg"}:
            self._take()
            base = self._argument()
        exponent = self._exponent() if self._next == "^" else None
        if exponent == -1 and name in _INVERSES:
            function, exponent = _INVERSES[name], None
        value = self._operand()
        result = function(value) if base is None else sympy.log(value) / sympy.log(base)
        return result if exponent is None else result**exponent

    def _operand(self) -> Expr:
        """What a function is applied to: a group, or the product of what follows up to the next function."""
        if self._next in {"(", "[", "{", "|"}:
            return self._primary()
        if self._next[1:] in _FUNCTIONS:
            return self._primary()
        value = self._factor()
        while self._starts_factor() and self._next[1:] not in _FUNCTIONS and self._next not in {"(", "["}:
            value = value * self._factor()
        return value

    def _matrix(self) -> Expr:
        rows: list[list[Expr]] = [[]]
        while not self._next.startswith("\\end"):
            rows[-1].append(self.sum())
            separator = self._next
            if separator not in {"&", ROW} and not separator.startswith("\\end"):
                raise Unreadable(separator)
            if separator in {"&", ROW}:
                self._take()
            if separator == ROW and not self._next.startswith("\\end"):
                rows.append([])
        self._take()
        return sympy.Matrix(rows)


def _power(base: Expr, exponent: Expr) -> Expr:
    if base.is_Rational and exponent.is_Rational:
        bits = max(abs(base.p).bit_length(), base.q.bit_length()) * abs(exponent)
        if bits > LARGEST_BITS and abs(base) != 1 and base != 0:
            raise TooLarge("power")
    return base**exponent
