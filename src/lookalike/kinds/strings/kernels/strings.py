"""Kernels for strings as code points: decoding and folding, fingerprints, bags of letters."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, mix
from lookalike.kernels.tokens import code_point

ZERO, ONE, SIXTY_FOUR, HALF = np.uint64(0), np.uint64(1), np.uint64(64), np.uint64(32)


@jit
def decode(data: Any, offsets: Any, folds: Any, multi: Any, points: Any, ends: Any) -> None:
    """Decode UTF-8 to folded code points.

    data u8[bytes]; offsets i64[n+1]; folds i32[0x110000]; multi i32[m, 3]: as in kernels.unicode; points u32[room for 3
    per character], out; ends i64[n+1], out.
    """
    at = 0
    ends[0] = 0
    for s in range(len(offsets) - 1):
        i = offsets[s]
        while i < offsets[s + 1]:
            point, i = code_point(data, i, offsets[s + 1])
            fold = folds[point]
            if fold >= 0:
                points[at] = fold
                at += 1
                continue
            for j in range(3):
                if multi[-1 - fold, j] == 0:
                    break
                points[at] = multi[-1 - fold, j]
                at += 1
        ends[s + 1] = at


@jit
def fingerprints(points: Any, ends: Any, out: Any) -> None:  # points u32[.]; ends i64[n+1]; out u64[n]
    """Set out[s] to a hash of string s."""
    for s in range(len(out)):
        h = ZERO
        for i in range(ends[s], ends[s + 1]):
            h = h * CHARS + np.uint64(points[i]) + ONE
        out[s] = mix(h)


@jit
def equal(points: Any, ends: Any, left: Any, right: Any, out: Any) -> None:  # left, right i64[p]; out bool[p]
    """Set out[i] to whether strings left[i] and right[i] are equal."""
    for i in range(len(out)):
        x = points[ends[left[i]] : ends[left[i] + 1]]
        y = points[ends[right[i]] : ends[right[i] + 1]]
        out[i] = len(x) == len(y)
        for j in range(len(x)):
            if not out[i] or x[j] != y[j]:
                out[i] = False
                break


@jit
def gather(points: Any, ends: Any, order: Any, letter: Any, out: Any, out_ends: Any) -> None:
    """Copy the strings with these numbers, in this order, and replace each code point by its letter number.

    points u32[.]; ends i64[n+1]; order i64[m]; letter u32[0x110000]; out u32[.], out; out_ends i64[m+1], out.
    """
    at = 0
    out_ends[0] = 0
    for i in range(len(order)):
        part = points[ends[order[i]] : ends[order[i] + 1]]
        for j in range(len(part)):
            out[at + j] = letter[part[j]]
        at += len(part)
        out_ends[i + 1] = at


@jit
def pair_bags(points: Any, ends: Any, out: Any) -> None:  # points u32[.]; ends i64[n+1]; out u64[2, n]
    """Set a bit for each pair of adjacent letters that occurs an odd number of times, of 128 bits by hash.

    An insertion or deletion changes at most 3 pairs, and so at most 3 bits; a substitution at most 4.
    """
    out[:] = ZERO
    for s in range(out.shape[1]):
        for i in range(ends[s], ends[s + 1] - 1):
            x = mix((np.uint64(points[i]) << HALF) | np.uint64(points[i + 1]))
            out[np.int64(x >> np.uint64(63)), s] ^= ONE << (x % SIXTY_FOUR)


@jit
def bags(points: Any, ends: Any, out: Any) -> None:  # points u32[.]; ends i64[n+1]; out u64[n]
    """Set out[s] to a mask of 64 bits, one per hash class of letters: 1 if string s has an odd number of them.

    An insertion or deletion flips one bit, a substitution at most two.
    """
    for s in range(len(out)):
        bag = ZERO
        for i in range(ends[s], ends[s + 1]):
            bag ^= ONE << (mix(np.uint64(points[i])) % SIXTY_FOUR)
        out[s] = bag
