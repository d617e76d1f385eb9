"""Whether two sympy values are equal: exactly for rational numbers, else to hundreds of digits."""

import sympy

DIGITS = 15
MOST_DIGITS = 250
# Where two expressions of symbols are compared: numbers that no identity of a wrong answer happens to hold for.
_POINTS = (
    ("17/13", "29/31", "41/23", "5/19", "59/37", "61/43"),
    ("2/7", "47/11", "13/3", "53/29", "7/5", "83/89"),
    ("-11/17", "23/5", "-3/41", "19/2", "-67/31", "9/7"),
    ("127/101", "-8/9", "31/6", "-97/53", "12/5", "-2/3"),
    ("-101/8", "-55/13", "-7/29", "-37/3", "-5/43", "-71/19"),
)
MOST_SYMBOLS = len(_POINTS[0])


def same_value(left: sympy.Basic, right: sympy.Basic) -> bool:
    """Whether two numbers, expressions of real symbols, or matrices are equal.

    Expressions are compared at points where both are real: an identity holds at all of them, another equation at
    hardly any.
    """
    if isinstance(left, sympy.MatrixBase) or isinstance(right, sympy.MatrixBase):
        return (
            isinstance(left, sympy.MatrixBase)
            and isinstance(right, sympy.MatrixBase)
            and left.shape == right.shape
            and all(same_value(a, b) for a, b in zip(left, right, strict=True))
        )
    if left.is_Rational and right.is_Rational:
        return bool(left == right)
    unbounded = (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan)
    if left.has(*unbounded) or right.has(*unbounded):
        return bool(left == right) and not left.has(sympy.nan, sympy.zoo)
    if left == right:
        return True
    symbols = sorted(left.free_symbols | right.free_symbols, key=str)
    if not symbols:
        return _is_zero(left - right)
    return len(symbols) <= MOST_SYMBOLS and _same_at_points(left, right, symbols)


def _same_at_points(left: sympy.Expr, right: sympy.Expr, symbols: list[sympy.Basic]) -> bool:
    compared = 0
    for point in _POINTS:
        at = dict(zip(symbols, map(sympy.Rational, point), strict=False))
        first, second = left.subs(at), right.subs(at)
        if _is_real(first) and _is_real(second):
            if not _is_zero(first - second):
                return False
            compared += 1
    return compared >= 2 or bool(sympy.simplify(left - right) == 0)


def _is_real(value: sympy.Expr) -> bool:
    if value.is_real is not None:
        return bool(value.is_real)
    return not value.has(sympy.zoo, sympy.nan) and _is_zero(sympy.im(value))


def _is_zero(value: sympy.Expr) -> bool:
    """Whether a number is 0 as far as `MOST_DIGITS` digits tell; sympy marks a result without any sure digit."""
    if value.is_Rational:
        return bool(value == 0)
    return all(
        part.is_Number and (part == 0 or part._prec == 1)
        for part in value.evalf(DIGITS, maxn=MOST_DIGITS).as_real_imag()
    )
