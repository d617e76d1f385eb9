"""Compares two answers inside a fork; started by `trinity.rewards.maths.reward`."""

import logging
from collections.abc import Mapping
from typing import Any

from math_verify import parse, verify

from trinity.rewards.forked import begin, finish, serve
from trinity.rewards.maths.equality import equal_answers

# Comparing these before the first fork loads what sympy loads late: a comparison then takes a fraction of the time.
WARM_UP = (
    ("1/2", "0.5"), ("(x+1)^2", "x^2+2x+1"), ("(1, 2)", "(1, 3)"), ("\\sqrt{2}", "\\frac{2}{\\sqrt 2}"),
    ("x < 3", "(-\\infty, 3)"), ("2x + y = 1", "y = 1 - 2x"), ("\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}", "(1, 2)"),
    ("1 - \\frac{1}{e}", "1 + \\frac{1}{e}"), ("(0, 1) \\cup (2, 3)", "x > 0"), ("\\sin x", "\\cos x"),
)  # fmt: skip


def compare(task: Mapping[str, Any]) -> None:
    """The result is `equal` or `different`."""
    begin()
    same = equal_answers if task["mode"] == "robust" else officially_equal
    finish(b"equal" if same(task["gold"], task["answer"]) else b"different")


def officially_equal(gold: str, response: str) -> bool:
    """math-verify's verdict on a whole reply, with its own extraction; not symmetric."""
    expected, given = parse(f"${gold}$", parsing_timeout=None), parse(response, parsing_timeout=None)
    return bool(verify(expected, given, timeout_seconds=None))


if __name__ == "__main__":
    logging.disable()  # it warns that its own time limits are off: the fork's limits also hold inside C code
    for pair in WARM_UP:
        equal_answers(*pair)
        officially_equal(*pair)
    serve(compare)
