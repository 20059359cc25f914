"""Sources of records: tables whose rows have fields and an id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import check_choice
from lookalike.errors import ID_ADVICE, BadText, ColumnNotFound, InputError, listed
from lookalike.io.collection import check_ids, rows_of
from lookalike.io.columns import ROW_NUMBERS, check_column, check_id
from lookalike.io.delimited import Delimited
from lookalike.io.origin import given_paths, origin
from lookalike.io.read import open_readers
from lookalike.io.reader import Reader, select, with_encoding_advice
from lookalike.io.texts import ON_BAD_TEXT, OnBadText, as_ids, as_values, is_text

if TYPE_CHECKING:
    from lookalike.io.contents import Content

USUAL_IDS = ("id", "uid", "uuid", "key")


@dataclass(frozen=True, kw_only=True)
class RecordTable:
    """A table that can be read more than once.

    id_column: the column of ids; None for row numbers (see `ids`). on_bad_text: what to do with values that are not
    UTF-8: raise an error ("error"), replace the bad bytes by U+FFFD ("replace"), or treat them as missing ("skip").
    renamed: columns that are read under another name, as (that name, own name).
    """

    name: str
    id_column: str | None
    columns: tuple[str, ...]
    readers: tuple[Reader, ...]
    given: tuple[str, ...] = ()
    on_bad_text: OnBadText = "error"
    renamed: tuple[tuple[str, str], ...] = ()

    def describe(self) -> dict[str, Any]:
        """Return the entry of the table in a receipt."""
        files = (path for reader in self.readers for path in reader.paths)
        return {"name": self.name, "id": self.id_column, "origin": origin(self.given, files)}

    def usable(self) -> list[str]:
        """Return the columns that can be fields: those of plain values, not lists."""
        shown = {own: name for name, own in self.renamed}
        refused = {shown.get(f.name, f.name) for reader in self.readers for f in reader.schema if not is_plain(f.type)}
        return [name for name in self.columns if name not in refused]

    def check(self, names: Sequence[str]) -> None:
        """Raise an error for columns that are missing or do not have plain values."""
        for reader in self.readers:
            for name in names:
                check_column(reader.schema, name, reader.name)
                check_plain(name, reader.schema.field(name).type, reader.name)

    def read(self, names: Sequence[str]) -> pa.Table:
        """Read these columns completely, as large_string, with nulls for missing values."""
        if self.renamed:
            own = dict(self.renamed)
            made = replace(self, renamed=()).read([own.get(name, name) for name in names])
            return made.rename_columns(list(names))
        self.check(names)
        parts: dict[str, list[pa.Array]] = {name: [] for name in names}
        for reader in self.readers:
            # Columns of a file format without types are read as text: 007 stays 007.
            schema = select(reader.schema, names) if isinstance(reader, Delimited) else reader.settled(names)
            row = 0
            for batch in reader.batches(schema):
                for name in names:
                    parts[name].append(self._text(batch.column(name), name, reader, row))
                row += len(batch)
        return pa.table({name: pa.chunked_array(arrays, pa.large_string()) for name, arrays in parts.items()})

    def _text(self, column: pa.Array, name: str, reader: Reader, row: int) -> pa.Array:
        """Return the values as text, whole numbers without a fraction. row: the number of the first row."""
        if not is_text(column.type):
            return as_text(
                column, whole=pa.types.is_floating(column.type) and pc.all(pc.equal(column, pc.round(column))).as_py()
            )
        is_id = name == self.id_column
        try:
            return as_values(
                column,
                on_bad_text="error" if is_id else self.on_bad_text,
                where=lambda bad: f"{reader.where(row + bad)}: column {name!r}",
            )
        except BadText as error:
            if not is_id:
                raise with_encoding_advice(error, reader) from error
            first = str(error).partition(" Use ")[0]
            raise BadText(f"{first} {ID_ADVICE}") from error

    def ids(self, table: pa.Table) -> pa.ChunkedArray:
        """Return the ids of the rows of `table`, the result of `read`: the id column, or row numbers."""
        if self.id_column is None:
            numbers = pa.py_buffer(np.arange(table.num_rows))
            return pa.chunked_array([pa.Array.from_buffers(pa.int64(), table.num_rows, [None, numbers])])
        column = table.column(self.id_column)
        types = [reader.schema.field(self.id_column).type for reader in self.readers]
        if all(pa.types.is_integer(dtype) for dtype in types):
            column = column.cast(pa.uint64() if all(pa.types.is_uint64(dtype) for dtype in types) else pa.int64())
        ids = pa.chunked_array([as_ids(chunk, where=lambda row: f"{self.name} row {row}") for chunk in column.chunks],
                               column.type if pa.types.is_integer(column.type) else pa.string())  # fmt: skip
        check_ids(ids, name=self.name)
        return ids

    def contents(self) -> RecordContents:
        """Return the records for display."""
        return RecordContents(self)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Iterate over all columns of the input, in the same order and with one schema; at least one batch."""
        return rows_of(self.readers, lambda reader, schema: reader.batches(schema))


