"""Kinds of values in params.yaml, and the base of its sections."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator


def _number(value: object) -> float:
    # YAML 1.1 reads `1e-6` as text, so text that is a number is taken for one.
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError("must be a number") from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError("must be a finite number")
    return number + 0.0  # -0.0 is 0.0, so that both are kept under one key


def _positive(value: object) -> float:
    number = _number(value)
    if number <= 0:
        raise ValueError("must be a number above 0")
    return number


def _not_negative(value: object) -> float:
    number = _number(value)
    if number < 0:
        raise ValueError("must be a number, 0 or more")
    return number


def _share(value: object) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError("must be a number from 0 to 1")
    return number


def _inner_share(value: object) -> float:
    number = _number(value)
    if not 0 < number < 1:
        raise ValueError("must be a number between 0 and 1")
    return number


Positive = Annotated[float, PlainValidator(_positive)]
NotNegative = Annotated[float, PlainValidator(_not_negative)]
Share = Annotated[float, PlainValidator(_share)]
InnerShare = Annotated[float, PlainValidator(_inner_share)]


def distinct(values: list[Any]) -> list[Any]:
    """Refuses a list that holds a value twice."""
    if len(set(values)) != len(values):
        raise ValueError("each once")
    return values


Count = Annotated[int, Field(ge=1)]
Seeds = Annotated[list[int], Field(min_length=1), AfterValidator(distinct)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")]


class Section(BaseModel):
    """A section or subsection: frozen, no unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
