"""What the code benchmarks share: how a program is asked for, and which names a piece of Python uses and defines."""

import ast
import symtable
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from trinity.errors import DataError

PROGRAM_FORM = "Reply with one complete Python program in a block that begins with ```python and ends with ```."


def block(source: str) -> str:
    """Python source in a fence."""
    return f"```python\n{source.strip()}\n```"


def free_names(source: str, where: str) -> set[str]:
    """Names that the source reads and does not itself define, builtins among them.

    Raises:
        DataError: it is no Python.
    """
    table = _table(source, where)
    return set(_read(table)) - _defined(table)


def defined_names(source: str, where: str) -> set[str]:
    """Names that the source defines at its top level.

    Raises:
        DataError: it is no Python.
    """
    return _defined(_table(source, where))


def imported_modules(source: str, where: str) -> set[str]:
    """Modules that the source imports at its top level under their own names.

    Raises:
        DataError: it is no Python.
    """
    return {
        alias.name
        for statement in _parsed(source, where).body
        if isinstance(statement, ast.Import)
        for alias in statement.names
        if alias.asname is None and "." not in alias.name
    }


def _table(source: str, where: str) -> symtable.SymbolTable:
    with _one_line(where):
        return symtable.symtable(source, "<row>", "exec")


def _parsed(source: str, where: str) -> ast.Module:
    with _one_line(where):
        return ast.parse(source)


@contextmanager
def _one_line(where: str) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escape sequences
            yield
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"{where}: not Python: {str(error) or type(error).__name__}") from None


def _defined(table: symtable.SymbolTable) -> set[str]:
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}


def _read(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _read(child)
