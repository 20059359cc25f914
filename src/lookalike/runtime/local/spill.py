"""Spill runs of postings and other arrays to disk (or keep them in memory) until they are needed again."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U32, U64
from lookalike.core.formatting import size
from lookalike.errors import OutputError
from lookalike.runtime.local.disk_space import DISK_FULL_ERRORS


class SpilledArray(NamedTuple):
    """The location of a spilled array: its first byte in the file, or the array itself if it is kept in memory."""

    start: int
    dtype: Any
    length: int
    array: npt.NDArray[Any] | None = None


class PostingSpill:
    """Stores many arrays in one unnamed temporary file, which is deleted with the context or with the process.

    With `stay` the arrays are kept in memory. Not thread-safe.

    >>> with PostingSpill() as spill:
    ...     shelf = spill.put(np.arange(5))
    ...     spill.get(shelf, 1, 3)
    array([1, 2])
    """

    def __init__(self, folder: Path | None = None, *, stay: bool = False) -> None:
        self._folder = folder
        self._stay = stay
        self._file: IO[bytes] | None = None
        self.nbytes = 0  # bytes on disk

    def __enter__(self) -> PostingSpill:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def put(self, array: npt.NDArray[Any]) -> SpilledArray:
        """Write an array to the spill; raises OutputError if the folder cannot store it."""
        if self._stay:
            return SpilledArray(0, array.dtype, len(array), array)
        shelf = SpilledArray(self.nbytes, array.dtype, len(array))
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed with the block)
            self._file.seek(self.nbytes)
            self._file.write(np.ascontiguousarray(array).data)
            self._file.flush()
        except OSError as error:
            where = self._folder or tempfile.gettempdir()
            free = f" ({size(shutil.disk_usage(where).free)} free)" if error.errno in DISK_FULL_ERRORS else ""
            raise OutputError(
                f"cannot set {size(array.nbytes)} aside in {where}{free}: {error.strerror or error}. "
                "Make room there, name another folder for temporary files, or allow more memory."
            ) from error
        self.nbytes += array.nbytes
        return shelf

    def get(self, shelf: SpilledArray, start: int = 0, stop: int | None = None) -> npt.NDArray[Any]:
        """Return the array, or its elements from `start` to `stop` - 1."""
        stop = shelf.length if stop is None else stop
        if shelf.array is not None:
            return shelf.array[start:stop]
        out = np.empty(stop - start, shelf.dtype)
        if self._file is not None and len(out):
            self._file.seek(shelf.start + start * out.itemsize)
            if self._file.readinto(out.data) != out.nbytes:  # type: ignore[attr-defined]
                raise OutputError("a temporary file has become shorter while it was in use. Run again.")
        return out


@dataclass(frozen=True)
class Batch:
    """Postings partitioned into buckets by shingle; bucket b, in item order, is at ends[b-1] to ends[b] - 1."""

    shingles: U64
    owners: U32
    ends: I64

    def bucket(self, number: int) -> tuple[U64, U32]:
        begin, end = self.ends[number - 1] if number else 0, self.ends[number]
        return self.shingles[begin:end], self.owners[begin:end]


@dataclass(frozen=True)
class PostingRun:
    """A spilled batch of postings."""

    shingles: SpilledArray
    owners: SpilledArray
    ends: I64

    @classmethod
    def put(cls, batch: Batch, spill: PostingSpill) -> PostingRun:
        return cls(spill.put(batch.shingles), spill.put(batch.owners), batch.ends)

    def get(self, spill: PostingSpill, low: int, high: int) -> Batch:
        """Return the buckets from `low` to `high` - 1, renumbered from 0."""
        begin, end = int(self.ends[low - 1]) if low else 0, int(self.ends[high - 1])
        shingles, owners = spill.get(self.shingles, begin, end), spill.get(self.owners, begin, end)
        return Batch(shingles, owners, self.ends[low:high] - begin)


def spans(weights: I64, most: int) -> list[tuple[int, int]]:
    """Divide 0..n-1 into spans (low, high) whose weights sum to at most `most`, or that have a single member.

    >>> spans(np.array([3, 1, 1, 9, 0, 2]), 4)
    [(0, 2), (2, 3), (3, 4), (4, 6)]
    """
    ends = np.cumsum(weights)
    out = []
    low = 0
    while low < len(ends):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + most, "right")))
        out.append((low, high))
        low = high
    return out
