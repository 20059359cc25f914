"""The memory budget of a run, which is enforced by releasing pages of memory-mapped files."""

from __future__ import annotations

import mmap
import os
import re
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.errors import UsageError
from lookalike.runtime.local.allocators import trim

MIN_BUDGET = 300_000_000  # bytes; numba, Arrow and the batches in progress use most of it
SIZE_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
CHECK_INTERVAL = 0.002  # seconds between two checks of the memory use
NEARLY = 0.7  # fraction of the budget above which pages of mapped files are released
TRIM = 0.1  # seconds between two trims of the heaps
PAGE_BYTES = mmap.PAGESIZE
TOUCHED = 1 << 16  # bytes that become resident per page fault in a mapped file (read-around)


def memory_size(given: int | str | None) -> int:
    """Parse a memory size, a number of bytes or a string such as "2GB"; default: half of the available memory.

    >>> memory_size("1.5 GB"), memory_size("800M")
    (1500000000, 800000000)
    """
    if given is None:
        return max(MIN_BUDGET, free_memory() // 2)
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", str(given).lower())
    try:
        size = int(float(match[1]) * SIZE_SUFFIXES[match[2]]) if match else 0
    except ValueError:
        size = 0
    if size < MIN_BUDGET:
        raise UsageError(f"memory is {given!r}; expected at least {MIN_BUDGET // 10**6} MB, for example 2GB.")
    return size


def free_memory() -> int:
    """Return the bytes of memory that are available without swapping."""
    try:
        with open("/proc/meminfo") as lines:
            known = dict(line.split(":", 1) for line in lines)
        return int(known["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES // 2


def resident() -> int:
    """Return the resident memory of this process in bytes; 0 if the system does not report it."""
    try:
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


class MemoryBudget:
    """Keeps the process within its memory budget by releasing pages of mapped files and unused allocator memory.

    Released pages stay in the page cache while there is free memory, and are mapped again on access. Memory is checked
    as long as the object is referenced: by a background thread, from `watch` or the first mapped file on, and after
    every task of a pool.
    """

    def __init__(self, budget: int, *, firm: bool = False) -> None:
        """firm: the budget was set by the user, so work that needs more is refused."""
        self.budget, self.firm = budget, firm
        self._maps: list[mmap.mmap] = []
        self._watched = False
        self._trimmed = 0.0  # time of the last trim

    def map(self, file: int, dtype: Any, shape: Sequence[int], *, write: bool = False) -> npt.NDArray[Any]:
        """Map the array that starts at the first byte of an open file."""
        count = int(np.prod(shape))
        if count == 0:
            return np.empty(shape, dtype)
        kind = mmap.ACCESS_WRITE if write else mmap.ACCESS_READ
        whole = mmap.mmap(file, count * np.dtype(dtype).itemsize, access=kind)
        self._keep(whole)
        return np.frombuffer(whole, dtype, count).reshape(shape)

    def map_bytes(self, file: int, size: int) -> memoryview:
        """Map the first `size` bytes of an open file."""
        if size == 0:
            return memoryview(b"")
        whole = mmap.mmap(file, size, access=mmap.ACCESS_READ)
        self._keep(whole)
        return memoryview(whole)

    def look(self) -> None:
        """Check the memory use, and release memory if it is close to the budget."""
        if resident() > NEARLY * self.budget:
            self.give_back()
            now = time.monotonic()
            if now - self._trimmed > TRIM:
                self._trimmed = now
                trim()

    def at_once(self, threads: int) -> int:
        """Return the number of items, scattered over mapped files, that a task may access between two checks."""
        return max(64, self.budget // (32 * TOUCHED * threads)) if self._maps else 1 << 30

    def watch(self) -> None:
        """Start the background thread that checks the memory use."""
        if not self._watched:
            self._watched = True
            watch = threading.Thread(target=_watch, args=(weakref.ref(self),), name="lookalike-memory", daemon=True)
            watch.start()

    def _keep(self, whole: mmap.mmap) -> None:
        self.watch()
        self._maps.append(whole)

    def give_back(self) -> None:
        """Release the pages of all mapped files."""
        for whole in list(self._maps):
            whole.madvise(mmap.MADV_DONTNEED)


def _watch(watched: weakref.ref[MemoryBudget]) -> None:
    """Check the memory use periodically while the budget is referenced."""
    while (keeper := watched()) is not None:
        keeper.look()
        del keeper
        time.sleep(CHECK_INTERVAL)
