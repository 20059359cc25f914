"""Readers of plain text: one document per line, or one document per file."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.errors import InputError
from lookalike.io.files import wide_encoding
from lookalike.io.html import require_web, text_of_html
from lookalike.io.paths import TEXT_LINES, compression_of, is_page, kind_of, readable
from lookalike.io.prefetch import in_order
from lookalike.io.reader import (
    TARGET_BYTES,
    UNDER_WAY_BYTES,
    ByteReader,
    RawRows,
    ReadLimit,
    encoding_of,
    open_stream,
    reading,
    without_first,
)
from lookalike.io.texts import string_array
from lookalike.io.unchanged import watched

FILES_PER_BATCH = 512
BOM = b"\xef\xbb\xbf"


def blocks(
    path: Path,
    *,
    size: int = TARGET_BYTES,
    line: int = 1,
    offset: int = 0,
    limit: ReadLimit | None = None,
    encoding: str | None = None,
) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, whole lines of about `size` bytes), decompressed; a longer line is not split.

    line, offset: where to begin in an uncompressed file. limit: refuses long lines before they are read.
    """
    pieces: list[bytes] = []
    with open_stream(path, encoding) as file:
        if offset:
            file.seek(offset)
        while piece := file.read(size):
            end = piece.rfind(b"\n") + 1
            if end == 0:
                pieces.append(piece)
                length = sum(map(len, pieces))
                if limit is not None and length > limit.nbytes:
                    limit.refuse(f"line {line:,} of {path}", length + _to_line_break(file, size))
                continue
            block = b"".join([*pieces, memoryview(piece)[:end]]) if pieces or end < len(piece) else piece
            yield line, block
            line += block.count(b"\n")
            pieces = [piece[end:]] if end < len(piece) else []
    if last := b"".join(pieces):
        yield line, last


def _to_line_break(file: pa.NativeFile, size: int) -> int:
    """Return the bytes up to the next line break of an open file."""
    length = 0
    while piece := file.read(size):
        end: int = piece.find(b"\n")
        if end >= 0:
            return length + end
        length += len(piece)
    return length


class Mark(NamedTuple):
    """The position of a block in a file: its first row, line and byte."""

    row: int = 0
    line: int = 1
    offset: int = 0


class Marks:
    """The positions of blocks of a file that was read, at which reading can resume."""

    def __init__(self) -> None:
        self._marks = [Mark()]
        self._lock = threading.Lock()

    def before(self, row: int) -> Mark:
        with self._lock:
            return self._marks[bisect_right(self._marks, row, key=lambda mark: mark.row) - 1]

    def add(self, mark: Mark) -> None:
        with self._lock:
            if mark.row > self._marks[-1].row:
                self._marks.append(mark)


def line_spans(block: bytes) -> tuple[I64, I64]:
    """Return (start of each line, end of each line including its line break).

    >>> [spans.tolist() for spans in line_spans(b"a\\n\\nbc")]
    [[0, 2, 3], [2, 3, 5]]
    """
    breaks = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    ends = breaks if block.endswith(b"\n") or not block else np.append(breaks, len(block))
    starts = np.zeros(len(ends), np.int64)
    starts[1:] = ends[:-1]
    return starts, ends


def _one(text: bytes) -> pa.Array:
    """Return an array of this one value. (`pa.array` would import pandas.)"""
    ends = array("q", [0, len(text)])
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(text)])


class TextLines(ByteReader):
    """A text file, optionally compressed, in which each line is a document, also an empty line. One column: text."""

    lines = True
    copied_as = "text lines"

    def __init__(self, path: Path, name: str, encoding: str | None = None) -> None:
        self.name = name
        self.schema = pa.schema([("text", pa.large_string())])
        self._path = path
        self._encoding = encoding_of(path, name, encoding, "text")
        self.paths = (path,)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with reading(self.name, "text"):
            line = 1
            for block in self._blocks():
                text = block.removeprefix(BOM) if line == 1 else block
                line += block.count(b"\n")
                text = text.replace(b"\r\n", b"\n").removesuffix(b"\n")
                cut = pc.split_pattern(_one(text), b"\n").flatten()
                yield pa.record_batch([cut.view(pa.large_string())], schema=self.schema)

    def raw_rows(self) -> Iterator[RawRows]:
        with reading(self.name, "text"):
            skipped = len(self.head())
            for block in self._blocks():
                starts, ends = line_spans(block)
                starts[0] = skipped  # only in the first block
                skipped = 0
                yield RawRows(block, starts, ends)

    def head(self) -> bytes:
        with reading(self.name, "text"):
            return (
                BOM
                if next(blocks(self._path, size=1 << 10, encoding=self._encoding), (1, b""))[1].startswith(BOM)
                else b""
            )

    def _blocks(self) -> Iterator[bytes]:
        return watched(self, (block for _, block in blocks(self._path, limit=self.limit, encoding=self._encoding)))

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size

    def where(self, row: int) -> str:
        return f"{self.name} line {row + 1}"


