"""Join of strings that share a key within an edit distance: deletion variants of short strings, segments of long ones.

Strings are numbered by length; the anchor of a pair is the longer one (the later one if both are equally long).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bits import popcount
from lookalike.kernels.edits import INDEL, allowed, clear_masks, edits, score, set_masks
from lookalike.kinds.strings.kernels.keys import known, prefix_hashes, segment_key, shortened

ZERO, ONE = np.uint64(0), np.uint64(1)


@jit
def consider(
    measure: int, num: int, den: int, x: int, y: int, points: Any, ends: Any, bag: Any, masks: Any, row: Any
) -> int:
    """Return the distance of string y to the anchor x (whose masks are set), or -1 if they do not match."""
    longer, shorter = points[ends[x] : ends[x + 1]], points[ends[y] : ends[y + 1]]
    most = allowed(measure, num, den, len(longer), len(shorter))
    turned = popcount(bag[x] ^ bag[y])
    if len(longer) - len(shorter) > most or turned > (most if measure & INDEL else 2 * most):
        return -1
    apart = edits(measure, masks, longer, shorter, most, row)
    return apart if apart <= most else -1


@jit
def probe(
    key: Any, gone: int, index: Any, heads: Any, shift: Any, bits: Any, x: int, seen: Any,
    measure: int, num: int, den: int, points: Any, ends: Any, bag: Any, masks: Any, row: Any, sides: Any,
    tally: Any, left: Any, right: Any, scores: Any,
) -> bool:  # fmt: skip
    """Compare the anchor x with every string under this key, each string only once per anchor (seen[y] == x).

    gone: number of deletions that led to the key, -1 for a segment. tally i64[2]: pairs written, pairs measured.
    Returns False if the output is full.
    """
    cell = key >> shift
    for e in range(heads[cell], heads[cell + ONE]):
        word = index[e]
        if (word ^ key) >> bits != ZERO:
            continue
        y = np.int64(word & ((ONE << bits) - ONE))
        if y >= x:
            break
        if seen[y] == x or sides[x] | sides[y] != 3:
            continue
        if gone >= 0:
            longer, shorter = ends[x + 1] - ends[x], ends[y + 1] - ends[y]
            needed = 2 * gone - (longer - shorter) if measure & INDEL else gone
            if needed > allowed(measure, num, den, longer, shorter):
                continue
        seen[y] = x
        tally[1] += 1
        apart = consider(measure, num, den, x, y, points, ends, bag, masks, row)
        if apart >= 0:
            if tally[0] == len(left):
                return False
            left[tally[0]] = y
            right[tally[0]] = x
            scores[tally[0]] = score(measure, apart, ends[x + 1] - ends[x], ends[y + 1] - ends[y])
            tally[0] += 1
    return True


@jit
def join_shortened(
    low: int,  # anchors [low, high)
    high: int,
    gone: Any,  # i64[lengths]: maximum number of deletions of an anchor, by length
    powers: Any,  # u64[lengths]
    index: Any,  # u64[m], sorted
    cells: Any,  # i64[2**b + 1]: the directory of the index
    bitmap: Any,  # u64[2**18]
    directory_bits: int,
    bits: int,
    seen: Any,  # u32[n]: the last anchor compared with each string; initially none of [low, high)
    measure: int,
    num: int,
    den: int,
    points: Any,  # u32[.]
    ends: Any,  # i64[n+1]
    bag: Any,  # u64[n]
    letters: int,
    sides: Any,  # u8[n]
    variants: Any,  # u64[room for the deletion variants of one string], scratch space
    tally: Any,  # i64[2], zeros: pairs written, pairs measured; out
    left: Any,  # u32[room], out
    right: Any,  # u32[room], out
    scores: Any,  # f64[room], out
) -> int:  # the anchor reached: if the output is full, it must be repeated; its pairs were dropped
    """Find matching pairs that have a string in common after a few deletions."""
    heads, place, before = np.empty(len(powers) + 1, np.uint64), np.empty(64, np.int64), np.empty(64, np.uint64)
    masks, row = np.zeros(letters, np.uint64), np.empty(len(powers) + 2, np.int64)
    shift, low_bits = np.uint64(64 - directory_bits), np.uint64(bits)
    for x in range(low, high):
        text = points[ends[x] : ends[x + 1]]
        first = tally[0]
        prefix_hashes(text, heads)
        set_masks(masks, text)
        for k in range(gone[len(text)] + 1):
            count = shortened(text, k, heads, powers, place, before, variants)
            for i in range(count):
                if known(bitmap, variants[i]) and not probe(
                    variants[i], k, index, cells, shift, low_bits, x, seen, measure, num, den,
                    points, ends, bag, masks, row, sides, tally, left, right, scores,
                ):  # fmt: skip
                    tally[0] = first
                    return x
        clear_masks(masks, text)
    return high


@jit
def join_buckets(
    words: Any,  # u64[m], sorted: keys of all strings and numbers of the strings
    bits: int,  # of the numbers
    where: Any,  # i64[2]: the first word of a bucket, and the word of the anchor from which to go on; out
    high: int,  # buckets that begin before this word are joined
    measure: int, num: int, den: int, points: Any, ends: Any, bag: Any, letters: int, longest: int, sides: Any,
    tally: Any, left: Any, right: Any, scores: Any,
) -> None:  # fmt: skip
    """Find matching pairs of strings that have a key in common; stops early if the output is full.

    A pair that has several keys in common is found several times. The others as in `join_shortened`.
    """
    masks, row = np.zeros(letters, np.uint64), np.empty(longest + 4, np.int64)
    low_bits = np.uint64(bits)
    number = (ONE << low_bits) - ONE
    while where[0] < high:
        begin, stop = where[0], where[0] + 1
        while stop < len(words) and (words[stop] ^ words[begin]) >> low_bits == ZERO:
            stop += 1
        for at in range(max(where[1], begin + 1), stop):
            x = np.int64(words[at] & number)
            text = points[ends[x] : ends[x + 1]]
            first = tally[0]
            set_masks(masks, text)
            for e in range(begin, at):
                y = np.int64(words[e] & number)
                if y == x or sides[x] | sides[y] != 3:
                    continue
                tally[1] += 1
                apart = consider(measure, num, den, x, y, points, ends, bag, masks, row)
                if apart >= 0:
                    if tally[0] == len(left):
                        tally[0] = first
                        where[1] = at
                        return
                    left[tally[0]] = y
                    right[tally[0]] = x
                    scores[tally[0]] = score(measure, apart, len(text), ends[y + 1] - ends[y])
                    tally[0] += 1
            clear_masks(masks, text)
        where[0] = where[1] = stop


@jit
def join_segments(
    low: int, high: int, shortest: Any, pieces: Any, starts: Any, powers: Any, index: Any, cells: Any,
    bitmap: Any, directory_bits: int, bits: int, seen: Any, measure: int, num: int, den: int, points: Any, ends: Any,
    bag: Any, letters: int, sides: Any, tally: Any, left: Any, right: Any, scores: Any,
) -> int:  # fmt: skip
    """Find matching pairs in which the anchor contains a segment of the shorter string at about the same position.

    shortest i64[lengths]: smallest length of a partner of an anchor, by length; pieces i64[lengths]: number of segments
    of a string, by length: one more than the maximum number of edits, or 0 if it is too short for that and is compared
    with every anchor; starts i64[lengths + 1]: the first string of each length. The others as in `join_shortened`.
    """
    heads = np.empty(len(powers) + 1, np.uint64)
    masks, row = np.zeros(letters, np.uint64), np.empty(len(powers) + 2, np.int64)
    shift, low_bits = np.uint64(64 - directory_bits), np.uint64(bits)
    for x in range(low, high):
        text = points[ends[x] : ends[x + 1]]
        n = len(text)
        first = tally[0]
        room = True
        prefix_hashes(text, heads)
        set_masks(masks, text)
        for m in range(shortest[n], n + 1):
            cuts = pieces[m]
            if cuts == 0:
                for y in range(starts[m], min(starts[m + 1], x)):
                    if sides[x] | sides[y] != 3:
                        continue
                    tally[1] += 1
                    apart = consider(measure, num, den, x, y, points, ends, bag, masks, row)
                    if apart >= 0:
                        if tally[0] == len(left):
                            room = False
                            break
                        left[tally[0]] = y
                        right[tally[0]] = x
                        scores[tally[0]] = score(measure, apart, n, m)
                        tally[0] += 1
            if starts[m] == starts[m + 1]:
                continue
            for k in range(cuts):
                begin, end = k * m // cuts, (k + 1) * m // cuts
                # At most k edits precede the first unchanged segment and at most cuts - 1 - k follow it (Li, Deng,
                # Wang, Feng 2011), so its position is bounded from either end.
                least = max(0, begin - k, begin + n - m - (cuts - 1 - k))
                most = min(n - (end - begin), begin + k, begin + n - m + (cuts - 1 - k))
                for at in range(least, most + 1):
                    key = segment_key(heads, powers, at, at + end - begin, m, k)
                    room = room and (not known(bitmap, key) or probe(
                        key, -1, index, cells, shift, low_bits, x, seen, measure, num, den,
                        points, ends, bag, masks, row, sides, tally, left, right, scores,
                    ))  # fmt: skip
            if not room:
                tally[0] = first
                return x
        clear_masks(masks, text)
    return high
