"""Kernels that read arrays of a memory-mapped file and verify the checksum of each block before its first use.

Every kernel takes the same three arrays: words u64[], the bytes of all arrays; sums u64[b], the checksum of each block;
seen u8[b], 1 for a block that was verified. For a file without checksums, `seen` is all ones from the beginning. `at`
is the byte offset of an array in `words`. A negative return value reports damage: -1 - b is damage in block b, and
b = len(seen) means an offset that points outside of its array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

BLOCK_SHIFT = 12
BLOCK_WORDS = (1 << BLOCK_SHIFT) // 8
P1, P2 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
P3, P4 = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
ZERO, S29, S32, S33, S64 = np.uint64(0), np.uint64(29), np.uint64(32), np.uint64(33), np.uint64(64)
R1, R7, R12, R18, R31 = np.uint64(1), np.uint64(7), np.uint64(12), np.uint64(18), np.uint64(31)


@jit
def _left(x: Any, bits: Any) -> Any:
    return (x << bits) | (x >> (S64 - bits))


@jit
def _lane(state: Any, word: Any) -> Any:
    return _left(state + word * P2, R31) * P1


@jit
def xxh64(
    words: Any, low: int, high: int, seed: Any
) -> Any:  # words u64[]; high - low: a multiple of 4, not 0; seed u64
    """XXH64 of words[low:high]: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md."""
    a, b, c, d = seed + P1 + P2, seed + P2, seed, seed - P1
    for i in range(low, high, 4):
        a, b = _lane(a, words[i]), _lane(b, words[i + 1])
        c, d = _lane(c, words[i + 2]), _lane(d, words[i + 3])
    out = _left(a, R1) + _left(b, R7) + _left(c, R12) + _left(d, R18)
    out = (out ^ _lane(ZERO, a)) * P1 + P4
    out = (out ^ _lane(ZERO, b)) * P1 + P4
    out = (out ^ _lane(ZERO, c)) * P1 + P4
    out = (out ^ _lane(ZERO, d)) * P1 + P4
    out += np.uint64(8 * (high - low))
    out = (out ^ (out >> S33)) * P2
    out = (out ^ (out >> S29)) * P3
    return out ^ (out >> S32)


@jit
def sum_blocks(words: Any, first: int, out: Any) -> None:  # words u64[]; out u64[blocks]
    """out[i] = XXH64 of block i of the words, seeded with the number of the block in the file, first + i."""
    for block in range(len(out)):
        end = min((block + 1) * BLOCK_WORDS, len(words))
        out[block] = xxh64(words, block * BLOCK_WORDS, end, np.uint64(first + block))


@jit
def is_damaged(words: Any, sums: Any, seen: Any, block: int) -> bool:
    """Return whether a block does not match its checksum; a block is verified only once."""
    if seen[block]:
        return False
    end = min((block + 1) * BLOCK_WORDS, len(words))
    if xxh64(words, block * BLOCK_WORDS, end, np.uint64(block)) != sums[block]:
        return True
    seen[block] = 1
    return False


@jit
def check_spans(words: Any, sums: Any, seen: Any, at: int, size: int, starts: Any, ends: Any) -> int:
    """Verify bytes starts[i] to ends[i] - 1 of an array of `size` bytes; return 0, or a negative number for damage."""
    for i in range(len(starts)):
        if not 0 <= starts[i] <= ends[i] <= size:
            return -1 - len(seen)
        if starts[i] < ends[i]:
            for block in range((at + starts[i]) >> BLOCK_SHIFT, ((at + ends[i] - 1) >> BLOCK_SHIFT) + 1):
                if is_damaged(words, sums, seen, block):
                    return -1 - block
    return 0


@jit
def take(words: Any, sums: Any, seen: Any, at: int, values: Any, rows: Any, out: Any) -> int:
    """out[i] = values[rows[i]]. Return 0, or a negative number for damage. values any[n]; rows int[r]."""
    for i in range(len(rows)):
        row = np.int64(rows[i])
        if not 0 <= row < len(values):
            return -1 - len(seen)
        block = (at + row * values.itemsize) >> BLOCK_SHIFT
        if is_damaged(words, sums, seen, block):
            return -1 - block
        out[i] = values[row]
    return 0


@jit
def search(words: Any, sums: Any, seen: Any, at: int, values: Any, wanted: Any, out: Any) -> int:
    """out[i] = number of the sorted values that are below wanted[i]. Return 0, or a negative number for damage.

    values, wanted: i64 or u64, both the same; out i64.
    """
    for i in range(len(wanted)):
        low, high = 0, len(values)
        while low < high:
            middle = (low + high) // 2
            block = (at + middle * values.itemsize) >> BLOCK_SHIFT
            if is_damaged(words, sums, seen, block):
                return -1 - block
            if values[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return 0


@jit
def locate(
    words: Any, sums: Any, seen: Any,
    items_at: int, items: Any,  # i64[n]
    ends_at: int, ends: Any,  # i64[n+1]: offsets of the features of each row
    features_at: int, size: int,
    rows: Any,  # u32[r]
    numbers: Any, starts: Any, stops: Any,  # i64[r]: item number of each row, start and end of its features
) -> int:  # fmt: skip
    """Look up rows and verify their features; return 0, or a negative number for damage."""
    code = take(words, sums, seen, items_at, items, rows, numbers)
    if code == 0:
        code = take(words, sums, seen, ends_at, ends[:-1], rows, starts)
    if code == 0:
        code = take(words, sums, seen, ends_at + 8, ends[1:], rows, stops)
    if code == 0:
        code = check_spans(words, sums, seen, features_at, size, starts, stops)
    return code
