"""Vectors: fingerprints, validity checks, exact scores in float64, and scans of tiles of approximate products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, mix

ANGLE, COSINE, DISTANCE = 0, 1, 2
ZERO, MINUS = np.uint32(0), np.uint32(0x80000000)  # the bits of 0 and of -0
SIZE, INFINITE = np.uint32(0x7FFFFFFF), np.uint32(0x7F800000)  # mask of all but the sign; the bits of infinity
NEAR = 0.99  # above this cosine, acos loses digits and the chord length is used instead


@jit
def row_prints(values: Any, out: Any) -> None:  # values f32[n, d]; out u64[n]
    """Compute a hash per row; equal rows have equal hashes. Four independent sums; -0 is treated as 0."""
    words = values.view(np.uint32)
    for i in range(len(out)):
        row = words[i]
        a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
        whole = len(row) - len(row) % 4
        for k in range(0, whole, 4):
            part = row[k : k + 4]
            a = a * CHARS + np.uint64(part[0] if part[0] != MINUS else ZERO)
            b = b * CHARS + np.uint64(part[1] if part[1] != MINUS else ZERO)
            c = c * CHARS + np.uint64(part[2] if part[2] != MINUS else ZERO)
            d = d * CHARS + np.uint64(part[3] if part[3] != MINUS else ZERO)
        for k in range(whole, len(row)):
            a = a * CHARS + np.uint64(row[k] if row[k] != MINUS else ZERO)
        out[i] = mix(a) ^ mix(mix(b) ^ mix(mix(c) ^ mix(d)))


@jit
def usable(values: Any, nonzero: bool, out: Any) -> None:  # values f32[n, d]; out bool[n]
    """out[i] = whether row i has only finite numbers and, with `nonzero`, is not all zeros."""
    words = values.view(np.uint32)
    for i in range(len(out)):
        row = words[i]
        most = np.uint32(0)
        for k in range(len(row)):
            most = max(most, row[k] & SIZE)
        out[i] = most < INFINITE and not (nonzero and most == ZERO)


@jit
def directions(values: Any, rows: Any, lengths: Any, out: Any) -> None:
    """out[i] = the row divided by its norm. values f32[n, d]; rows i64[m]; lengths f64[m]; out f32[m, d]."""
    for i in range(len(rows)):
        row, into = values[rows[i]], out[i]
        by = 1.0 / lengths[i]
        for k in range(len(row)):
            into[k] = np.float32(np.float64(row[k]) * by)


@jit
def positions(values: Any, rows: Any, centre: Any, out: Any) -> None:
    """out[i] = the row minus the centre. values f32[n, d]; rows i64[m]; centre f32[d]; out f32[m, d]."""
    for i in range(len(rows)):
        row, into = values[rows[i]], out[i]
        for k in range(len(row)):
            into[k] = row[k] - centre[k]


@jit
def radii(ready: Any, centre: Any, out: Any) -> None:  # ready f32[m, d]; centre f32[d]; out f64[m]
    """out[i] = the Euclidean distance of row i from the centre."""
    for i in range(len(ready)):
        row = ready[i]
        whole = len(row) - len(row) % 4
        a = b = c = d = 0.0
        for k in range(0, whole, 4):
            part, other = row[k : k + 4], centre[k : k + 4]
            a += (np.float64(part[0]) - np.float64(other[0])) ** 2
            b += (np.float64(part[1]) - np.float64(other[1])) ** 2
            c += (np.float64(part[2]) - np.float64(other[2])) ** 2
            d += (np.float64(part[3]) - np.float64(other[3])) ** 2
        for k in range(whole, len(row)):
            a += (np.float64(row[k]) - np.float64(centre[k])) ** 2
        out[i] = math.sqrt((a + b) + (c + d))


@jit
def product(x: Any, y: Any) -> float:  # x, y f32[d]
    """Return the inner product in float64. Eight sums in a fixed order: the result is reproducible bit for bit."""
    whole = len(x) - len(x) % 8
    a = b = c = d = e = f = g = h = 0.0
    for k in range(0, whole, 8):
        p, q = x[k : k + 8], y[k : k + 8]
        a += np.float64(p[0]) * np.float64(q[0])
        b += np.float64(p[1]) * np.float64(q[1])
        c += np.float64(p[2]) * np.float64(q[2])
        d += np.float64(p[3]) * np.float64(q[3])
        e += np.float64(p[4]) * np.float64(q[4])
        f += np.float64(p[5]) * np.float64(q[5])
        g += np.float64(p[6]) * np.float64(q[6])
        h += np.float64(p[7]) * np.float64(q[7])
    for k in range(whole, len(x)):
        a += np.float64(x[k]) * np.float64(y[k])
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@jit
def chord(x: Any, y: Any, by_x: float, by_y: float) -> float:  # x, y f32[d]
    """Return the norm of x / by_x + y / by_y, computed per coordinate without cancellation of large sums."""
    total = 0.0
    for k in range(len(x)):
        step = np.float64(x[k]) / by_x + np.float64(y[k]) / by_y
        total += step * step
    return math.sqrt(total)


@jit
def score(code: int, x: Any, y: Any, norm_x: float, norm_y: float) -> float:  # x, y f32[d]
    """Return a score that is higher for nearer rows: the cosine, the negated angle in degrees or negated distance."""
    if code == DISTANCE:
        return -chord(x, y, 1.0, -1.0)
    cosine = min(1.0, max(-1.0, product(x, y) / (norm_x * norm_y)))
    if code == COSINE:
        return cosine
    if cosine > NEAR:
        return -math.degrees(2.0 * math.asin(min(1.0, chord(x, y, norm_x, -norm_y) / 2.0)))
    if cosine < -NEAR:
        return -(180.0 - math.degrees(2.0 * math.asin(min(1.0, chord(x, y, norm_x, norm_y) / 2.0))))
    return -math.degrees(math.acos(cosine))


@jit
def norms(values: Any, rows: Any, out: Any) -> None:  # values f32[n, d]; rows i64[m]; out f64[m]
    """out[i] = the norm of row rows[i]."""
    for i in range(len(rows)):
        row = values[rows[i]]
        out[i] = math.sqrt(product(row, row))


@jit
def score_pairs(
    code: int,
    values: Any,  # f32[n, d]
    rows: Any,  # i64[c]: the row of each item
    lengths: Any,  # f64[c]
    left: Any,  # u32[p], items
    right: Any,  # u32[p]
    least: float,  # minimum score of a pair
    out: Any,  # f64[p], out
) -> int:
    """Score candidates exactly and move those that reach `least` to the front of the arrays. Returns their number."""
    kept = 0
    for p in range(len(left)):
        i, j = np.int64(left[p]), np.int64(right[p])
        s = score(code, values[rows[i]], values[rows[j]], lengths[i], lengths[j])
        if s >= least:
            left[kept], right[kept], out[kept] = i, j, s
            kept += 1
    return kept


@jit
def scan_tile(
    tile: Any,  # f32[p, q]: approximate products
    bar_x: Any,  # f32[p]
    bar_y: Any,  # f32[q]
    first_x: int,  # the item of row 0; used with `once`
    first_y: int,
    once: bool,  # only pairs with y < x
    at: int,  # first row to process
    out_x: Any,  # u32[>= q], out: rows of the tile
    out_y: Any,  # u32[>= q], out: columns
) -> Any:  # (row reached, pairs written)
    """Find where the product reaches bar_x + bar_y; stops before a row whose pairs may not fit in the output."""
    count = 0
    while at < len(tile):
        if len(out_x) - count < tile.shape[1]:
            return at, count
        row = tile[at]
        columns = min(len(row), first_x + at - first_y) if once else len(row)
        bar = bar_x[at]
        for y in range(columns):
            if row[y] >= bar + bar_y[y]:
                out_x[count] = at
                out_y[count] = y
                count += 1
        at += 1
    return at, count


@jit
def squares(rounded: Any, out: Any) -> None:  # rounded i16[n, d]; out i64[n]
    """out[i] = the squared norm of row i."""
    for i in range(len(out)):
        row = rounded[i]
        total = np.int64(0)
        for k in range(len(row)):
            total += np.int64(row[k]) * np.int64(row[k])
        out[i] = total
