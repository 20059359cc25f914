"""The few Arrow types in which items are compared, and the conversion of other types to them.

Views, dictionaries, run-end encoded columns, extension types and half floats become plain text, numbers or lists here,
so that no other module has to handle them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.io.reader import TARGET_BYTES, nbytes_of
from lookalike.io.selection import select_values

t = pa.types


def canonical_type(dtype: pa.DataType) -> pa.DataType:
    """Return the plain type in which values of this type are compared.

    >>> canonical_type(pa.dictionary(pa.int8(), pa.string_view())), canonical_type(pa.list_(pa.float16(), 2))
    (DataType(large_string), FixedSizeListType(fixed_size_list<item: float>[2]))
    """
    if isinstance(dtype, pa.BaseExtensionType):
        return canonical_type(dtype.storage_type)
    if t.is_dictionary(dtype) or t.is_run_end_encoded(dtype):
        return canonical_type(dtype.value_type)
    if t.is_string_view(dtype):
        return pa.large_string()
    if t.is_binary_view(dtype):
        return pa.large_binary()
    if t.is_float16(dtype):
        return pa.float32()
    if is_list(dtype):
        value = canonical_type(dtype.value_type)
        if t.is_fixed_size_list(dtype):
            return pa.list_(dtype.value_field.with_type(value), dtype.list_size)
        if value.equals(dtype.value_type) and (t.is_list(dtype) or t.is_large_list(dtype)):
            return dtype
        return pa.large_list(dtype.value_field.with_type(value))
    if t.is_map(dtype):
        return pa.map_(canonical_type(dtype.key_type), canonical_type(dtype.item_type))
    if t.is_struct(dtype):
        return pa.struct([field.with_type(canonical_type(field.type)) for field in dtype])
    return dtype


def is_list(dtype: pa.DataType) -> bool:
    """Return whether a type is a list type, in any layout; maps do not count as lists."""
    return bool(
        t.is_list(dtype)
        or t.is_large_list(dtype)
        or t.is_fixed_size_list(dtype)
        or t.is_list_view(dtype)
        or t.is_large_list_view(dtype)
    )


def canonical(column: pa.Array) -> pa.Array:
    """Return the same values in their canonical type; a column that already has it is not copied.

    >>> canonical(pa.DictionaryArray.from_arrays([0, 1, None], pa.array(["a", None]))).to_pylist()
    ['a', None, None]
    """
    dtype = column.type
    if canonical_type(dtype).equals(dtype):
        return column
    if isinstance(dtype, pa.BaseExtensionType):
        return canonical(column.storage)
    if t.is_dictionary(dtype):
        return canonical(column.dictionary).take(column.indices)
    if t.is_run_end_encoded(dtype):
        runs = np.repeat(np.arange(len(column.values)), _run_lengths(column))
        return canonical(column.values).take(pa.array(runs))
    if t.is_fixed_size_list(dtype):
        size = dtype.list_size
        values = canonical(column.values.slice(column.offset * size, len(column) * size))
        return pa.FixedSizeListArray.from_arrays(values, type=canonical_type(dtype), mask=_mask(column))
    if is_list(dtype):
        lengths = pc.fill_null(pc.list_value_length(column), 0)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths.to_numpy(zero_copy_only=False))])
        return pa.LargeListArray.from_arrays(
            pa.array(ends.astype(np.int64)), canonical(column.flatten()), type=canonical_type(dtype), mask=_mask(column)
        )
    if t.is_struct(dtype):
        fields = [canonical(column.field(place)) for place in range(len(dtype))]
        return pa.StructArray.from_arrays(fields, type=canonical_type(dtype), mask=_mask(column))
    return column.cast(canonical_type(dtype))


def converted(batch: pa.RecordBatch, convert: Callable[[pa.Array], pa.Array]) -> pa.RecordBatch:
    """Return the batch with every column converted, such as by `canonical` or `for_parquet`."""
    columns = [convert(column) for column in batch.columns]
    fields = [field.with_type(column.type) for field, column in zip(batch.schema, columns, strict=True)]
    return pa.record_batch(columns, schema=pa.schema(fields, batch.schema.metadata))


def retyped(schema: pa.Schema, convert: Callable[[pa.DataType], pa.DataType]) -> pa.Schema:
    """Return the schema with every type converted, such as by `canonical_type` or `parquet_type`."""
    return pa.schema([field.with_type(convert(field.type)) for field in schema], schema.metadata)


def parquet_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type of `for_parquet` of a column of this type."""
    if t.is_dictionary(dtype) and not t.is_nested(dtype.value_type):
        return pa.dictionary(dtype.index_type, canonical_type(dtype.value_type), dtype.ordered)
    return canonical_type(dtype) if _not_for_parquet(dtype) else dtype


