"""CSV and TSV. These have no types: every column is text, so that 007 and 1.50 come out as they went in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv

from lookalike.errors import InputError
from lookalike.io.columnar import refuse_empty
from lookalike.io.names import with_unique_names
from lookalike.io.paths import compression_of
from lookalike.io.reader import TARGET_BYTES, Reader, open_stream, reading, without_first

# A row must fit in a block; one that does not is read again in larger ones.
BLOCK_SIZES = (TARGET_BYTES, 64 << 20, (1 << 31) - 1)

OTHERS = (";", "\t", "|")  # what stands between columns where a header has no comma, as spreadsheets write it

RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class Delimited(Reader):
    """A CSV or TSV file with a header line (perhaps compressed). An empty field is null, "" in quotes is empty text.

    A CSV whose header has no comma, but semicolons, tabs or bars, is parted by those.
    """

    def __init__(self, path: Path, name: str, *, kind: str) -> None:
        self.name = name
        self._path = path
        self.paths = (path,)
        self._kind = kind
        self._delimiter = "\t" if kind == "TSV" else ","
        self._counted: int | None = None  # rows, once all were read
        self._places: list[tuple[int, int]] | None = None
        refuse_empty(path, name, "a header line")
        with reading(name, kind), self._open() as file:
            head = file.read(1 << 20).decode("utf-8-sig", "replace")
        names = self._header(head, self._delimiter)
        if not names:
            raise InputError(f"{name} holds only blank lines; expected a header line.")
        if kind == "CSV" and len(names) == 1:
            mark = max(OTHERS, key=lambda mark: len(self._header(head, mark)))
            if len(parted := self._header(head, mark)) > 1:
                self._delimiter, names = mark, parted
        # pa.field takes repeated and empty names as they are.
        self.schema = with_unique_names(pa.schema([pa.field(column, pa.string()) for column in names]))
        self._renamed = names != self.schema.names
        # A header line that does not end has no rows after it, which Arrow takes for a mistake.
        self._only_header = len(head.strip().splitlines()) == 1

    def _header(self, head: str, delimiter: str) -> list[str]:
        try:
            return next(filter(None, csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)), [])
        except csv.Error as error:
            raise InputError(f"{self.name} cannot be read as {self._kind}: {error}.") from error

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in self._batches(schema):
            done += len(batch)
            yield batch
        self._counted = done

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Begins near `start` where the file was read before and is not compressed."""
        row, offset = max((mark for mark in self._marks() if mark[0] <= start), default=(0, 0)) if start else (0, 0)
        yield from without_first(self._batches(schema, offset) if offset else self.batches(schema), start - row)

    def _marks(self) -> list[tuple[int, int]]:
        """(row, byte at which it begins), one in each few MB. None where the rows cannot be told apart by their line
        breaks and quotes alone: their number must be what reading found."""
        if self._counted is None or compression_of(self._path) is not None:
            return []
        if self._places is None:
            rows, places = record_places(self._path)
            self._places = places if rows == self._counted else []
        return self._places

    def _batches(self, schema: pa.Schema, offset: int = 0) -> Iterator[pa.RecordBatch]:
        done = 0
        for block_size in BLOCK_SIZES:
            skip = done
            with reading(self.name, self._kind), self._open() as file:
                if offset:
                    file.seek(offset)
                try:
                    for batch in self._reader(file, schema, block_size, header=not offset):
                        kept = batch.slice(min(skip, len(batch)))
                        skip -= len(batch) - len(kept)
                        done += len(kept)
                        yield kept
                    return
                except pa.ArrowInvalid as error:
                    if self._only_header:
                        return
                    if ragged := RAGGED.search(str(error)):
                        raise InputError(self._explain(*ragged.groups())) from error
                    if block_size == BLOCK_SIZES[-1]:
                        raise

    def settled(self, names: Sequence[str]) -> pa.Schema:
        """Whole numbers, numbers or text: the narrowest that every value is. Reads the file, if there are names."""
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
        """Where the row begins. Reads the file up to this row."""
        with self._open() as file, io.TextIOWrapper(file, "utf-8", "replace", newline="") as lines:
            rows = csv.reader(lines, delimiter=self._delimiter)
            number, begin = -1, 1  # the header is no row
            for fields in rows:
                if fields:
                    if number == row:
                        return f"{self.name} line {begin}"
                    number += 1
                begin = rows.line_num + 1
        return super().where(row)

    def _open(self) -> pa.NativeFile:
        return open_stream(self._path)

    def _reader(
        self, file: pa.NativeFile, schema: pa.Schema, block_size: int, *, header: bool
    ) -> pv.CSVStreamingReader:
        return pv.open_csv(
            file,
            # Without threads Arrow names the row that is wrong; a stream is parsed by one thread anyway.
            read_options=pv.ReadOptions(
                block_size=block_size,
                use_threads=False,
                column_names=self.schema.names if self._renamed or not header else None,
                skip_rows_after_names=int(self._renamed and header),
            ),
            # No Python callback for wrong rows: Arrow's own threads may outlive the interpreter and then abort in it.
            parse_options=pv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=pv.ConvertOptions(
                check_utf8=False,
                include_columns=schema.names,
                column_types=schema,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def _explain(self, row: str | None, expected: str, found: str) -> str:
        # Arrow counts from 1 and counts the header.
        where = self.name if row is None else self.where(int(row) - 2)
        return f"{where}: expected {expected} columns, found {found}. Are quotes missing?"


def record_places(path: Path, *, size: int = TARGET_BYTES) -> tuple[int, list[tuple[int, int]]]:
    """(how many rows a file has, the row and the first byte of one row in each `size` bytes).

    A row ends at a line break with an even number of quotes before it; blank lines and the header are no rows.
    """
    places: list[tuple[int, int]] = []
    rows, quotes, offset, began = -1, 0, 0, 0  # began: the byte after the row before
    with open(path, "rb") as file:
        while piece := file.read(size):
            given = np.frombuffer(piece, np.uint8)
            breaks = np.flatnonzero(given == ord("\n"))
            odd = (quotes + np.searchsorted(np.flatnonzero(given == ord('"')), breaks)) & 1
            ends = offset + breaks[odd == 0] + 1
            begins = np.concatenate([[began], ends[:-1]]) if len(ends) else ends
            second = np.minimum(ends - offset - 2, len(given) - 1)
            blank = (ends - begins == 1) | ((ends - begins == 2) & (given[np.maximum(second, 0)] == ord("\r")))
            if len(ends):
                rows += int((~blank).sum())
                began = int(ends[-1])
                places.append((rows, began))
            quotes += piece.count(b'"')
            offset += len(piece)
    return rows + (offset > began), places


def _narrowest(values: pa.Array, dtype: pa.DataType) -> pa.DataType:
    for wider in (pa.int64(), pa.float64()):
        if dtype in (pa.int64(), wider):
            try:
                values.cast(wider)
                return wider
            except pa.ArrowInvalid:
                continue
    return pa.string()
