"""Read CSV and TSV on Spark as records of bytes, by the rules and the parser of the local engine.

Spark splits a file at line breaks, and a record may hold line breaks inside of quotes. A first pass scans each split
twice: as if it began with a record, and as if it began inside of quotes. From the first split of a file on, that says
how each split begins. The end of a record that crosses a split is brought to the split in which the record begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.errors import InputError
from lookalike.io.delimited import RAGGED, header_of, parsed, records_of
from lookalike.io.plain_text import BOM
from lookalike.io.reader import RawRows
from lookalike.runtime.spark.arrow_batches import Batches, mapped_whole, numbers
from lookalike.runtime.spark.file_names import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEADER_LINES = 256  # maximum lines of a header with line breaks in its names
SHOWN_RECORD = 80  # maximum characters of a record in a message
OPENED = b'"'  # put before bytes that begin inside of quotes, which makes a record of them
Split = tuple[str, int]  # file, byte at which the split begins


class HiddenColumns(NamedTuple):
    """Names of the columns that rows carry besides the user's."""

    line: str
    file: str
    start: str
    row: str


@dataclass(frozen=True)
class Header:
    """What the files have in common. line: the header of the first one, without byte order mark and LF."""

    line: bytes
    names: tuple[str, ...]
    delimiter: str
    kind: str


@dataclass(frozen=True)
class DelimitedFiles:
    """CSV or TSV files on Spark.

    counts: rows that begin in each split. skipped: bytes at the start of a split that belong to an earlier record;
    ends: bytes that complete the last record of a split.
    """

    lines: DataFrame
    header: Header
    hidden: HiddenColumns
    counts: Mapping[Split, int]
    skipped: Mapping[Split, int]
    ends: Mapping[Split, bytes]

    def rows(self, *, lines: bool = False) -> DataFrame:
        """Return the columns of the files, and file, start and number of each row in its split.

        lines: also the bytes of the row.
        """
        from pyspark.sql.types import LongType, StringType, StructType

        header, hidden, skipped, ends = self.header, self.hidden, self.skipped, self.ends
        schema = StructType()
        for name in [*header.names, *([hidden.line] if lines else []), hidden.file]:
            schema = schema.add(name, StringType())
        schema = schema.add(hidden.start, LongType()).add(hidden.row, LongType())

        def work(batches: Batches) -> Batches:
            for split, number, rows in _records(batches, header, hidden, skipped, ends):
                yield _batch(split, number, rows, header, hidden, lines=lines)

        return mapped_whole(self.lines, work, schema)

    def with_header(self, lines: DataFrame) -> DataFrame:
        """Return lines of these files (value) with the header before the rows of each partition."""
        first = self.header.line

        def work(batches: Batches) -> Batches:
            yield pa.record_batch({"value": _text([first])})
            yield from batches

        return mapped_whole(lines, work, "value string")


def read_delimited(
    session: SparkSession, urls: Sequence[str], files: Sequence[str], kind: str, hidden: HiddenColumns
) -> DelimitedFiles:
    """Read the header of the first file that has one, and find out in one pass how each split begins.

    files: URLs of the files that `urls` stand for, in the order of the input. hidden: `file` and `start` name columns
    of metadata.
    """
    metadata = [f"_metadata.file_path as {hidden.file}", f"_metadata.file_block_start as {hidden.start}"]

    def lines_of(paths: Sequence[str]) -> DataFrame:
        return session.read.options(lineSep="\n").text(list(paths)).selectExpr("value", *metadata)

    header = next(filter(None, (_header(lines_of([file]), file, kind, hidden) for file in files)), None)
    if header is None:
        raise InputError(f"{plain(files[0])} is empty; expected a header line.")
    lines = lines_of(urls)
    scanned = _scanned(lines, header, hidden)
    begins_open: list[Split] = []
    counts, is_open, file = {}, False, None
    for split in sorted(scanned):
        is_open = is_open and split[0] == file
        if is_open:
            begins_open.append(split)
        scan = scanned[split][is_open]
        counts[split], is_open, file = scan.begun, scan.is_open, split[0]
    skipped = {split: scanned[split][True].tail for split in begins_open}
    tails = _tails(lines, skipped, hidden) if skipped else {}
    ends: dict[Split, bytes] = {}
    splits = sorted(scanned)
    owner: Split | None = None  # the split in which the record begins that the next split ends
    for before, split in pairwise(splits):
        if split in skipped:
            owner = before if before not in skipped or counts[before] else owner
            assert owner is not None
            ends[owner] = ends.get(owner, b"") + tails[split]
    return DelimitedFiles(lines, header, hidden, counts, skipped, ends)


