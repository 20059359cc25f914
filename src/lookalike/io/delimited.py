"""Reader of CSV and TSV. These have no types: every column is text, so 007 and 1.50 are written as they were read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

from lookalike.errors import InputError
from lookalike.io.columnar import refuse_empty
from lookalike.io.files import USUAL_FORM, TextForm, wide_encoding
from lookalike.io.names import with_unique_names
from lookalike.io.paths import compression_of
from lookalike.io.plain_text import BOM, Mark, Marks
from lookalike.io.prefetch import in_order
from lookalike.io.reader import (
    TARGET_BYTES,
    UNDER_WAY_BYTES,
    ByteReader,
    RawRows,
    encoding_of,
    open_stream,
    reading,
    without_first,
)
from lookalike.io.unchanged import watched

BLOCK_BYTES = TARGET_BYTES  # bytes of a file that are read and parsed at a time; a longer record is not split

OTHERS = (";", "\t", "|")  # delimiters to try if a CSV header has no comma, as some spreadsheets write it

RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class Delimited(ByteReader):
    """A CSV or TSV file with a header line, optionally compressed. An empty field is null, a quoted "" is empty text.

    form: the encoding and the delimiter. Without a delimiter, if the header of a CSV file has no comma but semicolons,
    tabs or bars, these are the delimiter.
    """

    def __init__(self, path: Path, name: str, *, kind: str, form: TextForm = USUAL_FORM) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        self.copied_as = self._kind = kind
        refuse_empty(path, name, "a header line")
        self._encoding = encoding_of(path, name, form.encoding, kind)
        self._seekable = compression_of(path) is None and self._encoding is None
        with reading(name, kind), self._open() as file:
            start = file.read(1 << 20)
        self.schema, self.delimiter = header_of(start, name, kind, form.delimiter)
        self._marks = Marks()

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from `start` on; seeks to its block if that was read before and the file is not compressed."""
        mark = self._marks.before(start)
        row = mark.row

        def parse(numbered: tuple[int, RawRows]) -> pa.Table:
            return self._parse(*numbered, schema)

        with reading(self.name, self._kind):
            for table in in_order(
                parse, self._numbered(mark), weight=lambda numbered: len(numbered[1].data), most=UNDER_WAY_BYTES
            ):
                yield from without_first(table.combine_chunks().to_batches(), max(0, start - row))
                row += table.num_rows

    def raw_rows(self) -> Iterator[RawRows]:
        with reading(self.name, self._kind):
            for _, rows in self._numbered(Mark()):
                yield rows

    def head(self) -> bytes:
        """Return the byte order mark, if there is one, and the header line."""
        with reading(self.name, self._kind):
            first = next(self._blocks(0))
        mark = BOM if first.data.startswith(BOM) else b""
        return mark + first.data[first.starts[0] : first.ends[0]]

    def beginning(self) -> bytes:
        """Return the bytes of the file up to the end of the header line, also blank lines before it."""
        with reading(self.name, self._kind):
            first = next(self._blocks(0))
        return first.data[: first.ends[0]]

    def _numbered(self, mark: Mark) -> Iterator[tuple[int, RawRows]]:
        """Yield (number of the first row, rows) for each block."""
        row = mark.row
        is_first = not mark.offset  # the first block begins with the header
        offset = mark.offset
        for block in self._blocks(mark.offset):
            rows = RawRows(block.data, block.starts[1:], block.ends[1:]) if is_first else block
            is_first = False
            if len(rows):
                yield row, rows
            row, offset = row + len(rows), offset + int(block.ends[-1])
            if self._seekable:
                self._marks.add(Mark(row, 0, offset))

    def _blocks(self, offset: int) -> Iterator[RawRows]:
        """Yield whole records in blocks of about BLOCK_BYTES from byte `offset` on, the start of a record."""
        with self._open() as file:
            if offset:
                file.seek(offset)
            pieces: Iterator[bytes] = iter(lambda: file.read(BLOCK_BYTES), b"")
            waiting: list[bytes] = []
            length = enough = 0
            for piece in pieces if offset else watched(self, pieces):
                waiting.append(piece)
                length += len(piece)
                if length < enough:
                    continue
                block = self._records(b"".join(waiting), at_start=not offset, is_end=False)
                end = int(block.ends[-1]) if len(block) else 0
                if end:
                    yield block
                    offset += end
                waiting = [block.data[end:]]
                length = len(waiting[0])
                enough = 0 if end else 2 * length  # so that a long record is not scanned many times
                if self.limit is not None and length > self.limit.nbytes and not end:
                    self.limit.refuse(f"a record of {self.name}", length + _to_record_end(waiting[0], pieces))
            block = self._records(b"".join(waiting), at_start=not offset, is_end=True)
            if len(block):
                yield block

    def _records(self, data: bytes, *, at_start: bool, is_end: bool) -> RawRows:
        """Return the complete records at the beginning of `data`."""
        return records_of(data, self.delimiter, at_start=at_start, is_end=is_end)

    def _parse(self, first: int, rows: RawRows, schema: pa.Schema) -> pa.Table:
        begin, end = int(rows.starts[0]), int(rows.ends[-1])
        try:
            table = parsed(pa.py_buffer(rows.data)[begin:end], self.schema.names, self.delimiter, schema)
        except pa.ArrowInvalid as error:
            if ragged := RAGGED.search(str(error)):
                raise InputError(self._explain(first, *ragged.groups())) from error
            raise
        if table.num_rows != len(rows):
            raise InputError(
                f"{self.where(first)}: {len(rows):,} rows from here on were read as {table.num_rows:,}. "
                "Are quotes missing?"
            )
        return table

    def settled(self, names: Sequence[str]) -> pa.Schema:
        """Return the narrowest of int64, float64, string that fits each column. Reads the file if names are given."""
        types: dict[str, Any] = dict.fromkeys(names, pa.int64())
        if not types:
            return pa.schema([])
        for batch in self.batches(pa.schema([(name, pa.string()) for name in types])):
            for name in types:
                types[name] = _narrowest(batch.column(name), types[name])
        return pa.schema(list(types.items()))

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size

    def where(self, row: int) -> str:
        """Return the file and line where the row begins. Reads the file up to this row."""
        with self._open() as file, io.TextIOWrapper(file, "utf-8", "replace", newline="") as lines:
            rows = csv.reader(lines, delimiter=self.delimiter)
            number, begin = -1, 1  # the header does not count as a row
            for fields in rows:
                if fields:
                    if number == row:
                        return f"{self.name} line {begin}"
                    number += 1
                begin = rows.line_num + 1
        return super().where(row)

    def _open(self) -> pa.NativeFile:
        return open_stream(self._path, self._encoding)

    def _explain(self, first: int, row: str | None, expected: str, found: str) -> str:
        # Arrow counts from 1.
        where = self.name if row is None else self.where(first + int(row) - 1)
        if expected == "1":
            return f"{where}: expected 1 column, found {found}. Is another delimiter used? Give `delimiter='%'`, say."
        return f"{where}: expected {expected} columns, found {found}. Are quotes missing?"


