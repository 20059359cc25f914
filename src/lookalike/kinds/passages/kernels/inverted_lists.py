"""Packing of fingerprints for sorting in parts: 32 bits of the hash and the fingerprint number in one word."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

PART, HIGH, LOW = np.uint64(56), np.uint64(24), np.uint64(0xFFFFFFFF)
UPPER = np.uint64(32)


@jit
def pack(hashes: Any, ends: Any, out: Any) -> None:  # hashes u64[f]; ends i64[256], zeros, out; out u64[f]
    """Partition fingerprints by their eight highest bits; a packed word has the next 32 bits, then the number."""
    for i in range(len(hashes)):
        ends[hashes[i] >> PART] += 1
    total = 0
    for p in range(len(ends)):
        total, ends[p] = total + ends[p], total
    for i in range(len(hashes)):
        part = hashes[i] >> PART
        out[ends[part]] = (((hashes[i] >> HIGH) & LOW) << UPPER) | np.uint64(i)
        ends[part] += 1


@jit
def unpack(packed: Any, starts: Any, order: Any, place: Any, fresh: Any) -> None:
    """Fill the arrays of kinds.passages.inverted_lists.FingerprintLists.

    packed u64[f], each part sorted; starts i64[256]; order u32[f]; place i64[f]; fresh bool[f].
    """
    for t in range(len(packed)):
        i = packed[t] & LOW
        order[t] = i
        place[i] = t
        fresh[t] = t == 0 or (packed[t] >> UPPER) != (packed[t - 1] >> UPPER)
    for p in range(len(starts)):
        if starts[p] < len(fresh):
            fresh[starts[p]] = True
