"""The memory that a run may use, and files mapped into it that give their share back."""

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

MIN_BUDGET = 300_000_000  # the compiler, the Arrow library and the batches under way take most of that
SIZE_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
CHECK_INTERVAL = 0.002  # seconds between two looks
NEARLY = 0.7  # of the budget: pages of mapped files are given back from here on
TRIM = 0.1  # seconds between two trims of the heaps
PAGE_BYTES = mmap.PAGESIZE
TOUCHED = 1 << 16  # bytes that become resident where one page of a mapped file is touched: its neighbours come along


def memory_size(given: int | str | None) -> int:
    """Bytes from a number or from words such as "2GB"; without any, half of what the machine has free.

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
    """Bytes that new work can have without pushing other programs out."""
    try:
        with open("/proc/meminfo") as lines:
            known = dict(line.split(":", 1) for line in lines)
        return int(known["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):
        return os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES // 2


def resident() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * PAGE_BYTES
    except OSError:
        return 0


class MemoryBudget:
    """Keeps the process within its budget: where it nears it, the pages of mapped files are given back, and what the
    allocators hold.

    Pages stay in the system's cache as long as there is room, and come again when they are touched. It looks as long
    as it is referred to, on a thread of its own from `watch` or the first file on, and after every task of a pool.
    """

    def __init__(self, budget: int, *, firm: bool = False) -> None:
        """firm: the budget was asked for, so work that needs more is refused."""
        self.budget, self.firm = budget, firm
        self._maps: list[mmap.mmap] = []
        self._watched = False
        self._trimmed = 0.0  # when

    def map(self, file: int, dtype: Any, shape: Sequence[int], *, write: bool = False) -> npt.NDArray[Any]:
        """The array in an open file, from its first byte on."""
        count = int(np.prod(shape))
        if count == 0:
            return np.empty(shape, dtype)
        kind = mmap.ACCESS_WRITE if write else mmap.ACCESS_READ
        whole = mmap.mmap(file, count * np.dtype(dtype).itemsize, access=kind)
        self._keep(whole)
        return np.frombuffer(whole, dtype, count).reshape(shape)

    def map_bytes(self, file: int, size: int) -> memoryview:
        """The first `size` bytes of an open file."""
        if size == 0:
            return memoryview(b"")
        whole = mmap.mmap(file, size, access=mmap.ACCESS_READ)
        self._keep(whole)
        return memoryview(whole)

    def look(self) -> None:
        """Give memory back if it is time."""
        if resident() > NEARLY * self.budget:
            self.give_back()
            now = time.monotonic()
            if now - self._trimmed > TRIM:
                self._trimmed = now
                trim()

    def at_once(self, threads: int) -> int:
        """How many items a task may look at, wherever they are in the mapped files, before the next look."""
        return max(64, self.budget // (32 * TOUCHED * threads)) if self._maps else 1 << 30

    def watch(self) -> None:
        """Begin to look."""
        if not self._watched:
            self._watched = True
            watch = threading.Thread(target=_watch, args=(weakref.ref(self),), name="lookalike-memory", daemon=True)
            watch.start()

    def _keep(self, whole: mmap.mmap) -> None:
        self.watch()
        self._maps.append(whole)

    def give_back(self) -> None:
        """Let go of the pages of all mapped files."""
        for whole in list(self._maps):
            whole.madvise(mmap.MADV_DONTNEED)


def _watch(watched: weakref.ref[MemoryBudget]) -> None:
    """As long as anyone holds the keeper."""
    while (keeper := watched()) is not None:
        keeper.look()
        del keeper
        time.sleep(CHECK_INTERVAL)
