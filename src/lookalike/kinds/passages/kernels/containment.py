"""Containment of texts: the share of the shorter one's tokens that is in runs of tokens shared with the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.shingles import table_size
from lookalike.kinds.passages.kernels.winnowing import hashes

MARK_FREE, MARK_SHARED = np.uint8(0), np.uint8(2)


@jit
def covered_tokens(x: Any, y: Any, run: int, room: Any, table: Any, marks: Any) -> int:
    """Count the tokens of x that are in a run of `run` tokens that y has, too.

    x, y u32[]: tokens, at least `run` of x; room u64[>= len(x) and >= len(y)]: scratch; table u64[2**m >= 2 len(x)],
    marks u8[2**m]: scratch, zeros before and after.
    """
    mask = np.uint64(len(table) - 1)
    count = hashes(x, run, room)
    slots = np.empty(count, np.int64)
    for p in range(count):
        slot = np.int64(room[p] & mask)
        while marks[slot] != MARK_FREE and table[slot] != room[p]:
            slot = (slot + 1) & (len(table) - 1)
        table[slot], marks[slot], slots[p] = room[p], np.uint8(1), slot
    others = hashes(y, run, room)
    for p in range(others):
        slot = np.int64(room[p] & mask)
        while marks[slot] != MARK_FREE:
            if table[slot] == room[p]:
                marks[slot] = MARK_SHARED
                break
            slot = (slot + 1) & (len(table) - 1)
    covered, reached = 0, 0
    for p in range(count):
        if marks[slots[p]] == MARK_SHARED:
            covered += p + run - max(p, reached)
            reached = p + run
    for p in range(count):
        marks[slots[p]] = MARK_FREE
    return covered


@jit
def score_containment(
    queries: Any, offsets: Any,  # u32[], i64[q+1]: tokens of the queries
    query: Any,  # i64[c]: query of each candidate
    data: Any, starts: Any, ends: Any,  # u32[], i64[c], i64[c]: tokens of the candidates
    run: int, threshold: float, out: Any,  # f64[c]: written, -inf below the threshold
) -> None:  # fmt: skip
    """Compute the containment of each query and candidate."""
    longest = shortest = 0
    for c in range(len(query)):
        own, other = offsets[query[c] + 1] - offsets[query[c]], ends[c] - starts[c]
        longest, shortest = max(longest, own, other), max(shortest, min(own, other))
    room = np.empty(longest, np.uint64)
    table = np.zeros(table_size(shortest), np.uint64)
    marks = np.zeros(len(table), np.uint8)
    for c in range(len(query)):
        x, y = queries[offsets[query[c]] : offsets[query[c] + 1]], data[starts[c] : ends[c]]
        if len(y) < len(x):
            x, y = y, x
        out[c] = -np.inf
        if len(x) < run:
            continue
        covered = covered_tokens(x, y, run, room, table, marks)
        if len(x) == len(y):  # neither is the shorter one
            covered = max(covered, covered_tokens(y, x, run, room, table, marks))
        share = covered / len(x)
        if covered > 0 and share >= threshold:
            out[c] = share
