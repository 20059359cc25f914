"""Files at an address, read in parts and ahead on several threads, and kept in a temporary file for further passes."""

from __future__ import annotations

import io
import os
import re
import tempfile
import threading
import weakref
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

from lookalike.errors import InputChanged
from lookalike.io.addresses import LISTED_SCHEMES, name_in_address, scheme_of, shown
from lookalike.io.stores import ObjectInfo, ObjectStore, repeated, store_of

BLOCK_BYTES = 4 << 20  # bytes of one request
CONNECTIONS = 8  # requests under way at a time, of all files of a process
BLOCKS_AHEAD = 8  # blocks of a file that are requested before they are needed


class RemoteFile:
    """The bytes of a file at an address. Each part is transferred once, when it is needed or shortly before.

    The parts are kept in an unnamed temporary file, so that a second pass transfers nothing and sees the same bytes.
    """

    def __init__(self, address: str) -> None:
        self.address, self.name, self._scheme = address, shown(address), scheme_of(address)
        self._store: ObjectStore = store_of(address)
        self._about: ObjectInfo = self._info()
        self._lock = threading.Lock()
        self._cache, name = tempfile.mkstemp(prefix="lookalike-")
        os.unlink(name)  # the file exists as long as it is open, also if the process is killed
        weakref.finalize(self, os.close, self._cache)
        self._blocks: dict[int, Future[None]] = {}
        self._wanted: list[int] | None = None  # the blocks that will be read, if not all
        self.transferred = 0
        self.copy: str | None = None  # the folder of a whole copy
        if not self._about.ranges:
            size = self._get_whole()
            self._about = ObjectInfo(size, self._about.version, ranges=False)

    @property
    def size(self) -> int:
        return self._about.size or 0

    def check_unchanged(self) -> None:
        """Raise InputChanged if the store has other content at this address now."""
        if self._about.ranges and self._info().version != self._about.version:
            raise InputChanged(self.name)

    def read_at(self, start: int, nbytes: int) -> bytes:
        """Return the bytes from `start` on; fewer than `nbytes` at the end of the file."""
        end = min(start + nbytes, self.size)
        if start >= end:
            return b""
        if self._about.ranges:
            first, last = start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES
            waiting = [self._request(block) for block in range(first, last + 1)]
            for block in self._next(first, last):
                self._request(block)
            for future in waiting:
                future.result()
        return os.pread(self._cache, end - start, start)

    def expect(self, spans: Iterable[tuple[int, int]]) -> None:
        """Say which spans (start, end) of the file will be read, in order, so that nothing else is read ahead."""
        blocks = [block for start, end in spans for block in range(start // BLOCK_BYTES, (end - 1) // BLOCK_BYTES + 1)]
        self._wanted = list(dict.fromkeys(blocks))

    def _next(self, first: int, last: int) -> Sequence[int]:
        """Return the blocks to read ahead: those expected after these, or those that follow a second one in a row."""
        if self._wanted is not None:
            after = self._wanted.index(last) + 1 if last in self._wanted else len(self._wanted)
            return self._wanted[after : after + BLOCKS_AHEAD]
        in_row = last > 0 and (first < last or first - 1 in self._blocks)
        return range(last + 1, min(last + 1 + BLOCKS_AHEAD, -(-self.size // BLOCK_BYTES))) if in_row else ()

    def _request(self, block: int) -> Future[None]:
        with self._lock:
            known = self._blocks.get(block)
            if known is None or (known.done() and known.exception() is not None):
                known = self._blocks[block] = _pool(os.getpid()).submit(self._get, block)
            return known

    def _get(self, block: int) -> None:
        start = block * BLOCK_BYTES
        end = min(start + BLOCK_BYTES, self.size)

        def whole() -> bytes:
            data = self._store.read(self.address, start, end, self._about.version)
            if len(data) != end - start:
                raise OSError(f"{len(data):,} bytes came instead of {end - start:,}")
            return data

        data = repeated(whole, self.name, self._scheme)
        os.pwrite(self._cache, data, start)
        self.transferred += len(data)

    def _get_whole(self) -> int:
        def whole() -> int:
            place = 0
            for piece in self._store.stream(self.address):
                os.pwrite(self._cache, piece, place)
                place += len(piece)
            if self._about.size not in (None, place):
                raise OSError(f"{place:,} bytes came instead of {self._about.size:,}")
            return place

        size = repeated(whole, self.name, self._scheme)
        os.ftruncate(self._cache, size)  # a first attempt may have brought more
        self.transferred = size
        return size

    def _info(self) -> ObjectInfo:
        return repeated(lambda: self._store.info(self.address), self.name, self._scheme)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="lookalike-remote")


class RemoteReading(io.RawIOBase):
    """A remote file opened for reading. At its end, it is checked that the file is still the same."""

    def __init__(self, file: RemoteFile) -> None:
        self._file, self._place = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + (0, self._place, self._file.size)[whence]
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        nbytes = self._file.size - self._place if size is None or size < 0 else size
        data = self._file.read_at(self._place, nbytes)
        self._place += len(data)
        if nbytes and not data:
            self._file.check_unchanged()
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def files_at(address: str) -> tuple[str, list[str]] | None:
    """Return (fixed part, addresses) of a folder or pattern at an address; None if it is the address of one file."""
    if scheme_of(address) not in LISTED_SCHEMES:
        return None
    magic = re.search(r"[*?\[]", address)
    base = address[: address.rindex("/", 0, magic.start())] if magic else address.rstrip("/")
    if magic is None and not address.endswith("/") and name_in_address(address).count("."):
        return None
    store = store_of(address)
    found = repeated(lambda: store.files(base), shown(address), scheme_of(address))
    if magic is None:
        return (base, [name for name in found if not _is_hidden(name[len(base) + 1 :])]) if found else None
    pattern = re.compile(_pattern(address))
    return base, [name for name in found if pattern.fullmatch(name)]


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _pattern(glob: str) -> str:
    """Return the regular expression of a glob, in which ** matches any folders.

    >>> _pattern("s3://b/**/a?.csv")
    's3://b/(?:.*/)?a[^/]\\\\.csv'
    """
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", glob)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(part) or (part if part.startswith("[") else re.escape(part)) for part in parts)
