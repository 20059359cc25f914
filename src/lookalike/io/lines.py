"""Plain text: one document a line, or one document a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lookalike.errors import InputError
from lookalike.io.ahead import in_order
from lookalike.io.paths import compression_of
from lookalike.io.reader import TARGET_BYTES, Reader, reading

FILES_PER_BATCH = 512


def blocks(path: Path, *, size: int = TARGET_BYTES, line: int = 1, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """(number of the first line, whole lines of about `size` bytes), decompressed; a longer line is not cut.

    line, offset: where to begin, in a file that is not compressed.
    """
    pieces: list[bytes] = []
    with pa.input_stream(str(path), compression=compression_of(path)) as file:
        if offset:
            file.seek(offset)
        while piece := file.read(size):
            end = piece.rfind(b"\n") + 1
            if end == 0:
                pieces.append(piece)
                continue
            block = b"".join([*pieces, piece[:end]])
            yield line, block
            line += block.count(b"\n")
            pieces = [piece[end:]]
    if last := b"".join(pieces):
        yield line, last


def _one(text: bytes) -> pa.Array:
    """An array of this one value. (`pa.array` would import pandas to ask about it.)"""
    ends = array("q", [0, len(text)])
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(text)])


class TextLines(Reader):
    """A text file (perhaps compressed): each line is a document, also an empty line. One column: text."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.schema = pa.schema([("text", pa.large_string())])
        self._path = path
        self.paths = (path,)

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with reading(self.name, "text"):
            for line, block in blocks(self._path):
                text = block.removeprefix(b"\xef\xbb\xbf") if line == 1 else block
                text = text.replace(b"\r\n", b"\n").removesuffix(b"\n")
                cut = pc.split_pattern(_one(text), b"\n").flatten()
                yield pa.record_batch([cut.view(pa.large_string())], schema=self.schema)

    def size(self, names: Sequence[str]) -> int:
        return self._path.stat().st_size

    def where(self, row: int) -> str:
        return f"{self.name} line {row + 1}"


class TextFiles(Reader):
    """Many text files, each a document. Columns: id (its path), text (its content, as it stands).

    A file that cannot be read is an error, or, with a list `left_out`, has no text and is named there.
    """

    def __init__(self, files: Sequence[Path], ids: Sequence[str], name: str, left_out: list[str] | None = None) -> None:
        self._left_out = left_out
        self.name = name
        self.schema = pa.schema([("id", pa.string()), ("text", pa.large_string())])
        self.rows = len(files)
        self._files = self.paths = files
        # A file name may hold bytes that are no UTF-8; an id may not.
        self._ids = [name.encode("utf-8", "replace").decode() for name in ids]
        self._sizes = [self._size(file) for file in files]

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from self.batches_from(schema, 0)

    def batches_from(self, schema: pa.Schema, start: int) -> Iterator[pa.RecordBatch]:
        """Files before `start` are not read, and none where only ids are asked for."""
        if "text" in schema.names:
            yield from in_order(self._read, self._slices(start))
        elif start < len(self._ids):
            yield pa.record_batch({"id": pa.array(self._ids[start:], pa.string())})

    def size(self, names: Sequence[str]) -> int:
        return sum(self._sizes)

    def where(self, row: int) -> str:
        return str(self._files[row])

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
        contents = pa.array([self._content(file) for file in self._files[part]], pa.large_binary())
        return pa.record_batch(
            [pa.array(self._ids[part], pa.string()), contents.view(pa.large_string())], schema=self.schema
        )

    def _size(self, file: Path) -> int:
        with self._opening(file):
            return file.stat().st_size
        return 0

    def _content(self, file: Path) -> bytes | None:
        with self._opening(file):
            return file.read_bytes()
        return None

    @contextmanager
    def _opening(self, file: Path) -> Iterator[None]:
        try:
            with reading(str(file), "text"):
                yield
        except InputError as error:
            if self._left_out is None:
                raise
            if str(error) not in self._left_out:
                self._left_out.append(str(error))