class Scan(NamedTuple):
    """A split that begins with a record, or inside of one. tail: bytes of that one."""

    begun: int
    is_open: bool
    tail: int


def _header(lines: DataFrame, file: str, kind: str, hidden: HiddenColumns) -> Header | None:
    first = lines.where(f"{hidden.start} = 0").select("value").limit(HEADER_LINES).toArrow()["value"]
    data = _joined(first.combine_chunks())
    if not data.removeprefix(BOM).strip(b"\r\n"):
        return None
    schema, delimiter = header_of(data, plain(file), kind)
    rows = records_of(data, delimiter, at_start=True, is_end=True)
    line = data[rows.starts[0] : rows.ends[0]].removesuffix(b"\n")
    return Header(line, tuple(schema.names), delimiter, kind)


def _scanned(lines: DataFrame, header: Header, hidden: HiddenColumns) -> dict[Split, tuple[Scan, Scan]]:
    """Scan each split as if it began with a record, and as if it began inside of quotes."""

    def work(batches: Batches) -> Batches:
        state: list[list[int]] = []
        for split, data, is_last in _pieces(batches, hidden):
            if not state:
                state = [[0, False, 0], [0, True, 0]]
                data = _without_header(split, data, header)
            for number, (begun, is_open, tail) in enumerate(state):
                more = OPENED * is_open + data
                rows = records_of(more, header.delimiter, at_start=False, is_end=False)
                end = int(rows.ends[-1]) if len(rows) else 0
                left = bool(more[end:].strip(b"\r\n"))
                if number and begun == 0 and is_open:
                    tail += (int(rows.ends[0]) if len(rows) else len(more)) - 1
                state[number] = [begun + len(rows) + left - is_open, left, tail]
            if is_last:
                columns = zip(*((values[0], bool(values[1]), values[2]) for values in state), strict=True)
                yield pa.record_batch({"file": [split[0]], "start": [split[1]], **{
                    name: [list(map(int, values))] for name, values in zip(Scan._fields, columns, strict=True)
                }})  # fmt: skip
                state = []

    schema = "file string, start long, begun array<long>, is_open array<long>, tail array<long>"
    found = mapped_whole(lines, work, schema).collect()
    return {
        (row["file"], row["start"]): (
            Scan(row["begun"][0], bool(row["is_open"][0]), 0),
            Scan(row["begun"][1], bool(row["is_open"][1]), row["tail"][1]),
        )
        for row in found
    }


def _without_header(split: Split, data: bytes, header: Header) -> bytes:
    """Return the first bytes of a split without the header, after comparing that with the one of the first file."""
    if split[1]:
        return data
    schema, delimiter = header_of(data, plain(split[0]), header.kind)
    if (tuple(schema.names), delimiter) != (header.names, header.delimiter):
        columns, expected = ", ".join(schema.names), ", ".join(header.names)
        raise InputError(
            f"{plain(split[0])} has the columns {columns}; the first file has {expected}. Give all files one "
            "header and one delimiter, or run on one machine."
        )
    rows = records_of(data, delimiter, at_start=True, is_end=True)
    return data[int(rows.ends[0]) :]


def _tails(lines: DataFrame, skipped: Mapping[Split, int], hidden: HiddenColumns) -> dict[Split, bytes]:
    """Return the first bytes of some splits; skipped: their number."""
    from pyspark.sql import functions as F  # noqa: N812

    starts = sorted({start for _, start in skipped})

    def work(batches: Batches) -> Batches:
        taken = 0
        for split, data, is_last in _pieces(batches, hidden):
            part = data[: max(0, skipped.get(split, 0) - taken)]
            taken = 0 if is_last else taken + len(data)
            if part:
                yield pa.record_batch({"file": [split[0]], "start": [split[1]], "data": [part]})

    some = lines.where(F.col(hidden.start).isin(starts))
    tails: dict[Split, bytes] = {}
    for row in mapped_whole(some, work, "file string, start long, data binary").collect():
        split = (row["file"], row["start"])
        tails[split] = tails.get(split, b"") + bytes(row["data"])
    return tails


