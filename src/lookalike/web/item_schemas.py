"""JSON schemas of the items of each kind."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, StrictStr

from lookalike.errors import UsageError
from lookalike.index.kinds import IndexKind

FAST: Any = Field(fail_fast=True)  # the first error of a list is the answer: a list may have a million
TINY_PICTURE = (  # a PNG of 2 by 2 pixels
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAAAAABX3VL4AAAADklEQVR4nGPgOsEUcAQABMIB6SLRnykAAAAASUVORK5CYII="
)
MAX_JSON_INTEGER = 9_223_372_036_854_775_000  # remains below 2**63 when a JSON parser rounds it to a double


def whole(value: Any) -> Any:
    """Convert a float without fraction to an int, because JSON does not distinguish 7 and 7.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Int = Annotated[StrictInt, Field(ge=-MAX_JSON_INTEGER, le=MAX_JSON_INTEGER), BeforeValidator(whole)]
Count = Annotated[StrictInt, Field(ge=1, le=100_000), BeforeValidator(whole)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Coordinate = Annotated[float, Field(strict=True, ge=-1e18, le=1e18)]  # the square fits into float32
Value = StrictStr | Int | Number | StrictBool | None


@dataclass(frozen=True)
class ItemSchema:
    """The JSON form of items. types: alternatives, one for all items of a request; prepare: JSON to index items."""

    types: tuple[Any, ...]
    about: str
    example: Any
    prepare: Callable[[list[Any]], list[Any]] = list


def form_of(kind: IndexKind) -> ItemSchema:
    """Return the JSON form of the items of an index of this kind."""
    any_kind: Any = kind
    if kind.name in ("documents", "passages"):
        return ItemSchema((StrictStr,), "A text.", "the quick brown fox jumps over the lazy dog")
    if kind.name == "strings":
        return ItemSchema((StrictStr,), "A string.", "Anna Meier")
    if kind.name in ("sets", "baskets"):
        return ItemSchema(
            (Annotated[list[StrictStr], FAST], Annotated[list[Int], FAST]),
            "The elements of a set.",
            ["milk", "bread"],
        )
    if kind.name == "vectors":
        size = any_kind.dimensions
        row = Annotated[list[Coordinate], Field(min_length=size, max_length=size, fail_fast=True)]
        return ItemSchema((row,), f"The {size} numbers of a vector.", [0.5] * size)
    if kind.name == "bits":
        return _codes(any_kind.bits)
    if kind.name == "records":
        return _records([rule.column for rule in any_kind.rules.fields])
    if kind.name == "faces" and not any_kind.grid:
        size = any_kind.dimensions
        numbers = Annotated[list[Coordinate], Field(min_length=size, max_length=size, fail_fast=True)]
        return ItemSchema((numbers,), f"The {size} measurements of an item.", [0.5] * size)
    if kind.name in ("images", "faces"):
        return ItemSchema((StrictStr,), "The content of a picture file, in base64.", TINY_PICTURE, _from_base64)
    raise UsageError(f"an index of {kind.name} cannot be served.")


def _codes(bits: int) -> ItemSchema:
    if bits % 8:
        digits: Any = Annotated[StrictStr, Field(pattern=f"^[01]{{{bits}}}$")]
        return ItemSchema((digits,), f"A code of {bits} bits, each 0 or 1.", "01" * (bits // 2) + "0" * (bits % 2))
    digits = Annotated[StrictStr, Field(pattern=f"^[0-9a-fA-F]{{{bits // 4}}}$")]
    # Converted to bytes, because text is ambiguous: 1010 could be four hexadecimal or four binary digits.
    return ItemSchema((digits,), f"A code of {bits} bits, in hexadecimal digits.", "a5" * (bits // 8), _from_hex)


def _from_hex(items: list[Any]) -> list[Any]:
    return [bytes.fromhex(item) for item in items]


def _from_base64(items: list[Any]) -> list[Any]:
    try:
        return [base64.b64decode(item, validate=True) for item in items]
    except ValueError as error:
        raise UsageError(f"an item is not base64 ({error}); expected the content of a picture file.") from error


def _records(columns: list[str]) -> ItemSchema:
    schema: Any = {"properties": {name: {} for name in columns}}
    fields = Annotated[dict[str, Value], Field(json_schema_extra=schema)]
    blank = dict.fromkeys(columns)
    about = f"The fields of a record, of which {', '.join(columns)} are compared."
    return ItemSchema(
        (fields,), about, dict.fromkeys(columns, "..."), lambda items: [{**blank, **item} for item in items]
    )
