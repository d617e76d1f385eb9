r"""Units behind a number: which dimension they measure, and how large they are.

Answers with units of different dimensions differ, those of one dimension are converted; a unit on one side alone, or
one that is not in the table, says nothing ("125 miles" answers 125).
"""

import re
from dataclasses import dataclass
from fractions import Fraction

_TABLE: dict[str, tuple[dict[str, int], Fraction]] = {}
# What a unit measures as powers of length, mass, time and so on, its names, and its size in m, g, s, A.
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
    ("length3", "l L litre litres liter liters", Fraction(1, 1000)),
    ("length3", "ml mL millilitre millilitres milliliter milliliters", Fraction(1, 1000000)),
    ("length3", "gallon gallons gal", Fraction(3785411784, 1000000000000)),
    ("length2", "acre acres", Fraction(40468564224, 10000000)),
    ("angle", "degree degrees deg", 1),
    ("radians", "radian radians rad", 1),
    ("current", "A amp amps ampere amperes", 1),
    ("mass length2 time-3 current-1", "V volt volts", 1000),
    ("mass length2 time-3 current-2", "ohm ohms Ω Ω", 1000),
    ("mass-1 length-2 time4 current2", "F farad farads", Fraction(1, 1000)),
    ("mass time-2 current-1", "T tesla teslas", 1000),
    ("current time", "C coulomb coulombs", 1),
    ("mass length2 time-3", "W watt watts", 1000),
    ("mass length2 time-2", "J joule joules", 1000),
    ("mass length2 time-2", "eV electronvolt electronvolts", Fraction(1602176634, 10**25)),
    ("mass length-1 time-2", "Pa pascal pascals", 1000),
    ("mass length time-2", "N newton newtons", 1000),
    ("temperature", "K kelvin kelvins", 1),
    ("celsius", "degC celsius", 1),
    ("fahrenheit", "degF fahrenheit", 1),
    ("time-1", "Hz hertz", 1),
    ("amount", "mol mole moles", 1),
    ("amount length-3", "M molar", 1000),
    ("count", "thousand", 1000),
    ("count", "million", 10**6),
    ("count", "billion", 10**9),
    ("count", "trillion", 10**12),
    ("percent", "percent percentage pct", 1),
    ("", "pounds pound unit units point points square sq cubic", 1),
)
for _dimensions, _names, _size in _ROWS:
    _powers = {
        part.rstrip("-1234"): int(part.lstrip("abcdefghijklmnopqrstuvwxyz") or 1) for part in _dimensions.split()
    }
    for _name in _names.split():
        _TABLE[_name] = (_powers, Fraction(_size))
_PREFIXES = {
    "p": Fraction(1, 10**12), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "µ": Fraction(1, 10**6),
    "μ": Fraction(1, 10**6), "m": Fraction(1, 1000), "c": Fraction(1, 100), "d": Fraction(1, 10), "h": Fraction(100),
    "k": Fraction(1000), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "nano": Fraction(1, 10**9), "micro": Fraction(1, 10**6), "milli": Fraction(1, 1000), "kilo": Fraction(1000),
    "mega": Fraction(10**6), "giga": Fraction(10**9),
}  # fmt: skip
_PREFIXED = re.compile(rf"({'|'.join(sorted(_PREFIXES, key=len, reverse=True))})(\S+)")
_WITH_PREFIX = frozenset(
    ["m", "g", "s", "A", "V", "Ω", "Ω", "F", "T", "C", "W", "J", "eV", "Pa", "N", "K", "Hz", "mol", "M", "L", "l"]
)
_ALIASES = {"mph": "mile/hour", "kph": "km/h", "kmh": "km/h", "kmph": "km/h", "mps": "m/s"}
UNITS = frozenset((*_TABLE, *_ALIASES))

_TRAILING = re.compile(
    r"((?:[ ]?(?:/[ ]?|\\cdot[ ]?)?"
    r"(?:\\text\{[^{}]*\}(?:[ ]?\^[ ]?(?:\{[ ]?-?\d[ ]?\}|\d))?|\\%|%|\\degree|[()](?=\\text)))+)[ ]?\)?$"
)
_QUANTITIES = re.compile(r"(\d{1,40}(?:\.\d{1,40})?) ?(\\text\{[^{}]*\})")
_LEADING = re.compile(r"^(?:\\text\{[^{}]*\}[ ]?:?[ ]?)+|^[:=][ ]?")
_PART = re.compile(r"\\degree|\\?%|[A-Za-zµμΩΩ.]+|\^[ ]?\{?[ ]?(-?\d)|/|[^ {}()*]")
_TEMPERATURE = re.compile(r"(?:\\degree|\bdeg(?:ree)?s?\b|°)[ {}]*(C|F)(?:elsius|ahrenheit)?\b", re.IGNORECASE)
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


def is_unit(text: str) -> bool:
    """Whether a text is a unit that is known, or a product of such (`km`, `kg m/s^2`)."""
    return _parsed(text) is not None


def _named(name: str) -> tuple[dict[str, int], Fraction] | None:
    """What the table or a prefix before a unit of the table says about a name; case matters where both are units."""
    if name in _TABLE:
        return _TABLE[name]
    prefixed = _PREFIXED.fullmatch(name)
    if prefixed and (prefixed[2] in _WITH_PREFIX or (len(prefixed[1]) > 1 and prefixed[2] in _TABLE)):
        dimensions, size = _TABLE[prefixed[2]]
        return dimensions, size * _PREFIXES[prefixed[1]]
    return _TABLE.get(name.lower().rstrip("."))


def _parsed(text: str) -> Unit | None:
    """The unit that a text names: powers count for the unit before them, a slash for all that follow it."""
    plain = _TEMPERATURE.sub(r" deg\1 ", text.replace("\\text", " ").replace("\\cdot", " ").replace("·", " "))
    plain = re.sub(r"[A-Za-z]{3,4}", lambda match: _ALIASES.get(match.group().lower(), match.group()), plain)
    units: list[tuple[dict[str, int], Fraction, int]] = []
    sign, ahead = 1, 1
    for match in _PART.finditer(plain):
        part = match.group()
        if part in {"/", "per"}:
            sign = -1
        elif part[0] == "^" or part in _POWERS_BEHIND:
            if not units or (part[0] == "^" and not match[1]):
                return None
            dimensions, size, exponent = units.pop()
            units.append((dimensions, size, exponent * (_POWERS_BEHIND.get(part) or int(match[1]))))
        elif part in _POWERS:
            ahead = _POWERS[part]
        else:
            found = _named({"%": "percent", "\\%": "percent", "\\degree": "degree"}.get(part, part))
            if found is None or not found[0]:
                return None
            units.append((*found, sign * ahead))
            ahead = 1
    powers: dict[str, int] = {}
    total = Fraction(1)
    if any(abs(exponent) > 9 for _, _, exponent in units):
        return None
    for dimensions, size, exponent in units:
        total *= size**exponent
        for name, power in dimensions.items():
            powers[name] = powers.get(name, 0) + power * exponent
    known = tuple(sorted((name, power) for name, power in powers.items() if power))
    return Unit(known, total) if known else None
