"""Reading params.yaml; every mistake in it becomes one line naming file, key and what is allowed."""

import difflib
import typing
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from trinity.config.schema import Config
from trinity.errors import ConfigError

PARAMS = Path("params.yaml")
_BOUNDS = {"greater_than_equal": "more", "less_than_equal": "less"}
_TYPES = {
    "int_type": "a whole number", "bool_type": "true or false", "string_type": "text", "list_type": "a list",
    "dict_type": "a mapping",
}  # fmt: skip
"""By pydantic's name of an error, what a value must be."""


def load_config(path: Path = PARAMS) -> Config:
    """Reads and validates a params file.

    Raises:
        ConfigError: the file is absent, is no YAML, or a key is unknown, missing or ill-typed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: not found: run from the repository root, or `trinity preset demo`") from None
    except (UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    return parse_config(text, str(path))


def parse_config(text: str, name: str = "params.yaml") -> Config:
    """Validates the text of a params file; see `load_config`."""
    try:
        raw = yaml.load(text, _UniqueKeys)
    except RecursionError:
        raise ConfigError(f"{name}: is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that is none, such as 2020-99-99
        raise ConfigError(f"{name}: {yaml_problem(error)}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{name}: must be a mapping of sections: {', '.join(Config.model_fields)}")
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise ConfigError("\n".join(_line(name, detail) for detail in error.errors())) from None


class _UniqueKeys(yaml.SafeLoader):
    """Refuses a key that stands twice in a mapping, of which YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} stands twice", key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def yaml_problem(error: Exception) -> str:
    """What PyYAML found wrong, and in which line, as one line."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1} " if mark else ""
    return f"{where}is not YAML: {getattr(error, 'problem', None) or ' '.join(str(error).split())}"


def _line(name: str, detail: ErrorDetails) -> str:
    location = [str(part) for part in detail["loc"] if not str(part).startswith("function-")]
    key, kind, context = ".".join(location), detail["type"], detail.get("ctx", {})
    prefix = f"{name}: {key}: " if key else f"{name}: "
    if kind == "extra_forbidden":
        allowed = _fields_at(location[:-1])
        close = difflib.get_close_matches(location[-1], allowed, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        return f"{prefix}unknown key{hint}; allowed: {', '.join(allowed)}"
    if kind == "missing":
        return f"{prefix}missing"
    got = f", got {detail['input']!r}" if location[-1:] != ["key_env"] and not _holds_mapping(detail["input"]) else ""
    if kind == "model_type":
        return f"{prefix}must be a mapping with the keys {', '.join(_fields_at(location))}{got}"
    if kind in {"literal_error", "enum"}:
        return f"{prefix}allowed: {context['expected']}{got}"
    if kind == "value_error":
        return f"{prefix}{context['error']}{got}"
    if kind in _BOUNDS:
        (number,) = context.values()
        return f"{prefix}must be a whole number, {number} or {_BOUNDS[kind]}{got}"
    if kind in _TYPES:
        return f"{prefix}must be {_TYPES[kind]}{got}"
    return f"{prefix}{detail['msg'][0].lower()}{detail['msg'][1:]}{got}"


def _holds_mapping(value: Any) -> bool:
    """Whether settings lie in a value: a key that was pasted where its variable's name belongs must not be shown."""
    if isinstance(value, list | tuple):
        return any(_holds_mapping(part) for part in value)
    return isinstance(value, dict)


def _fields_at(location: list[str]) -> list[str]:
    """The keys allowed in the section at a location."""
    model: Any = Config
    parts = iter(location)
    for part in parts:
        annotation = model.model_fields[part].annotation
        if typing.get_origin(annotation) in (list, dict):
            next(parts, None)  # an index, or a key that the user chose
        model = _section_of(annotation)
    return list(model.model_fields)


def _section_of(annotation: Any) -> Any:
    """The model inside `Model`, `Model | None`, `list[Model]` or `dict[str, Model]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_section_of(part) for part in typing.get_args(annotation))
    return next((model for model in found if model is not None), None)
