"""The choice of the tokens to cut, so that each repeated run of tokens occurs once.

gone u8[tokens]: 0 for a token that stays, CUT for one that was cut, CUT_NOW for one that is cut in the current round.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import TOKENS
from lookalike.kinds.scrub.kernels.tokens import AFTER_WORD, CONTINUED, MARKED, TEXT_START, TOUCHING, WALL
from lookalike.kinds.scrub.kernels.windows import NO_HASH, NONE, final, find, power, term

CUT, CUT_NOW = np.uint8(1), np.uint8(2)
ORDINARY, DROPPED, LEFT_WHOLE = np.uint8(0), np.uint8(1), np.uint8(2)  # states of a document


@jit
def following(gone: Any, i: int) -> int:
    """Return the next token that was not cut in an earlier round."""
    i += 1
    while i < len(gone) and gone[i] == CUT:
        i += 1
    return int(i)


@jit
def put(pieces: Any, used: int, flags: Any, token: int, source: int, count: int) -> int:
    """Record the cut of a token whose equal stays at `source` (NONE: nowhere), in a new piece or the last one.

    pieces i64[any, 4]: first token, tokens, first token of the copy that stays, occurrences; a piece and its copy lie
    within one document each. used: number of pieces so far. Returns the number of pieces after it.
    """
    if used and not flags[token] & TEXT_START and (source == NONE or not flags[source] & TEXT_START):
        last = pieces[used - 1]
        same = last[2] == NONE if source == NONE else (last[2] != NONE and last[2] + last[1] == source)
        if last[0] + last[1] == token and same:
            last[1] += 1
            last[3] = min(last[3], count)
            return used
    pieces[used, 0] = token
    pieces[used, 1] = 1
    pieces[used, 2] = source
    pieces[used, 3] = count
    return used + 1


@jit
def retract(places: Any, slots: Any, kept: Any, first: int, last: int) -> None:
    """Remove the registered windows first to last - 1 of a document from the table: one of their tokens is cut."""
    for r in range(max(0, first), last):
        if kept[r]:
            places[slots[r]] = NONE
            kept[r] = False


@jit
def find_slots(tokens: Any, flags: Any, sequence: Any, m: int, length: int, keys: Any, slots: Any) -> bool:
    """slots[p] = the slot of the window that starts at sequence[p], NONE if it has none; whether any has one."""
    factor = power(length)
    h = NO_HASH
    n = 0
    some = False
    for p in range(m):
        slots[p] = NONE
        i = sequence[p]
        if flags[i] & WALL:
            n = 0
            h = NO_HASH
            continue
        h = h * TOKENS + term(tokens[i])
        n += 1
        if n > length:
            h -= term(tokens[sequence[p - length]]) * factor
            n = length
        if n == length:
            slot = find(keys, final(h))
            slots[p - length + 1] = slot
            some = some or slot != NONE
    return some


@jit
def matches(tokens: Any, gone: Any, sequence: Any, p: int, length: int, q: int) -> int:
    """Return the last token of the window that starts at token q if it equals the window p, else NONE."""
    j = q
    for k in range(length):
        if tokens[sequence[p + k]] != tokens[j]:
            return NONE
        if k < length - 1:
            j = following(gone, j)
    return int(j)


@jit
def cut_run(
    tokens: Any, flags: Any, gone: Any, sequence: Any, m: int, length: int, segments: bool, slots: Any, kept: Any,
    places: Any, values: Any, pieces: Any, used: int,
) -> int:  # fmt: skip
    """Cut the windows of one document that equal a window that stays, and register the others that stay.

    A window that a cut one refers to is pinned: its tokens are not cut. segments: widen cuts to whole segments.
    sequence i64[m]: tokens of the document that were not cut before; slots i64[m]; kept bool[m], False; places i64:
    first token of the window that stays for each slot, or NONE; values i64: occurrences. Returns the number of pieces.
    """
    cut_end = pinned = 0
    last_kept = -1
    q_before = last = NONE
    in_run = False
    for p in range(m):
        slot = slots[p]
        q = NONE if slot == NONE else places[slot]
        if q == NONE:
            last = NONE
        elif in_run and following(gone, q_before) == q:
            last = following(gone, last)
            if tokens[sequence[p + length - 1]] != tokens[last]:
                last = NONE
        else:
            last = matches(tokens, gone, sequence, p, length, q)
        if last != NONE:
            q_before = q
            if sequence[0] <= q and q <= sequence[p]:
                pinned = max(pinned, int(np.searchsorted(sequence[:m], q)) + length)
            low = begin = max(p, pinned)
            if segments and not in_run:
                while low > pinned and not (flags[sequence[low]] & MARKED or flags[sequence[low - 1]] & WALL):
                    low -= 1
                while low > 0 and flags[sequence[low]] & CONTINUED:  # a character is never broken
                    low -= 1
                for k in range(low, begin):
                    if gone[sequence[k]] == 0:
                        gone[sequence[k]] = CUT_NOW
                        used = put(pieces, used, flags, sequence[k], NONE, 0)
            if last_kept > low - length:
                retract(places, slots, kept, low - length + 1, last_kept + 1)
                last_kept = low - length
            if in_run:
                begin = p + length - 1  # the tokens before it were cut with the last window, or are pinned
            j = last
            if begin < p + length - 1:
                j = q
                for _ in range(p, begin):
                    j = following(gone, j)
            for k in range(begin, p + length):
                if gone[sequence[k]] == 0:
                    gone[sequence[k]] = CUT_NOW
                    used = put(pieces, used, flags, sequence[k], j, values[slot])
                if k < p + length - 1:
                    j = following(gone, j)
            cut_end = max(cut_end, p + length)
            in_run = True
            continue
        if in_run and segments:
            while cut_end < m and not (flags[sequence[cut_end]] & (MARKED | WALL)):
                if gone[sequence[cut_end]] == 0:
                    gone[sequence[cut_end]] = CUT_NOW
                    used = put(pieces, used, flags, sequence[cut_end], NONE, 0)
                cut_end += 1
        in_run = False
        if slot != NONE and q == NONE and cut_end <= p:
            places[slot] = sequence[p]
            kept[p] = True
            last_kept = p
    return used


@jit
def part_words(
    flags: Any, gone: Any, start: int, end: int, sequence: Any, m: int, length: int, slots: Any, kept: Any, places: Any,
    pieces: Any, used: int,
) -> int:  # fmt: skip
    """Cut one more word where a cut would join the words on both of its sides to one. Arguments as in `cut_run`."""
    i = start
    while i < end:
        if gone[i] == 0:
            i += 1
            continue
        first = i
        while i < end and gone[i] != 0:
            i += 1
        if i < end and flags[first] & AFTER_WORD and flags[i] & TOUCHING and not flags[i] & WALL:
            gone[i] = CUT_NOW
            used = put(pieces, used, flags, i, NONE, 0)
            at = np.searchsorted(sequence[:m], i)
            retract(places, slots, kept, at - length + 1, at + 1)
    return used


@jit
def cut_documents(
    order: Any, tokens: Any, flags: Any, gone: Any, offsets: Any, length: int, segments: bool, max_loss: float,
    drop: bool, states: Any, keys: Any, places: Any, values: Any, pieces: Any,
) -> int:  # fmt: skip
    """Cut the repeats of the documents of `order`, in this order; return the number of pieces that were cut.

    order i64: document numbers; max_loss: share of its tokens above which a document is dropped (drop) or left whole;
    states u8[n]; pieces: room for one of each token; the rest as in `cut_run`.
    """
    used = 0
    longest = 0
    for d in order:
        longest = max(longest, offsets[d + 1] - offsets[d])
    sequence, slots = np.empty(longest, np.int64), np.empty(longest, np.int64)
    kept = np.empty(longest, np.bool_)
    for d in order:
        if states[d] == DROPPED:
            continue
        start, end = offsets[d], offsets[d + 1]
        m = 0
        for i in range(start, end):
            if gone[i] == 0:
                sequence[m] = i
                m += 1
        if not find_slots(tokens, flags, sequence, m, length, keys, slots):
            continue
        kept[:m] = False
        before = used
        if states[d] == ORDINARY:
            used = cut_run(
                tokens, flags, gone, sequence, m, length, segments, slots, kept, places, values, pieces, used
            )
            used = part_words(flags, gone, start, end, sequence, m, length, slots, kept, places, pieces, used)
            lost = 0
            for i in range(start, end):
                lost += gone[i] != 0
            if used > before and lost > max_loss * (end - start):
                states[d] = DROPPED if drop else LEFT_WHOLE
                if drop:
                    retract(places, slots, kept, 0, m)
        for i in range(start, end):
            if states[d] == LEFT_WHOLE:
                gone[i] = 0
            elif gone[i] == CUT_NOW:
                gone[i] = CUT
            elif states[d] == DROPPED and gone[i] == 0:
                gone[i] = CUT
                used = put(pieces, used, flags, i, NONE, 0)
        if states[d] == LEFT_WHOLE:
            used = before
            for p in range(m):
                if slots[p] != NONE and places[slots[p]] == NONE:
                    places[slots[p]] = sequence[p]
    return used


@jit
def cut_lines(
    order: Any, tokens: Any, flags: Any, gone: Any, offsets: Any, limit: int, max_loss: float, drop: bool, states: Any,
    keys: Any, places: Any, values: Any, seen: Any, pieces: Any,
) -> int:  # fmt: skip
    """Cut the lines or paragraphs (one token each) that occur more than `limit` times, but for the first `limit`.

    seen i64: number of copies that stay for each slot. Otherwise as in `cut_documents`.
    """
    used = 0
    for d in order:
        start, end = offsets[d], offsets[d + 1]
        before = used
        lost = 0
        for again in range(2):
            for i in range(start, end):
                if flags[i] & WALL:
                    continue
                slot = find(keys, final(term(tokens[i])))
                if slot == NONE:
                    continue
                if again == 1:  # the document is dropped or left whole: take back what was counted for it
                    if gone[i] == 0:
                        seen[slot] -= 1
                        if places[slot] == i:
                            places[slot] = NONE
                elif values[slot] > limit and seen[slot] >= limit and places[slot] != NONE:
                    gone[i] = CUT
                    lost += 1
                    used = put(pieces, used, flags, i, places[slot], values[slot])
                else:
                    seen[slot] += 1
                    if places[slot] == NONE:
                        places[slot] = i
            if again == 0 and not (lost > max_loss * (end - start)):
                break
            if again == 0:
                states[d] = DROPPED if drop else LEFT_WHOLE
                if not drop:
                    break
        if states[d] == ORDINARY:
            continue
        for i in range(start, end):
            if states[d] == LEFT_WHOLE:
                gone[i] = 0
            elif gone[i] == 0:
                gone[i] = CUT
                used = put(pieces, used, flags, i, NONE, 0)
        if states[d] == LEFT_WHOLE:
            used = before
    return used


@jit
def resolve(pieces: Any, first: int, firsts: Any, flags: Any, gone: Any, out: Any, used: int) -> Any:
    """Replace sources that were cut later by the sources of their pieces, so that all sources are kept.

    pieces i64[n, 4], sorted by first token; firsts i64[n]: these tokens; first: the piece to begin with; flags, gone
    u8; out i64[any, 4], with `used` pieces so far. Returns the next piece, for which there is no more room, and `used`.
    """
    r = first
    while r < len(pieces) and used + pieces[r, 1] <= len(out):
        source = pieces[r, 2]
        for k in range(pieces[r, 1]):
            at = NONE if source == NONE else source + k
            while at != NONE and gone[at] != 0:
                other = np.searchsorted(firsts, at, side="right") - 1
                if other < 0 or at >= pieces[other, 0] + pieces[other, 1] or pieces[other, 2] == NONE:
                    at = NONE
                else:
                    at = pieces[other, 2] + at - pieces[other, 0]
            used = put(out, used, flags, pieces[r, 0] + k, at, pieces[r, 3])
        r += 1
    return r, used
