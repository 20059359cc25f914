"""Whether a file that is read more than once still holds what it held: checksums of what was read first."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from lookalike.errors import InputChanged, InputError

CHUNK_BYTES = 1 << 22


class Prefix(NamedTuple):
    """The first bytes of a stream: how many, their CRC-32, and whether these are all."""

    nbytes: int = 0
    crc: int = 0
    complete: bool = False


class Stream(Protocol):
    """What is read from its beginning to its end, perhaps several times."""

    name: str
    prefix: Prefix


def watched(stream: Stream, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same blocks, which begin at the start of the stream, and compare them with what was read before.

    What has not been read before is added to the stream's prefix. InputChanged where a byte differs, or where there are
    fewer or more bytes than there were.

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
    """What is read column by column."""

    @property
    def name(self) -> str: ...

    @property
    def checksums(self) -> dict[str, int]: ...

    def current_checksums(self, names: Sequence[str]) -> dict[str, int]: ...  # of these columns, as they are now


@contextmanager
def unchanged(reader: ColumnChecksums, names: Sequence[str]) -> Iterator[None]:
    """Around one reading of some columns: those read for the first time are remembered, the others are compared.

    They are summed up before the first reading and after a later one, so that a change in between is seen too.
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
    """CRC-32 of a whole file."""
    with open(path, "rb", buffering=0) as file:
        return crc_of_range(file, 0, None)


def crc_of_range(file: IO[bytes], start: int, nbytes: int | None, crc: int = 0) -> int:
    """CRC-32 of some bytes of an open file, continued from `crc`; of all from `start` on where `nbytes` is None."""
    file.seek(start)
    left = nbytes
    while chunk := file.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left)):
        crc = zlib.crc32(chunk, crc)
        if left is not None:
            left -= len(chunk)
    return crc
