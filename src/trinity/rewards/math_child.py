"""Compares two answers symbolically inside a fork; started by `trinity.rewards.math`."""

import logging
from collections.abc import Mapping
from typing import Any

from math_verify import parse, verify

from trinity.rewards.forked import begin, finish, serve

# Comparing these before the first fork loads what sympy loads late: a comparison then takes a fraction of the time.
WARM_UP = (("1/2", "0.5"), ("(x+1)^2", "x^2+2x+1"), ("(1, 2)", "(1, 3)"), ("\\sqrt{2}", "\\frac{2}{\\sqrt 2}"))


def compare(task: Mapping[str, Any]) -> None:
    """The result is `equal` or `different`."""
    begin()
    finish(b"equal" if equal(task["gold"], task["answer"]) else b"different")


def equal(gold: str, answer: str) -> bool:
    """Whether math-verify takes the answer for the gold one; not symmetric."""
    expected, given = (parse(f"${text}$", parsing_timeout=None) for text in (gold, answer))
    return bool(verify(expected, given, timeout_seconds=None))


if __name__ == "__main__":
    logging.disable()  # it warns that its own time limits are off: the fork's limits also hold inside C code
    for pair in WARM_UP:
        equal(*pair)
    serve(compare)
