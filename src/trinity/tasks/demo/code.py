"""Domains of demo_code: strings and lists (a function is called), numbers (a script reads and prints)."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from trinity.tasks.demo.question import Question, between, near, pick

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def strings(draw: np.random.Generator) -> Question:
    """Replace one letter of a string by another and change the string as a whole."""
    old, new, other = (LETTERS[int(index)] for index in draw.permutation(len(LETTERS))[:3])
    change, expression = pick(
        draw,
        [
            ("in upper case", "{}.upper()"),
            ("reversed", "{}[::-1]"),
            ("with its first character dropped", "{}[1:]"),
            ("repeated twice", "{} * 2"),
        ],
    )
    text = pick(
        draw,
        [
            f"Write a Python function solve(text) that replaces every character '{old}' of the string "
            f"by '{new}' and returns the string {change}.",
            f"Define solve(text) in Python: substitute the character '{new}' for each '{old}' in the string, "
            f"then return the string {change}.",
        ],
    )
    inputs = ["".join(pick(draw, LETTERS) for _ in range(5)) + old + other + old for _ in range(2)]

    def program(replaced: str) -> str:
        result = expression.format(f"text.replace('{replaced}', '{new}')")
        return f"def solve(text):\n    return {result}"

    outputs = [_change(change, word.replace(old, new)) for word in inputs]
    return _question(
        f"{old} {new} {change}",
        text,
        "solve",
        _calls(inputs, outputs),
        program(old),
        program(other),
        "string character",
    )


def lists(draw: np.random.Generator) -> Question:
    """Keep the elements of a list above a bound, multiply them, and order or fold them."""
    bound, factor = between(draw, 2, 30), between(draw, 2, 12)
    finish, function = pick(
        draw,
        [("sorted ascending", "sorted"), ("as their sum", "sum"), ("in their order", "list"), ("as a maximum", "max")],
    )
    text = pick(
        draw,
        [
            f"Write a Python function solve(values) that keeps the list elements greater than {bound}, "
            f"multiplies each element by {factor}, and returns them {finish}.",
            f"Define solve(values) in Python: filter the list for elements greater than {bound}, "
            f"multiply each by {factor}, and return the elements {finish}.",
        ],
    )
    inputs = [[between(draw, 0, 40) for _ in range(4)] + [bound + 1, bound] for _ in range(2)]

    def program(multiplier: int) -> str:
        return f"def solve(values):\n    return {function}([v * {multiplier} for v in values if v > {bound}])"

    outputs = [_finish(function, [value * factor for value in values if value > bound]) for values in inputs]
    wrong = program(near(draw, factor, 2))
    return _question(
        f"{bound} {factor} {finish}", text, "solve", _calls(inputs, outputs), program(factor), wrong, "list elements"
    )


def numbers(draw: np.random.Generator) -> Question:
    """Read an integer, print a sum or a count over the integers up to it."""
    divisor, rest, kind = between(draw, 3, 30), between(draw, 1, 2), pick(draw, ["sum", "count"])
    least = between(draw, 0, 9)
    text = pick(
        draw,
        [
            f"Read an integer n from standard input and print the {kind} of all integers from {least} to n "
            f"whose remainder modulo {divisor} is {rest}.",
            f"Standard input holds one integer n. Print the {kind} of the integers from {least} through n "
            f"that leave remainder {rest} modulo {divisor}.",
        ],
    )
    term = "i" if kind == "sum" else "1"

    def program(modulus: int) -> str:
        return f"n = int(input())\nprint(sum({term} for i in range({least}, n + 1) if i % {modulus} == {rest}))"

    tests = []
    for _ in range(2):
        # From 2000 on, a count differs too when the divisor is another.
        n = between(draw, 2000, 4000)
        found = [i for i in range(least, n + 1) if i % divisor == rest]
        tests.append({"input": f"{n}\n", "output": f"{sum(found) if kind == 'sum' else len(found)}\n"})
    wrong = program(near(draw, divisor, 2, least=3))
    return _question(
        f"{divisor} {rest} {kind} {least}", text, None, tests, program(divisor), wrong, "integer remainder"
    )


def _change(change: str, text: str) -> str:
    return {
        "in upper case": text.upper(),
        "reversed": text[::-1],
        "with its first character dropped": text[1:],
        "repeated twice": text * 2,
    }[change]


def _finish(function: str, values: list[int]) -> list[int] | int:
    if function in {"sum", "max"}:
        return sum(values) if function == "sum" else max(values)
    return sorted(values) if function == "sorted" else values


def _calls(inputs: Sequence[Any], outputs: Sequence[Any]) -> list[dict[str, str]]:
    return [{"input": json.dumps(i), "output": json.dumps(o)} for i, o in zip(inputs, outputs, strict=True)]


def _question(
    key: str, text: str, function: str | None, tests: list[dict[str, str]], right: str, wrong: str, subject: str
) -> Question:
    comment = f"This program handles the {subject} as asked:"
    return Question(
        key=key,
        text=f"{text} Answer with one fenced program.",
        reference={"function": function, "tests": tests},
        right=f"{comment}\n```python\n{right}\n```",
        wrong=f"{comment}\n```python\n{wrong}\n```",
        malformed=f"{comment}\n```python\n```",
    )
