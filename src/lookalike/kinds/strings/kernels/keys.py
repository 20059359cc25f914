"""Keys of strings for edit-distance joins: deletion variants and segments.

Keys are 64-bit hashes. An index is a sorted array of packed words (the high bits of a key, then the number of a
string), with a directory by the highest bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, mix

ZERO, ONE = np.uint64(0), np.uint64(1)
SEGMENT = np.uint64(0x9E3779B97F4A7C15)
WORD_SHIFT, BIT_SHIFT, LOW_SIX = (
    np.uint64(46),
    np.uint64(40),
    np.uint64(63),
)  # position in a bitmap of the highest 24 bits of a key: 18 bits select the word, 6 the bit


@jit
def prefix_hashes(text: Any, heads: Any) -> None:  # text u32[n]; heads u64[> n], out
    """Set heads[i] to the polynomial hash of the first i letters."""
    heads[0] = ZERO
    for i in range(len(text)):
        heads[i + 1] = heads[i] * CHARS + np.uint64(text[i]) + ONE


@jit
def extended(hash_: Any, heads: Any, powers: Any, begin: int, end: int) -> Any:
    """Return the hash of a string with hash `hash_`, followed by letters [begin, end) of another."""
    return hash_ * powers[end - begin] + heads[end] - heads[begin] * powers[end - begin]


@jit
def shortened(text: Any, gone: int, heads: Any, powers: Any, place: Any, before: Any, out: Any) -> int:
    """Write the keys of all strings that `gone` deletions make of this one, and return their number.

    In a run of equal letters the first ones are deleted, so most results occur once. text u32[n]; heads u64[> n];
    powers u64[> n]; place i64[> gone], before u64[> gone]: scratch space; out u64[at least binomial(n, gone)].
    """
    n = len(text)
    if gone == 0:
        out[0] = mix(heads[n])
        return 1
    count = 0
    depth = 0
    place[0] = -1
    before[0] = ZERO
    while depth >= 0:
        place[depth] += 1
        at = place[depth]
        if at > n - (gone - depth):
            depth -= 1
            continue
        start = place[depth - 1] + 1 if depth > 0 else 0
        if at > start and text[at] == text[at - 1]:
            continue
        hash_ = extended(before[depth], heads, powers, start, at)
        if depth + 1 == gone:
            out[count] = mix(extended(hash_, heads, powers, at + 1, n))
            count += 1
        else:
            depth += 1
            place[depth] = at
            before[depth] = hash_
    return count


@jit
def index_shortened(
    points: Any,  # u32[.]
    ends: Any,  # i64[n+1]
    low: int,  # strings [low, high)
    high: int,
    gone: Any,  # i64[lengths]: maximum number of deletions of a string, by length
    powers: Any,  # u64[lengths]
    bits: int,  # bits of the string number in a packed word
    out: Any,  # u64[room], out
) -> int:
    """Write packed words of all strings after up to gone[length] deletions, and return their number."""
    keep = ~((ONE << np.uint64(bits)) - ONE)
    heads, place, before = np.empty(len(powers) + 1, np.uint64), np.empty(64, np.int64), np.empty(64, np.uint64)
    at = 0
    for s in range(low, high):
        text = points[ends[s] : ends[s + 1]]
        prefix_hashes(text, heads)
        for k in range(gone[len(text)] + 1):
            count = shortened(text, k, heads, powers, place, before, out[at:])
            for i in range(at, at + count):
                out[i] = (out[i] & keep) | np.uint64(s)
            at += count
    return at


@jit
def index_segments(
    points: Any, ends: Any, low: int, high: int, pieces: Any, powers: Any, bits: int, out: Any
) -> int:  # pieces i64[lengths]: number of segments of a string, by length; the others as above
    """Write packed words of the segments of strings [low, high), and return their number."""
    keep = ~((ONE << np.uint64(bits)) - ONE)
    heads = np.empty(len(powers) + 1, np.uint64)
    at = 0
    for s in range(low, high):
        text = points[ends[s] : ends[s + 1]]
        n, cuts = len(text), pieces[len(text)]
        if cuts > 0:
            prefix_hashes(text, heads)
        for k in range(cuts):
            out[at] = (segment_key(heads, powers, k * n // cuts, (k + 1) * n // cuts, n, k) & keep) | np.uint64(s)
            at += 1
    return at


@jit
def segment_key(heads: Any, powers: Any, begin: int, end: int, length: int, number: int) -> Any:
    """Return the key of letters [begin, end), as segment `number` of a string of this length."""
    which = mix((np.uint64(length) << np.uint64(32)) | np.uint64(number))
    return mix(extended(which, heads, powers, begin, end) + SEGMENT)


@jit
def shared_only(index: Any, bits: int) -> int:  # index u64[m], sorted; out
    """Move the words whose key occurs more than once to the front, and return their number."""
    shift = np.uint64(bits)
    kept = 0
    before = False
    for i in range(len(index)):
        word = index[i]
        after = i + 1 < len(index) and (word ^ index[i + 1]) >> shift == ZERO
        if before or after:
            index[kept] = word
            kept += 1
        before = after
    return kept


@jit
def directory(index: Any, bits: int, out: Any, bitmap: Any) -> None:
    """Set out[h] to the position of the first word whose highest bits are h, and fill the bitmap.

    Bit k of the bitmap tells whether a word has the highest 24 bits k; the bitmap is smaller than the index and rejects
    most keys that are not in it. index u64[m], sorted; out i64[2**bits + 1], zeros; bitmap u64[2**18], zeros.
    """
    shift = np.uint64(64 - bits)
    for i in range(len(index)):
        out[(index[i] >> shift) + ONE] += 1
        bitmap[index[i] >> WORD_SHIFT] |= ONE << ((index[i] >> BIT_SHIFT) & LOW_SIX)
    for h in range(1, len(out)):
        out[h] += out[h - 1]


@jit
def known(bitmap: Any, key: Any) -> bool:  # bitmap u64[2**18]; key u64
    """Return False if no word of the index can have this key."""
    return (bitmap[key >> WORD_SHIFT] >> ((key >> BIT_SHIFT) & LOW_SIX)) & ONE != ZERO
