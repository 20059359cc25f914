"""Readers of typed formats: Parquet, Arrow files, and Arrow tables in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io.canonical import (
    bounded,
    canonical,
    canonical_type,
    holds_dictionary,
    without_dictionary,
    without_null_entries,
)
from lookalike.io.names import with_unique_names
from lookalike.io.opening import open_file, open_for_arrow, remote_file
from lookalike.io.parquet_pages import pages
from lookalike.io.parquet_schema import with_arrow_schema
from lookalike.io.reader import (
    TARGET_BYTES,
    ColumnReader,
    Reader,
    ReadLimit,
    nbytes_of,
    reading,
    rows_per_batch,
    spans_by_bytes,
    without_first,
)
from lookalike.io.unchanged import crc_of_file, crc_of_range, unchanged

# Without a buffer, a whole column chunk is read at once: 106 MB for 200,000 documents in one row group.
READ_BUFFER = 1 << 20
# Sizes are averages over these; the thousands of row groups of a large file are not all summed up.
ROW_GROUPS_SAMPLED = 64
# Arrow holds about five times the stored size of a dictionary column in memory, for a whole row group at once.
DICTIONARY_BYTES = 16 << 20
WHOLE_FILE = ""  # checksum key of a file that has one checksum for all columns


class Columnar(Reader):
    """A typed input. `schema` has unique names and canonical types, `row_schema` the stored types.

    `batches` returns each column in the type that the requested schema has for it: stored or canonical.
    """

    _stored: pa.Schema  # names and types as stored

    def _describe(self, stored: pa.Schema) -> None:
        self._stored = stored
        self._rows = with_unique_names(stored)
        self.schema = pa.schema([field.with_type(canonical_type(field.type)) for field in self._rows])

    def row_schema(self) -> pa.Schema:
        return self._rows

    def _places(self, names: Sequence[str]) -> list[int]:
        """Return the positions of these columns in the input, ascending."""
        return sorted({self.schema.get_field_index(name) for name in names})

    def _as_asked(self, batch: pa.RecordBatch, places: Sequence[int], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the columns of `schema` in its types. places: the positions of the batch's columns in the input."""
        column_at = {place: number for number, place in enumerate(places)}
        numbers = [column_at[self.schema.get_field_index(name)] for name in schema.names]
        stored = [batch.column(number) for number in numbers]
        if all(column.type.equals(field.type) for column, field in zip(stored, schema, strict=True)):
            columns = [without_null_entries(column) for column in stored]
            yield pa.RecordBatch.from_arrays(columns, names=schema.names)
            return
        for piece in bounded(pa.RecordBatch.from_arrays(stored, names=schema.names)):
            columns = [_in_type(column, field.type) for column, field in zip(piece.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=schema.names)


class ParquetFile(Columnar, ColumnReader):
    """A Parquet file, of which the requested columns are decoded a few MB at a time."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        self.checksums = {}
        refuse_empty(path, name, "a Parquet file")
        with reading(name, "Parquet"), pq.ParquetFile(_for_arrow(path)) as file:
            self._metadata, stored = file.metadata, file.schema_arrow
        self.rows = self._metadata.num_rows
        plain = pa.schema([self._decoded(field) for field in stored], stored.metadata)
        if not plain.equals(stored):
            with reading(name, "Parquet"):
                self._metadata = with_arrow_schema(self._metadata, plain)
        self._describe(plain)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from `start` on; row groups before it are not read."""
        places = self._places(schema.names)
        stored = self._stored.names  # a new list each time
        names = list(dict.fromkeys(stored[place] for place in places))
        self._announce(names)
        with unchanged(self, names):
            yield from self._batches(schema, names, start)

    def _batches(self, schema: pa.Schema, names: list[str], start: int) -> Iterator[pa.RecordBatch]:
        rows = rows_per_batch(self.size(schema.names), self._metadata.num_rows)
        if self.limit is not None:
            with reading(self.name, "Parquet"):
                rows = min(rows, self._rows_that_fit(names, start, self.limit))
        with reading(self.name, "Parquet"):
            file = pq.ParquetFile(
                _for_arrow(self._path), metadata=self._metadata, buffer_size=READ_BUFFER, pre_buffer=False
            )
        with file:
            for group in range(self._metadata.num_row_groups):
                here = self._metadata.row_group(group).num_rows
                if start < here:
                    # Messages name the row group only if there are several.
                    where = f"{self.name} row group {group}" if self._metadata.num_row_groups > 1 else self.name
                    with reading(where, "Parquet"):
                        batches = file.iter_batches(
                            batch_size=rows, row_groups=[group], columns=names, use_threads=len(names) > 3
                        )
                        for batch in without_first(batches, start):
                            yield from self._as_asked(batch, self._selected(batch.schema.names), schema)
                start = max(0, start - here)

    def _announce(self, names: list[str]) -> None:
        """Tell a remote file which parts of it will be read: these columns."""
        remote = remote_file(self._path)
        if remote is None:
            return
        spans = []
        for group in range(self._metadata.num_row_groups):
            info = self._metadata.row_group(group)
            columns = (info.column(index) for index in range(info.num_columns))
            for column in (c for c in columns if c.path_in_schema.split(".")[0] in names):
                begin = column.dictionary_page_offset or column.data_page_offset
                spans.append((begin, begin + column.total_compressed_size))
        remote.expect(spans)

    def _rows_that_fit(self, names: list[str], start: int, limit: ReadLimit) -> int:
        """Return how many rows make a batch of about TARGET_BYTES, even if each has the average dictionary value.

        Raises an error for pages that exceed the limit.
        """
        per_row = 1.0
        with open_file(self._path) as file:
            for group in range(self._metadata.num_row_groups):
                info = self._metadata.row_group(group)
                columns = [info.column(index) for index in range(info.num_columns) if start < info.num_rows]
                start = max(0, start - info.num_rows)
                for column in (c for c in columns if c.path_in_schema.split(".")[0] in names):
                    is_long = column.total_uncompressed_size > limit.nbytes
                    if column.dictionary_page_offset is None and not is_long:
                        continue
                    for page in pages(file, column):
                        limit.check(f"a page of column {column.path_in_schema!r} of {self.name}", page.nbytes)
                        if page.is_dictionary:
                            per_row = max(per_row, page.nbytes / max(1, page.count))
                        if not is_long:
                            break
        return max(1, int(TARGET_BYTES / per_row))

    def _selected(self, names: Sequence[str]) -> list[int]:
        """Return the positions of a batch's columns: Parquet selects by name, so it has all columns of a name."""
        rest = {name: iter(self._stored.get_all_field_indices(name)) for name in names}
        return [next(rest[name]) for name in names]

    def _decoded(self, field: pa.Field) -> pa.Field:
        """Return a field of plain values for a dictionary column that takes much memory or has several dictionaries."""
        several = self._metadata.num_row_groups > 1
        if holds_dictionary(field.type) and (several or self.size([field.name]) > DICTIONARY_BYTES):
            return field.with_type(without_dictionary(field.type))
        return field

    def current_checksums(self, names: Sequence[str]) -> dict[str, int]:
        """Return the checksum of each column's bytes in the file, which also covers the file size."""
        sums = dict.fromkeys(names, self._path.stat().st_size)
        with open_file(self._path) as file:
            for group in range(self._metadata.num_row_groups):
                info = self._metadata.row_group(group)
                for column in (info.column(index) for index in range(info.num_columns)):
                    name = column.path_in_schema.split(".")[0]
                    if name in sums:
                        start = column.dictionary_page_offset or column.data_page_offset
                        sums[name] = crc_of_range(file, start, column.total_compressed_size, sums[name])
        return sums

    def size(self, names: Sequence[str]) -> int:
        """Estimate the uncompressed bytes of these columns from a sample of the row groups."""
        wanted, nbytes, rows = set(names), 0, 0
        for group in range(min(self._metadata.num_row_groups, ROW_GROUPS_SAMPLED)):
            info = self._metadata.row_group(group)
            rows += info.num_rows
            columns = (info.column(index) for index in range(info.num_columns))
            nbytes += sum(c.total_uncompressed_size for c in columns if c.path_in_schema.split(".")[0] in wanted)
        return int(nbytes * self._metadata.num_rows / max(rows, 1))


class ArrowFile(Columnar, ColumnReader):
    """An Arrow (Feather) file, or an Arrow stream saved to a file; memory-mapped."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        self.checksums = {}
        refuse_empty(path, name, "an Arrow file")
        with reading(name, "Arrow"), _map(path) as source:
            self._describe(_open_ipc(source).schema)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        places = self._places(schema.names)
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with (
            unchanged(self, [WHOLE_FILE]),
            reading(self.name, "Arrow"),
            _map(self._path) as source,
        ):
            reader = _open_ipc(source, options)
            if isinstance(reader, pa.ipc.RecordBatchStreamReader):
                whole = iter(reader)
            else:
                whole = (reader.get_batch(index) for index in range(reader.num_record_batches))
            for batch in whole:
                check_offsets(batch)
                yield from self._pieces(batch, places, schema)

    def _pieces(self, batch: pa.RecordBatch, places: Sequence[int], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        step = rows_per_batch(nbytes_of(batch), max(len(batch), 1))
        for part in (batch.slice(start, step) for start in range(0, len(batch), step)):

            def nbytes(start: int, end: int, part: pa.RecordBatch = part) -> int:
                return nbytes_of(part.slice(start, end - start))

            for start, end in spans_by_bytes(len(part), nbytes, 2 * TARGET_BYTES):
                yield from self._as_asked(part.slice(start, end - start), places, schema)

    def current_checksums(self, names: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(names, crc_of_file(self._path))

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size


class TableInMemory(Columnar):
    """An Arrow table in memory."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name = name
        self.rows = table.num_rows
        encoded = any(holds_dictionary(dtype) for dtype in table.schema.types)
        self._table = table.unify_dictionaries() if encoded else table
        self._describe(table.schema)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        places = self._places(schema.names)
        table = self._table.select(places)
        for batch in table.to_batches(max_chunksize=rows_per_batch(nbytes_of(table), max(table.num_rows, 1))):
            yield from self._as_asked(batch, places, schema)

    def size(self, names: Sequence[str]) -> int:
        return nbytes_of(self._table.select(self._places(names)))


def check_offsets(batch: pa.RecordBatch) -> None:
    """Raise ArrowInvalid if an offset or index points outside of its values; Arrow does not look at those of a file."""
    for column in batch.columns:
        as_bytes = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(column.type)
        (column if as_bytes is None else column.view(as_bytes)).validate(full=True)  # UTF-8 is checked where it is read


def refuse_empty(path: Path, name: str, expected: str) -> None:
    """Raise InputError for an empty file, in a format that has a header."""
    try:
        empty = path.stat().st_size == 0
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error
    if empty:
        raise InputError(f"{name} is empty (0 bytes); expected {expected}.")


def _in_type(column: pa.Array, dtype: pa.DataType) -> pa.Array:
    return without_null_entries(column) if column.type.equals(dtype) else canonical(column)


def _open_ipc(
    source: pa.NativeFile, options: pa.ipc.IpcReadOptions | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(source, options=options)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source, options=options)


def _map(path: Path) -> pa.NativeFile:
    """Map a file of this machine into memory; open one at an address."""
    return pa.memory_map(os.fsencode(path)) if remote_file(path) is None else open_for_arrow(path)


def _for_arrow(path: Path) -> Path | pa.NativeFile:
    """Return the path, or the opened file if it is at an address, or its name is not UTF-8."""
    is_plain = remote_file(path) is None and os.fsencode(path) == str(path).encode("utf-8", "replace")
    return path if is_plain else open_for_arrow(path)
