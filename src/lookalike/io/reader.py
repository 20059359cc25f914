"""The interface of all input formats, and their shared rules: batch sizes and one-line errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.errors import BadText, InputError, LookalikeError, OutOfMemory
from lookalike.io.files import wide_encoding
from lookalike.io.opening import open_for_arrow
from lookalike.io.paths import compression_of
from lookalike.io.unchanged import Prefix

# A few MB per batch: enough work for one kernel call, small enough that several fit in the cache.
TARGET_BYTES = 4 << 20
UNDER_WAY_BYTES = 5 * TARGET_BYTES  # of batches that are parsed or wait at a time; a larger one is alone
# Dictionary pages hide the length of the text, so the sizes in a file may be far too small.
MAX_ROWS = 1 << 14

NO_THREAD = "Resource temporarily unavailable"  # the system refused a thread, for lack of memory


@dataclass(frozen=True)
class ReadLimit:
    """The longest record, file or page that fits into memory while it is read.

    nbytes: its length. refuse: raises the error for a longer one, given its description and length.
    """

    nbytes: int
    refuse: Callable[[str, int], NoReturn]

    def check(self, what: str, nbytes: int) -> None:
        """Raise the error if this many bytes exceed the limit."""
        if nbytes > self.nbytes:
            self.refuse(what, nbytes)


class Reader(ABC):
    """One file, table or list of text files. Reading again returns the same rows in the same order.

    schema: the columns known after opening; empty if a file without rows does not define them.
    rows: number of rows, or None until the file has been read if only reading tells.
    paths: the underlying files. damaged: the error after `rows` rows, if the rest is omitted.
    lines: for text files, whether each line (or else each file) is an item; None if the items are rows of a table.
    html: for HTML pages, whether the items are the "text" that they show or their "markup"; None for other files.
    warnings: warnings for the user about the way the files are read.
    copied_as: the format in which `raw_rows` returns the rows; None if rows have no bytes that could be copied.
    limit: maximum length of what is read; None for no limit.
    """

    name: str
    schema: pa.Schema
    rows: int | None = None
    paths: Sequence[Path] = ()
    damaged: str | None = None
    lines: bool | None = None
    html: str | None = None
    warnings: Sequence[str] = ()
    copied_as: str | None = None
    limit: ReadLimit | None = None

    @abstractmethod
    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the columns of `schema`, possibly among others. Formats without types use the types of `schema`."""

    def named_files(self) -> dict[str, Path] | None:
        """Return the file of each id, if each row is a file; otherwise None."""
        return None

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Yield batches like `batches`, from row `start` on; some formats skip the rows before without reading them."""
        yield from without_first(self.batches(schema), start)

    @abstractmethod
    def size(self, names: Sequence[str]) -> int:
        """Estimate the bytes of these columns, or return the size of the file if nothing else is known."""

    def settled(self, names: Sequence[str]) -> pa.Schema:
        """Return these columns with types that fit every row; formats without types read the whole file for that."""
        return select(self.schema, names)

    def row_schema(self) -> pa.Schema:
        """Return all columns, with types that represent every value of the input exactly."""
        return self.schema

    def raw_rows(self) -> Iterator[RawRows]:
        """Yield the same rows as `batches`, as bytes of the file; only if `copied_as` is not None."""
        raise NotImplementedError

    def head(self) -> bytes:
        """Return the bytes of the file before the first row: a byte order mark, a header line."""
        return b""

    def content(self) -> Any:
        """Return what is known of the bytes that were read, as JSON, for `expect` in another process."""
        return None

    def expect(self, content: Any) -> None:  # noqa: B027  (a table in memory cannot change)
        """Restore what an earlier reading of the same file knew of its bytes, to compare later readings with it."""

    def where(self, row: int) -> str:
        """Describe the position of a row (counted from 0) for people: by its line number in text formats."""
        return f"{self.name} row {row}"


def name_of_row(readers: Sequence[Reader], name: str, row: int) -> str:
    """Describe the position of a row of several files for people; `name` is used if its file is not known."""
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
    """Rows as bytes of their file: row i is data[starts[i]:ends[i]], including its line break."""

    data: bytes
    starts: I64
    ends: I64

    def __len__(self) -> int:
        return len(self.starts)


class ByteReader(Reader):
    """A file that is read from beginning to end. prefix: what is known of its bytes."""

    prefix = Prefix()

    def content(self) -> Any:
        return list(self.prefix)

    def expect(self, content: Any) -> None:
        self.prefix = Prefix(*content)


def with_encoding_advice(error: BadText, reader: Reader) -> BadText:
    """Return the error with a word about encodings, if the file is one of text."""
    if not isinstance(reader, ByteReader):
        return error
    return BadText(f"{error} If the file has another encoding, give `encoding='latin-1'`, say.")


class ColumnReader(Reader):
    """A file that is read column by column. checksums: of the columns that were read."""

    checksums: dict[str, int]

    def content(self) -> Any:
        return dict(self.checksums)

    def expect(self, content: Any) -> None:
        self.checksums = dict(content)


def select(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """Return the fields with these names, each once, in the given order.

    >>> select(pa.schema([("a", pa.int8()), ("b", pa.string())]), ["b", "b"]).names
    ['b']
    """
    return pa.schema([schema.field(name) for name in dict.fromkeys(names)])


def without_first(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Skip the first `rows` rows of the batches."""
    for batch in batches:
        if rows < len(batch):
            yield batch.slice(rows) if rows else batch
        rows = max(0, rows - len(batch))


