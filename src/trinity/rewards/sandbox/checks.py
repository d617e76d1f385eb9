"""Inside: a program and its tests in two processes, as asserts of HumanEval and MBPP need it.

The program's process (`serve_program`) never holds the tests, what they expect, or the nonce. The tests' process
(`run_checks`) calls the program over a socket, so that nothing the program does to its own interpreter reaches them.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import json
import socket
import types
from collections.abc import Iterator, Mapping
from typing import Any

from trinity.rewards.forked import LINK, begin, finish
from trinity.rewards.sandbox.program import defined, described, fresh_main
from trinity.rewards.sandbox.wire import decode, encode, receive, send


def serve_program(task: Mapping[str, Any]) -> None:
    """Runs the program, then answers calls of what it defines until the tests end."""
    link = socket.socket(fileno=LINK)
    names = fresh_main()
    kept: list[Any] = []
    begin()

    def keep(value: Any) -> Any:
        kept.append(value)
        return {"kept": len(kept) - 1}

    def answer(request: Any) -> Any:
        verb, target, *rest = request
        if verb == "name":
            return defined(names, target)
        value = decode(target, lambda reference: kept[reference["kept"]])
        if verb == "get":
            return getattr(value, rest[0])
        if verb == "list":
            return list(value)
        if verb == "item":
            return value[decode(rest[0], lambda reference: kept[reference["kept"]])]
        arguments, named = (decode(one, lambda reference: kept[reference["kept"]]) for one in rest)
        return value(*arguments, **named)

    try:
        exec(compile(task["program"], "<program>", "exec"), names)  # noqa: S102 (what this process is for)
    except BaseException as error:
        finish(described(error))
        raise SystemExit from None
    while True:
        try:
            reply = {"value": encode(answer(receive(link)), keep)}
        except EOFError:
            return
        except BaseException as error:
            reply = {"error": [type(error).__name__, str(error)[:500]]}
        send(link, reply)


def run_checks(task: Mapping[str, Any]) -> None:
    """The result is the nonce, a newline and a digest of all that the program returned, or one line saying why not."""
    program = _Program(socket.socket(fileno=LINK))
    names: dict[str, Any] = {"__name__": "__main__"}
    nonce = task["nonce"]
    begin()
    try:
        exec(compile(task["prelude"], "<prelude>", "exec"), names)  # noqa: S102 (the benchmark's own text)
        names.update({name: program.name(name) for name in task["names"]})
        exec(compile(task["checks"], "<tests>", "exec"), names)  # noqa: S102
        result = nonce.encode() + b"\n" + program.digest.hexdigest().encode()
    except BaseException as error:
        result = described(error)
    finish(result)


class _Program:
    """The tests' side of the socket."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.digest = hashlib.sha256()

    def name(self, name: str) -> Any:
        """What the program calls by a name."""
        return self.ask("name", name)

    def ask(self, *request: Any) -> Any:
        """One question to the program, with its answer or the exception that it raised."""
        with contextlib.suppress(ConnectionError):  # then there is no reply either
            send(self._link, request)
        reply = receive(self._link)
        self.digest.update(json.dumps(reply).encode())
        if "error" in reply:
            kind, text = reply["error"]
            known = getattr(builtins, kind, None)
            if isinstance(known, type) and issubclass(known, Exception) and known is not StopIteration:
                raise known(text)
            raise RuntimeError(f"{kind}: {text}")
        return decode(reply["value"], lambda reference: _Kept(self, reference))


class _Kept:
    """An object that stayed with the program. It can be called and looked into, and equals nothing but itself."""

    __slots__ = ("_program", "_reference")

    def __init__(self, program: _Program, reference: Any) -> None:
        self._program = program
        self._reference = reference

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        sent = [encode(value, _reference) for value in (list(arguments), named)]
        return self._program.ask("call", self._reference, *sent)

    def __getattr__(self, name: str) -> Any:
        return self._program.ask("get", self._reference, name)

    def __getitem__(self, key: Any) -> Any:
        return self._program.ask("item", self._reference, encode(key, _reference))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._program.ask("list", self._reference))


def _reference(value: Any) -> Any:
    if isinstance(value, _Kept):
        return value._reference
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        raise TypeError("a test cannot hand a function of its own to the program")
    raise TypeError(f"a test cannot hand a {type(value).__name__} to the program")