def header_of(start: bytes, name: str, kind: str, given: str | None = None) -> tuple[pa.Schema, str]:
    """Return (columns, delimiter) of a CSV or TSV file that begins with `start`, in UTF-8.

    name: of the file, for messages. given: the delimiter, if the user named it.
    """
    if (encoding := wide_encoding(start)) is not None or b"\0" in start[:2]:
        raise InputError(f"{name} is in {encoding or 'UTF-16'}; expected UTF-8. Convert the file first.")
    text, delimiter = start.decode("utf-8-sig", "replace"), given or ("\t" if kind == "TSV" else ",")

    def header(delimiter: str) -> list[str]:
        try:
            return next(filter(None, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)), [])
        except csv.Error as error:
            raise InputError(f"{name} cannot be read as {kind}: {error}.") from error

    names = header(delimiter)
    if not names:
        raise InputError(f"{name} holds only blank lines; expected a header line.")
    if kind == "CSV" and given is None and len(names) == 1:
        mark = max(OTHERS, key=lambda mark: len(header(mark)))
        if len(parted := header(mark)) > 1:
            delimiter, names = mark, parted
    # pa.field accepts repeated and empty names.
    return with_unique_names(pa.schema([pa.field(column, pa.string()) for column in names])), delimiter


def records_of(data: bytes, delimiter: str, *, at_start: bool, is_end: bool) -> RawRows:
    """Return the complete records at the beginning of `data`, which begins with a record.

    at_start: the file begins here, so there may be a byte order mark. is_end: it ends here.
    """
    from lookalike.kernels.delimited import records  # not at the top: it loads the compiler

    skipped = len(BOM) if at_start and data.startswith(BOM) else 0
    given = np.frombuffer(data, np.uint8)[skipped:]
    starts, ends = np.empty((2, len(given) // 2 + 1), np.int64)  # a record has two bytes, the last may have one
    count = records(given, ord(delimiter), is_end, starts, ends)
    return RawRows(data, starts[:count] + skipped, ends[:count] + skipped)


def parsed(data: pa.Buffer, names: Sequence[str], delimiter: str, schema: pa.Schema) -> pa.Table:
    """Return the columns `schema` of records without a header. names: of all columns."""
    return pv.read_csv(
        pa.BufferReader(data),
        # Without threads, Arrow names the row with an error; blocks are parsed on several threads anyway.
        read_options=pv.ReadOptions(block_size=max(1, data.size), use_threads=False, column_names=names),
        # No Python callback for invalid rows: Arrow's threads may outlive the interpreter and then abort in it.
        parse_options=pv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pv.ConvertOptions(
            check_utf8=False,
            include_columns=schema.names,
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _to_record_end(begun: bytes, pieces: Iterable[bytes]) -> int:
    """Return the bytes to the end of the record that `begun` starts: a line break after an even number of quotes."""
    length, is_quoted = 0, begun.count(b'"') % 2
    for piece in pieces:
        data = np.frombuffer(piece, np.uint8)
        breaks = np.flatnonzero(data == ord("\n"))
        quotes = np.searchsorted(np.flatnonzero(data == ord('"')), breaks) + is_quoted
        if len(ends := breaks[quotes % 2 == 0]):
            return length + int(ends[0])
        length, is_quoted = length + len(piece), (is_quoted + piece.count(b'"')) % 2
    return length


def _narrowest(values: pa.Array, dtype: pa.DataType) -> pa.DataType:
    for wider in (pa.int64(), pa.float64()):
        if dtype in (pa.int64(), wider):
            try:
                values.cast(wider)
                return wider
            except pa.ArrowInvalid:
                continue
    return pa.string()
