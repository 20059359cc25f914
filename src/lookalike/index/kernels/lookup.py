"""Kernels that look up the rows of keys in a sorted table, and that score candidates exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.index.kernels.blocks import BLOCK_SHIFT, is_damaged
from lookalike.kernels._jit import jit
from lookalike.kernels.bits import popcount
from lookalike.kernels.bounds import required, score
from lookalike.kernels.edits import INDEL, allowed, banded
from lookalike.kernels.edits import score as edit_score
from lookalike.kernels.hashing import CHARS, mix
from lookalike.kernels.shingles import table_size
from lookalike.kernels.vectors import product
from lookalike.kernels.vectors import score as row_score
from lookalike.kernels.verify import ZERO, fill, overlap_at_least

SEVEN, EIGHTH = np.uint32(7), np.uint32(3)


@jit
def fill_directory(keys: Any, shift: Any, out: Any) -> None:  # keys u64[m], sorted; shift u64; out u32 or i64[2**b + 1]
    """out[p] = number of keys below p << shift: the keys with the prefix p are keys[out[p]:out[p + 1]]."""
    at = 0
    for p in range(len(out) - 1):
        while at < len(keys) and keys[at] >> shift < np.uint64(p):
            at += 1
        out[p] = at
    out[len(out) - 1] = len(keys)


@jit
def find_runs(
    words: Any, sums: Any, seen: Any,  # see `kernels.blocks`
    keys_at: int, keys: Any,  # u64[m], sorted
    directory_at: int, directory: Any, shift: Any,  # see `fill_directory`
    wanted: Any,  # u64[w]
    low: Any, high: Any,  # i64[w]: keys[low[i]:high[i]] == wanted[i]
) -> int:  # fmt: skip
    """Find the run of each wanted key; return the sum of their lengths, or a negative number for damage."""
    total = 0
    for i in range(len(wanted)):
        key = wanted[i]
        prefix = np.int64(key >> shift)
        for block in range(
            (directory_at + prefix * directory.itemsize) >> BLOCK_SHIFT,
            ((directory_at + (prefix + 2) * directory.itemsize - 1) >> BLOCK_SHIFT) + 1,
        ):
            if is_damaged(words, sums, seen, block):
                return -1 - block
        at: Any = np.int64(directory[prefix])
        end: Any = np.int64(directory[prefix + 1])
        if not 0 <= at <= end <= len(keys):
            return -1 - len(seen)
        while end - at > 8:  # a long range: a key that many items share
            middle = (at + end) // 2
            block = (keys_at + 8 * middle) >> BLOCK_SHIFT
            if is_damaged(words, sums, seen, block):
                return -1 - block
            if keys[middle] < key:
                at = middle + 1
            else:
                end = middle
        checked = -1
        while at < len(keys):  # a binary search can end before the last key of the run
            block = (keys_at + 8 * at) >> BLOCK_SHIFT
            if block != checked and is_damaged(words, sums, seen, block):
                return -1 - block
            checked = block
            if keys[at] >= key:
                break
            at += 1
        low[i] = at
        while at < len(keys):
            block = (keys_at + 8 * at) >> BLOCK_SHIFT
            if block != checked and is_damaged(words, sums, seen, block):
                return -1 - block
            checked = block
            if keys[at] != key:
                break
            at += 1
        high[i] = at
        total += high[i] - low[i]
    return total


@jit
def gather_rows(
    words: Any, sums: Any, seen: Any,  # see `kernels.blocks`
    low: Any, high: Any,  # i64[w]: runs, see `find_runs`
    offsets: Any,  # i64[q+1]: offsets of the runs of each query
    rows_at: int, rows: Any,  # u32[m]
    count_of_rows: int,
    dead: Any,  # u8[]: bitmap of the removed rows, or empty
    queries: Any, out: Any,  # i64[], u32[]: query and row of each result, sorted by both; as long as all runs
) -> int:  # fmt: skip
    """Gather the distinct live rows of the runs of each query; return their number, or a negative number for damage."""
    count, sound = 0, -1  # sound: the block that was checked last
    for q in range(len(offsets) - 1):
        begin = count
        for i in range(offsets[q], offsets[q + 1]):
            for at in range(low[i], high[i]):
                block = (rows_at + 4 * at) >> BLOCK_SHIFT
                if block != sound:
                    if is_damaged(words, sums, seen, block):
                        return -1 - block
                    sound = block
                row = rows[at]
                if row >= count_of_rows:
                    return -1 - len(seen)
                if len(dead) == 0 or not (dead[row >> EIGHTH] >> (row & SEVEN)) & 1:
                    out[count] = row
                    count += 1
        if count - begin > count_of_rows >> EIGHTH:  # many of the rows: a mark for each costs less than sorting
            marks = np.zeros(count_of_rows, np.bool_)
            for at in range(begin, count):
                marks[out[at]] = True
            count = begin
            for row_number in range(count_of_rows):
                if marks[row_number]:
                    out[count] = row_number
                    count += 1
        elif count - begin > 1:
            out[begin:count].sort()
            last = begin
            for at in range(begin + 1, count):
                if out[at] != out[last]:
                    last += 1
                    out[last] = out[at]
            count = last + 1
        queries[begin:count] = q
    return count


@jit
def score_sets(
    elements: Any,  # u64[]: elements of the queries, none of them 0
    offsets: Any,  # i64[q+1]
    query: Any,  # i64[c]: ascending
    data: Any,  # u64[]: elements of the candidates
    starts: Any,  # i64[c]
    ends: Any,  # i64[c]
    measure: int,
    num: int,
    den: int,
    out: Any,  # f64[c]: similarity, or -inf if it is below num/den
) -> None:
    """Compute the exact set similarity of every candidate."""
    most, last = 0, -1
    for i in range(len(query)):
        most = max(most, offsets[query[i] + 1] - offsets[query[i]])
    whole = np.zeros(table_size(most), np.uint64)
    table = whole
    size = 0
    for i in range(len(query)):
        q = query[i]
        if q != last:
            table[:] = ZERO
            size = offsets[q + 1] - offsets[q]
            table = whole[: table_size(size)]
            fill(elements, offsets[q], offsets[q + 1], table)
            last = q
        other = ends[i] - starts[i]
        need = max(1, required(measure, size, other, num, den))
        out[i] = -np.inf
        if need <= min(size, other):
            shared = overlap_at_least(data, starts[i], ends[i], table, need)
            if shared >= 0:
                out[i] = score(measure, shared, size, other)


@jit
def score_rows(
    code: int,
    queries: Any,  # f32[q, d]
    query: Any,  # i64[c]
    data: Any,  # f32[]: rows of the candidates
    starts: Any,  # i64[c]
    least: float,
    out: Any,  # f64[c]: score, or -inf if it is below `least`
) -> None:
    """Score vectors in float64, as `kernels.vectors.score` does."""
    last, norm = -1, 0.0
    width = queries.shape[1]
    for i in range(len(query)):
        row = queries[query[i]]
        if query[i] != last:
            norm = math.sqrt(product(row, row))
            last = query[i]
        other = data[starts[i] : starts[i] + width]
        found = row_score(code, row, other, norm, math.sqrt(product(other, other)))
        out[i] = found if found >= least else -np.inf


@jit
def score_codes(queries: Any, query: Any, data: Any, starts: Any, most: int, out: Any) -> None:
    """out[i] = negated Hamming distance of query and candidate, or -inf if the distance exceeds `most`.

    queries u64[q, words]; query i64[c]; data u64[]; starts i64[c]; out f64[c].
    """
    for i in range(len(query)):
        apart = 0
        for w in range(queries.shape[1]):
            apart += popcount(queries[query[i], w] ^ data[starts[i] + w])
        out[i] = -float(apart) if apart <= most else -np.inf


@jit
def score_strings(
    points: Any,  # u32[]: code points of the queries
    offsets: Any,  # i64[q+1]
    query: Any,  # i64[c]
    data: Any,  # u32[]: code points of the candidates
    starts: Any,  # i64[c]
    ends: Any,  # i64[c]
    measure: int,
    num: int,
    den: int,
    out: Any,  # f64[c]: score, or -inf if it does not reach the threshold
) -> None:
    """Score strings by edit distance, as `kernels.edits` does; an empty string matches nothing."""
    longest = 0
    for q in range(len(offsets) - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    for i in range(len(query)):
        longest = max(longest, ends[i] - starts[i])
    row = np.empty(longest + 2, np.int64)
    for i in range(len(query)):
        x = points[offsets[query[i]] : offsets[query[i] + 1]]
        y = data[starts[i] : ends[i]]
        if len(x) < len(y):
            x, y = y, x
        out[i] = -np.inf
        if len(y) > 0:
            most = allowed(measure, num, den, len(x), len(y))
            apart = banded(x, y, most, 1 + (measure & INDEL), row)
            if apart <= most:
                out[i] = edit_score(measure, apart, len(x), len(y))


@jit
def blob_prints(data: Any, offsets: Any, out: Any) -> None:  # data u8[]; offsets i64[n+1]; out u64[n]
    """out[i] = 64-bit hash of byte string i."""
    for i in range(len(out)):
        h = np.uint64(offsets[i + 1] - offsets[i])
        at = offsets[i]
        while at < offsets[i + 1]:
            word = np.uint64(0)
            for b in range(min(8, offsets[i + 1] - at)):
                word |= np.uint64(data[at + b]) << np.uint64(8 * b)
            h = mix(h ^ word) + CHARS
            at += 8
        out[i] = mix(h)
