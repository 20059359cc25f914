"""Read some columns of small tables, such as lists of pairs or groups, and map ids to numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.errors import InputError, UsageError
from lookalike.io.addresses import shown
from lookalike.io.collection import common_schema
from lookalike.io.columnar import TableInMemory
from lookalike.io.columns import check_column
from lookalike.io.delimited import Delimited
from lookalike.io.files import Files, form_of
from lookalike.io.paths import BINARY, TEXT_FILES, TEXT_LINES, find
from lookalike.io.read import open_file
from lookalike.io.reader import Reader, select
from lookalike.io.texts import is_text


@dataclass(frozen=True)
class OpenTable:
    """A table whose columns are known and whose rows are not read yet. name: of the table, in messages."""

    name: str
    readers: tuple[Reader, ...]

    @property
    def columns(self) -> list[str]:
        """The columns of the first file; other files must have the requested ones. Empty for a file without rows."""
        return list(self.readers[0].schema.names) if self.readers else []

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield these columns batch by batch, so that the table may be larger than memory."""
        for reader in self.readers:
            for name in names:
                check_column(reader.schema, name, reader.name)
            for batch in reader.batches(select(reader.schema, names)):
                yield batch.select(names)

    def read(self, names: Sequence[str]) -> pa.Table:
        """Read these columns completely. Every column of a CSV or TSV file is text, unchanged."""
        for reader in self.readers:
            for name in names:
                check_column(reader.schema, name, reader.name)
        # As numbers, the ids 007 and 7 of a CSV file would be equal.
        schemas = [
            select(reader.schema, names) if isinstance(reader, Delimited) else reader.settled(names)
            for reader in self.readers
        ]
        whole = common_schema(self.readers, schemas)
        parts = [
            pa.Table.from_batches((batch.select(names) for batch in reader.batches(schema)), schema)
            for reader, schema in zip(self.readers, schemas, strict=True)
        ]
        return pa.concat_tables(part.cast(whole) for part in parts)


def open_table(source: Any, *, name: str) -> OpenTable:
    """Open a table: a file, folder or glob of any format with columns, or anything that exports Arrow data.

    name: of a table that is not a file, in messages.

    >>> open_table(pa.table({"left": [1, 2], "right": [3, 4]}), name="the pairs").read(["right"]).to_pylist()
    [{'right': 3}, {'right': 4}]
    """
    if isinstance(source, str | os.PathLike | Files):
        paths, form = source if isinstance(source, Files) else [source], form_of(source)
        inputs, given = find(paths), shown(paths[0])
        form.check(given, inputs.kind, BINARY)
        if inputs.kind in (TEXT_LINES, TEXT_FILES):
            raise InputError(
                f"{given} is {inputs.kind}; expected a table with named columns: "
                "Parquet, Arrow, JSON lines, CSV or TSV with a header line."
            )
        readers = [open_file(inputs.kind, file, form=form) for file in inputs.files]
        return OpenTable(given, tuple(reader for reader in readers if reader.schema.names))
    return OpenTable(name, (TableInMemory(_in_memory(source), name),))


def _in_memory(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, list) and source and all(isinstance(row, tuple) and 1 < len(row) < 4 for row in source):
        names = ("left", "right", "similarity")[: len(source[0])]
        try:
            return pa.Table.from_pylist([dict(zip(names, row, strict=False)) for row in source])
        except pa.ArrowException as error:
            raise UsageError(f"the listed pairs do not make a table: {str(error).splitlines()[0]}.") from error
    if not (hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")):
        if not hasattr(source, "to_arrow"):
            raise UsageError(
                f"cannot read {type(source).__name__}; expected a path, Arrow data such as a table, or a list of pairs."
            )
        source = source.to_arrow()
    return pa.table(source)


def as_ids(column: pa.ChunkedArray, *, what: str) -> pa.ChunkedArray:
    """Return ids as int64 or large_string, without nulls. `what` names the column in messages.

    >>> as_ids(pa.chunked_array([["a", None]]), what="column 'left' in a.csv")
    Traceback (most recent call last):
    lookalike.errors.InputError: column 'left' in a.csv has no id in row 1; expected one in every row.
    """
    if column.null_count:
        row = pc.index(column.is_null(), True).as_py()
        raise InputError(f"{what} has no id in row {row}; expected one in every row.")
    if pa.types.is_integer(column.type):
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:  # beyond 2^63: as text it is the same id
            return column.cast(pa.large_string())
    if not is_text(column.type):
        raise InputError(f"{what} is {column.type}; ids are strings or integers.")
    try:
        # A cast from binary validates the strings, which readers do not.
        return column.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise InputError(f"{what} holds an id that is not valid UTF-8.") from error


def numbered(columns: Sequence[pa.ChunkedArray]) -> tuple[list[I64], pa.Array]:
    """Map values to numbers: return (the numbers of each column, the value of each number).

    Equal values have the same number in all columns. If all columns are integers, values stay integers; otherwise all
    are text. Numbers are in order of first appearance, or of value for integers that lie close together.

    >>> numbers, ids = numbered([pa.chunked_array([["7", "b"]]), pa.chunked_array([[7, 8]])])
    >>> [one.tolist() for one in numbers], ids.to_pylist()
    ([[0, 1], [0, 2]], ['7', 'b', '8'])
    """
    whole = all(pa.types.is_integer(column.type) for column in columns)
    kind = pa.int64() if whole else pa.large_string()
    values = pa.chunked_array([chunk for column in columns for chunk in column.cast(kind).chunks], kind)
    ends = np.cumsum([len(column) for column in columns])[:-1]
    numbers, ids = _ranked(values) if whole and _dense(values) else _encoded(values)
    return np.split(numbers, ends), ids


def _dense(values: pa.ChunkedArray) -> bool:
    """Return whether the range of the integers is so small that a table of it is cheap."""
    ends = pc.min_max(values).as_py()
    return len(values) > 0 and ends["max"] - ends["min"] < 4 * len(values)


def _ranked(values: pa.ChunkedArray) -> tuple[I64, pa.Array]:
    """Number integers by value, without hashing: several times faster than `_encoded`."""
    plain = values.to_numpy()
    low = plain.min()
    shifted = plain - low if low else plain  # row numbers begin at 0: saves a copy
    used = np.zeros(int(shifted.max()) + 1, np.bool_)
    used[shifted] = True
    return (np.cumsum(used) - 1)[shifted], pa.array(np.flatnonzero(used) + low)


def _encoded(values: pa.ChunkedArray) -> tuple[I64, pa.Array]:
    encoded = values.dictionary_encode()
    if not encoded.num_chunks:
        return np.empty(0, np.int64), pa.array([], values.type)
    # All chunks share one dictionary.
    numbers = np.concatenate([np.from_dlpack(chunk.indices) for chunk in encoded.chunks])
    return numbers.astype(np.int64), encoded.chunk(0).dictionary
