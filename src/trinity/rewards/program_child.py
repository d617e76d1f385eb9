"""Runs one program on one input inside a fork; started by `trinity.rewards.trusted`."""

import contextlib
import json
import os
import sys
import types
from collections.abc import Mapping
from typing import Any

from trinity.rewards.forked import begin, finish, serve

RECURSION_LIMIT = 50_000  # as LiveCodeBench's runner


def run_program(task: Mapping[str, Any]) -> None:
    """The result is the nonce, a newline and the output or, of a program that did not finish, one line saying why."""
    # Real descriptors, so that open(0), sys.stdin.buffer and os.write work as in a process of the program's own.
    source, written = os.memfd_create("stdin"), os.memfd_create("stdout")
    if task["function"] is None:
        with open(source, "wb", closefd=False) as file:
            file.write(task["data"].encode())
        os.lseek(source, 0, os.SEEK_SET)
    os.dup2(source, 0)
    os.dup2(written, 1)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 (lives as long as the process)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.setrecursionlimit(RECURSION_LIMIT)
    sys.modules["__main__"] = types.ModuleType("__main__")
    begin()
    try:
        result = task["nonce"].encode() + b"\n" + _output(task["program"], task["function"], task["data"])
    except BaseException as error:
        result = " ".join(f"{type(error).__name__}: {error}".split()).encode(errors="replace")
    finish(result)


def _output(program: str, function: str | None, data: str) -> bytes:
    names = sys.modules["__main__"].__dict__
    code = compile(program, "<program>", "exec")
    if function is not None:
        exec(code, names)  # noqa: S102 (what this process is for)
        arguments = [json.loads(line) for line in data.split("\n") if line.strip()]
        called = getattr(names["Solution"](), function) if "Solution" in names else names[function]
        return json.dumps(called(*arguments)).encode()
    stdout = sys.stdout
    with contextlib.suppress(SystemExit):  # a script may end so
        exec(code, names)  # noqa: S102
    for stream in (stdout, sys.stdout):
        if not stream.closed:
            stream.flush()
    return os.pread(1, os.fstat(1).st_size, 0)


if __name__ == "__main__":
    serve(run_program)
