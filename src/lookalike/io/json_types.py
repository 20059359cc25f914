"""Infer Arrow types of JSON values, and find values that a column of one type cannot hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

JSON_TYPE_NAMES = {list: "an array", dict: "an object", str: "a string", bool: "a boolean", type(None): "null"}
# Only lines that match this can hold a number that float64 or int64 cannot represent.
ODD_NUMBER = re.compile(rb"[0-9]{16}|[eE]\+?[0-9]{3}|NaN|Infinity")
KEY = re.compile(rb'"([^"\\]*)"\s*:')
CELLS_PER_BYTE = 2  # rows times keys per byte of JSON, above which Arrow does not infer the table
INT64 = 1 << 63


@dataclass
class Inferred:
    """The inferred columns of a sequence of lines.

    types: by name, null if there was no value. mixed: columns without a common type, which are strings in `types`.
    inexact: (line, integer that float64 cannot represent) by column. refused: (line, why a table cannot hold a value)
    by column, or under "" for invalid keys.
    """

    types: dict[str, pa.DataType] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)
    inexact: dict[str, tuple[int, str]] = field(default_factory=dict)
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, other: Inferred) -> None:
        """Merge the columns of later lines."""
        self.mixed |= other.mixed
        self.inexact = {**other.inexact, **self.inexact}
        self.refused = {**other.refused, **self.refused}
        for name, dtype in other.types.items():
            known = self.types.get(name)
            if known is None or known.equals(dtype):
                self.types[name] = dtype
                continue
            common = common_type(known, dtype)
            if common is None:
                self.mixed.add(name)
            self.types[name] = pa.string() if common is None else common

    def schema(self) -> pa.Schema:
        """Return all columns, in order of first use; columns without a common type or without a value are strings."""
        types = {name: pa.string() if name in self.mixed else dtype for name, dtype in self.types.items()}
        return pa.schema([(name, without_times(dtype, null=pa.string())) for name, dtype in types.items()])


def is_wide(block: bytes) -> bool:
    """Return whether a table of these lines would be far larger than the lines: most rows lack most of the keys."""
    keys = len(set(KEY.findall(block)))
    return keys * (block.count(b"\n") + 1) > CELLS_PER_BYTE * len(block)


def infer_records(records: Iterable[tuple[int, dict[str, Any]]]) -> Inferred:
    """Infer the columns of objects, given with their line numbers.

    Time and memory grow with the size of the objects, regardless of their keys.
    """
    values: dict[str, list[Any]] = {}
    inferred = Inferred()
    for line, record in records:
        for name, value in record.items():
            if not is_unicode(name):
                why = f"the key {name!a} is not valid Unicode, so that no column can have its name"
                inferred.refused.setdefault("", (line, why))
                continue
            values.setdefault(name, []).append(value)
            if isinstance(value, dict | list) and not all(map(is_unicode, _strings(value))):
                inferred.refused.setdefault(name, (line, "a string in it is not valid Unicode"))
    for name, column in values.items():
        dtype = type_of(column)
        if dtype is None:
            inferred.mixed.add(name)
        inferred.types[name] = pa.string() if dtype is None else dtype
    return inferred


def type_of(values: Iterable[Any]) -> pa.DataType | None:
    """Return the type that holds all of these values; None if there is no such type.

    >>> type_of([1, None, 2.5]), type_of([{"a": [1]}, {"b": "x"}]), type_of([1, "x"])
    (DataType(double), StructType(struct<a: list<item: int64>, b: string>), None)
    """
    present = [value for value in values if value is not None]
    kinds = {float if type(value) is int else type(value) for value in present}
    if len(kinds) != 1:
        return None if kinds else pa.null()
    (kind,) = kinds
    if kind is dict:
        members: dict[str, list[Any]] = {}
        for value in present:
            for name, member in value.items():
                members.setdefault(name, []).append(member)
        types = {name: type_of(member_values) for name, member_values in members.items()}
        if None in types.values() or not all(map(is_unicode, types)):
            return None
        return pa.struct(list(types.items()))
    if kind is list:
        items = type_of(item for value in present for item in value)
        return None if items is None else pa.list_(items)
    if kind is float:
        whole = all(type(value) is int and -INT64 <= value < INT64 for value in present)
        return pa.int64() if whole else pa.float64()
    return pa.bool_() if kind is bool else pa.string()


def odd_numbers(record: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return (columns with an integer that float64 cannot represent, columns with a number beyond int64 and float64).

    >>> odd_numbers({"a": 1, "b": [2**53 + 1], "c": 2**64})
    ({'b': '9007199254740993'}, {'c': '18446744073709551616'})
    """
    inexact, beyond = {}, {}
    for name, value in record.items():
        for number in _numbers(value):
            if isinstance(number, float):
                if not math.isfinite(number):
                    beyond[name] = "a number" if math.isinf(number) else "NaN"
            elif not -INT64 <= number < INT64:
                beyond[name] = str(number)[:60]
            elif int(float(number)) != number:
                inexact[name] = str(number)
    return inexact, beyond


def has_float(dtype: pa.DataType) -> bool:
    if pa.types.is_struct(dtype):
        return any(has_float(member.type) for member in dtype)
    return has_float(dtype.value_type) if pa.types.is_list(dtype) else bool(pa.types.is_floating(dtype))


def width(dtype: pa.DataType) -> int:
    """Return the number of plain columns that a column of this type consists of."""
    if pa.types.is_struct(dtype):
        return 1 + sum(width(member.type) for member in dtype)
    return width(dtype.value_type) if pa.types.is_list(dtype) else 1


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type that holds the values of both types; None if there is no such type."""
    both = [pa.schema([("", without_times(dtype))]) for dtype in (left, right)]
    try:
        return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def without_times(dtype: pa.DataType, null: pa.DataType | None = None) -> pa.DataType:
    """Replace timestamps by strings: JSON has no times, and what Arrow takes for one must be written unchanged."""
    if pa.types.is_timestamp(dtype):
        return pa.string()
    if pa.types.is_null(dtype):
        return dtype if null is None else null
    if pa.types.is_list(dtype):
        return pa.list_(without_times(dtype.value_type, null))
    if pa.types.is_struct(dtype):
        return pa.struct([(member.name, without_times(member.type, null)) for member in dtype])
    return dtype


def is_unicode(text: str) -> bool:
    """Return whether a string can be encoded as UTF-8, that is, has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def word(value: Any) -> str:
    return JSON_TYPE_NAMES.get(type(value), "a number")


def _numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _strings(item)
