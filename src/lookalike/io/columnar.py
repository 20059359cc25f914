"""Formats that know their types: Parquet, Arrow files, and Arrow tables in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lookalike.errors import InputError
from lookalike.io.reader import Reader, nbytes_of, reading, rows_per_batch, without_first

# Without a buffer a whole column chunk is read at once: 106 MB for 200,000 documents in one row group.
READ_BUFFER = 1 << 20
# Sizes are averages; a file with thousands of row groups need not be summed up to its end.
ROW_GROUPS_SAMPLED = 64


class ParquetFile(Reader):
    """One Parquet file, decoded a few MB at a time, only the columns asked for."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        refuse_empty(path, name, "a Parquet file")
        with reading(name, "Parquet"), pq.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            self._metadata = file.metadata
        self.rows = self._metadata.num_rows

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Row groups before `start` are not read."""
        names = schema.names
        rows = rows_per_batch(self.size(names), self._metadata.num_rows)
        with reading(self.name, "Parquet"):
            file = pq.ParquetFile(self._path, metadata=self._metadata, buffer_size=READ_BUFFER, pre_buffer=False)
        with file:
            for group in range(self._metadata.num_row_groups):
                here = self._metadata.row_group(group).num_rows
                if start < here:
                    # A row group is told apart from the file only where it is one of several.
                    where = f"{self.name} row group {group}" if self._metadata.num_row_groups > 1 else self.name
                    with reading(where, "Parquet"):
                        batches = file.iter_batches(
                            batch_size=rows, row_groups=[group], columns=names, use_threads=len(names) > 3
                        )
                        yield from without_first(batches, start)
                start = max(0, start - here)

    def size(self, names: Sequence[str]) -> int:
        """Bytes of these columns before compression, from a sample of the row groups."""
        nbytes = rows = 0
        for group in range(min(self._metadata.num_row_groups, ROW_GROUPS_SAMPLED)):
            info = self._metadata.row_group(group)
            rows += info.num_rows
            columns = (info.column(index) for index in range(info.num_columns))
            nbytes += sum(c.total_uncompressed_size for c in columns if c.path_in_schema.split(".")[0] in names)
        return int(nbytes * self._metadata.num_rows / max(rows, 1))


class ArrowFile(Reader):
    """One Arrow file (also Feather), or one Arrow stream saved to a file; mapped into memory."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        refuse_empty(path, name, "an Arrow file")
        with reading(name, "Arrow"), pa.memory_map(str(path)) as source:
            self.schema = _open_ipc(source).schema

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        options = pa.ipc.IpcReadOptions(included_fields=[self.schema.get_field_index(name) for name in schema.names])
        with reading(self.name, "Arrow"), pa.memory_map(str(self._path)) as source:
            reader = _open_ipc(source, options)
            if isinstance(reader, pa.ipc.RecordBatchStreamReader):
                whole = iter(reader)
            else:
                whole = (reader.get_batch(index) for index in range(reader.num_record_batches))
            for batch in whole:
                step = rows_per_batch(nbytes_of(batch), max(len(batch), 1))
                yield from (batch.slice(start, step) for start in range(0, len(batch), step))

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size


class InMemory(Reader):
    """An Arrow table that the caller holds."""

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name = name
        self.schema = table.schema
        self.rows = table.num_rows
        self._table = table

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        table = self._table.select(schema.names)
        yield from table.to_batches(max_chunksize=rows_per_batch(nbytes_of(table), max(table.num_rows, 1)))

    def size(self, names: Sequence[str]) -> int:
        return nbytes_of(self._table.select(list(dict.fromkeys(names))))


def refuse_empty(path: Path, name: str, expected: str) -> None:
    """A format with a header cannot be an empty file."""
    try:
        empty = path.stat().st_size == 0
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error
    if empty:
        raise InputError(f"{name} is empty (0 bytes); expected {expected}.")


def _open_ipc(
    source: pa.NativeFile, options: pa.ipc.IpcReadOptions | None = None
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(source, options=options)
    except pa.ArrowInvalid:
        source.seek(0)
        return pa.ipc.open_stream(source, options=options)
