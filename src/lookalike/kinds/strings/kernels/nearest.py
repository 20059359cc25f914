"""The nearest strings of each string: lengths are visited from the string's own outwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bits import popcount
from lookalike.kernels.edits import (
    INDEL,
    SIMILARITY_SHARE,
    banded,
    clear_masks,
    indel_bits,
    levenshtein_bits,
    score,
    set_masks,
)
from lookalike.kernels.nearest import place

MASK_LETTERS = 64  # letters of a string whose positions fit into a word
LENGTH_MARGIN = 1e-6  # added before a product of a share and a length is rounded down


@jit
def furthest(measure: int, bar: float, longer: int, shorter: int) -> int:
    """Return the largest distance at which strings of these lengths reach the score `bar`, or a little more."""
    whole = longer + shorter if measure & INDEL else longer
    if measure < SIMILARITY_SHARE:
        return whole if bar <= -float(whole) else int(-bar)
    return whole if bar <= 0.0 else int(whole * (1.0 - bar) + LENGTH_MARGIN)


@jit
def apart(measure: int, masks: Any, x: Any, y: Any, most: int, row: Any) -> int:
    """Return the distance of two strings, or a number above `most`. masks: those of x; row i64: scratch."""
    if len(x) > MASK_LETTERS:
        return banded(x, y, most, 1 + (measure & INDEL), row)
    if measure & INDEL:
        return indel_bits(masks, len(x), y)
    return levenshtein_bits(masks, len(x), y, most)


@jit
def bound_edits(
    measure: int, apart: int, bag: Any, first: Any, second: Any, bags: Any, firsts: Any, seconds: Any, out: Any
) -> None:
    """out[j] = lower bound of the edits between a string and others of one length, without branches.

    apart: difference of the lengths; bag, first, second u64: the bags of letters and of pairs of the string; bags,
    firsts, seconds u64[n]: those of the others; out i64[n].
    """
    if measure & INDEL:
        for j in range(len(out)):
            turned = popcount(first ^ firsts[j]) + popcount(second ^ seconds[j])
            out[j] = max(apart, max(popcount(bag ^ bags[j]), (turned + 2) // 3))
    else:
        for j in range(len(out)):
            turned = popcount(first ^ firsts[j]) + popcount(second ^ seconds[j])
            out[j] = max(apart, max((popcount(bag ^ bags[j]) + 1) // 2, (turned + 3) // 4))


@jit
def nearest_strings(
    measure: int,  # a code of kernels.edits
    points: Any,  # u32[.]: letters of the strings
    ends: Any,  # i64[m+1]
    bags: Any,  # u64[m]
    pairs: Any,  # u64[2, m]: see kernels.strings.pair_bags
    numbers: Any,  # i64[m]: the place of each string in the output
    low: int,  # strings low to high-1 are processed
    high: int,
    their_points: Any,  # u32[.]: letters of the strings that are searched, sorted by length
    their_ends: Any,  # i64[n+1]
    their_bags: Any,  # u64[n]
    their_pairs: Any,  # u64[2, n]
    their_numbers: Any,  # i64[n]: their places in the input
    starts: Any,  # i64[longest+2]: the first of the searched strings of each length
    itself: bool,  # the strings are searched among themselves
    letters: int,
    least: float,  # lowest score of a neighbour
    nearest: Any,  # i64[., k], out, k >= 1
    scores: Any,  # f64[., k], out
    filled: Any,  # i64[.], out
) -> None:
    """Find the k nearest strings of each string; of equal scores, those that come first in the input."""
    last, longest = nearest.shape[1] - 1, len(starts) - 2
    masks = np.zeros(letters, np.uint64)
    row = np.empty(longest + 2, np.int64)
    fewest_edits = np.empty(len(their_bags), np.int64)
    for i in range(low, high):
        x, number, count = points[ends[i] : ends[i + 1]], numbers[i], 0
        size = len(x)
        mine, values = nearest[number], scores[number]
        set_masks(masks, x)
        below, above, bar = min(size, longest), size + 1, least
        while below >= 1 or above <= longest:
            shorter_best = score(measure, size - below, size, below) if below >= 1 else -np.inf
            longer_best = score(measure, above - size, above, size) if above <= longest else -np.inf
            if max(shorter_best, longer_best) < bar:
                break
            if shorter_best >= longer_best:
                length = below
                below -= 1
            else:
                length = above
                above += 1
            longer, shorter = max(size, length), min(size, length)
            begin, end = starts[length], starts[length + 1]
            bound_edits(
                measure, longer - shorter, bags[i], pairs[0, i], pairs[1, i], their_bags[begin:end],
                their_pairs[0, begin:end], their_pairs[1, begin:end], fewest_edits[begin:end],
            )  # fmt: skip
            most = furthest(measure, bar, longer, shorter)
            for j in range(begin, end):
                other = their_numbers[j]
                if itself and other == number:
                    continue
                fewest = fewest_edits[j]
                if fewest > most:
                    continue
                best = score(measure, fewest, longer, shorter)
                if best < bar or (count > last and best == values[last] and other > mine[last]):
                    continue
                y = their_points[their_ends[j] : their_ends[j + 1]]
                distance = apart(measure, masks, x, y, most, row)
                if distance > most:
                    continue
                near = score(measure, distance, longer, shorter)
                if near >= bar:
                    count = place(mine, values, count, other, near)
                    if count > last:
                        bar = max(least, values[last])
                        most = furthest(measure, bar, longer, shorter)
        filled[number] = count
        clear_masks(masks, x)
