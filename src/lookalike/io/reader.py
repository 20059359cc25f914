"""What every input format offers, and the rules they share: batch sizes and one-line errors."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.errors import InputError, OutOfMemory
from lookalike.io.paths import compression_of
from lookalike.io.unchanged import Prefix

# A few MB per batch: enough work for one kernel call, little enough that several wait in the cache, not in memory.
TARGET_BYTES = 4 << 20
UNDER_WAY_BYTES = 5 * TARGET_BYTES  # of batches that are parsed at a time, or wait; a longer one is alone
# Dictionary pages hide how long the text is, so the sizes in a file may promise far too little.
MAX_ROWS = 1 << 14

NO_THREAD = "Resource temporarily unavailable"  # the system refused a thread, for want of memory


@dataclass(frozen=True)
class ReadLimit:
    """The longest record, file or page that fits into memory while it is read.

    nbytes: its length. refuse: raises the error for a longer one, from words that name it and its length.
    """

    nbytes: int
    refuse: Callable[[str, int], NoReturn]

    def check(self, what: str, nbytes: int) -> None:
        """Raise the error if this many bytes are too many."""
        if nbytes > self.nbytes:
            self.refuse(what, nbytes)


class Reader(ABC):
    """One file, table or list of text files. Reading again gives the same rows in the same order.

    schema: the columns as far as opening tells; none where a file without any rows cannot know them.
    rows: how many, or None where only reading tells; known once the file has been read.
    paths: the files behind it. damaged: what is wrong after `rows` rows, where the rest is left out.
    lines: of text files, whether each line is an item (else each file); None where the items are rows of a table.
    warnings: what a user should know about the way the files are read.
    copied_as: the format in which `raw_rows` gives the rows; None where rows have no bytes of their own.
    limit: what is refused before it is read because of its length; None for nothing.
    """

    name: str
    schema: pa.Schema
    rows: int | None = None
    paths: Sequence[Path] = ()
    damaged: str | None = None
    lines: bool | None = None
    warnings: Sequence[str] = ()
    copied_as: str | None = None
    limit: ReadLimit | None = None

    @abstractmethod
    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The columns named in `schema`, perhaps among others. Formats without types give the types of `schema`."""

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """As `batches`, from row `start` on; formats that can, do not read what stands before."""
        yield from without_first(self.batches(schema), start)

    @abstractmethod
    def size(self, names: Sequence[str]) -> int:
        """About how many bytes these columns take, or the size of the file where that is all there is to know."""

    def settled(self, names: Sequence[str]) -> pa.Schema:
        """These columns, each with a type that fits every row; formats without types read the whole file for that."""
        return select(self.schema, names)

    def row_schema(self) -> pa.Schema:
        """All columns, each with a type that gives every value back as it stands in the input."""
        return self.schema

    def raw_rows(self) -> Iterator[RawRows]:
        """The same rows as `batches`, in the bytes of the file; only where `copied_as` names a format."""
        raise NotImplementedError

    def head(self) -> bytes:
        """What stands before the first row and belongs to the file: a byte order mark, a header line."""
        return b""

    def content(self) -> Any:
        """What is known of the bytes that were read, as JSON: for `expect`, in another process."""
        return None

    def expect(self, content: Any) -> None:  # noqa: B027  (a table in memory cannot change)
        """Take over what an earlier reading of the same file knew of its bytes; later readings are compared with it."""

    def where(self, row: int) -> str:
        """The words that lead a person to this row (counted from 0): a line, where an editor would show one."""
        return f"{self.name} row {row}"


def name_of_row(readers: Sequence[Reader], name: str, row: int) -> str:
    """Return the words that lead a person to a row of several files, or of what is called `name`."""
    left = int(row)
    for reader in readers:
        if len(readers) == 1 or (reader.rows is not None and left < reader.rows):
            return reader.where(left)
        if reader.rows is None:
            break
        left -= reader.rows
    return f"{name} row {row}"


@dataclass(frozen=True)
class RawRows:
    """Some rows in the bytes of their file: row i is data[starts[i]:ends[i]], with its line break."""

    data: bytes
    starts: I64
    ends: I64

    def __len__(self) -> int:
        return len(self.starts)


class ByteReader(Reader):
    """A file that is read from its beginning to its end. prefix: what is known of its bytes."""

    prefix = Prefix()

    def content(self) -> Any:
        return list(self.prefix)

    def expect(self, content: Any) -> None:
        self.prefix = Prefix(*content)


class ColumnReader(Reader):
    """A file that is read column by column. checksums: of the columns that were read."""

    checksums: dict[str, int]

    def content(self) -> Any:
        return dict(self.checksums)

    def expect(self, content: Any) -> None:
        self.checksums = dict(content)


def select(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """The fields of these names, each once, in the order given.

    >>> select(pa.schema([("a", pa.int8()), ("b", pa.string())]), ["b", "b"]).names
    ['b']
    """
    return pa.schema([schema.field(name) for name in dict.fromkeys(names)])


def without_first(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches without their first `rows` rows."""
    for batch in batches:
        if rows < len(batch):
            yield batch.slice(rows) if rows else batch
        rows = max(0, rows - len(batch))


def rows_per_batch(nbytes: int, rows: int) -> int:
    """How many rows make a batch of about TARGET_BYTES, when `rows` of them take `nbytes`.

    >>> rows_per_batch(nbytes=372_000_000, rows=200_000)
    2255
    """
    return max(1, min(MAX_ROWS, TARGET_BYTES * rows // max(nbytes, 1)))


def spans_by_bytes(count: int, nbytes: Callable[[int, int], int], most: int) -> Iterator[tuple[int, int]]:
    """Cut `count` rows into spans (start, end) of at most `most` bytes, or of one row, by halving.

    nbytes: of the rows from the first number up to the second.

    >>> list(spans_by_bytes(4, lambda start, end: sum([1, 1, 9, 1][start:end]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    waiting = [(0, count)] if count else []
    while waiting:
        start, end = waiting.pop()
        if end - start == 1 or nbytes(start, end) <= most:
            yield start, end
        else:
            middle = (start + end) // 2
            waiting += [(middle, end), (start, middle)]


def nbytes_of(data: pa.Table | pa.RecordBatch | pa.Array) -> int:
    """The bytes of the values; for types whose slices Arrow cannot measure (views, in older versions) all it holds.

    >>> nbytes_of(pa.array([1, 2, 3]).slice(1))
    16
    """
    try:
        return int(data.nbytes)
    except pa.ArrowTypeError:
        return int(data.get_total_buffer_size())


def open_stream(path: Path) -> pa.NativeFile:
    """The bytes of a file, decompressed. (Arrow takes names that are not UTF-8 as bytes only.)"""
    return pa.input_stream(pa.OSFile(os.fsencode(path)), compression=compression_of(path))


@contextmanager
def reading(name: str, what: str) -> Iterator[None]:
    """Turn what the Arrow library says about a broken file into one line that names the file.

    >>> with reading("a.parquet", "Parquet"):
    ...     raise pa.ArrowInvalid("no magic bytes.")
    Traceback (most recent call last):
    lookalike.errors.InputError: a.parquet cannot be read as Parquet: no magic bytes.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(f"{name} cannot be read as {what}: its name is not UTF-8. Rename the file.") from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError) or NO_THREAD in str(error):
            raise OutOfMemory from error
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        reason = "".join(letter if letter.isprintable() else "?" for letter in reason)
        raise InputError(f"{name} cannot be read as {what}: {reason[:200]}.") from error
