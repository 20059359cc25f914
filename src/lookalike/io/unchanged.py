"""Detect whether a file that is read more than once has changed, by checksums of the first reading."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from lookalike.errors import InputChanged, InputError
from lookalike.io.opening import open_file

CHUNK_BYTES = 1 << 22


class Prefix(NamedTuple):
    """The first bytes of a stream: their number, their CRC-32, and whether the stream ends there."""

    nbytes: int = 0
    crc: int = 0
    complete: bool = False


class Stream(Protocol):
    """A stream that is read from beginning to end, possibly several times."""

    name: str
    prefix: Prefix


def watched(stream: Stream, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same blocks, from the start of the stream, and compare them with what was read before.

    Bytes that have not been read before extend the stream's prefix. Raises InputChanged if a byte differs, or if there
    are fewer or more bytes than before.

    >>> class Memory: name, prefix = "a.txt", Prefix()
    >>> stream = Memory()
    >>> list(watched(stream, [b"ab", b"c"])), list(watched(stream, [b"a", b"bc"]))
    ([b'ab', b'c'], [b'a', b'bc'])
    >>> list(watched(stream, [b"abd"]))
    Traceback (most recent call last):
    lookalike.errors.InputChanged: a.txt has changed since it was first read; nothing was written. Run again.
    """
    nbytes = crc = 0
    for block in blocks:
        known = stream.prefix
        end = nbytes + len(block)
        if nbytes < known.nbytes <= end:
            start = memoryview(block)[: known.nbytes - nbytes]
            if zlib.crc32(start, crc) != known.crc:
                raise InputChanged(stream.name)
        if known.complete and end > known.nbytes:
            raise InputChanged(stream.name)
        crc = zlib.crc32(block, crc)
        nbytes = end
        if nbytes > known.nbytes:
            stream.prefix = Prefix(nbytes, crc)
        yield block
    if nbytes < stream.prefix.nbytes:
        raise InputChanged(stream.name)
    stream.prefix = Prefix(nbytes, crc, complete=True)


class ColumnChecksums(Protocol):
    """A file that is read column by column, with a checksum per column."""

    @property
    def name(self) -> str: ...

    @property
    def checksums(self) -> dict[str, int]: ...

    def current_checksums(self, names: Sequence[str]) -> dict[str, int]: ...  # of these columns, as of now


@contextmanager
def unchanged(reader: ColumnChecksums, names: Sequence[str]) -> Iterator[None]:
    """Wrap the reading of columns: record the checksums of columns read for the first time, and compare the others.

    Checksums are computed before the first reading and after a later one, so that a change in between is detected too.
    """
    known = [name for name in names if name in reader.checksums]
    reader.checksums.update(_now(reader, [name for name in names if name not in reader.checksums]))
    try:
        yield
    except InputError:
        if known and _differ(reader, known):  # a damaged file is most often one that is being written
            raise InputChanged(reader.name) from None
        raise
    if known and _differ(reader, known):
        raise InputChanged(reader.name)


def _differ(reader: ColumnChecksums, names: Sequence[str]) -> bool:
    now = _now(reader, names)
    return any(now.get(name) != reader.checksums[name] for name in names)


def _now(reader: ColumnChecksums, names: Sequence[str]) -> dict[str, int]:
    try:
        return reader.current_checksums(names)
    except OSError as error:
        raise InputError(f"{reader.name} cannot be read: {error.strerror}.") from error


def crc_of_file(path: Path) -> int:
    """Return the CRC-32 of a whole file."""
    with open_file(path) as file:
        return crc_of_range(file, 0, None)


def crc_of_range(file: IO[bytes], start: int, nbytes: int | None, crc: int = 0) -> int:
    """Return the CRC-32 of `nbytes` bytes of an open file from `start` on (None: to the end), continued from `crc`."""
    file.seek(start)
    left = nbytes
    while chunk := file.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left)):
        crc = zlib.crc32(chunk, crc)
        if left is not None:
            left -= len(chunk)
    return crc