def _records(
    batches: Batches, header: Header, hidden: HiddenColumns, skipped: Mapping[Split, int], ends: Mapping[Split, bytes]
) -> Iterator[tuple[Split, int, RawRows]]:
    """Yield (split, number of the first row in it, rows) of a partition."""
    waiting: list[bytes] = []
    number = length = enough = 0
    skip = -1
    for split, data, is_last in _pieces(batches, hidden):
        if skip < 0:  # a split begins
            data, skip = _without_header(split, data, header), skipped.get(split, 0)
        skip, data = max(0, skip - len(data)), data[skip:]
        waiting.append(data)
        length += len(data)
        if not is_last and length < enough:
            continue
        whole = b"".join(waiting) + (ends.get(split, b"") if is_last else b"")
        rows = records_of(whole, header.delimiter, at_start=False, is_end=is_last)
        end = int(rows.ends[-1]) if len(rows) else 0
        if len(rows):
            yield split, number, rows
        number, waiting = number + len(rows), [whole[end:]]
        length = len(waiting[0])
        enough = 0 if end else 2 * length  # so that a long record is not scanned many times
        if is_last:
            number, waiting, length, enough, skip = 0, [], 0, 0, -1


def _batch(
    split: Split, number: int, rows: RawRows, header: Header, hidden: HiddenColumns, *, lines: bool
) -> pa.RecordBatch:
    """Return the columns of records."""
    begin, end = int(rows.starts[0]), int(rows.ends[-1])
    schema = pa.schema([(name, pa.string()) for name in header.names])
    try:
        table = parsed(pa.py_buffer(rows.data)[begin:end], header.names, header.delimiter, schema)
    except pa.ArrowInvalid as error:
        raise _ragged(error, rows, split) from error
    if table.num_rows != len(rows):
        raise InputError(
            f"{len(rows):,} rows of {plain(split[0])} were read as {table.num_rows:,}. Are quotes missing?"
        )
    columns = [column.combine_chunks() for column in table.columns]
    if lines:
        bounds = zip(rows.starts.tolist(), rows.ends.tolist(), strict=True)
        columns.append(_text([rows.data[start:end].removesuffix(b"\n") for start, end in bounds]))
    files = pa.array([split[0]]).take(as_arrow(np.zeros(len(rows), np.int64)))
    places = [np.full(len(rows), split[1], np.int64), number + np.arange(len(rows))]
    shown = [*header.names, *([hidden.line] if lines else []), hidden.file, hidden.start, hidden.row]
    return pa.record_batch([*columns, files, *map(as_arrow, places)], shown)


def _ragged(error: Exception, rows: RawRows, split: Split) -> InputError:
    ragged = RAGGED.search(str(error))
    if ragged is None:
        return InputError(f"{plain(split[0])} cannot be read: {error}.")
    row, expected, found = ragged.groups()
    at = int(row or 1) - 1
    record = rows.data[rows.starts[at] : rows.ends[at]].decode("utf-8", "replace").strip()[:SHOWN_RECORD]
    return InputError(
        f"a record of {plain(split[0])} has {found} columns, expected {expected}: {record!r}. Are quotes missing?"
    )


def _pieces(batches: Batches, hidden: HiddenColumns) -> Iterator[tuple[Split, bytes, bool]]:
    """Yield (split, the bytes of consecutive lines of it, whether these are its last)."""
    before: tuple[Split, bytes] | None = None
    for batch in batches:
        values = batch["value"].cast(pa.binary())
        files, starts = batch[hidden.file], numbers(batch, hidden.start)
        codes = files.dictionary_encode().indices.to_numpy()
        new = np.ones(len(starts), np.bool_)
        new[1:] = (codes[1:] != codes[:-1]) | (starts[1:] != starts[:-1])
        begins = np.flatnonzero(new)
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(starts)], strict=True):
            split = (files[begin].as_py(), int(starts[begin]))
            if before is not None:
                yield *before, before[0] != split
            before = split, _joined(values.slice(begin, end - begin))
    if before is not None:
        yield *before, True


def _joined(lines: Any) -> bytes:
    """Return lines without their line breaks as the bytes of a file."""
    return b"".join(line + b"\n" for line in lines.cast(pa.binary()).to_pylist())


def _text(values: Sequence[bytes]) -> pa.Array:
    """Return bytes as a column of strings, which Spark does not check."""
    return pa.array(values, pa.binary()).view(pa.string())
