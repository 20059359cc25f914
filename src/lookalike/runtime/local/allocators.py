"""Memory that is free inside of the process goes back to the system: of the C library, of Arrow, of loaded libraries.

Peak memory is what the system counts for the process, so memory that an allocator keeps for later counts as used.
All of this is for Linux with glibc; elsewhere it does nothing.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

import pyarrow as pa

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)
DIRECT = 1 << 20  # bytes: arrays of this size and more go back to the system as soon as they are freed
# Libraries whose code is used while they start, and hardly afterwards. None of them is ever unloaded.
LIBRARIES = ("libllvmlite", "libarrow", "libparquet")


@cache
def _libc() -> Any:
    try:
        libc = ctypes.CDLL(None)
        libc.mallopt, libc.malloc_trim, libc.madvise  # noqa: B018  (AttributeError where one is missing)
    except (OSError, AttributeError):
        return None
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc


def return_memory_promptly() -> None:
    """Make this process return freed memory to the system at once, for as long as it lives.

    glibc raises its threshold for arrays of their own pages up to 32 MB as it goes, and Arrow's allocator keeps what
    was freed; either makes the peak depend on the order of allocations. Costs some percent of time.
    """
    libc = _libc()
    if libc is not None:
        libc.mallopt(M_MMAP_THRESHOLD, DIRECT)
        libc.mallopt(M_TRIM_THRESHOLD, DIRECT)
        pa.set_memory_pool(pa.system_memory_pool())


def trim() -> None:
    """Return what is free in the heaps, and the pages of library code, which come again when they are used."""
    pa.default_memory_pool().release_unused()
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)
        for start, length in _library_code():
            libc.madvise(start, length, mmap.MADV_DONTNEED)


def _library_code() -> list[tuple[int, int]]:
    """(address, bytes) of the code of LIBRARIES: never written to, so nothing is lost where its pages go."""
    spans = []
    try:
        with open("/proc/self/maps") as lines:
            for line in lines:
                span, access, *_, path = line.split(maxsplit=5) if line.count(" ") >= 5 else (line, "", "")
                if access == "r-xp" and any(name in path for name in LIBRARIES):
                    start, end = (int(address, 16) for address in span.split("-"))
                    spans.append((start, end - start))
    except OSError:
        return []
    return spans
