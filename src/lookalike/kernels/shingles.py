"""Convert tokens to sets of hashed k-shingles: 64-bit elements, each once per document (or numbered, for bags).

The hash of a shingle is the polynomial t1*B^(k-1) + ... + tk of its tokens, followed by mix. A document of fewer than
k tokens is a single shingle; a document without tokens is the empty set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import TOKENS, mix

ZERO, ONE = np.uint64(0), np.uint64(1)
HALF = np.uint64(32)


@jit
def roll(tokens: Any, n: int, k: int, narrow: bool, out: Any) -> int:  # tokens u64[>=n]; out u64[>=n]
    """Write the rolling hash of each shingle; returns their number. `narrow` keeps 32 bits. No hash is 0."""
    if n == 0:
        return 0
    k = min(k, n)
    power = ONE
    h = ZERO
    for j in range(k - 1):
        power *= TOKENS
        h = h * TOKENS + tokens[j]
    newest = tokens[k - 1 : n]
    for i in range(len(newest)):
        h = h * TOKENS + newest[i]
        x = mix(h)
        if narrow:
            x >>= HALF
        out[i] = x if x != ZERO else ONE
        h -= tokens[i] * power
    return n - k + 1


@jit
def distinct(hashes: Any, n: int, table: Any, out: Any, at: int) -> int:  # hashes u64[n]; table u64[2**m >= 2n], zeros
    """Write the distinct hashes to out[at:], in order of first occurrence; returns the end. Zeroes the table again."""
    mask = np.uint64(len(table) - 1)
    start = at
    for i in range(n):
        x = hashes[i]
        slot = x & mask
        while table[slot] != ZERO and table[slot] != x:
            slot = (slot + ONE) & mask
        if table[slot] == ZERO:
            table[slot] = x
            out[at] = x
            at += 1
    if (at - start) * 8 > len(table):
        table[:] = ZERO
    else:
        for i in range(start, at):
            slot = out[i] & mask
            while table[slot] != ZERO:
                table[slot] = ZERO
                slot = (slot + ONE) & mask
    return at


@jit
def numbered(hashes: Any, n: int, table: Any, counts: Any, narrow: bool, out: Any, at: int) -> int:
    """Write an element per occurrence: the i-th occurrence of a hash is distinct. counts u64[len(table)], zeros."""
    mask = np.uint64(len(table) - 1)
    for i in range(n):
        x = hashes[i]
        slot = x & mask
        while table[slot] != ZERO and table[slot] != x:
            slot = (slot + ONE) & mask
        table[slot] = x
        element = x
        if counts[slot] != ZERO:
            element = mix(x + counts[slot] * TOKENS)
            if narrow:
                element >>= HALF
        counts[slot] += ONE
        out[at] = element if element != ZERO else ONE
        at += 1
    table[:] = ZERO
    counts[:] = ZERO
    return at


@jit
def table_size(n: int) -> int:
    """Return a power of two, at least 16, so that a hash table with n elements is at most half full."""
    size = 16
    while size < 2 * n:
        size *= 2
    return size


@jit
def longest(offsets: Any) -> int:  # offsets i64[n+1]
    """Return the length of the longest document."""
    most = 0
    for d in range(len(offsets) - 1):
        most = max(most, offsets[d + 1] - offsets[d])
    return most


@jit
def shingle_sets(tokens: Any, offsets: Any, k: int, narrow: bool, out: Any, ends: Any) -> None:
    """Write the distinct shingles of every document, one document after the other.

    tokens u64[total]; offsets i64[n+1]; out u64[total]; ends i64[n], out: where the elements of each document end.
    """
    most = longest(offsets)
    work = np.empty(most, np.uint64)
    table = np.zeros(table_size(most), np.uint64)
    at = 0
    for d in range(len(ends)):
        n = roll(tokens[offsets[d] : offsets[d + 1]], offsets[d + 1] - offsets[d], k, narrow, work)
        at = distinct(work, n, table[: table_size(n)], out, at)
        ends[d] = at


@jit
def shingle_bags(tokens: Any, offsets: Any, k: int, narrow: bool, out: Any, ends: Any) -> None:
    """Write the shingles of every document as a bag, in which every occurrence is a distinct element."""
    most = longest(offsets)
    work = np.empty(most, np.uint64)
    table = np.zeros(table_size(most), np.uint64)
    counts = np.zeros(len(table), np.uint64)
    at = 0
    for d in range(len(ends)):
        n = roll(tokens[offsets[d] : offsets[d + 1]], offsets[d + 1] - offsets[d], k, narrow, work)
        size = table_size(n)
        at = numbered(work, n, table[:size], counts[:size], narrow, out, at)
        ends[d] = at
