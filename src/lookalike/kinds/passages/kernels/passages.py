"""Passages from fingerprints: the pairs of documents that share a fingerprint, their passages, and sums per pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kinds.passages.kernels.alignment import (
    LEFT_DOCUMENT,
    LEFT_START,
    RIGHT_DOCUMENT,
    RIGHT_START,
    UNBROKEN,
    passages_of_pair,
    uncovered,
)


@jit
def partners(d: int, prints: Any, place: Any, fresh: Any, owners: Any, rivals: Any, counts: Any, seen: Any) -> Any:
    """Count the seeds of document d with each later document to compare it with; types as in `find_passages`.

    counts i64[n], zeros, out; seen u32[n], out: the partners, unordered. Returns (number of partners, number of seeds).
    """
    many = total = 0
    for i in range(prints[d], prints[d + 1]):
        t = place[i] + 1
        while t < len(fresh) and not fresh[t]:
            e = owners[t]
            if may_meet(d, e, rivals):
                if counts[e] == 0:
                    seen[many] = e
                    many += 1
                counts[e] += 1
                total += 1
            t += 1
    return many, total


@jit
def may_meet(d: int, e: int, rivals: Any) -> bool:  # rivals i64[n, 2]: collection and author of each, -1 for none
    """Return True if documents d and e are compared: they differ, also in collection and author."""
    if d == e or (rivals[d, 0] >= 0 and rivals[d, 0] == rivals[e, 0]):
        return False
    return rivals[d, 1] < 0 or rivals[d, 1] != rivals[e, 1]


@jit
def find_passages(
    begin: int,
    end: int,  # left documents: begin .. end-1
    tokens: Any,  # u32[total]
    offsets: Any,  # i64[n+1]
    covered: Any,  # bool[total], or [0]: tokens that do not count
    prints: Any,  # i64[n+1]: the fingerprints of document d are prints[d] .. prints[d+1]-1
    place: Any,  # i64[f]: position of a fingerprint in the concatenated, sorted inverted lists
    fresh: Any,  # bool[f]: by position, True at the first entry of a list
    owners: Any,  # u32[f]: by position, document of the fingerprint
    starts: Any,  # u32[f]: by position, token at which the fingerprint starts
    rivals: Any,  # i64[n, 2]: collection and author of each document, -1 for none
    k: int,
    gap: int,
    least: int,
    out: Any,  # i64[r, 8], out: the passages
) -> Any:  # (document reached, number of passages, number of pairs in which not every edit was tried)
    """Find all passages that these documents share with later ones; the passages of a pair are consecutive.

    Stops before a document whose passages do not fit into the output.
    """
    n = len(prints) - 1
    counts = np.zeros(n, np.int64)
    seen = np.empty(n, np.uint32)
    longest = 0
    for d in range(n):
        longest = max(longest, offsets[d + 1] - offsets[d])
    reached = np.zeros(2 * longest + 1, np.int64)
    pieces = np.empty((2 * longest if gap > 0 else 0, 3), np.int64)
    seeds = np.empty((1 << 12, 2), np.uint32)
    rows = out
    found = cut = 0
    for d in range(begin, end):
        complete, complete_cut = found, cut
        many, total = partners(d, prints, place, fresh, owners, rivals, counts, seen)
        if total == 0:
            continue
        if total > len(seeds):
            seeds = np.empty((2 * total, 2), np.uint32)
        at = 0
        for p in range(many):  # counts become the offsets of the seeds of each partner
            at, counts[seen[p]] = at + counts[seen[p]], at
        for i in range(prints[d], prints[d + 1]):
            t = place[i] + 1
            while t < len(fresh) and not fresh[t]:
                e = owners[t]
                if may_meet(d, e, rivals):
                    seeds[counts[e], 0] = starts[place[i]]
                    seeds[counts[e], 1] = starts[t]
                    counts[e] += 1
                t += 1
        x = tokens[offsets[d] : offsets[d + 1]]
        hidden = covered[offsets[d] : offsets[d + 1]] if len(covered) else covered
        at = 0
        for p in range(many):
            e = seen[p]
            y = tokens[offsets[e] : offsets[e + 1]]
            before = found
            rows, found, whole = passages_of_pair(
                x, y, hidden, seeds[at : counts[e]], k, gap, least, reached, pieces, rows, found
            )
            for r in range(before, found):
                rows[r, LEFT_DOCUMENT], rows[r, RIGHT_DOCUMENT] = d, e
            cut += 0 if whole else 1
            at = counts[e]
            counts[e] = 0
        if len(rows) > len(out):
            return d, complete, complete_cut
    return end, found, cut


@jit
def covered_by(rows: Any, order: Any, column: int, hidden: Any) -> int:
    """Count the tokens, without excluded ones, in the union of the passages rows[order].

    column: LEFT_START or RIGHT_START.
    """
    total = reached = 0
    for o in range(len(order)):
        start, end = rows[order[o], column], rows[order[o], column + 1]
        total += uncovered(hidden, max(reached, start), max(reached, end))
        reached = max(reached, end)
    return total


@jit
def sum_up(rows: Any, by_left: Any, by_right: Any, offsets: Any, covered: Any, out: Any) -> int:
    """Aggregate passages per pair: left, right, left tokens, right tokens, longest unbroken run, number of passages.

    rows i64[r, 8]; by_left, by_right i64[r]: order of the rows by pair, then by position in the left (right) document;
    offsets i64[n+1]; covered bool[total] or [0]; out i64[r, 6]. Returns the number of pairs.
    """
    n = 0
    start = 0
    while start < len(rows):
        d, e = rows[by_left[start], LEFT_DOCUMENT], rows[by_left[start], RIGHT_DOCUMENT]
        end = start
        longest = 0
        while end < len(rows) and rows[by_left[end], LEFT_DOCUMENT] == d and rows[by_left[end], RIGHT_DOCUMENT] == e:
            longest = max(longest, rows[by_left[end], UNBROKEN])
            end += 1
        left = covered[offsets[d] : offsets[d + 1]] if len(covered) else covered
        right = covered[offsets[e] : offsets[e + 1]] if len(covered) else covered
        out[n, 0], out[n, 1] = d, e
        out[n, 2] = covered_by(rows, by_left[start:end], LEFT_START, left)
        out[n, 3] = covered_by(rows, by_right[start:end], RIGHT_START, right)
        out[n, 4], out[n, 5] = longest, end - start
        n += 1
        start = end
    return n
