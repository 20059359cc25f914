"""One-dimensional arrays that grow by appending."""

from __future__ import annotations

import mmap
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)

MIN_ALLOCATION = 1 << 25  # minimum size of the first allocation, in bytes
FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)


class GrowableArray(Generic[T]):
    """A one-dimensional array that grows by appending, without ever storing its data twice.

    The memory is an anonymous mapping with space for `expect` items, which uses no physical memory until it is written;
    growing it moves page tables, not bytes. Huge pages make the first access cheap.
    """

    def __init__(self, dtype: type[T], *, expect: int = 0) -> None:
        self._dtype = np.dtype(dtype)
        self._first = max(MIN_ALLOCATION, expect * self._dtype.itemsize)
        self._map: mmap.mmap | None = None
        self._used = 0  # bytes

    def append(self, piece: npt.NDArray[Any]) -> None:
        end = self._used + len(piece) * self._dtype.itemsize
        if self._map is None or end > len(self._map):
            self._reserve(end)
        if len(piece):
            target = np.frombuffer(self._map or b"", self._dtype, len(piece), self._used)
            target[:] = piece
            del target  # a mapping with exported views cannot be resized
        self._used = end

    def finish(self) -> npt.NDArray[T]:
        """Return the array of all appended data; nothing can be appended afterwards."""
        if self._map is None:
            return np.empty(0, self._dtype)
        whole: npt.NDArray[T] = np.frombuffer(self._map, self._dtype, self._used // self._dtype.itemsize)
        return whole

    def _reserve(self, size: int) -> None:
        size = max(size, 2 * len(self._map) if self._map else self._first)
        if self._map is not None:
            try:
                self._map.resize(size)
                return
            except SystemError:  # no mremap on this system: the data must be copied
                pass
        before, self._map = self._map, mmap.mmap(-1, size, flags=FLAGS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        if before is not None:
            self._map[: self._used] = before[: self._used]
