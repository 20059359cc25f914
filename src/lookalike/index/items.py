"""Convert the items that users pass (lists, arrays, iterables) into Arrow arrays of a few MB."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F32
from lookalike.errors import BadText, InputError, UsageError
from lookalike.io.reader import TARGET_BYTES
from lookalike.io.texts import as_ids, as_texts, kind_of_text

Batch = tuple[Any, pa.Array | None]  # items; their ids, or None if the rows have no ids

ITEMS_PER_CHUNK = 2048  # items of an iterable that are converted at once
NEARLY_NOTHING = 1e-12  # reached by all items with something in common; 0 as a fraction of whole numbers
Convert = Callable[[Any], pa.Array]


def pieces_of(items: Any, convert: Convert, expected: str) -> Iterator[pa.Array]:
    """Yield the items in pieces converted by `convert`. expected: the description of valid items for error messages."""
    if isinstance(items, pa.ChunkedArray | pa.Array):
        for chunk in items.chunks if isinstance(items, pa.ChunkedArray) else [items]:
            yield from _cut(convert(chunk))
    elif isinstance(items, list | tuple) and len(items) <= ITEMS_PER_CHUNK:
        if items:
            yield convert(items)
    elif isinstance(items, str | bytes | dict) or not isinstance(items, Iterable):
        raise UsageError(f"got one {type(items).__name__}; expected several items: {expected}.")
    else:
        stream = iter(items)
        while batch := list(itertools.islice(stream, ITEMS_PER_CHUNK)):
            yield from _cut(convert(batch))


def _cut(whole: pa.Array) -> Iterator[pa.Array]:
    step = max(1, len(whole) * TARGET_BYTES // max(1, whole.nbytes))
    for at in range(0, len(whole), step):
        yield whole.slice(at, step)


def texts(some: Any) -> pa.Array:
    """Convert texts to a large_string array without nulls."""
    array = _array(some, pa.large_string(), "texts") if isinstance(some, list | tuple) else some
    if kind_of_text(array.type) != "text":
        raise UsageError(f"these items are of the Arrow type {array.type}; expected texts.")
    if array.type == pa.large_string() and not array.null_count:
        return array
    return as_texts(array, on_bad_text="error", where=lambda row: f"item {row}")[0]


def token_lists(some: Any) -> pa.Array:
    """Convert token lists to a large_list array of large_string or int64, without nulls."""
    array = (
        _array([list(tokens) for tokens in some if _is_list(tokens)], None, "lists of tokens")
        if isinstance(some, list | tuple)
        else some
    )
    if len(array) and kind_of_text(array.type) not in ("string tokens", "integer tokens"):
        raise UsageError(f"these items are of the Arrow type {array.type}; expected lists of strings or whole numbers.")
    return as_texts(array, on_bad_text="error", where=lambda row: f"item {row}")[0]


def _is_list(one: Any) -> bool:
    if isinstance(one, str | bytes) or not isinstance(one, Iterable):
        raise UsageError(f"an item is of type {type(one).__name__}; expected lists of strings or whole numbers.")
    return True


def _array(values: Any, dtype: pa.DataType | None, expected: str) -> pa.Array:
    try:
        return pa.array(values, dtype)
    except UnicodeEncodeError as error:
        raise BadText(f"an item is not valid Unicode ({error.reason}); read it with errors='replace'.") from error
    except (pa.ArrowException, TypeError, OverflowError) as error:
        odd = {type(value).__name__ for value in values}
        raise UsageError(f"items of type {', '.join(sorted(odd))} came; expected {expected}.") from error


def ids_of(ids: Any) -> pa.Array:
    """Convert ids to an int64 or large_string array."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise UsageError(f"ids is of type {type(ids).__name__}; expected one id for each item, in a list.")
    array = (
        ids
        if isinstance(ids, pa.Array | pa.ChunkedArray)
        else _array(list(ids), None, "ids that are all strings or all whole numbers")
    )
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return plain_ids(array)


def plain_ids(ids: pa.Array) -> pa.Array:
    """Convert an Arrow array of ids to int64 or large_string; nulls and other types are refused."""
    plain = as_ids(ids, where=lambda row: f"id {row}")
    if pa.types.is_uint64(plain.type):
        try:
            plain = plain.cast(pa.int64())
        except pa.ArrowInvalid:
            most = pc.max(plain).as_py()
            raise InputError(f"the id {most} does not fit in 64 bits with a sign; give such ids as text.") from None
    return plain if pa.types.is_int64(plain.type) else plain.cast(pa.large_string())


def number_rows(items: Any) -> Iterator[F32]:
    """Yield vectors as float32 arrays of at most ITEMS_PER_CHUNK rows of one length."""
    if isinstance(items, pa.ChunkedArray | pa.Array):
        items = np.array(items.to_pylist(), np.float32) if len(items) else []
    if isinstance(items, str | bytes | int | float) or not hasattr(items, "__len__"):
        raise UsageError(f"got {type(items).__name__}; expected vectors: an array of rows, or a list of lists.")
    for at in range(0, len(items), ITEMS_PER_CHUNK):
        yield _rows(items[at : at + ITEMS_PER_CHUNK])


def _rows(some: Any) -> F32:
    try:
        rows = np.ascontiguousarray(some, np.float32)
    except (ValueError, TypeError) as error:
        raise UsageError("items came that are no vectors of one length; expected rows of numbers.") from error
    if rows.ndim != 2:
        raise UsageError(f"an array of {rows.ndim} dimensions came; expected rows of numbers, (n, dimensions).")
    return rows
