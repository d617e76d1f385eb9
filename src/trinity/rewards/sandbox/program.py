"""Inside: one program on one input, as a script or by a call of its function.

What is expected never comes in here; whoever judges the output has it. The nonce shows that the program ran to its end.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import json
import numbers
import os
import random
import sys
import threading
import types
from collections.abc import Mapping
from typing import Any

from trinity.rewards.forked import begin, finish

RECURSION_LIMIT = 50_000
INT_DIGITS = 50_000
# LiveCodeBench runs every program after these (testing_util.py, import_string), so that programs may leave them out.
IMPORTS = """
from string import *; from re import *; from datetime import *; from collections import *; from heapq import *
from bisect import *; from copy import *; from math import *; from random import *; from statistics import *
from itertools import *; from functools import *; from operator import *; from io import *; from sys import *
from json import *; from builtins import *; from typing import *
import string, re, datetime, collections, heapq, bisect, copy, math, random, statistics, itertools, functools
import operator, io, sys, json
"""
STREAMS = {
    **dict.fromkeys(("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"), 0),
    **dict.fromkeys(("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"), 1),
}
OPEN = open
NAMES: dict[str, Any] = {}
exec(IMPORTS, NAMES)  # noqa: S102 (our own text)


def give_streams(task: Mapping[str, Any]) -> None:
    """Standard input and output as real descriptors: open(0), sys.stdin.buffer and os.write work as in any process.

    Before the limits: what a test gives may be larger than what a program may write.
    """
    source, written = os.memfd_create("stdin"), os.memfd_create("stdout")
    if task["function"] is None:
        with open(source, "wb", closefd=False) as file:
            file.write(task["data"].encode())
        os.lseek(source, 0, os.SEEK_SET)
    for number, descriptor in enumerate((source, written)):
        os.dup2(descriptor, number)
        os.close(descriptor)


def run_program(task: Mapping[str, Any]) -> None:
    """The result is the nonce, a newline and the output or, of a program that did not finish, one line saying why."""
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (lives as long as the process)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    names = fresh_main()
    begin()
    try:
        result = task["nonce"].encode() + b"\n" + _output(names, task["program"], task["function"], task["data"])
    except BaseException as error:
        result = described(error)
    finish(result)


def fresh_main() -> dict[str, Any]:
    """An empty `__main__` with LiveCodeBench's imports and limits, for a program to run in."""
    sys.setrecursionlimit(RECURSION_LIMIT)
    sys.set_int_max_str_digits(INT_DIGITS)
    random.seed(0)  # the same program on the same input gives the same output
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__dict__.update({name: value for name, value in NAMES.items() if name != "__builtins__"})
    main.__dict__.update(stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)  # sys was starred with other ones
    main.__dict__["open"] = builtins.open = _open
    return main.__dict__


def _open(file: Any, *arguments: Any, **named: Any) -> Any:
    """Without /proc, the names that lead through it are the descriptors that they stand for."""
    stream = STREAMS.get(file) if isinstance(file, str) else None
    return OPEN(file if stream is None else os.dup(stream), *arguments, **named)


def _plain(value: Any) -> Any:
    """A number of another library (numpy's) as one of ours: LiveCodeBench compares by ==, which takes them."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


def defined(names: Mapping[str, Any], name: str) -> Any:
    """What the program, and not an import before it, calls by a name.

    Raises:
        NameError: nothing.
    """
    if name not in names or names[name] is NAMES.get(name):
        raise NameError(f"name {name!r} is not defined")
    return names[name]


def described(error: BaseException) -> bytes:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).encode(errors="replace")


def _output(names: dict[str, Any], program: str, function: str | None, data: str) -> bytes:
    code = compile(program, "<program>", "exec")
    if function is not None:
        exec(code, names)  # noqa: S102 (what this process is for)
        arguments = [json.loads(line) for line in data.split("\n") if line.strip()]
        called = getattr(names["Solution"](), function) if "Solution" in names else defined(names, function)
        return json.dumps(called(*arguments), default=_plain).encode()
    stdout = sys.stdout
    with contextlib.suppress(SystemExit):  # a script may end so
        exec(code, names)  # noqa: S102
    for thread in threading.enumerate():  # as at the end of any process
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (stdout, sys.stdout):
        if not stream.closed:
            stream.flush()
    return os.pread(1, os.fstat(1).st_size, 0)
