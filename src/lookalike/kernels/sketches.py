"""Compute signatures of sets (Fast Similarity Sketching, classic minhash, explicit permutations) and band keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, M1, half_mix, mix

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ROUND = np.uint32(0x9E3779B1)
NOTHING = np.uint32(0xFFFFFFFF)  # value of every slot of the empty set
P61 = np.uint64((1 << 61) - 1)


@jit
def fast_similarity_sketch(elements: Any, start: int, end: int, seed: Any, bins: Any, out: Any) -> None:
    """Compute a Fast Similarity Sketch (Dahlgaard, Knudsen, Thorup 2017, section 2).

    In round i every element is hashed to a bin and a value; a bin keeps the minimum (round, value); rounds end when no
    bin is empty; round k+j puts every element in bin j.

    elements u64[nnz]; seed u64; bins u64[k] (scratch); out u32[k].
    """
    k = len(out)
    part = elements[start:end]
    if start == end:
        out[:] = NOTHING
        return
    bins[:] = EMPTY
    width = np.uint64(k)
    empty = k
    for i in range(2 * k):
        salt = mix(seed + np.uint64(i) * CHARS)
        high = np.uint64(i) << HALF
        if i < k:
            for e in range(len(part)):
                h = mix(part[e] ^ salt)
                b = ((h & LOW) * width) >> HALF
                bins[b] = min(bins[b], high | (h >> HALF))
        elif bins[i - k] == EMPTY:
            b = np.uint64(i - k)
            for e in range(len(part)):
                bins[b] = min(bins[b], high | (mix(part[e] ^ salt) >> HALF))
        else:
            continue
        empty = 0
        for b in range(k):
            empty += bins[b] == EMPTY
        if empty == 0:
            break
    for b in range(k):
        value = np.uint32(bins[b] & LOW) ^ (np.uint32(bins[b] >> HALF) * ROUND)
        out[b] = value if value != NOTHING else np.uint32(0)


@jit
def sketch_sets(elements: Any, starts: Any, sizes: Any, seed: Any, out: Any) -> None:
    """out[i] = the Fast Similarity Sketch of set i. elements u64[nnz]; starts, sizes i64[n]; out u32[n, k]."""
    bins = np.empty(out.shape[1], np.uint64)
    for i in range(len(out)):
        fast_similarity_sketch(elements, starts[i], starts[i] + sizes[i], seed, bins, out[i])


@jit
def mod_p61(x: Any) -> Any:  # u64 -> u64 below p
    """Return x mod p for the Mersenne prime p = 2^61 - 1, by adding the high bits to the low bits."""
    x = (x & P61) + (x >> np.uint64(61))
    return x - P61 if x >= P61 else x


@jit
def times_p61(a: Any, b: Any) -> Any:  # u64, u64 below p -> u64 below p
    """Return a*b mod 2^61 - 1 without overflow: 32-bit halves, each partial product reduced."""
    a1, a0 = a >> HALF, a & LOW
    b1, b0 = b >> HALF, b & LOW
    middle = mod_p61(a1 * b0 + a0 * b1)  # below 2^62
    # middle * 2^32 mod p: the upper 32 of 61 bits wrap round to the bottom
    shifted = ((middle & np.uint64((1 << 29) - 1)) << HALF) + (middle >> np.uint64(29))
    low = a0 * b0
    high = a1 * b1 * np.uint64(8)  # 2^64 = 8 mod p, and a1*b1 is below 2^58
    return mod_p61(mod_p61(shifted) + mod_p61(low) + mod_p61(high))


@jit
def minhash_sets(elements: Any, starts: Any, sizes: Any, a: Any, b: Any, size: Any, out: Any) -> None:
    """out[i, j] = min over x in set i of ((a[j]*x + b[j]) mod p) mod size.

    a, b u64[k], below p; size u64; out u32[n, k].
    """
    for i in range(len(out)):
        out[i] = NOTHING
        for e in range(starts[i], starts[i] + sizes[i]):
            x = mod_p61(elements[e])
            for j in range(len(a)):
                h = np.uint32(mod_p61(times_p61(a[j], x) + b[j]) % size)
                out[i, j] = min(out[i, j], h)


@jit
def minhash_rows(elements: Any, documents: Any, a: Any, b: Any, size: Any, out: Any) -> None:
    """Update minhash signatures with entries (row, column) of the characteristic matrix, row by row.

    elements u64[m], documents i64[m]: entries, those of an element adjacent, so that each row is hashed
    once; a, b u64[k], below p; size u64; out u32[n, k], updated in place (initially NOTHING). The signatures equal
    those of `minhash_sets`.
    """
    hashes = np.empty(len(a), np.uint32)
    for e in range(len(elements)):
        if e == 0 or elements[e] != elements[e - 1]:
            x = mod_p61(elements[e])
            for j in range(len(a)):
                hashes[j] = np.uint32(mod_p61(times_p61(a[j], x) + b[j]) % size)
        row = out[documents[e]]
        for j in range(len(a)):
            row[j] = min(row[j], hashes[j])


@jit
def permute_sets(elements: Any, starts: Any, sizes: Any, permutations: Any, out: Any) -> None:
    """out[i, j] = the lowest position of an element of set i in permutation j. permutations u32[k, universe]."""
    for i in range(len(out)):
        out[i] = NOTHING
        for e in range(starts[i], starts[i] + sizes[i]):
            for j in range(len(permutations)):
                out[i, j] = min(out[i, j], permutations[j, elements[e]])


@jit
def band_keys(values: Any, rows: int, out: Any) -> None:  # values u32[n, >= bands*rows]; out u64[n, bands]
    """out[i, j] = hash of rows [j*rows, (j+1)*rows) of signature i. No salt, as each band is sorted separately."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            h = M1
            for r in range(j * rows, (j + 1) * rows):
                h = (h + np.uint64(values[i, r])) * CHARS
                h ^= h >> HALF
            out[i, j] = half_mix(h)
