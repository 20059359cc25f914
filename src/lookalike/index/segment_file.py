"""Segment files: a header and arrays, with a checksum for each block of 4,096 bytes.

docs/reference/index-format.md describes the layout. A reader maps a file into memory and verifies the checksum of a
block before it uses the block for the first time, so that opening reads no data and damaged data is never returned.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U64
from lookalike.errors import DamagedIndex
from lookalike.index.kernels import blocks
from lookalike.io import disk

BARE, MAGIC = b"lookalike seg 1\n", b"lookalike seg 2\n"  # format 1 without checksums, format 2 with checksums
ALIGN = 64
BLOCK_BYTES = 1 << blocks.BLOCK_SHIFT
RESTORE = "Restore the index from a backup, or create it again from its items (or an earlier export)."
AnyArray = npt.NDArray[Any]


def write_segment(
    path: Path, arrays: Mapping[str, Sequence[AnyArray]], go_on: Callable[[], None] = lambda: None
) -> int:
    """Write arrays (each as parts of one dtype) to a new file, flush it to disk and return its size in bytes.

    go_on: called before each part is written; it may raise to stop the write.
    """
    listed: dict[str, Any] = {}
    at = 0
    for name, parts in arrays.items():
        count = sum(part.size for part in parts)
        listed[name] = {"dtype": parts[0].dtype.str, "count": count, "at": at}
        at += -(-count * parts[0].dtype.itemsize // ALIGN) * ALIGN
    header = json.dumps({"arrays": listed, "bytes": at, "block": BLOCK_BYTES}).encode()
    header += b" " * (-(len(MAGIC) + 16 + len(header)) % ALIGN)
    with disk.open_file(path, "xb") as file:
        file.write(MAGIC + len(header).to_bytes(8, "little") + _header_sum(header).to_bytes(8, "little") + header)
        sums = _Sums()
        for piece in _padded(arrays.values(), go_on):
            file.write(piece)
            sums.add(piece)
        file.write(sums.all().tobytes())
        file.flush()
        disk.system.sync(file.fileno())
        return file.tell()


def _padded(arrays: Iterable[Sequence[AnyArray]], go_on: Callable[[], None]) -> Iterator[memoryview]:
    """Yield the bytes of all arrays, each padded to a multiple of ALIGN."""
    for parts in arrays:
        for part in parts:
            go_on()
            yield np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
        yield memoryview(bytes(-sum(part.nbytes for part in parts) % ALIGN))


class _Sums:
    """Incremental checksums of the blocks of a byte stream."""

    def __init__(self) -> None:
        self._sums: list[U64] = []
        self._blocks = 0
        self._rest = b""

    def add(self, piece: memoryview) -> None:
        if self._rest:
            missing = BLOCK_BYTES - len(self._rest)
            self._rest += piece[:missing]
            piece = piece[missing:]
            if len(self._rest) < BLOCK_BYTES:
                return
            self._sum(self._rest)
        whole = len(piece) // BLOCK_BYTES * BLOCK_BYTES
        self._sum(piece[:whole])
        self._rest = bytes(piece[whole:])

    def all(self) -> U64:
        self._sum(self._rest)
        return np.concatenate([np.empty(0, np.uint64), *self._sums])

    def _sum(self, data: bytes | memoryview) -> None:
        out = np.empty(-(-len(data) // BLOCK_BYTES), np.uint64)
        # copied because a part need not be aligned to eight bytes
        blocks.sum_blocks(np.frombuffer(bytearray(data), np.uint64), self._blocks, out)
        self._sums.append(out)
        self._blocks += len(out)


def _header_sum(header: bytes) -> int:
    words = np.frombuffer(header, np.uint64)
    return int(blocks.xxh64(words, 0, len(words), np.uint64(0)))


class SegmentFile:
    """The memory-mapped arrays of a segment file, by name. Data is returned only after its checksum was verified.

    has_sums: False for files of format 1, whose offsets are checked and whose content is not.
    """

    def __init__(self, path: Path, nbytes: int) -> None:
        self.path, self.nbytes = path, nbytes
        with disk.open_file(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != nbytes or size < len(MAGIC) + 16:
                raise self.damaged(f"expected a segment of {nbytes:,} bytes, found {size:,}")
            self._whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.has_sums = self._whole[: len(MAGIC)] != BARE
        try:
            self._open_checked() if self.has_sums else self._open_bare()
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise self.damaged("its header cannot be read") from error
        self._complete: set[str] = set()

    def _open_checked(self) -> None:
        whole, fixed = self._whole, len(MAGIC) + 16
        length, expected = (int.from_bytes(whole[at : at + 8], "little") for at in (len(MAGIC), len(MAGIC) + 8))
        begin = fixed + length
        header = whole[fixed:begin]
        if whole[: len(MAGIC)] != MAGIC or len(header) != length or length % 32 or not length:
            raise ValueError
        if _header_sum(header) != expected:
            raise ValueError
        about = json.loads(header)
        self._map(about["arrays"], begin, about["bytes"])
        count = -(-about["bytes"] // BLOCK_BYTES)
        if about["block"] != BLOCK_BYTES or begin + about["bytes"] + 8 * count != len(whole):
            raise ValueError
        self._sums: U64 = np.frombuffer(whole, np.uint64, count, begin + about["bytes"])
        self._seen = np.zeros(count, np.uint8)

    def _open_bare(self) -> None:
        begin = len(BARE) + 8 + int.from_bytes(self._whole[len(BARE) : len(BARE) + 8], "little")
        nbytes = (len(self._whole) - begin) // 8 * 8
        self._map(json.loads(self._whole[len(BARE) + 8 : begin]), begin, nbytes)
        self._sums = np.empty(0, np.uint64)
        self._seen = np.ones(-(-nbytes // BLOCK_BYTES), np.uint8)

    def _map(self, listed: Mapping[str, Any], begin: int, nbytes: int) -> None:
        self._words: U64 = np.frombuffer(self._whole, np.uint64, nbytes // 8, begin)
        self._at = {name: int(entry["at"]) for name, entry in listed.items()}
        self._arrays: dict[str, AnyArray] = {
            name: np.frombuffer(self._whole, np.dtype(entry["dtype"]), entry["count"], begin + entry["at"])
            for name, entry in listed.items()
        }
        for name, array in self._arrays.items():
            if array.dtype.kind not in "iu" or not 0 <= self._at[name] <= nbytes - array.nbytes:
                raise ValueError

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    @property
    def guard(self) -> tuple[U64, U64, npt.NDArray[np.uint8]]:
        """The first three arguments of the kernels in `kernels.blocks`."""
        return self._words, self._sums, self._seen

    def bare(self, name: str) -> tuple[int, AnyArray]:
        """Return the byte offset of an array and the unchecked array, for kernels that verify the blocks they read."""
        return self._at[name], self._arrays[name]

    def count(self, name: str) -> int:
        return len(self._arrays[name])

    def all(self, name: str) -> AnyArray:
        """Return a whole array after verifying it."""
        if name not in self._complete:
            self.span(name, 0, self.count(name))
            self._complete.add(name)
        return self._arrays[name]

    def span(self, name: str, low: int, high: int) -> AnyArray:
        """Return array[low:high] after verifying it."""
        at, array = self.bare(name)
        bounds = np.array([low, high]) * array.itemsize
        self.checked(blocks.check_spans(*self.guard, at, array.nbytes, bounds[:1], bounds[1:]))
        return array[low:high]

    def take(self, name: str, rows: npt.NDArray[np.integer[Any]]) -> AnyArray:
        """Return the elements at these rows after verifying them."""
        at, array = self.bare(name)
        out = np.empty(len(rows), array.dtype)
        self.checked(blocks.take(*self.guard, at, array, rows, out))
        return out

    def spans(self, name: str, ends: str, rows: I64) -> tuple[I64, I64]:
        """Return (starts, stops) of these rows in the array `name`, read from the offsets `ends`; both are verified."""
        at, array = self.bare(name)
        starts, stops = self.take(ends, rows), self.take(ends, rows + 1)
        self.checked(blocks.check_spans(*self.guard, at, array.nbytes, starts, stops))
        return starts, stops

    def search(self, name: str, wanted: AnyArray) -> I64:
        """Return for each wanted number how many elements of a sorted array are smaller (a binary search)."""
        at, array = self.bare(name)
        out = np.empty(len(wanted), np.int64)
        self.checked(blocks.search(*self.guard, at, array, np.asarray(wanted, array.dtype), out))
        return out

    def check(self) -> int:
        """Verify the checksum of every block and return the number of checksums."""
        nbytes = np.array([8 * len(self._words)])
        self._seen[:] = 0 if self.has_sums else 1
        self.checked(blocks.check_spans(*self.guard, 0, int(nbytes[0]), 0 * nbytes, nbytes))
        return len(self._sums)

    def checked(self, code: int) -> int:
        """Return the result of a kernel; raise DamagedIndex if it is a negative code for damage."""
        if code >= 0:
            return code
        block = -1 - code
        if block >= len(self._seen):
            raise self.damaged("an offset points outside of its array")
        names = [
            name
            for name, array in self._arrays.items()
            if self._at[name] < (block + 1) * BLOCK_BYTES and self._at[name] + array.nbytes > block * BLOCK_BYTES
        ]
        where = f"block {block:,} ({', '.join(names)})" if names else f"block {block:,}"
        raise self.damaged(f"{where} does not match its checksum")

    def damaged(self, what: str) -> DamagedIndex:
        return DamagedIndex(f"{self.path} is damaged: {what}. {RESTORE}")