def rows_per_batch(nbytes: int, rows: int) -> int:
    """Return how many rows make a batch of about TARGET_BYTES, if `rows` of them take `nbytes`.

    >>> rows_per_batch(nbytes=372_000_000, rows=200_000)
    2255
    """
    return max(1, min(MAX_ROWS, TARGET_BYTES * rows // max(nbytes, 1)))


def spans_by_bytes(count: int, nbytes: Callable[[int, int], int], most: int) -> Iterator[tuple[int, int]]:
    """Split `count` rows into spans (start, end) of at most `most` bytes, or of one row, by halving.

    nbytes: returns the bytes of the rows from start to end.

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
    """Return the bytes of the values; of all buffers for types whose slices Arrow cannot measure (views, old versions).

    >>> nbytes_of(pa.array([1, 2, 3]).slice(1))
    16
    """
    try:
        return int(data.nbytes)
    except pa.ArrowTypeError:
        return int(data.get_total_buffer_size())


def open_stream(path: Path, encoding: str | None = None) -> pa.NativeFile:
    """Open a file for reading, decompressed, and converted to UTF-8 from another encoding, if one is given."""
    stream = pa.input_stream(open_for_arrow(path), compression=compression_of(path))
    return stream if encoding is None else pa.transcoding_input_stream(stream, encoding, "utf-8")


def encoding_of(path: Path, name: str, given: str | None, what: str) -> str | None:
    """Return the encoding to convert a file from: the given one, or that of its byte order mark; None for UTF-8.

    Raises InputError for UTF-16 without a byte order mark, which a zero byte next to the first letter indicates.
    """
    if given is not None:
        return given
    with reading(name, what), open_stream(path) as stream:
        start = stream.read(4)
    if (marked := wide_encoding(start)) is not None:
        return marked.lower()
    if b"\0" in start[:2]:
        raise InputError(f"{name} is in UTF-16 without a byte order mark; give `encoding='utf-16-le'` or 'utf-16-be'.")
    return None


@contextmanager
def reading(name: str, what: str) -> Iterator[None]:
    """Convert Arrow and system errors about a file to a one-line InputError that names the file.

    >>> with reading("a.parquet", "Parquet"):
    ...     raise pa.ArrowInvalid("no magic bytes.")
    Traceback (most recent call last):
    lookalike.errors.InputError: a.parquet cannot be read as Parquet: no magic bytes.
    """
    try:
        yield
    except LookalikeError:  # of a store; one for a missing file is an OSError, too
        raise
    except UnicodeEncodeError as error:
        raise InputError(f"{name} cannot be read as {what}: its name is not UTF-8. Rename the file.") from error
    except UnicodeError as error:
        raise InputError(f"{name} cannot be read as {what}: {str(error)[:200]}. Is its `encoding` right?") from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, MemoryError) or NO_THREAD in str(error):
            raise OutOfMemory from error
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        reason = "".join(letter if letter.isprintable() else "?" for letter in reason)
        raise InputError(f"{name} cannot be read as {what}: {reason[:200]}.") from error
