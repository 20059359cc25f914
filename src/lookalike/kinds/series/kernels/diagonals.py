"""Pairs of z-normalised windows within a distance, along diagonals of the matrix of all pairs of windows.

The covariance of windows (i, j) follows from that of (i-1, j-1) by two products (SCAMP; Zimmerman et al., SoCC 2019):
    cov(i, j) = cov(i-1, j-1) + step(i) mid(j) + step(j) mid(i)
with step(i) = (x[i+w-1] - x[i-1]) / 2 and mid(i) = (x[i+w-1] - mean(i)) + (x[i-1] - mean(i-1)). A bound on all rounding
errors is added to the covariance where a diagonal is entered, so that no pair is missed; the pairs above the bound are
measured again from the values.

A table of windows f64[c, 5, n] has these rows for each column of values; windows that match nothing have INVERSE_ROW 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.kernels._jit import jit

VALUE_ROW, MEAN_ROW, INVERSE_ROW, STEP_ROW, MID_ROW = range(5)  # INVERSE_ROW: 1 / |x - mean|
NORM_PEAK, STEP_PEAK, MID_PEAK, VALUE_PEAK = range(4)
PEAK_WINDOWS = 256  # windows that share their largest norm, step and mid
DIAGONALS = 128  # neighbouring diagonals that are followed together
UNIT_ROUNDOFF = 2.0**-53
CONSTANT_VARIATION = 4.0 * UNIT_ROUNDOFF  # variation, relative to the largest value, up to which a window is constant


@jit
def fill_windows(window: int, first: int, end: int, origin: float, table: Any, peaks: Any, kinds: Any) -> None:
    """Compute the rows of one column of one series.

    table f64[5, n]: VALUE_ROW[first:end] has the values minus `origin`, the others are written; peaks f64[4, chunks]:
    of |norm|, |step|, |mid| and |value|, raised; kinds u8[n]: raised to 1 for constant windows, 2 for those with NaN.
    """
    missing = 0
    for i in range(first, end):
        value = table[VALUE_ROW, i]
        if not math.isfinite(value):
            missing = window
            table[VALUE_ROW, i] = 0.0
        elif missing > 0:
            missing -= 1
        if missing > 0 and i - window + 1 >= first:
            kinds[i - window + 1] = 2
    for i in range(first, end - window + 1):
        total, low, high = 0.0, table[VALUE_ROW, i], table[VALUE_ROW, i]
        for t in range(i, i + window):
            value = table[VALUE_ROW, t]
            total += value
            low, high = min(low, value), max(high, value)
        mean = total / window
        squares = 0.0
        for t in range(i, i + window):
            squares += (table[VALUE_ROW, t] - mean) ** 2
        if kinds[i] < 2 and high - low <= CONSTANT_VARIATION * max(abs(low + origin), abs(high + origin)):
            kinds[i] = 1
        norm = math.sqrt(squares)
        table[MEAN_ROW, i] = mean
        table[INVERSE_ROW, i] = 1.0 / norm if norm > 0.0 else 0.0
        if i > first:
            table[STEP_ROW, i] = (table[VALUE_ROW, i + window - 1] - table[VALUE_ROW, i - 1]) / 2.0
            table[MID_ROW, i] = (table[VALUE_ROW, i + window - 1] - mean) + (
                table[VALUE_ROW, i - 1] - table[MEAN_ROW, i - 1]
            )
        chunk = i // PEAK_WINDOWS
        peaks[NORM_PEAK, chunk] = max(peaks[NORM_PEAK, chunk], norm)
        peaks[STEP_PEAK, chunk] = max(peaks[STEP_PEAK, chunk], abs(table[STEP_ROW, i]))
        peaks[MID_PEAK, chunk] = max(peaks[MID_PEAK, chunk], abs(table[MID_ROW, i]))
        peaks[VALUE_PEAK, chunk] = max(peaks[VALUE_PEAK, chunk], abs(low), abs(high))


@jit
def distance(table: Any, left: int, right: int, window: int) -> float:  # table f64[c, 5, n]; left, right: places
    """Return the Euclidean distance of two z-normalised windows over all columns."""
    total = 0.0
    for c in range(len(table)):
        x, y = table[c, VALUE_ROW, left : left + window], table[c, VALUE_ROW, right : right + window]
        mean_x, mean_y = table[c, MEAN_ROW, left], table[c, MEAN_ROW, right]
        scale_x, scale_y = table[c, INVERSE_ROW, left], table[c, INVERSE_ROW, right]
        for t in range(window):
            total += ((x[t] - mean_x) * scale_x - (y[t] - mean_y) * scale_y) ** 2
    return math.sqrt(total * window)


@jit
def slack(left: Any, right: Any, i: int, j: int, rows: int, window: int) -> float:
    """Bound the rounding errors of a covariance that is followed over `rows` windows from windows i and j.

    left, right f64[4, chunks]: the peaks of the column.
    """
    x, y = np.zeros(4), np.zeros(4)
    for chunk in range(i // PEAK_WINDOWS, min(len(left[0]), (i + rows) // PEAK_WINDOWS + 1)):
        for which in range(4):
            x[which] = max(x[which], left[which, chunk])
    for chunk in range(j // PEAK_WINDOWS, min(len(right[0]), (j + rows + DIAGONALS) // PEAK_WINDOWS + 1)):
        for which in range(4):
            y[which] = max(y[which], right[which, chunk])
    steps = x[STEP_PEAK] * y[MID_PEAK] + y[STEP_PEAK] * x[MID_PEAK]
    means = window * (x[STEP_PEAK] * y[VALUE_PEAK] + y[STEP_PEAK] * x[VALUE_PEAK])
    start = (
        window
        * (x[NORM_PEAK] + window * UNIT_ROUNDOFF * x[VALUE_PEAK])
        * (y[NORM_PEAK] + UNIT_ROUNDOFF * y[VALUE_PEAK])
    )
    return UNIT_ROUNDOFF * (rows * (8.0 * steps + 4.0 * means + 4.0 * x[NORM_PEAK] * y[NORM_PEAK]) + 4.0 * start)


@jit
def enter(table: Any, peaks: Any, i: int, j: int, width: int, rows: int, window: int, cov: Any) -> None:
    """Compute the covariances of window i and windows j to j+width, raised by the slack.

    cov f64[c, DIAGONALS]: written.
    """
    for c in range(len(table)):
        line = cov[c]
        raised = slack(peaks[c], peaks[c], i, j, rows, window)
        for d in range(width):
            line[d] = raised
        means = table[c, MEAN_ROW, j : j + width]
        for t in range(window):
            x = table[c, VALUE_ROW, i + t] - table[c, MEAN_ROW, i]
            y = table[c, VALUE_ROW, j + t : j + t + width]
            for d in range(width):
                line[d] += x * (y[d] - means[d])


@jit
def near_pairs(table: Any, peaks: Any, starts: Any, windows: Any, tasks: Any, at: Any, window: int,
               need: float, within: float, places: Any, distances: Any) -> int:  # fmt: skip
    """Find the pairs of windows within a distance on some diagonals, and return their number.

    table f64[c, 5, n], peaks f64[c, 4, chunks]; starts, windows i64[s]: first place and number of windows of each
    series; tasks i64[x, 3]: left series, right series, and the first of up to DIAGONALS diagonals, on which the right
    window is `first` or more places after the left one; at i64[2]: task and row to begin with, changed: task x if all
    are done, otherwise `places` is full; need: the sum of the correlations of all columns at the distance `within`;
    places i64[y, 2], y >= DIAGONALS, and distances f64[y]: written.
    """
    columns, count = len(table), 0
    cov, total = np.zeros((columns, DIAGONALS)), np.zeros(DIAGONALS)
    block = max(2048, 4 * window)
    while at[0] < len(tasks):
        left, right, first = tasks[at[0]]
        start_i, start_j = starts[left], starts[right] + first
        rows, ends = min(windows[left], windows[right] - first), windows[right] - first
        entered = -1
        for row in range(at[1], rows):
            width = min(DIAGONALS, ends - row)
            i, j = start_i + row, start_j + row
            if count + width > len(places):
                at[1] = row
                return count
            if entered < 0 or row - entered >= block:
                entered = row
                enter(table, peaks, i, j, width, block, window, cov)
            else:
                for c in range(columns):
                    line, step, mid = cov[c], table[c, STEP_ROW, j : j + width], table[c, MID_ROW, j : j + width]
                    step_i, mid_i = table[c, STEP_ROW, i], table[c, MID_ROW, i]
                    for d in range(width):
                        line[d] += step_i * mid[d] + mid_i * step[d]
            if table[0, INVERSE_ROW, i] == 0.0:
                continue
            for c in range(columns):
                line, inverse, inverse_i = cov[c], table[c, INVERSE_ROW, j : j + width], table[c, INVERSE_ROW, i]
                if c == 0:
                    for d in range(width):
                        total[d] = line[d] * inverse[d] * inverse_i
                else:
                    for d in range(width):
                        total[d] += line[d] * inverse[d] * inverse_i
            hits = 0
            for d in range(width):
                hits += 1 if total[d] >= need else 0
            if hits == 0:
                continue
            for d in range(width):
                if total[d] >= need and table[0, INVERSE_ROW, j + d] > 0.0:
                    near = distance(table, i, j + d, window)
                    if near <= within:
                        places[count, 0], places[count, 1] = i, j + d
                        distances[count] = near
                        count += 1
        at[0] += 1
        at[1] = 0
    return count


@jit
def without_overlaps(places: Any, series: Any, zone: int, keep: Any) -> int:
    """Keep each pair unless one before it, of the same two series, is less than `zone` away on both sides.

    places i64[p, 2]: by distance, nearest first; series i64[p]: a number of the two series; keep bool[p]: written.
    Returns the number of pairs that were kept. A cell of zone by zone places has at most one of these.
    """
    size = 1024
    while size < 2 * len(places):
        size *= 2
    slots = np.full(size, -1, np.int64)
    kept = 0
    for p in range(len(places)):
        x, y = places[p, 0] // zone, places[p, 1] // zone
        free = True
        for dx in range(-1, 2):
            for dy in range(-1, 2):
                slot = cell(x + dx, y + dy, series[p], size)
                while free and slots[slot] >= 0:
                    q = slots[slot]
                    if (places[q, 0] // zone == x + dx and places[q, 1] // zone == y + dy and series[q] == series[p]
                            and abs(places[q, 0] - places[p, 0]) < zone
                            and abs(places[q, 1] - places[p, 1]) < zone):  # fmt: skip
                        free = False
                    slot = (slot + 1) & (size - 1)
        keep[p] = free
        if free:
            slot = cell(x, y, series[p], size)
            while slots[slot] >= 0:
                slot = (slot + 1) & (size - 1)
            slots[slot] = p
            kept += 1
    return kept


@jit
def cell(x: int, y: int, series: int, size: int) -> Any:  # size: a power of two
    """Return the slot in which the pairs of a cell are looked for first."""
    key = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(y) * np.uint64(0xC2B2AE3D27D4EB4F)
    key = (key ^ np.uint64(series)) * np.uint64(0xFF51AFD7ED558CCD)
    return np.int64((key ^ (key >> np.uint64(32))) & np.uint64(size - 1))


@jit
def distances(table: Any, left: Any, right: Any, window: int, out: Any) -> None:  # left, right i64[p]; out f64[p]
    """Compute the distances of pairs of windows."""
    for p in range(len(out)):
        out[p] = distance(table, left[p], right[p], window)