def open_records(
    source: Any,
    *,
    id: str | None = None,  # noqa: A002  (the user's word)
    on_bad_text: OnBadText = "error",
) -> RecordTable:
    """Open a table of records: a path (file, folder, glob), a list of `Path`, or anything that exports Arrow data.

    Reads headers, and data only to guess the column of ids. `id` is the name of the column of ids; without it, it is a
    column 'id', else one whose name ends in 'id' and whose values are distinct, else row numbers are used, as with
    id="none". A value that is not UTF-8 is an error, repaired with U+FFFD ("replace"), or treated as missing ("skip").

    >>> open_records(pa.table({"name": ["Ann", "Bob"], "rec_id": ["a", "b"]})).id_column
    'rec_id'
    """
    if isinstance(source, RecordTable):
        return source
    check_choice("on_bad_text", on_bad_text, ON_BAD_TEXT)
    name, opened = open_readers(source)
    readers = tuple(reader for reader in opened if reader.schema.names)
    columns = tuple(dict.fromkeys(column for reader in readers for column in reader.schema.names))
    table = RecordTable(
        name=name, id_column=None, columns=columns, readers=readers, given=given_paths(source), on_bad_text=on_bad_text
    )
    if id == ROW_NUMBERS:
        return table
    if id is not None:
        for reader in readers:
            check_id(reader.schema, id, reader.name)
        if not readers:
            raise ColumnNotFound(id, name, columns)
    return replace(table, id_column=id or _guess_id(table))


def _guess_id(table: RecordTable) -> str | None:
    """Return a column named id, else one whose name suggests ids and whose values are distinct, else None."""
    for column in likely_ids(table.columns):
        if not all(column in reader.schema.names for reader in table.readers) or column not in table.usable():
            continue
        if column.strip().lower() == "id":
            return column
        values = table.read([column]).column(column)
        if len(values) and not values.null_count and pc.count_distinct(values).as_py() == len(values):
            return column
    return None


def likely_ids(columns: Sequence[str]) -> list[str]:
    """Return the columns that may contain ids, judged by their names, the most likely first.

    >>> likely_ids(["name", "rec_id", "ID"])
    ['ID', 'rec_id']
    """
    likely = [c for c in columns if c.strip().lower() in USUAL_IDS]
    return likely + [c for c in columns if c.strip().lower().endswith(("id", "_key")) and c not in likely]


def is_plain(dtype: pa.DataType) -> bool:
    """Return whether a field of a record can have this type: text, numbers or dates, not lists."""
    return bool(is_text(dtype) or pa.types.is_primitive(dtype) or pa.types.is_decimal(dtype))


def as_text(column: pa.Array, *, whole: bool = False) -> pa.Array:
    """Convert plain values to large_string. whole: the values are floats without a fraction; write them as integers."""
    if is_text(column.type):
        return column.cast(pa.large_binary()).cast(pa.large_string())
    return (column.cast(pa.int64(), safe=False) if whole else column).cast(pa.large_string())


def check_plain(name: str, dtype: pa.DataType, where: str) -> None:
    """Raise InputError if a column of this type cannot be a field of a record."""
    if not is_plain(dtype):
        raise InputError(f"column {name!r} in {where} is {dtype}; expected text, numbers or dates.")


def no_common_column(tables: Sequence[Any]) -> InputError:
    """Return the error for tables without a column to compare. Each table has a name and columns."""
    columns = "; ".join(f"{table.name}: {listed(table.columns)}" for table in tables)
    what = "no column can be compared" if len(tables) == 1 else "the tables have no column in common"
    return InputError(f"{what}. Columns of {columns}.")


@dataclass(frozen=True)
class RecordContents:
    """The records of a table for display, by row number."""

    table: RecordTable

    @cached_property
    def _whole(self) -> pa.Table:
        return self.table.read([name for name in self.table.columns if name in self.table.usable()])

    def ids(self) -> pa.ChunkedArray | None:
        return None if self.table.id_column is None else self.table.ids(self._whole)

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        known = [row for row in rows if row < len(self._whole)]
        values = self._whole.take(pa.array(known, pa.int64())).to_pylist()
        return {row: {"fields": record} for row, record in zip(known, values, strict=True)}
