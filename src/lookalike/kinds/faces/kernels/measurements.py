"""Kernels for rows of measurements: keys of a few of them, quantised into ranges, and the count of those that agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import mix

ITEM = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
HASH_STEP = np.uint64(0x9E3779B97F4A7C15)


@jit
def agreeing(x: Any, y: Any, tolerance: float) -> int:  # x, y f32[d]
    """Count the measurements that differ by at most the tolerance. Differences of float32 are computed in float64."""
    count = 0
    for k in range(len(x)):
        count += int(abs(np.float64(x[k]) - np.float64(y[k])) <= tolerance)
    return count


@jit
def word(measurement: int, number: int) -> Any:  # -> u64
    """Return the hash of one measurement and its range; a key is a sum of these."""
    return mix(np.uint64(number) ^ (np.uint64(measurement) + np.uint64(1)) * HASH_STEP)


@jit
def table_keys(
    values: Any,  # f32[n, d]
    rows: Any,  # i64[m]: the row of each item
    chosen: Any,  # i64[r]: measurements of this table
    offsets: Any,  # f64[d]: offsets of the ranges of each measurement
    width: float,  # width of a range
    out: Any,  # u64[m], out
) -> None:
    """Set out[i] to the key of the ranges of item i in the high 32 bits, and i in the low bits."""
    for i in range(len(rows)):
        row = values[rows[i]]
        key = np.uint64(0)
        for k in range(len(chosen)):
            c = chosen[k]
            key += word(c, np.int64(np.floor((row[c] - offsets[c]) / width)))
        out[i] = (mix(key) & ~ITEM) | np.uint64(i)


@jit
def find(packed: Any, key: Any) -> int:  # packed u64[m], sorted; key u64
    """Return the first position whose high half is that of `key`, or the position where it would be inserted."""
    low, high = 0, len(packed)
    wanted = key >> HALF
    while low < high:
        middle = (low + high) // 2
        if packed[middle] >> HALF < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def probe(
    values: Any,  # f32[n, d]
    rows: Any,  # i64[m]
    sides: Any,  # u8[m]: 1 left, 2 right, 3 both
    once: bool,  # one collection: a pair is searched from its later item only
    chosen: Any,  # i64[b, r]
    offsets: Any,  # f64[d]
    width: float,
    tolerance: float,
    need: int,  # number of measurements that must agree
    packed: Any,  # u64[b, m], each table sorted
    seen: Any,  # i64[m], initially -1: the last item compared with each
    x: int,  # first item
    stop: int,
    out_left: Any,  # u32[>= m], out
    out_right: Any,  # u32, out
    out_score: Any,  # f64, out
) -> Any:  # (item reached, pairs written, items scored)
    """Find all matches among the items in each item's buckets.

    A measurement within the tolerance of the edge of its range is also looked up in the adjacent range, so measurements
    that agree always collide. Stops before an item whose pairs may not fit into the output.
    """
    r = chosen.shape[1]
    m = len(rows)
    count = scored = 0
    steps = np.empty(r, np.uint64)
    while x < stop:
        if sides[x] & 1 == 0:
            x += 1
            continue
        if len(out_left) - count < m:
            break
        row = values[rows[x]]
        for t in range(len(chosen)):
            table = packed[t]
            base = np.uint64(0)
            unsure = 0
            for k in range(r):
                c = chosen[t, k]
                place = (row[c] - offsets[c]) / width
                mine = np.int64(np.floor(place))
                low = np.int64(np.floor((row[c] - tolerance - offsets[c]) / width))
                high = np.int64(np.floor((row[c] + tolerance - offsets[c]) / width))
                here = word(c, mine)
                base += here
                if low != mine or high != mine:
                    steps[unsure] = word(c, low if low != mine else high) - here
                    unsure += 1
            for choice in range(1 << unsure):
                key = base
                for k in range(unsure):
                    if choice >> k & 1:
                        key += steps[k]
                key = mix(key)
                at = find(table, key)
                while at < m and table[at] >> HALF == key >> HALF:
                    y = np.int64(table[at] & ITEM)
                    at += 1
                    if y == x or seen[y] == x or sides[y] & 2 == 0:
                        continue
                    if y > x and (once or (sides[x] == 3 and sides[y] == 3)):
                        continue
                    seen[y] = x
                    scored += 1
                    agree = agreeing(row, values[rows[y]], tolerance)
                    if agree >= need:
                        out_left[count], out_right[count] = min(x, y), max(x, y)
                        out_score[count] = agree / len(row)
                        count += 1
        x += 1
    return x, count, scored


@jit
def all_pairs(
    values: Any, rows: Any, sides: Any, tolerance: float, need: int, x: int, stop: int, others: Any, once: bool,
    out_left: Any, out_right: Any, out_score: Any,
) -> Any:  # (item reached, pairs written)  # fmt: skip
    """Find every match of the items [x, stop) with `others` (i64[q]); with `once`, only with those below the item.

    The arrays are as in `probe`; out arrays hold at least q.
    """
    count = 0
    while x < stop:
        if len(out_left) - count < len(others):
            break
        row = values[rows[x]]
        for q in range(len(others)):
            y = others[q]
            if y == x or (once and y > x) or sides[x] | sides[y] != 3:
                continue
            agree = agreeing(row, values[rows[y]], tolerance)
            if agree >= need:
                out_left[count], out_right[count] = min(x, y), max(x, y)
                out_score[count] = agree / len(row)
                count += 1
        x += 1
    return x, count


@jit
def meet_shares(
    values: Any,  # f32[n, d]
    left: Any,  # i64[p], rows
    right: Any,  # i64[p]
    offsets: Any,  # f64[d]
    width: float,
    tolerance: float,
    agree: Any,  # f64[p], out: share of measurements within the tolerance
    meet: Any,  # f64[p], out: share whose ranges collide, as in `probe`
) -> None:
    """Compute, for pairs of a sample, the share of measurements that agree and the share whose ranges collide."""
    for p in range(len(left)):
        x, y = values[left[p]], values[right[p]]
        met = 0
        for k in range(len(x)):
            other = np.floor((y[k] - offsets[k]) / width)
            low = np.floor((x[k] - tolerance - offsets[k]) / width)
            met += low <= other <= np.floor((x[k] + tolerance - offsets[k]) / width)
        agree[p] = agreeing(x, y, tolerance) / len(x)
        meet[p] = met / len(x)


@jit
def range_keys(
    values: Any,  # f32[n, d]
    chosen: Any,  # i64[b, r]: measurements of each table
    offsets: Any,  # f64[d]
    width: float,
    salts: Any,  # u64[b]: one for each table
    out: Any,  # u64[n, b], out
) -> None:
    """Set out[i, t] to the 64-bit key of the ranges of the measurements of table t of item i."""
    for i in range(len(values)):
        for t in range(len(chosen)):
            key = salts[t]
            for k in range(chosen.shape[1]):
                c = chosen[t, k]
                key += word(c, np.int64(np.floor((values[i, c] - offsets[c]) / width)))
            out[i, t] = mix(key)


@jit
def range_probes(
    values: Any, chosen: Any, offsets: Any, width: float, salts: Any,  # as in `range_keys`
    tolerance: float,
    ends: Any,  # i64[n+1], out: start of the probes of each item
    out: Any,  # u64[], out: the probes; if it is empty, they are only counted
) -> None:  # fmt: skip
    """Write the keys of all items that agree in the measurements of some table.

    These are the keys of `range_keys`, and those of the adjacent range if a measurement lies within the tolerance of
    the edge of its range. width: at least twice the tolerance.
    """
    r = chosen.shape[1]
    steps = np.empty(r, np.uint64)
    at = 0
    for i in range(len(values)):
        ends[i] = at
        for t in range(len(chosen)):
            base = salts[t]
            unsure = 0
            for k in range(r):
                c = chosen[t, k]
                mine = np.int64(np.floor((values[i, c] - offsets[c]) / width))
                low = np.int64(np.floor((values[i, c] - tolerance - offsets[c]) / width))
                high = np.int64(np.floor((values[i, c] + tolerance - offsets[c]) / width))
                here = word(c, mine)
                base += here
                if low != mine or high != mine:
                    steps[unsure] = word(c, low if low != mine else high) - here
                    unsure += 1
            if len(out):
                for choice in range(1 << unsure):
                    key = base
                    for k in range(unsure):
                        if choice >> k & 1:
                            key += steps[k]
                    out[at + choice] = mix(key)
            at += 1 << unsure
    ends[len(values)] = at


@jit
def score_measurements(
    queries: Any,  # f32[q, d]
    query: Any,  # i64[c]
    data: Any,  # f32[]: rows of the candidates
    starts: Any,  # i64[c]
    tolerance: float,
    need: int,  # number of measurements that must agree
    out: Any,  # f64[c]: the share that agree, or -inf if they are too few
) -> None:
    """Score each candidate by the share of the measurements that agree with its query."""
    width = queries.shape[1]
    for i in range(len(query)):
        agree = agreeing(queries[query[i]], data[starts[i] : starts[i] + width], tolerance)
        out[i] = agree / width if agree >= need else -np.inf
