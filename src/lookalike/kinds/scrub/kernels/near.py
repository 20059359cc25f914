"""Cut near copies: runs of tokens that another one equals but for edits of a few tokens.

A seed is the anchor of a window (see `windows`). A document whose seed is in text that stays is compared with it from
there in both directions. Text that stays is copied to one array, document by document, without what is cut, so that a
copy never refers to text that was cut before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.bridging import DIAGONAL, END, START, bridge, equal_run
from lookalike.kernels.hashing import TOKENS
from lookalike.kinds.scrub.kernels.cuts import CUT, DROPPED, ORDINARY, part_words, put
from lookalike.kinds.scrub.kernels.tokens import WALL
from lookalike.kinds.scrub.kernels.windows import NO_HASH, NONE, final, find, power, term

SEED_PLACES = 4  # places of a seed that are compared
MAX_FRUITLESS_PASSES = 64  # limit of the comparisons that lead to no cut, in passes over the tokens of a document


@jit
def select_seeds(x: Any, walls: Any, length: int, short: int, keys: Any, runs: Any, starts: Any, slots: Any) -> int:
    """Write the first token and the slot of each anchor that is in the table, in order; return their number.

    x u32[m]: tokens; walls bool[m]: protected ones; runs u64[m]: scratch; starts, slots i64[m].
    """
    factor = power(short)
    width = length - short + 1
    count = n = 0
    where = given = NONE
    run = NO_HASH
    for i in range(len(x)):
        if walls[i]:
            n = 0
            where = given = NONE
            run = NO_HASH
            continue
        run = run * TOKENS + term(x[i])
        if n >= short:
            run -= term(x[i - short]) * factor
        runs[i] = run
        n += 1
        if n < short:
            continue
        if where == NONE or run < runs[where]:
            where = i
        elif where <= i - width:
            where = i - width + 1
            for k in range(i - width + 2, i + 1):
                if runs[k] < runs[where]:
                    where = k
        if n < length or where == given:
            continue
        given = where
        slot = find(keys, final(runs[where]))
        if slot != NONE:
            starts[count] = where - short + 1
            slots[count] = slot
            count += 1
    return count


@jit
def align(x: Any, y: Any, p: int, q: int, gap: int, pieces: Any, sources: Any, y_at: Any) -> Any:
    """Extend the equal tokens x[p], y[q] in both directions across edits; returns first and end in x and in y.

    pieces i64[any, 3]: scratch; sources i64[len(x)], out: y_at of the equal token, NONE for a token of an edit, and
    the number of equal tokens.
    """
    ahead, back = equal_run(x, y, p, q, 1), equal_run(x, y, p - 1, q - 1, -1)
    x_first, x_end, y_first, y_end = p - back, p + ahead, q - back, q + ahead
    for i in range(x_first, x_end):
        sources[i] = y_at[i - p + q]
    equal = back + ahead
    for step in (1, -1):
        i, j = (x_end, y_end) if step > 0 else (x_first - 1, y_first - 1)
        more_x, more_y, taken = bridge(x, y, i, j, step, gap, pieces)
        low, high = (x_end, x_end + more_x) if step > 0 else (x_first - more_x, x_first)
        sources[low:high] = NONE
        for r in range(taken):
            for k in range(pieces[r, START], pieces[r, END]):
                if sources[k] == NONE:
                    equal += 1
                sources[k] = y_at[k - pieces[r, DIAGONAL]]
        if step > 0:
            x_end, y_end = x_end + more_x, y_end + more_y
        else:
            x_first, y_first = x_first - more_x, y_first - more_y
    return x_first, x_end, y_first, y_end, equal


@jit
def cut_near(
    order: Any, tokens: Any, flags: Any, gone: Any, offsets: Any, length: int, short: int, gap: int, least: int,
    max_loss: float, states: Any, keys: Any, places: Any, stays: Any, stays_at: Any, ends: Any, number: int, out: Any,
) -> int:  # fmt: skip
    """Cut the near copies in the documents of `order`, in this order; return the number of pieces that were cut.

    order i64: document numbers; least: equal tokens of a near copy; a document that would lose more than max_loss loses
    none of them. keys u64, places i64[slots, SEED_PLACES], NONE: table of seeds and their places in `stays`. stays u32,
    stays_at i64: tokens that stay, and their numbers; ends i64: where each document ends there; number: of
    documents before; out i64[any, 4]: the pieces, with room for one of each token.
    """
    used = longest = 0
    for d in order:
        longest = max(longest, offsets[d + 1] - offsets[d])
    x, at, walls = np.empty(longest, tokens.dtype), np.empty(longest, np.int64), np.empty(longest, np.bool_)
    runs, starts, slots = np.empty(longest, np.uint64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    sources, pieces = np.empty(longest, np.int64), np.empty((2 * longest + 2, 3), np.int64)
    nothing, none_kept = np.empty(longest, np.int64), np.zeros(longest, np.bool_)
    for d in order:
        begin = ends[number - 1] if number else 0  # first token of the document in `stays`
        m = 0
        if states[d] != DROPPED:
            for i in range(offsets[d], offsets[d + 1]):
                if gone[i] == 0:
                    x[m], at[m], walls[m] = tokens[i], i, (flags[i] & WALL) != 0
                    m += 1
        count = select_seeds(x[:m], walls[:m], length, short, keys, runs, starts, slots)
        before = used
        size = begin  # tokens in `stays`
        copied = cut_end = pinned = work = 0
        for s in range(count):
            p, slot = starts[s], slots[s]
            if p < cut_end:
                continue
            for i in range(copied, p):
                stays[size], stays_at[size] = x[i], at[i]
                size += 1
            copied = p
            found = False
            for c in range(SEED_PLACES):
                q = places[slot, c]
                if q == NONE or states[d] != ORDINARY or work > MAX_FRUITLESS_PASSES * m:
                    break
                low, high = begin, size
                if q < begin:
                    of = np.searchsorted(ends[:number], q, side="right")
                    low, high = (ends[of - 1] if of else 0), ends[of]
                if q + short > high:
                    continue
                y = stays[low:high]
                if equal_run(x[:m], y, p, q - low, 1) < short:
                    continue
                first, end, _, y_end, equal = align(x[:m], y, p, q - low, gap, pieces, sources, stays_at[low:high])
                in_stays = size - (p - first)
                if equal < least or first < cut_end or in_stays < begin + pinned or walls[first:end].any():
                    continue
                if q >= begin and low + y_end > in_stays:
                    continue
                if q >= begin:
                    pinned = max(pinned, low + y_end - begin)
                work -= end - first
                for i in range(first, end):
                    gone[at[i]] = CUT
                    used = put(out, used, flags, at[i], sources[i], 0)
                size = in_stays
                copied = cut_end = end
                found = True
                break
            if not found:
                for c in range(SEED_PLACES):
                    if places[slot, c] == NONE:
                        places[slot, c] = size
                        break
        for i in range(copied, m):
            stays[size], stays_at[size] = x[i], at[i]
            size += 1
        if used > before:
            used = part_words(flags, gone, offsets[d], offsets[d + 1], at, m, 1, nothing, none_kept, nothing, out, used)
            lost = 0
            for i in range(offsets[d], offsets[d + 1]):
                lost += gone[i] != 0
            if lost > max_loss * (offsets[d + 1] - offsets[d]):
                used, size = before, begin
                for i in range(m):
                    gone[at[i]] = 0
                    stays[size], stays_at[size] = x[i], at[i]
                    size += 1
            else:
                for i in range(m):
                    if gone[at[i]] != 0:
                        gone[at[i]] = CUT
        ends[number] = size
        number += 1
    return used
