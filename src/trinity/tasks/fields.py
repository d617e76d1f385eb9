"""Fields of a benchmark's row: checked where they are read, with one line naming file, row and field."""

from collections.abc import Mapping
from typing import Any

from trinity.errors import DataError

Row = Mapping[str, Any]


def text(row: Row, name: str, where: str) -> str:
    """A text that is not empty, as it stands.

    Raises:
        DataError: it is missing, of another type, blank, or no Unicode.
    """
    return checked_text(_present(row, name, where), f"{where}: {name}")


def whole(row: Row, name: str, where: str) -> int:
    """A whole number.

    Raises:
        DataError: it is missing or of another type.
    """
    value = _present(row, name, where)
    if isinstance(value, bool) or not isinstance(value, int):
        raise DataError(f"{where}: {name}: must be a whole number, got {value!r:.80}")
    return value


def text_or_whole(row: Row, name: str, where: str) -> str:
    """A text, or a whole number as text: identifiers and numeric answers come as either.

    Raises:
        DataError: it is missing or of another type, or blank.
    """
    value = _present(row, name, where)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return checked_text(value, f"{where}: {name}")


def texts(row: Row, name: str, where: str, *, empty: bool = False) -> list[str]:
    """A list of texts that is not empty, and of which none is unless `empty`.

    Raises:
        DataError: it is missing or of another form.
    """
    value = _present(row, name, where)
    if not isinstance(value, list) or not value:
        raise DataError(f"{where}: {name}: must be a list of texts that is not empty, got {value!r:.80}")
    return [checked_text(entry, f"{where}: {name}[{index}]", empty=empty) for index, entry in enumerate(value)]


def mapping(row: Row, name: str, where: str) -> Row:
    """An object.

    Raises:
        DataError: it is missing or of another type.
    """
    value = _present(row, name, where)
    if not isinstance(value, dict):
        raise DataError(f"{where}: {name}: must be an object, got {value!r:.80}")
    return value


def checked_text(value: Any, where: str, *, empty: bool = False) -> str:
    """The value, if it is a text that is not blank (or `empty`); `where` names the field too.

    Raises:
        DataError: it is not.
    """
    if not isinstance(value, str):
        raise DataError(f"{where}: must be text, got {value!r:.80}")
    if not empty and not value.strip():
        raise DataError(f"{where}: is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{where}: holds half a surrogate pair, which is no character") from None
    return value


def _present(row: Row, name: str, where: str) -> Any:
    value = row.get(name)
    if value is None:
        known = ", ".join(str(key) for key in row)
        raise DataError(f"{where}: {name}: missing; fields of the row: {known:.200}")
    return value
