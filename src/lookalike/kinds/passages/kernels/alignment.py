"""Alignment of two documents: shared passages are maximal runs of equal tokens, extended from seeds.

A seed is a fingerprint that two documents share: token a of the left and token b of the right document. On the diagonal
a-b it is extended to the maximal run of equal tokens. With `gap`, a run continues beyond an edit of at most `gap`
tokens if that raises the score: each equal token counts +1, each token of an edit -1, and the passage ends at the
highest score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bridging import DIAGONAL, END, START, bridge, equal_run

MAX_BRIDGING_PASSES = 64  # limit of the work to bridge edits, in passes over all tokens of a pair
LEFT_DOCUMENT, RIGHT_DOCUMENT, LEFT_START, LEFT_END, RIGHT_START, RIGHT_END, TOKENS, UNBROKEN = range(
    8
)  # columns of a passage


@jit
def uncovered(covered: Any, start: int, end: int) -> int:  # covered bool[tokens], or [0] if no token is excluded
    """Count the tokens from start to end that are not covered by excluded shingles."""
    if len(covered) == 0:
        return end - start
    n = 0
    part = covered[start:end]
    for i in range(len(part)):
        n += 0 if part[i] else 1
    return n


@jit
def overhang(a: Any, b: Any, start: int) -> int:  # a, b i64[8]: passages; start: LEFT_START or RIGHT_START
    """Count the tokens of passage a that are outside passage b, on this side."""
    return max(0, b[start] - a[start]) + max(0, a[start + 1] - b[start + 1])


@jit
def without_nested(rows: Any, first: int, end: int, least: int) -> int:  # rows i64[r, 8], changed
    """Remove nested passages from rows[first:end], the passages of one pair; returns the new end.

    First, passages without an unbroken run of `least` tokens are removed if at most a fifth of them is outside another
    passage; then passages that are inside another one on both sides. The order matters: a passage inside a removed one
    must not be removed with it.
    """
    keep = np.ones(end - first, np.bool_)
    for tolerant in (True, False):
        for p in range(first, end):
            a = rows[p]
            if not keep[p - first] or (tolerant and a[UNBROKEN] >= least):
                continue
            left = (a[LEFT_END] - a[LEFT_START]) // 5 if tolerant else 0
            right = (a[RIGHT_END] - a[RIGHT_START]) // 5 if tolerant else 0
            for q in range(first, end):
                if p != q and keep[q - first] and rows[q, TOKENS] >= a[TOKENS]:
                    if overhang(a, rows[q], LEFT_START) <= left and overhang(a, rows[q], RIGHT_START) <= right:
                        keep[p - first] = False
                        break
    at = first
    for p in range(first, end):
        if keep[p - first]:
            rows[at] = rows[p]
            at += 1
    return at


@jit
def is_whole(x: Any, y: Any, piece: Any) -> bool:  # piece i64[3]
    """Return True if a piece is a maximal run of equal tokens; a bridge may enter a run in the middle."""
    before, after, diagonal = piece[START] - 1, piece[END], piece[DIAGONAL]
    if equal_run(x, y, before, before - diagonal, -1) > 0:
        return False
    return equal_run(x, y, after, after - diagonal, 1) == 0


@jit
def grown(rows: Any, n: int) -> Any:  # rows i64[r, 8]
    """Return an array with room for another row after the first n, copied to twice the size if necessary."""
    if n < len(rows):
        return rows
    more = np.empty((2 * len(rows), rows.shape[1]), rows.dtype)
    more[:n] = rows[:n]
    return more


@jit
def passages_of_pair(
    x: Any,  # u32[]: tokens of the left document
    y: Any,  # u32[]: tokens of the right document
    hidden: Any,  # bool[len(x)], or [0]: left tokens that do not count
    seeds: Any,  # u32[s, 2]: a, b, in order
    k: int,
    gap: int,
    least: int,  # minimum equal tokens of a passage, among those that count
    reached: Any,  # i64[>= len(x) + len(y) + 1], zeros before and after: end of the last run on each diagonal
    pieces: Any,  # i64[p, 3]: scratch
    rows: Any,  # i64[r, 8]
    n: int,
) -> Any:
    """Append the passages of one pair of documents to the rows, without the document columns.

    Returns (rows, number of rows, whether every edit was tried). In text with very few distinct tokens an edit can be
    bridged anywhere: bridging stops before it becomes quadratic, and the remaining passages are not bridged.
    """
    first = n
    work, most = 0, MAX_BRIDGING_PASSES * (len(x) + len(y) + gap * gap)
    shift, width = len(y), len(x) + len(y) + 1
    reported_runs = {np.int64(-1)}  # runs inside reported passages: end and diagonal in one number
    for s in range(len(seeds)):
        a, b = np.int64(seeds[s, 0]), np.int64(seeds[s, 1])
        if reached[a - b + shift] > a:
            continue
        ahead = equal_run(x, y, a, b, 1)
        if ahead < k:  # hash collision of two shingles
            continue
        back = equal_run(x, y, a - 1, b - 1, -1)
        start_x, start_y, end_x, end_y = a - back, b - back, a + ahead, b + ahead
        reached[a - b + shift] = end_x
        if end_x * width + a - b + shift in reported_runs:
            continue
        tokens = unbroken = uncovered(hidden, start_x, end_x)
        used = 0
        if gap > 0 and work <= most:
            for step in (1, -1):
                i, j = (end_x, end_y) if step > 0 else (start_x - 1, start_y - 1)
                more_x, more_y, taken = bridge(x, y, i, j, step, gap, pieces[used:])
                work += more_x + more_y + gap
                for p in range(used, used + taken):
                    length = uncovered(hidden, pieces[p, START], pieces[p, END])
                    tokens, unbroken = tokens + length, max(unbroken, length)
                used += taken
                if step > 0:
                    end_x, end_y = end_x + more_x, end_y + more_y
                else:
                    start_x, start_y = start_x - more_x, start_y - more_y
        if tokens < least:
            continue
        for p in range(
            used
        ):  # a passage without an unbroken run of `least` may be removed: it covers shorter runs only
            piece = pieces[p]
            if (unbroken >= least or piece[END] - piece[START] < least) and is_whole(x, y, piece):
                reported_runs.add(piece[END] * width + piece[DIAGONAL] + shift)
        if len(hidden):  # trim boilerplate at both ends
            while hidden[start_x] and x[start_x] == y[start_y]:
                start_x, start_y = start_x + 1, start_y + 1
            while hidden[end_x - 1] and x[end_x - 1] == y[end_y - 1]:
                end_x, end_y = end_x - 1, end_y - 1
        rows = grown(rows, n)
        rows[n, LEFT_START], rows[n, LEFT_END] = start_x, end_x
        rows[n, RIGHT_START], rows[n, RIGHT_END] = start_y, end_y
        rows[n, TOKENS], rows[n, UNBROKEN] = tokens, unbroken
        n += 1
    for s in range(len(seeds)):
        reached[np.int64(seeds[s, 0]) - np.int64(seeds[s, 1]) + shift] = 0
    return rows, without_nested(rows, first, n, least), work <= most
