"""Edit distances: Levenshtein, and insert/delete (|x| + |y| - 2 LCS). Bit-parallel up to 64 letters, else banded.

A measure code is LEVENSHTEIN or INDEL for a distance of at most num, or (+ SIMILARITY_SHARE) for a normalised
similarity of at least num/den: 1 - distance / longer length for Levenshtein, 1 - distance / sum of the lengths for
insert/delete.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bits import popcount

LEVENSHTEIN, INDEL, SIMILARITY_SHARE = 0, 1, 2
ZERO, ONE, ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


@jit
def allowed(measure: int, num: int, den: int, longer: int, shorter: int) -> int:
    """Return the largest distance at which strings of these lengths match."""
    if measure < SIMILARITY_SHARE:
        return num
    return (den - num) * (longer + shorter if measure & INDEL else longer) // den


@jit
def score(measure: int, apart: int, longer: int, shorter: int) -> float:
    """Return the score of a pair: the negated distance, or the normalised similarity."""
    if measure < SIMILARITY_SHARE:
        return -float(apart)
    whole = longer + shorter if measure & INDEL else longer
    return (whole - apart) / whole


@jit
def levenshtein_bits(masks: Any, size: int, text: Any, most: int) -> int:
    """Return the Levenshtein distance of a string of `size` <= 64 letters to `text`, or a number above `most`.

    masks u64[letters]: bit i of masks[c] is set if letter i is c; text u32[n]. Algorithm of Myers (1999) and Hyyrö
    (2003): a column of the distance matrix is stored as bits of the differences between adjacent cells.
    """
    up, down = ALL, ZERO
    last = ONE << np.uint64(size - 1)
    distance = size
    for i in range(len(text)):
        match = masks[text[i]]
        diagonal = (((match & up) + up) ^ up) | match | down
        right = down | ~(diagonal | up)
        left = diagonal & up
        if right & last != ZERO:
            distance += 1
        elif left & last != ZERO:
            distance -= 1
        if distance - (len(text) - 1 - i) > most:
            return most + 1
        right = (right << ONE) | ONE
        left = left << ONE
        up = left | ~(diagonal | right)
        down = right & diagonal
    return distance


@jit
def indel_bits(masks: Any, size: int, text: Any) -> int:  # masks u64[letters]; text u32[n]
    """Return the insert/delete distance of a string of `size` <= 64 letters to `text`, computed from the LCS."""
    rest = ALL
    for i in range(len(text)):
        taken = rest & masks[text[i]]
        rest = (rest + taken) | (rest - taken)
    unused = ALL >> np.uint64(64 - size)
    return size + len(text) - 2 * popcount(~rest & unused)


@jit
def banded(left: Any, right: Any, most: int, swap: int, row: Any) -> int:
    """Return the distance of two strings, or a number above `most`, from a band of `most` diagonals on each side.

    left u32[m], right u32[n]; swap: the cost of a substitution, 1 (Levenshtein) or 2 (insert/delete);
    row i64[> n]: scratch.
    """
    m, n = len(left), len(right)
    if abs(m - n) > most:
        return most + 1
    far = most + 1
    for j in range(min(n, most) + 1):
        row[j] = j
    for i in range(1, m + 1):
        low, high = max(1, i - most), min(n, i + most)
        corner = row[low - 1]
        row[low - 1] = i if low == 1 else far
        least = row[low - 1]
        for j in range(low, high + 1):
            above = row[j] if j < i + most else far
            best = corner + (0 if left[i - 1] == right[j - 1] else swap)
            best = min(best, above + 1, row[j - 1] + 1)
            corner = above
            row[j] = min(best, far)
            least = min(least, best)
        if least > most:
            return far
    return row[n]


@jit
def set_masks(masks: Any, text: Any) -> None:  # masks u64[letters], zeros; text u32[n]
    """Set the bits of the positions of each letter among the first 64 letters."""
    for i in range(min(64, len(text))):
        masks[text[i]] |= ONE << np.uint64(i)


@jit
def clear_masks(masks: Any, text: Any) -> None:
    for i in range(min(64, len(text))):
        masks[text[i]] = ZERO


@jit
def edits(measure: int, masks: Any, longer: Any, shorter: Any, most: int, row: Any) -> int:
    """Return the distance of two strings, or a number above `most`; masks are those of `longer`."""
    if len(longer) > 64:
        return banded(longer, shorter, most, 1 + (measure & INDEL), row)
    if measure & INDEL:
        return indel_bits(masks, len(longer), shorter)
    return levenshtein_bits(masks, len(longer), shorter, most)


@jit
def distances(
    measure: int, points: Any, ends: Any, left: Any, right: Any, most: int, letters: int, out: Any
) -> None:  # points u32[.]; ends i64[n+1]; left, right i64[p]; out i64[p]
    """out[i] = the distance of the non-empty strings left[i] and right[i], or a number above `most`."""
    masks = np.zeros(letters, np.uint64)
    row = np.empty(np.diff(ends).max() + 2, np.int64)
    for i in range(len(out)):
        x = points[ends[left[i]] : ends[left[i] + 1]]
        y = points[ends[right[i]] : ends[right[i] + 1]]
        if len(x) < len(y):
            x, y = y, x
        set_masks(masks, x)
        out[i] = edits(measure, masks, x, y, most, row)
        clear_masks(masks, x)
