"""Search near copies that were not cut: from every few equal tokens, in all documents, for a sample of documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bridging import END, START, bridge, equal_run
from lookalike.kernels.hashing import TOKENS
from lookalike.kinds.scrub.kernels.cuts import DROPPED
from lookalike.kinds.scrub.kernels.tokens import WALL
from lookalike.kinds.scrub.kernels.windows import NO_HASH, NONE, final, find, power, term


@jit
def count_edited(pieces: Any, gone: Any, offsets: Any, counts: Any) -> None:
    """Count the near copies among the pieces of each document: stretches of pieces that hold an edit.

    pieces i64[r, 4], by first token; gone u8: after these cuts; offsets i64[n + 1]; counts i64[n], out. Tokens of the
    copy that stays are skipped without an edit if they were cut themselves.
    """
    d = r = 0
    while r < len(pieces):
        while offsets[d + 1] <= pieces[r, 0]:
            d += 1
        edited = pieces[r, 2] == NONE
        r += 1
        while r < len(pieces) and pieces[r, 0] == pieces[r - 1, 0] + pieces[r - 1, 1] and pieces[r, 0] < offsets[d + 1]:
            first, last = pieces[r - 1, 2] + pieces[r - 1, 1], pieces[r, 2]
            if pieces[r, 2] == NONE or pieces[r - 1, 2] == NONE or last < first or not gone[first:last].all():
                edited = True
            r += 1
        counts[d] += edited


@jit
def gather(order: Any, tokens: Any, gone: Any, offsets: Any, states: Any, stays: Any, ends: Any) -> int:
    """Write the tokens that stay, document by document in this order; ends i64[n], out. Return their number."""
    n = 0
    for k in range(len(order)):
        d = order[k]
        if states[d] != DROPPED:
            for i in range(offsets[d], offsets[d + 1]):
                if gone[i] == 0:
                    stays[n] = tokens[i]
                    n += 1
        ends[k] = n
    return n


@jit
def protected(flags: Any, gone: Any, walls: Any) -> None:
    """walls bool[m] = whether each token of a document that stays is protected; flags, gone u8: of the document."""
    n = 0
    for i in range(len(flags)):
        if gone[i] == 0:
            walls[n] = (flags[i] & WALL) != 0
            n += 1


@jit
def run_hashes(x: Any, length: int, out: Any) -> int:
    """out u64: the hash of every run of `length` tokens of x; returns their number."""
    factor = power(length)
    h = NO_HASH
    for i in range(len(x)):
        h = h * TOKENS + term(x[i])
        if i >= length:
            h -= term(x[i - length]) * factor
        if i >= length - 1:
            out[i - length + 1] = final(h)
    return max(0, len(x) - length + 1)


@jit
def count_starts(x: Any, length: int, keys: Any, counts: Any) -> None:
    """Count how often each hash of the table `keys` occurs among the runs of x; counts i64[slots], out."""
    factor = power(length)
    h = NO_HASH
    for i in range(len(x)):
        h = h * TOKENS + term(x[i])
        if i >= length:
            h -= term(x[i - length]) * factor
        if i >= length - 1:
            slot = find(keys, final(h))
            if slot != NONE:
                counts[slot] += 1


@jit
def extend(x: Any, y: Any, p: int, q: int, gap: int, pieces: Any) -> Any:
    """Extend the equal tokens x[p], y[q] across edits; returns first and end in x, the end in y, and equal tokens."""
    ahead, back = equal_run(x, y, p, q, 1), equal_run(x, y, p - 1, q - 1, -1)
    more_x, more_y, taken = bridge(x, y, p + ahead, q + ahead, 1, gap, pieces)
    equal = ahead + back
    for r in range(taken):
        equal += pieces[r, END] - pieces[r, START]
    less_x, _, taken = bridge(x, y, p - back - 1, q - back - 1, -1, gap, pieces)
    for r in range(taken):
        equal += pieces[r, END] - pieces[r, START]
    return p - back - less_x, p + ahead + more_x, q + ahead + more_y, equal


@jit
def find_missed(
    stays: Any, ends: Any, first: int, last: int, ranks: Any, walls: Any, walls_at: Any, length: int, gap: int,
    least: int, keys: Any, values: Any, begins: Any, owners: Any, places: Any, out: Any,
) -> int:  # fmt: skip
    """Write the near copies of documents `first` to last - 1 of the order in sampled documents; return their number.

    stays, ends: see `gather`; ranks i64[s]: place of each sampled document in the order; walls bool, walls_at
    i64[s + 1]: its protected tokens; keys, values: table from the hash of a run to its number g; the run is
    at places[k] of sampled document owners[k] for k from begins[g] to begins[g + 1]; out i64[any, 3]:
    sampled document, first token and end of each. Stops writing when it is full.
    """
    used, count = 0, len(ranks)
    seen = np.full(count, NONE, np.int64)  # document with which each sampled one was compared last
    x_from, x_to, y_to = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    longest = 0
    for s in range(count):
        longest = max(longest, walls_at[s + 1] - walls_at[s])
    pieces = np.empty((2 * longest + 2, 3), np.int64)
    factor = power(length)
    for k in range(first, last):
        low = ends[k - 1] if k else 0
        y = stays[low : ends[k]]
        h = NO_HASH
        for i in range(len(y)):
            h = h * TOKENS + term(y[i])
            if i >= length:
                h -= term(y[i - length]) * factor
            if i < length - 1:
                continue
            slot = find(keys, final(h))
            if slot == NONE:
                continue
            q = i - length + 1
            for e in range(begins[values[slot]], begins[values[slot] + 1]):
                s, p = owners[e], places[e]
                if ranks[s] < k or (ranks[s] == k and p <= q):
                    continue
                if seen[s] == k and q < y_to[s] and x_from[s] <= p < x_to[s]:
                    continue
                start = ends[ranks[s] - 1] if ranks[s] else 0
                x = stays[start : ends[ranks[s]]]
                if equal_run(x, y, p, q, 1) < length:
                    continue
                a, b, y_end, equal = extend(x, y, p, q, gap, pieces)
                seen[s], x_from[s], x_to[s], y_to[s] = k, a, b, y_end
                if equal < least or (ranks[s] == k and y_end > a) or walls[walls_at[s] + a : walls_at[s] + b].any():
                    continue
                if used < len(out):
                    out[used, 0], out[used, 1], out[used, 2] = s, a, b
                used += 1
    return used
