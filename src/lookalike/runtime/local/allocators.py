"""Return unused memory of the process to the operating system: of the C library, of Arrow, of loaded libraries.

Peak memory is measured by the operating system, so freed memory that an allocator retains counts as used.
All of this is for Linux with glibc; elsewhere it does nothing.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

import pyarrow as pa

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # parameters of mallopt(3)
DIRECT = 1 << 20  # bytes: larger arrays are returned to the system as soon as they are freed
# Libraries whose code is mostly used at start-up and rarely afterwards. None of them is ever unloaded.
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
    """Configure this process to return freed memory to the system immediately, until it ends.

    glibc raises its mmap threshold dynamically up to 32 MB, and Arrow's allocator retains freed memory; either makes
    the peak depend on the order of allocations. Costs a few percent of run time.
    """
    libc = _libc()
    if libc is not None:
        libc.mallopt(M_MMAP_THRESHOLD, DIRECT)
        libc.mallopt(M_TRIM_THRESHOLD, DIRECT)
        pa.set_memory_pool(pa.system_memory_pool())


def trim() -> None:
    """Return free heap memory and the pages of library code, which are loaded again when they are used."""
    pa.default_memory_pool().release_unused()
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)
        for start, length in _library_code():
            libc.madvise(start, length, mmap.MADV_DONTNEED)


def _library_code() -> list[tuple[int, int]]:
    """Return (address, bytes) of the code of LIBRARIES, which is read-only, so that its pages can be dropped safely."""
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
