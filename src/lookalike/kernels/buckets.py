"""Candidate pairs of one band: items whose packed (key, item) words have equal keys after sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bounds import required


@jit
def pack(keys: Any, band: int, bits: int, out: Any) -> None:  # keys u64[n, bands]; out u64[n]
    """out[i] = the high bits of the band's key of item i, then i in the low `bits` bits."""
    high = ~((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
    for i in range(len(out)):
        out[i] = (keys[i, band] & high) | np.uint64(i)


@jit
def pairs_in_buckets(
    packed: Any, bits: int
) -> Any:  # packed u64[n], sorted -> (pairs, largest bucket, where it starts)
    """Count the pairs that share a bucket of this band, and find the largest bucket."""
    shift = np.uint64(bits)
    total, largest, where = 0, 0, 0
    start = 0
    for a in range(1, len(packed) + 1):
        if a == len(packed) or (packed[a] >> shift) != (packed[start] >> shift):
            m = a - start
            total += m * (m - 1) // 2
            if m > largest:
                largest, where = m, start
            start = a
    return total, largest, where


@jit
def bucket_sizes(packed: Any, bits: int, out: Any) -> None:  # packed u64[n], sorted; out i64[d], counted up
    """Add to out[d] the number of buckets with 2^d to 2^(d+1) - 1 items; the last d includes all larger ones."""
    shift = np.uint64(bits)
    start = 0
    for a in range(1, len(packed) + 1):
        if a == len(packed) or (packed[a] >> shift) != (packed[start] >> shift):
            d, size = 0, (a - start) >> 1
            while size and d < len(out) - 1:
                d, size = d + 1, size >> 1
            out[d] += 1
            start = a


@jit
def met_before(keys: Any, x: int, y: int, band: int, shift: Any) -> bool:  # keys u64[n, bands]; shift u64
    """Return whether two items share a bucket of an earlier band (key bits that packing drops are ignored)."""
    for j in range(band):
        if (keys[x, j] ^ keys[y, j]) >> shift == np.uint64(0):
            return True
    return False


@jit
def agreement(values: Any, x: int, y: int) -> int:  # values u32[n, k]
    """Count the slots in which two signatures agree."""
    agree = 0
    for j in range(values.shape[1]):
        agree += values[x, j] == values[y, j]
    return agree


@jit
def agreements(
    values: Any, left: Any, right: Any, out: Any
) -> None:  # values u32[n, k]; left, right u32[p]; out i64[p]
    """out[i] = number of slots in which the signatures of left[i] and right[i] agree."""
    for i in range(len(out)):
        out[i] = agreement(values, left[i], right[i])


@jit
def band_candidates(
    packed: Any,  # u64[n], sorted
    bits: int,  # number of bits of the item number in a packed word
    at: int,  # first position to process
    stop: int,  # position to stop before
    band: int,
    keys: Any,  # u64[n, bands]
    values: Any,  # u32[n, k] signatures
    cut: int,  # minimum number of agreeing slots
    sizes: Any,  # i64[n]
    sides: Any,  # u8[n]: 1 left, 2 right, 3 both; a pair is wanted if the bitwise or is 3
    measure: int,
    num: int,
    den: int,
    anchors: Any,  # u32[>= stop-at], out
    ends: Any,  # i64[>= stop-at], out
    partners: Any,  # u32[>= n], out
) -> Any:  # (position reached, anchors written, partners written)
    """Find candidates that share no earlier bucket and pass the size and signature filters; stops when full."""
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    a = 0
    p = 0
    while at < stop:
        word = packed[at]
        x = np.int64(word & mask)
        before = at
        while before > 0 and (packed[before - 1] >> shift) == (word >> shift):
            before -= 1
            if at - before > len(partners) - p:
                return at, a, p
        first = p
        for b in range(before, at):
            y = np.int64(packed[b] & mask)
            if sides[x] | sides[y] != 3 or met_before(keys, x, y, band, shift):
                continue
            need = required(measure, sizes[x], sizes[y], num, den)
            if need > min(sizes[x], sizes[y]) or agreement(values, x, y) < cut:
                continue
            partners[p] = y
            p += 1
        if p > first:
            anchors[a] = x
            ends[a] = p
            a += 1
        at += 1
    return at, a, p


@jit
def list_pairs(
    packed: Any,  # u64[n], sorted
    bits: int,  # number of bits of the item number in a packed word
    at: int,  # first position to process
    sizes: Any,  # i64[n]
    sides: Any,  # u8[n]: 1 left, 2 right, 3 both; a pair is wanted if the bitwise or is 3
    measure: int,
    num: int,
    den: int,
    out: Any,  # u64[>= n], out: the later item in the high half, the earlier one in the low half
) -> Any:  # (position reached, pairs written)
    """List the pairs of a band that pass the size filter, also those of earlier bands; stops when full."""
    shift = np.uint64(bits)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    start = at
    p = 0
    while start > 0 and at < len(packed) and (packed[start - 1] >> shift) == (packed[at] >> shift):
        start -= 1
    while at < len(packed):
        word = packed[at]
        if (packed[start] >> shift) != (word >> shift):
            start = at
        if at - start > len(out) - p:
            return at, p
        x = np.int64(word & mask)
        for b in range(start, at):
            y = np.int64(packed[b] & mask)
            need = required(measure, sizes[x], sizes[y], num, den)
            if sides[x] | sides[y] == 3 and need <= min(sizes[x], sizes[y]):
                out[p] = np.uint64(x) << np.uint64(32) | np.uint64(y)
                p += 1
        at += 1
    return at, p
