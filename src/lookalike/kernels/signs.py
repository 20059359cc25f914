"""Bits of random projections of vectors (signs or bucket parities): keys from some bits, a Hamming filter by all."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

ONE, SIX, LOW_SIX_BITS = np.uint64(1), np.uint64(6), np.uint64(63)
PAIRS, NIBBLES = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
BYTES, SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
TWO, FOUR, TOP_BYTE_SHIFT = np.uint64(2), np.uint64(4), np.uint64(56)
HALF = np.uint64(32)
ITEM = np.uint64(0xFFFFFFFF)


@jit
def ones(x: Any) -> Any:  # u64 -> u64
    """Count the one bits; LLVM compiles this pattern to a single instruction."""
    x = x - ((x >> ONE) & PAIRS)
    x = (x & NIBBLES) + ((x >> TWO) & NIBBLES)
    x = (x + (x >> FOUR)) & BYTES
    return (x * SUM) >> TOP_BYTE_SHIFT


@jit
def pack_signs(projected: Any, shift: Any, out: Any) -> None:  # projected f32[m, 64w]; shift f32[64w]; out u64[m, w]
    """Set bit b of row i if projected[i, b] > shift[b]."""
    for i in range(len(projected)):
        row = projected[i]
        for w in range(out.shape[1]):
            word = np.uint64(0)
            part, bar = row[64 * w : 64 * w + 64], shift[64 * w : 64 * w + 64]
            for b in range(64):
                word |= np.uint64(part[b] > bar[b]) << np.uint64(b)
            out[i, w] = word


@jit
def pack_parities(projected: Any, shift: Any, out: Any) -> None:  # as pack_signs, in units of the bucket width
    """Set bit b of row i if the bucket number floor(projected[i, b] - shift[b]) is odd."""
    for i in range(len(projected)):
        row = projected[i]
        for w in range(out.shape[1]):
            word = np.uint64(0)
            part, bar = row[64 * w : 64 * w + 64], shift[64 * w : 64 * w + 64]
            for b in range(64):
                bucket = np.int64(np.floor(part[b] - bar[b]))
                word |= np.uint64(bucket & 1) << np.uint64(b)
            out[i, w] = word


@jit
def table_keys(signs: Any, places: Any, out: Any) -> None:  # signs u64[m, w]; places i64[b, r], r <= 32; out u32[m, b]
    """out[i, t] = the bits of row i at the positions of hash table t."""
    for i in range(len(signs)):
        row = signs[i]
        for t in range(len(places)):
            key = np.uint64(0)
            for k in range(places.shape[1]):
                place = np.uint64(places[t, k])
                key = (key << ONE) | ((row[place >> SIX] >> (place & LOW_SIX_BITS)) & ONE)
            out[i, t] = key


@jit
def pack_table(keys: Any, table: int, out: Any) -> None:  # keys u32[n, b]; out u64[n]
    """out[i] = the key of item i in this hash table, then i in the low 32 bits."""
    for i in range(len(out)):
        out[i] = (np.uint64(keys[i, table]) << HALF) | np.uint64(i)


@jit
def gather(packed: Any, signs: Any, sorted_signs: Any, ends: Any) -> int:
    """Copy the signs in the order of the packed words (u64[n], sorted), and find the bucket end of each position.

    signs, sorted_signs u64[n, w]; ends i64[n]. Returns the size of the largest bucket.
    """
    end = len(packed)
    largest = 0
    for back in range(len(packed)):
        a = len(packed) - 1 - back
        if a + 1 < len(packed) and packed[a] >> HALF != packed[a + 1] >> HALF:
            end = a + 1
        ends[a] = end
        largest = max(largest, end - a)
        item = packed[a] & ITEM
        for w in range(signs.shape[1]):
            sorted_signs[a, w] = signs[item, w]
    return largest


@jit
def round_rows(ready: Any, scale: Any, out: Any) -> None:  # ready f32[m, d]; scale f32; out i16[m, d]
    """out = ready * scale, rounded to the nearest integers."""
    for i in range(len(ready)):
        row, into = ready[i], out[i]
        for k in range(len(row)):
            into[k] = np.int16(np.rint(row[k] * scale))


@jit
def product(x: Any, y: Any) -> Any:  # x, y i16[d] -> i32
    """Return the inner product of rows of norm at most 2^15; by Cauchy-Schwarz no partial sum overflows 32 bits."""
    total = np.int32(0)
    for k in range(len(x)):
        total = np.int32(total + np.int32(np.int32(x[k]) * np.int32(y[k])))
    return total


@jit
def met_before(one: Any, other: Any) -> bool:  # one, other u32[t], the keys of two items in the earlier tables
    """Return whether two items share a bucket of an earlier table. Without an early exit, so that it is vectorised."""
    alike = 0
    for t in range(len(one)):
        alike += one[t] == other[t]
    return alike > 0


@jit
def near_in_buckets(
    packed: Any,  # u64[n], sorted
    ends: Any,  # i64[n]
    at: int,  # first position to process
    stop: int,  # position to stop before
    signs: Any,  # u64[n, w], in the order of the packed words
    keys: Any,  # u32[n, b], by item
    table: int,
    cut: int,  # maximum number of differing bits
    rounded: Any,  # i16[n, d], by item
    bars: Any,  # i64[n], by item: a pair passes if twice the product reaches the sum of its two bars
    sides: Any,  # u8[n], by item
    out_left: Any,  # u32[>= largest bucket], out
    out_right: Any,  # u32, out
) -> Any:  # (position reached, pairs written, pairs checked, products computed)
    """Find pairs in a bucket that differ in few bits, share no earlier bucket, and have a large rounded product.

    Stops before a position whose pairs may not fit in the output.
    """
    words = signs.shape[1]
    limit = np.uint64(cut)
    close = np.empty(len(out_left), np.int64)
    count = checked = products = 0
    while at < stop:
        end = ends[at]
        if len(out_left) - count < end - at:
            break
        mine = signs[at]
        x = np.int64(packed[at] & ITEM)
        row, side, bar, before = rounded[x], sides[x], bars[x], keys[x, :table]
        few = 0
        for b in range(at + 1, end):
            other = signs[b]
            apart = np.uint64(0)
            for w in range(words):
                apart += ones(mine[w] ^ other[w])
            close[few] = b
            if apart <= limit:
                few += 1
        checked += end - at - 1
        for q in range(few):
            b = close[q]
            y = np.int64(packed[b] & ITEM)
            if side | sides[y] != 3:
                continue
            if met_before(before, keys[y, :table]):
                continue
            products += 1
            if 2 * np.int64(product(row, rounded[y])) >= bar + bars[y]:
                out_left[count] = min(x, y)
                out_right[count] = max(x, y)
                count += 1
        at += 1
    return at, count, checked, products
