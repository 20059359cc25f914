"""Hashes of runs of tokens, and the runs that may occur more than once.

A window is `length` consecutive tokens of a document that were not cut in an earlier round, without protected ones. Its
anchor is the run of `short` tokens in it with the lowest hash, of several any: equal windows have equal
anchors, so that a window whose anchor occurs once occurs once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import TOKENS, half_mix, mix
from lookalike.kinds.scrub.kernels.tokens import WALL

NO_HASH, ONE, HALF, NONE = np.uint64(0), np.uint64(1), np.uint64(32), -1
ALL_HASHES = np.zeros(1, np.uint64)  # in place of a table of hashes: any hash is in it


@jit
def power(length: int) -> Any:
    """Return the factor of a token that leaves a window of this length."""
    factor = ONE
    for _ in range(length):
        factor *= TOKENS
    return factor


@jit
def term(token: Any) -> Any:
    """Return the 64-bit term of a token in the hash of a window."""
    return half_mix(np.uint64(token) * TOKENS + ONE)


@jit
def final(h: Any) -> Any:
    """Return the hash of a window from its polynomial; never NO_HASH."""
    m = mix(h)
    return m if m != NO_HASH else ONE


@jit
def in_part(h: Any, part: Any, parts: Any) -> bool:
    """Return whether the hash belongs to this of `parts` equal parts of the 64-bit numbers."""
    return ((h >> HALF) * np.uint64(parts)) >> HALF == np.uint64(part)


@jit
def scan(
    tokens: Any, flags: Any, gone: Any, offsets: Any, wanted: Any, length: int, short: int, give_anchors: bool,
    only_joins: bool, anchors: Any, listed: Any, part: int, parts: int, out: Any, met: Any,
) -> int:  # fmt: skip
    """Write the hashes of windows, or of their anchors, and return their number; stops writing when out is full.

    tokens u32, u8 or u64; flags, gone u8; offsets i64[n+1]; wanted u8[n]: 0 for documents to skip; short: tokens of an
    anchor, `length` for none; give_anchors: write each anchor once instead of the windows; only_joins: only windows
    across a cut; anchors, listed: tables of the anchors and of the hashes that count, or ALL_HASHES; part, parts: only
    this of `parts` equal parts of the 64-bit numbers; out u64; met u8[n]: set to 1 for documents with a hash.
    """
    room = 1
    while room <= length:
        room *= 2
    mask = room - 1
    terms, runs = (
        np.empty(room, np.uint64),
        np.empty(room, np.uint64),
    )  # of the last tokens, and of the runs that end there
    factor, short_factor = power(length), power(short)
    anchored = short < length
    width = length - short + 1
    count = 0
    for d in range(len(offsets) - 1):
        if wanted[d] == 0:
            continue
        n = join = 0  # tokens since the last protected one, and of these the ones before the last cut
        h = run = lowest = NO_HASH
        where = given = NONE  # last token of the anchor; of the anchor that was written last
        counts = not anchored
        for i in range(offsets[d], offsets[d + 1]):
            if gone[i] != 0:
                join = n
                continue
            if flags[i] & WALL:
                n = join = 0
                h = run = NO_HASH
                where = given = NONE
                continue
            t = term(tokens[i])
            h = h * TOKENS + t
            if n >= length:
                h -= terms[(n - length) & mask] * factor
            if anchored:
                run = run * TOKENS + t
                if n >= short:
                    run -= terms[(n - short) & mask] * short_factor
                runs[n & mask] = run
                if n >= short - 1:
                    moved = True
                    if where == NONE or run < lowest:
                        where = n
                    elif where <= n - width:
                        where = n - width + 1
                        for k in range(n - width + 2, n + 1):
                            if runs[k & mask] < runs[where & mask]:
                                where = k
                    else:
                        moved = False
                    if moved:
                        lowest = runs[where & mask]
                        counts = len(anchors) == 1 or find(anchors, final(lowest)) != NONE
            terms[n & mask] = t
            n += 1
            if n < length or not counts or (only_joins and join <= n - length):
                continue
            if give_anchors:
                if where == given:
                    continue
                given = where
                m = final(lowest)
            else:
                m = final(h)
            if in_part(m, part, parts) and (len(listed) == 1 or find(listed, m) != NONE):
                met[d] = 1
                if count < len(out):
                    out[count] = m
                count += 1
    return count


@jit
def repeated(hashes: Any, least: int, out: Any, counts: Any) -> int:
    """Write the values that occur at least `least` times in sorted `hashes`, with their numbers of occurrences.

    hashes u64[n], sorted; out u64[n]; counts i64[n]. Returns the number of values.
    """
    n = 0
    i = 0
    while i < len(hashes):
        j = i + 1
        while j < len(hashes) and hashes[j] == hashes[i]:
            j += 1
        if j - i >= least:
            out[n] = hashes[i]
            counts[n] = j - i
            n += 1
        i = j
    return n


@jit
def fill_table(hashes: Any, counts: Any, keys: Any, values: Any) -> None:
    """Insert distinct hashes with their counts into a table with open addressing.

    hashes u64[n]; counts i64[n]; keys u64[power of two, above n], NO_HASH; values i64, as many.
    """
    mask = np.uint64(len(keys) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & mask
        while keys[slot] != NO_HASH:
            slot = (slot + ONE) & mask
        keys[slot] = hashes[i]
        values[slot] = counts[i]


@jit
def find(keys: Any, h: Any) -> Any:
    """Return the slot of a hash, or NONE."""
    mask = np.uint64(len(keys) - 1)
    slot = h & mask
    while keys[slot] != NO_HASH:
        if keys[slot] == h:
            return np.int64(slot)
        slot = (slot + ONE) & mask
    return NONE
