"""Read vectors from tables: a column of lists of numbers, or several columns of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F32
from lookalike.errors import InputError, UsageError, listed
from lookalike.io.columns import check_column
from lookalike.io.reader import Reader
from lookalike.io.texts import Where

USUAL_VECTOR_COLUMNS = ("vector", "embedding", "embeddings", "emb", "features")


def is_list_of_numbers(dtype: pa.DataType) -> bool:
    """Return whether a column of this type holds one vector per row.

    >>> is_list_of_numbers(pa.list_(pa.float32(), 8)), is_list_of_numbers(pa.list_(pa.string()))
    (True, False)
    """
    t = pa.types
    lists = t.is_list(dtype) or t.is_large_list(dtype) or t.is_fixed_size_list(dtype)
    return bool(lists and is_number(dtype.value_type))


def is_number(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype))


def choose_list(schema: pa.Schema, wanted: str | None, where: str, *, besides: str | None = None) -> str:
    """Return the requested column of lists of numbers, else the usual or only one.

    >>> choose_list(pa.schema([("id", pa.int64()), ("emb", pa.list_(pa.float32()))]), None, "a.parquet")
    'emb'
    """
    if wanted is not None:
        check_column(schema, wanted, where)
        if not is_list_of_numbers(schema.field(wanted).type):
            dtype = schema.field(wanted).type
            raise InputError(f"column {wanted!r} in {where} is {dtype}; expected lists of numbers.")
        return wanted
    lists: list[str] = [f.name for f in schema if is_list_of_numbers(f.type)]
    usual = [name for name in lists if name.lower() in USUAL_VECTOR_COLUMNS]
    if len(lists) == 1 or usual:
        return (usual or lists)[0]
    if lists:
        raise UsageError(
            f"{len(lists)} columns could be the vectors in {where}; give `column`. Columns: {listed(lists)}."
        )
    raise UsageError(f"no column of {where} holds lists of numbers. Columns: {listed(schema.names)}.")


def choose_numbers(reader: Reader, wanted: str | None, *, besides: str | None = None) -> tuple[str, ...]:
    """Return the requested column, else the usual or only column of lists, else all numeric columns except the ids."""
    schema = reader.schema
    if wanted is not None:
        check_column(schema, wanted, reader.name)
        dtype = reader.settled([wanted]).field(0).type
        if not (is_list_of_numbers(dtype) or is_number(dtype)):
            raise InputError(f"column {wanted!r} in {reader.name} is {dtype}; expected lists of numbers.")
        return (wanted,)
    if any(is_list_of_numbers(f.type) for f in schema):
        return (choose_list(schema, None, reader.name),)
    numbers = tuple(f.name for f in reader.settled(schema.names) if is_number(f.type) and f.name != besides)
    if not numbers:
        raise UsageError(
            f"no column of {reader.name} holds lists of numbers, or numbers. Columns: {listed(schema.names)}."
        )
    return numbers


def numbers_of(columns: Sequence[pa.Array], *, where: Where) -> F32:
    """Return one row per item as float32; nulls become NaN. Raises InputError, naming the row, if list lengths differ.

    >>> numbers_of([pa.array([[1, 2], None])], where="row {}".format).tolist()
    [[1.0, 2.0], [nan, nan]]
    """
    if not (len(columns) == 1 and is_list_of_numbers(columns[0].type)):
        return np.column_stack([_plain(column) for column in columns])
    lists = columns[0]
    lengths = pc.list_value_length(lists)
    known = lengths.drop_null()
    width = known[0].as_py() if len(known) else 1
    sizes = pc.fill_null(lengths, width).to_numpy(zero_copy_only=False)
    other = np.flatnonzero(sizes != width)
    if len(other):
        row = int(other[0])
        raise InputError(f"{where(row)}: {sizes[row]} numbers, but the rows before have {width}; expected one length.")
    if not width:
        raise InputError(f"{where(0)}: the list is empty; expected numbers.")
    if not lists.null_count:
        return _plain(lists.flatten()).reshape(len(lists), width)
    out = np.full((len(lists), width), np.nan, np.float32)
    out[lists.is_valid().to_numpy(zero_copy_only=False)] = _plain(lists.drop_null().flatten()).reshape(-1, width)
    return out


def _plain(column: pa.Array) -> F32:
    values = column.to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.float32)
