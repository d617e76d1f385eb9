"""LiveCodeBench's test cases, read from a row without trusting it.

Private tests come as JSON, or as base64 of zlib of a pickled text that holds JSON. Unpickling can run code, fill memory
and crash the interpreter, so nothing is unpickled here: the pickle's opcodes are read one by one, and any other than
those of a single text is refused. What is decompressed has a limit.
"""

import base64
import binascii
import json
import pickletools
import zlib
from typing import Any

from trinity.errors import DataError
from trinity.tasks.fields import Row, checked_text, mapping

MAX_BYTES = 256 << 20

_TEXTS = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"}
_AROUND_A_TEXT = {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"}


def read_tests(row: Row, where: str) -> dict[str, Any]:
    """Public, then private tests in the form that the code reward reads (official: `get_evaluation_sample`).

    Returns:
        `{"function": name or None, "tests": [{"input": text, "output": text}, ...]}`.

    Raises:
        DataError: a field is missing or damaged, the private tests hold anything but text or unpack to more than
            `MAX_BYTES`, or there is no test; names file, row and field.
    """
    tests = [
        *_cases(_json(_packed(row, "public_test_cases", where), f"{where}: public_test_cases"), where, "public"),
        *_cases(_private(_packed(row, "private_test_cases", where), f"{where}: private_test_cases"), where, "private"),
    ]
    if not tests:
        raise DataError(f"{where}: neither public_test_cases nor private_test_cases holds a test")
    metadata = {"metadata": _json(_packed(row, "metadata", where), f"{where}: metadata")}
    function = mapping(metadata, "metadata", where).get("func_name")
    if function is not None:
        if not isinstance(function, str) or not function.isidentifier():
            raise DataError(f"{where}: metadata: func_name must be the name of a function, got {function!r:.80}")
        _check_values(tests, where)
    return {"function": function, "tests": tests}


def text_of_pickle(data: bytes, where: str) -> str:
    """The one text that a pickle holds, without unpickling it.

    Raises:
        DataError: it holds anything else, or is damaged.
    """
    found: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _TEXTS and isinstance(argument, str) and not found:
                found.append(argument)
            elif opcode.name not in _AROUND_A_TEXT:
                raise DataError(f"{where}: a pickle with {opcode.name} where one text was expected: refused unread")
    except (ValueError, UnicodeError) as error:
        raise DataError(f"{where}: a damaged pickle: {error}") from None
    if not found:
        raise DataError(f"{where}: a pickle without a text")
    return found[0]


def _packed(row: Row, name: str, where: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise DataError(f"{where}: {name}: must be text, got {value!r:.80}")
    return value


def _private(value: str, where: str) -> Any:
    # Base64 has no brackets, so the two forms cannot be taken for each other.
    if value.lstrip().startswith("["):
        return _json(value, where)
    try:
        compressed = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataError(f"{where}: neither a JSON list nor base64: {error}") from None
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(compressed, MAX_BYTES + 1)
    except zlib.error as error:
        raise DataError(f"{where}: not zlib data: {error}") from None
    if len(data) > MAX_BYTES:
        raise DataError(f"{where}: unpacks to more than {MAX_BYTES >> 20} MiB: refused")
    if not inflater.eof:
        raise DataError(f"{where}: the zlib data are cut short")
    return _json(text_of_pickle(data, where), where)


def _json(value: str, where: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON: {error}") from None


def _cases(cases: Any, where: str, kind: str) -> list[dict[str, str]]:
    shown = f"{where}: {kind}_test_cases"
    if not isinstance(cases, list):
        raise DataError(f"{shown}: must be a list of tests, got {cases!r:.80}")
    for number, case in enumerate(cases, 1):
        if not isinstance(case, dict) or not all(isinstance(case.get(key), str) for key in ("input", "output")):
            raise DataError(f"{shown}: test {number}: must be an object with the texts input and output")
        for key in ("input", "output"):
            checked_text(case[key], f"{shown}: test {number}: {key}", empty=True)
    return [{"input": case["input"], "output": case["output"]} for case in cases]


def _check_values(tests: list[dict[str, str]], where: str) -> None:
    """Arguments, one a line, and the result are JSON where a function is called."""
    for number, test in enumerate(tests, 1):
        for line in filter(str.strip, test["input"].split("\n")):
            _json(line, f"{where}: test {number}: input")
        _json(test["output"], f"{where}: test {number}: output")
