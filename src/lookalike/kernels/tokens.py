"""Convert text to tokens: one 64-bit hash per word, line, code point or byte of the UTF-8 bytes of a document.

The hash of a word is a polynomial of its folded code points, h = (h + c) * CHARS for each c, followed by half_mix; it
starts at 0, and 0 means no word. The hash of a line starts at CHARS, because a line may begin with code point 0. A
character or byte is its number + 1, for the same reason: a leading 0 would not change the hash of a shingle. Code
points that fold to nothing (stripped accents) are ignored. Bytes must be valid UTF-8 (readers ensure it); no read
passes `end`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, half_mix
from lookalike.kernels.unicode import ALONE, KIND, MARK, OTHER, PUNCTUATION, SPACE

ZERO, ONE = np.uint64(0), np.uint64(1)
BLANK = np.uint64(32)
NEWLINE = 10


@jit
def is_ascii(data: Any, start: int, end: int) -> Any:  # data u8[bytes]
    """Return whether no byte of data[start:end] is above 127."""
    part = data[start:end]  # indices from 0 avoid the check for negative ones, so that the loop is vectorised
    seen = np.uint8(0)
    for i in range(len(part)):
        seen = np.uint8(seen | part[i])
    return seen < 128


@jit
def code_point(data: Any, i: int, end: int) -> Any:  # data u8[bytes] -> (code point, next i)
    """Decode the code point that starts at byte i."""
    c = np.int64(data[i])
    if c < 0x80 or i + 1 >= end:
        return c & 0x7F, i + 1
    if c < 0xE0 or i + 2 >= end:
        return ((c & 0x1F) << 6) | (np.int64(data[i + 1]) & 0x3F), i + 2
    if c < 0xF0 or i + 3 >= end:
        return ((c & 0x0F) << 12) | ((np.int64(data[i + 1]) & 0x3F) << 6) | (np.int64(data[i + 2]) & 0x3F), i + 3
    high = ((c & 0x07) << 18) | ((np.int64(data[i + 1]) & 0x3F) << 12)
    point = high | ((np.int64(data[i + 2]) & 0x3F) << 6) | (np.int64(data[i + 3]) & 0x3F)
    return min(point, np.int64(0x10FFFF)), i + 4


@jit
def folded(h: Any, point: int, folds: Any, multi: Any) -> Any:  # h u64; folds i32[0x110000]; multi i32[m, 3] -> u64
    """Update the hash h of a token with the folded form of the code point."""
    fold = folds[point]
    if fold >= 0:
        return (h + np.uint64(fold)) * CHARS
    for j in range(3):
        part = multi[-1 - fold, j]
        if part == 0:
            break
        h = (h + np.uint64(part)) * CHARS
    return h


@jit
def vanishes(point: int, folds: Any, multi: Any) -> bool:  # folds i32[0x110000]; multi i32[m, 3]
    """Return whether the code point folds to nothing."""
    fold = folds[point]
    return fold < 0 and multi[-1 - fold, 0] == 0


@jit
def ascii_words(data: Any, start: int, end: int, lut: Any, out: Any) -> int:  # data u8; lut u8[256]; out u64[tokens]
    """Hash the words of ASCII text; returns their number. This is the hot loop of the package."""
    part = data[start:end]
    n = np.uint64(0)
    h = ZERO
    for i in range(len(part)):
        c = np.uint64(lut[part[i]])
        if c != ZERO:
            h = (h + c) * CHARS
        else:
            out[n] = half_mix(h)
            n += np.uint64(h != ZERO)
            h = ZERO
    out[n] = half_mix(h)
    return int(n) + (1 if h != ZERO else 0)


@jit
def words(data: Any, start: int, end: int, lut: Any, classes: Any, folds: Any, multi: Any, out: Any) -> int:
    """Hash the words of any text: runs of alphanumerics, marks and underscores; single Han and kana characters."""
    n = 0
    h = ZERO
    alone = False  # the open word is a single ideograph or kana: only marks may follow
    i = start
    while i < end:
        c = data[i]
        if c < 128:
            i += 1
            f = np.uint64(lut[c])
            if f == ZERO or alone:
                out[n] = half_mix(h)
                n += 1 if h != ZERO else 0
                h = ZERO
                alone = False
            if f != ZERO:
                h = (h + f) * CHARS
            continue
        point, i = code_point(data, i, end)
        kind = classes[point] & KIND
        if kind == OTHER or kind == ALONE or (alone and kind != MARK):
            out[n] = half_mix(h)
            n += 1 if h != ZERO else 0
            h = ZERO
            alone = kind == ALONE
        if kind != OTHER:
            h = folded(h, point, folds, multi)
    out[n] = half_mix(h)
    return n + (1 if h != ZERO else 0)


@jit
def lines(data: Any, start: int, end: int, squeeze: bool, classes: Any, folds: Any, multi: Any, out: Any) -> int:
    """Hash the non-blank lines; `squeeze` trims them and replaces each run of white space by one blank."""
    n = 0
    h = CHARS
    blank = True
    gap = False
    i = start
    while i <= end:
        if i == end or data[i] == NEWLINE:
            i += 1
            out[n] = half_mix(h)
            n += 0 if blank else 1
            h = CHARS
            blank = True
            gap = False
            continue
        point, i = code_point(data, i, end)
        if vanishes(point, folds, multi):
            continue
        space = (classes[point] & SPACE) != 0
        if squeeze and space:
            gap = not blank
            continue
        if gap:
            h = (h + BLANK) * CHARS
            gap = False
        blank = blank and space
        h = folded(h, point, folds, multi)
    return n


@jit
def characters(
    data: Any, start: int, end: int, squeeze: bool, no_punctuation: bool, classes: Any, folds: Any, multi: Any, out: Any
) -> int:
    """Write folded code points + 1; `squeeze` trims the text and replaces each run of white space by one blank."""
    n = 0
    gap = False
    i = start
    while i < end:
        point, i = code_point(data, i, end)
        kind = classes[point]
        if (no_punctuation and (kind & PUNCTUATION) != 0) or vanishes(point, folds, multi):
            continue
        if squeeze and (kind & SPACE) != 0:
            gap = n > 0
            continue
        if gap:
            out[n] = BLANK + ONE
            n += 1
            gap = False
        fold = folds[point]
        if fold >= 0:
            out[n] = np.uint64(fold) + ONE
            n += 1
            continue
        for j in range(3):
            part = multi[-1 - fold, j]
            if part == 0:
                break
            out[n] = np.uint64(part) + ONE
            n += 1
    return n


@jit
def all_words(data: Any, offsets: Any, tables: Any, out: Any, out_offsets: Any) -> None:
    """Hash the words of every document.

    data u8[bytes]; offsets i64[n+1]; tables: kernels.unicode.FoldingTables; out u64[at least bytes/2 + n + 1];
    out_offsets i64[n+1], out.
    """
    lut, classes, folds, multi = tables
    at = 0
    out_offsets[0] = 0
    for d in range(len(offsets) - 1):
        start, end = offsets[d], offsets[d + 1]
        if is_ascii(data, start, end):
            at += ascii_words(data, start, end, lut, out[at:])
        else:
            at += words(data, start, end, lut, classes, folds, multi, out[at:])
        out_offsets[d + 1] = at


@jit
def all_lines(data: Any, offsets: Any, squeeze: bool, tables: Any, out: Any, out_offsets: Any) -> None:
    """Hash the lines of every document. Arguments as in `all_words`, with out u64[at least bytes + n + 1]."""
    _, classes, folds, multi = tables
    at = 0
    out_offsets[0] = 0
    for d in range(len(offsets) - 1):
        at += lines(data, offsets[d], offsets[d + 1], squeeze, classes, folds, multi, out[at:])
        out_offsets[d + 1] = at


@jit
def all_characters(
    data: Any, offsets: Any, squeeze: bool, no_punctuation: bool, tables: Any, out: Any, out_offsets: Any
) -> None:
    """Write the folded code points of every document. Arguments as in `all_words`, out u64[at least 1.5 bytes + n]."""
    _, classes, folds, multi = tables
    at = 0
    out_offsets[0] = 0
    for d in range(len(offsets) - 1):
        start, end = offsets[d], offsets[d + 1]
        at += characters(data, start, end, squeeze, no_punctuation, classes, folds, multi, out[at:])
        out_offsets[d + 1] = at


@jit
def hash_strings(data: Any, offsets: Any, out: Any) -> None:  # data u8[bytes]; offsets i64[n+1]; out u64[n]
    """out[i] = hash of the bytes of string i, a user-supplied token. The empty string is a token too."""
    for s in range(len(out)):
        h = CHARS
        for i in range(offsets[s], offsets[s + 1]):
            h = (h + np.uint64(data[i]) + np.uint64(1)) * CHARS
        out[s] = half_mix(h)