def for_parquet(column: pa.Array) -> pa.Array:
    """Return the column in a type that Parquet can store: dictionaries of plain values, nothing run-end encoded.

    >>> for_parquet(pc.run_end_encode(pa.array(["a", "a"]))).to_pylist()
    ['a', 'a']
    """
    dtype = column.type
    if t.is_dictionary(dtype) and not t.is_nested(dtype.value_type):
        values = canonical(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, values, ordered=dtype.ordered)
    return canonical(column) if _not_for_parquet(dtype) else column


def _not_for_parquet(dtype: pa.DataType) -> bool:
    if t.is_dictionary(dtype):
        return t.is_nested(dtype.value_type) or not canonical_type(dtype.value_type).equals(dtype.value_type)
    if is_list(dtype) or t.is_struct(dtype):
        return any(_not_for_parquet(dtype.field(place).type) for place in range(dtype.num_fields))
    return bool(t.is_run_end_encoded(dtype))


def holds_dictionary(dtype: pa.DataType) -> bool:
    """Return whether a type is a dictionary type, or a list type with dictionaries in it."""
    return bool(t.is_dictionary(dtype) or (is_list(dtype) and holds_dictionary(dtype.value_type)))


def without_dictionary(dtype: pa.DataType) -> pa.DataType:
    """Return the type of the decoded values of a dictionary type; other types are unchanged.

    >>> without_dictionary(pa.dictionary(pa.int8(), pa.string())), without_dictionary(pa.int8())
    (DataType(string), DataType(int8))
    """
    if not holds_dictionary(dtype):
        return dtype
    if t.is_dictionary(dtype):
        return canonical_type(dtype.value_type)
    return pa.large_list(dtype.value_field.with_type(without_dictionary(dtype.value_type)))


def without_null_entries(column: pa.Array) -> pa.Array:
    """Remove nulls from the dictionary of a dictionary column, which Parquet cannot store; others are unchanged.

    >>> without_null_entries(pa.DictionaryArray.from_arrays([0, 1], pa.array([None, "a"]))).indices.to_pylist()
    [None, 0]
    """
    if not t.is_dictionary(column.type) or not column.dictionary.null_count:
        return column
    valid = column.dictionary.is_valid().to_numpy(zero_copy_only=False)
    place = pa.array(np.cumsum(valid) - 1, pa.int64(), mask=~valid)
    return pa.DictionaryArray.from_arrays(
        place.take(column.indices).cast(column.type.index_type),
        select_values(column.dictionary, valid),
        ordered=column.type.ordered,
    )


def bounded(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split a batch so that no piece of more than one row takes much more than TARGET_BYTES in canonical types."""
    if len(batch) > 1 and sum(canonical_bytes(column) for column in batch.columns) > 2 * TARGET_BYTES:
        half = len(batch) // 2
        yield from bounded(batch.slice(0, half))
        yield from bounded(batch.slice(half))
    else:
        yield batch


def canonical_bytes(column: pa.Array) -> int:
    """Return the approximate size of a column in its canonical type, without decoding it.

    >>> canonical_bytes(pa.DictionaryArray.from_arrays([0] * 1000, pa.array(["a text of 22 characters"])))
    23000
    """
    dtype = column.type
    if isinstance(dtype, pa.BaseExtensionType):
        return canonical_bytes(column.storage)
    if t.is_dictionary(dtype):
        indices = column.indices
        sizes = pa.array(_value_sizes(column.dictionary))
        return int(pc.sum(sizes.take(indices)).as_py() or 0)
    if t.is_run_end_encoded(dtype):
        return int(_run_lengths(column) @ _value_sizes(column.values))
    if is_list(dtype) and not canonical_type(dtype).equals(dtype):
        return 8 * len(column) + canonical_bytes(column.flatten())
    return nbytes_of(column)


def _value_sizes(values: pa.Array) -> I64:
    """Return the bytes of each value: exact for text, the average for other types. i64[n]."""
    dtype = values.type
    if t.is_dictionary(dtype) or t.is_run_end_encoded(dtype) or isinstance(dtype, pa.BaseExtensionType):
        values = canonical(values)
    try:
        lengths = pc.fill_null(pc.binary_length(values), 0)
        return np.array(lengths.to_numpy(zero_copy_only=False), np.int64)
    except pa.ArrowNotImplementedError:
        return np.full(len(values), nbytes_of(values) // max(len(values), 1), np.int64)


def _run_lengths(column: pa.Array) -> I64:
    """Return the number of rows that each physical value of a run-end encoded column covers. i64[runs]."""
    ends = np.array(column.run_ends.to_numpy(), np.int64) - column.offset
    return np.array(np.diff(np.clip(ends, 0, len(column)), prepend=0), np.int64)


def _mask(column: pa.Array) -> pa.Array | None:
    return column.is_null() if column.null_count else None