class TextFiles(ByteReader):
    """Text files, each of which is a document. Columns: id (its path), text (its content, decompressed).

    The text of an HTML page is what a reader of the page sees, unless `markup` is true. A file that cannot be read
    raises an error; if a list `left_out` is given, its text is null and it is listed there.
    """

    lines = False

    def __init__(
        self, files: Sequence[Path], ids: Sequence[str], name: str, left_out: list[str] | None = None,
        encoding: str | None = None, *, markup: bool = False,
    ) -> None:  # fmt: skip
        self._left_out, self._encoding = left_out, encoding
        pages = [file for file in files if is_page(file)]
        self._pages = frozenset(() if markup else pages)
        if pages:
            self.html = "markup" if markup else "text"
        if self._pages:
            require_web(f"reading the text of HTML pages ({readable(pages[0])})")
        self.name = name
        self.schema = pa.schema([("id", pa.string()), ("text", pa.large_string())])
        self.rows = len(files)
        self._files = self.paths = files
        self._ids = [readable(name) for name in ids]
        self._sizes = [self._size(file) for file in files]
        self.warnings = _tables_among(files)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Yield rows from `start` on. Files before it are skipped once all were read; no file is read for ids alone."""
        if "text" in schema.names and start and self.prefix.complete:
            yield from self._in_order(start)
        elif "text" in schema.names:
            yield from without_first(self._watched(), start)
        elif start < len(self._ids):
            yield pa.record_batch({"id": pa.array(self._ids[start:], pa.string())})

    def _watched(self) -> Iterator[pa.RecordBatch]:
        """Read all files, comparing the lengths and bytes of each batch with an earlier reading."""
        last: list[pa.RecordBatch] = []

        def contents() -> Iterator[bytes]:
            for batch in self._in_order(0):
                last[:] = [batch]
                yield b"".join(buffer.to_pybytes() for buffer in batch.column("text").buffers() if buffer)

        for _ in watched(self, contents()):
            yield last[0]

    def named_files(self) -> dict[str, Path]:
        """Return the file of each id."""
        return dict(zip(self._ids, self._files, strict=True))

    def size(self, names: Sequence[str]) -> int:
        return sum(self._sizes)

    def where(self, row: int) -> str:
        return readable(self._files[row])

    def _in_order(self, start: int) -> Iterator[pa.RecordBatch]:
        return in_order(
            self._read, self._slices(start), weight=lambda part: sum(self._sizes[part]), most=UNDER_WAY_BYTES
        )

    def _slices(self, start: int = 0) -> Iterator[slice]:
        first, nbytes = start, 0
        for index, size in enumerate(self._sizes[start:], start):
            nbytes += size
            if nbytes >= TARGET_BYTES or index - first + 1 == FILES_PER_BATCH:
                yield slice(first, index + 1)
                first, nbytes = index + 1, 0
        if first < len(self._sizes):
            yield slice(first, len(self._sizes))

    def _read(self, part: slice) -> pa.RecordBatch:
        contents = [self._content(file) for file in self._files[part]]
        columns = [string_array(self._ids[part], pa.string()), string_array(contents, pa.large_string())]
        return pa.record_batch(columns, schema=self.schema)

    def _size(self, file: Path) -> int:
        with self._opening(file):
            return file.stat().st_size
        return 0

    def _content(self, file: Path) -> bytes | None:
        is_html = file in self._pages
        with self._opening(file), open_stream(file, None if is_html else self._encoding) as stream:
            text = self._read_whole(file, stream)
            if is_html:
                return text_of_html(text, self._encoding)
            marked = wide_encoding(text[:4]) if self._encoding is None else None
            return text if marked is None else text.decode(marked).encode()
        return None

    def _read_whole(self, file: Path, stream: pa.NativeFile) -> bytes:
        if self.limit is None:
            return bytes(stream.read())
        if compression_of(file) is None:
            self.limit.check(readable(file), file.stat().st_size)
        text = bytes(stream.read(self.limit.nbytes + 1))
        rest = 0
        while piece := stream.read(TARGET_BYTES):
            rest += len(piece)
        self.limit.check(readable(file), len(text) + rest)
        return text

    @contextmanager
    def _opening(self, file: Path) -> Iterator[None]:
        try:
            with reading(readable(file), "text"):
                yield
        except InputError as error:
            if self._left_out is None:
                raise
            if str(error) not in self._left_out:
                self._left_out.append(str(error))


def _tables_among(files: Sequence[Path]) -> list[str]:
    """Warn if a folder of texts also holds JSON Lines, CSV or TSV files, whose rows are not read as items."""
    tables = [file for file in files if kind_of(file) not in (None, TEXT_LINES)]
    if not tables:
        return []
    name, single = tables[0].name, len(tables) == 1
    what = (
        f"{name} is read as one document"
        if single
        else f"{len(tables):,} files such as {name} are read as one document each"
    )
    return [
        f"{what}, because the folder also holds text files. "
        f"To read {'its' if single else 'their'} rows, give a glob such as '*{''.join(tables[0].suffixes[-2:])}'."
    ]
