r"""Units behind a number: which dimension they measure, and how large they are.

Answers with units of different dimensions differ, those of one dimension are converted; a unit on one side alone, or
one that is not in the table, says nothing ("125 miles" answers 125).
"""

import re
from dataclasses import dataclass
from fractions import Fraction

_TABLE: dict[str, tuple[str, str, Fraction]] = {}
_ROWS = (
    ("length", "m metre metres meter meters", 1),
    ("length", "km kilometre kilometres kilometer kilometers kms", 1000),
    ("length", "cm centimetre centimetres centimeter centimeters cms", Fraction(1, 100)),
    ("length", "mm millimetre millimetres millimeter millimeters", Fraction(1, 1000)),
    ("length", "inch inches in.", Fraction(254, 10000)),
    ("length", "foot feet ft", Fraction(3048, 10000)),
    ("length", "yard yards yd yds", Fraction(9144, 10000)),
    ("length", "mile miles mi", Fraction(1609344, 1000)),
    ("mass", "g gram grams", 1),
    ("mass", "kg kilogram kilograms kgs", 1000),
    ("mass", "mg milligram milligrams", Fraction(1, 1000)),
    ("mass", "ton tons tonne tonnes", 1_000_000),
    ("mass", "lb lbs", Fraction(45359237, 100000)),
    ("mass", "ounce ounces oz", Fraction(45359237, 1600000)),
    ("time", "s second seconds sec secs", 1),
    ("time", "minute minutes min mins", 60),
    ("time", "h hour hours hr hrs", 3600),
    ("time", "day days", 86400),
    ("time", "week weeks", 604800),
    ("years", "year years yr yrs", 12),
    ("years", "month months", 1),
    ("money", "dollar dollars usd", 1),
    ("money", "cent cents", Fraction(1, 100)),
    ("euros", "euro euros eur", 1),
    ("volume", "l L litre litres liter liters", 1),
    ("volume", "ml mL millilitre millilitres milliliter milliliters", Fraction(1, 1000)),
    ("volume", "gallon gallons gal", Fraction(3785411784, 1000000000)),
    ("angle", "degree degrees deg", 1),
    ("area", "acre acres", 1),
    ("current", "A amp amps ampere amperes", 1),
    ("voltage", "V volt volts", 1),
    ("power", "W watt watts", 1),
    ("power", "kW kilowatt kilowatts", 1000),
    ("energy", "J joule joules", 1),
    ("energy", "kJ kilojoule kilojoules", 1000),
    ("force", "N newton newtons", 1),
    ("temperature", "K kelvin kelvins", 1),
    ("frequency", "Hz hertz", 1),
    ("amount", "mol mole moles", 1),
    ("percent", "percent percentage pct", 1),
    ("", "pounds pound unit units point points square sq cubic", 1),
)
for _dimension, _names, _size in _ROWS:
    for _name in _names.split():
        _TABLE[_name] = (_dimension, _name, Fraction(_size))
UNITS = frozenset(_TABLE)

_TRAILING = re.compile(
    r"((?:[ ]?(?:/[ ]?|\\cdot[ ]?)?"
    r"(?:\\text\{[^{}]*\}(?:[ ]?\^[ ]?(?:\{[ ]?-?\d[ ]?\}|\d))?|\\%|%|\\degree|[()](?=\\text)))+)[ ]?\)?$"
)
_QUANTITIES = re.compile(r"(\d{1,40}(?:\.\d{1,40})?) ?(\\text\{[^{}]*\})")
_LEADING = re.compile(r"^(?:\\text\{[^{}]*\}[ ]?:?[ ]?)+|^[:=][ ]?")
_PART = re.compile(r"\\degree|\\?%|[A-Za-z.]+|\^[ ]?\{?[ ]?(-?\d)|/")
_POWERS = {"square": 2, "sq": 2, "cubic": 3}
_POWERS_BEHIND = {"squared": 2, "cubed": 3}


@dataclass(frozen=True)
class Unit:
    """A product of powers of dimensions, and the size of one unit."""

    dimensions: tuple[tuple[str, int], ...]
    size: Fraction

    @property
    def percent(self) -> bool:
        """Whether it is the percent sign."""
        return self.dimensions == (("percent", 1),)


def split_unit(text: str) -> tuple[str, Unit | None]:
    """The number or expression, and the unit before or behind it; None where there is none or it is not known."""
    trailing = _TRAILING.search(text[-400:])
    cut = len(text) - len(trailing.group()) if trailing else len(text)
    body = text[:cut].strip()
    leading = _LEADING.match(body)
    if leading:
        body = body[leading.end() :].strip()
    if not body:
        return text, None
    behind = trailing.group(1) if trailing else ""
    money = leading.group() if leading and "\\text{dollars}" in leading.group() else ""
    return body, _parsed(behind) or _parsed(money)


def summed(text: str) -> tuple[str, Unit] | None:
    r"""The sum of quantities of one dimension side by side (`8\text{hours} 30\text{minutes}`), in units of size 1."""
    parts = _QUANTITIES.findall(text)
    if len(parts) < 2 or _QUANTITIES.sub("", text).strip():
        return None
    units = [unit for _, name in parts if (unit := _parsed(name)) is not None]
    if len(units) < len(parts) or len({unit.dimensions for unit in units}) > 1:
        return None
    total = sum(Fraction(number) * unit.size for (number, _), unit in zip(parts, units, strict=True))
    return str(total), Unit(units[0].dimensions, Fraction(1))


def _parsed(text: str) -> Unit | None:
    powers: dict[str, int] = {}
    size, sign, ahead, last = Fraction(1), 1, 1, ""
    exponent_of_last = 1
    for match in _PART.finditer(text.replace("\\text", " ").replace("\\cdot", " ")):
        part = match.group()
        if part in {"/", "per"}:
            sign = -1
        elif part[0] == "^" or part in _POWERS_BEHIND:
            exponent = _POWERS_BEHIND.get(part) or int(match.group(1))
            if not last:
                return None
            dimension, _, unit_size = _TABLE[last]
            powers[dimension] += exponent_of_last * (exponent - 1)
            size *= unit_size ** (exponent_of_last * (exponent - 1))
        elif part in _POWERS:
            ahead = _POWERS[part]
        else:
            name = {"%": "percent", "\\%": "percent", "\\degree": "degree"}.get(part, part)
            name = name if name in _TABLE else name.lower().rstrip(".")
            if name not in _TABLE or not _TABLE[name][0]:
                return None
            dimension, last, unit_size = _TABLE[name]
            exponent_of_last = sign * ahead
            powers[dimension] = powers.get(dimension, 0) + exponent_of_last
            size *= unit_size**exponent_of_last
            ahead = 1
    known = tuple(sorted((name, power) for name, power in powers.items() if power))
    return Unit(known, size) if known else None
