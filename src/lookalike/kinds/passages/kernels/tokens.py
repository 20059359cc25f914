"""Tokenisation of text into words with positions: a 32-bit hash per word, and its character range.

The words are those of `kernels.tokens`; characters are code points, as in Python. Positions refer to the original text,
before any folding, because they are shown to users.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, half_mix
from lookalike.kernels.tokens import code_point, folded, is_ascii
from lookalike.kernels.unicode import ALONE, KIND, MARK, OTHER

ZERO, HALF = np.uint64(0), np.uint64(32)


@jit
def narrow(h: Any) -> Any:  # u64 -> u32
    """Compute the 32-bit hash of a word from the sum over its characters."""
    return np.uint32(half_mix(h) >> HALF)


@jit
def ascii_places(data: Any, start: int, end: int, lut: Any, letters: int, out: Any, starts: Any, ends: Any) -> int:
    """Tokenise ASCII text; returns the number of words. letters: number of letters of a word that are hashed.

    data u8[bytes]; lut u8[256]; out, starts, ends u32[tokens].
    """
    part = data[start:end]
    n = 0
    h = ZERO
    for i in range(len(part)):
        c = np.uint64(lut[part[i]])
        if c != ZERO:
            if h == ZERO:
                starts[n] = i
            if i - starts[n] < letters:
                h = (h + c) * CHARS
        elif h != ZERO:
            out[n] = narrow(h)
            ends[n] = i
            n += 1
            h = ZERO
    if h != ZERO:
        out[n] = narrow(h)
        ends[n] = len(part)
        n += 1
    return n


@jit
def places(data: Any, start: int, end: int, tables: Any, letters: int, out: Any, starts: Any, ends: Any) -> int:
    """Tokenise any UTF-8 text into words; types as in `ascii_places`, tables kernels.unicode.Tables."""
    _, classes, folds, multi = tables
    n = at = last = 0  # at: characters before byte i; last: end of the current word so far
    h = ZERO
    alone = False  # the current word is a single ideograph or kana: only marks may follow
    i = start
    while i < end:
        point, i = code_point(data, i, end)
        kind = classes[point] & KIND
        if kind == OTHER or kind == ALONE or (alone and kind != MARK):
            if h != ZERO:
                out[n] = narrow(h)
                ends[n] = last
                n += 1
            h = ZERO
            alone = kind == ALONE
        if kind != OTHER:
            if h == ZERO:
                starts[n] = at
            if at - starts[n] < letters:
                h = folded(h, point, folds, multi)
            last = at + 1
        at += 1
    if h != ZERO:
        out[n] = narrow(h)
        ends[n] = last
        n += 1
    return n


@jit
def all_places(
    data: Any, offsets: Any, tables: Any, letters: int, out: Any, starts: Any, ends: Any, out_offsets: Any
) -> None:
    """Tokenise every document into words.

    data u8[bytes]; offsets i64[n+1]; tables kernels.unicode.Tables; letters: number of letters of a word that are
    hashed; out, starts, ends u32[at least bytes/2 + n + 1]; out_offsets i64[n+1], out.
    """
    at = 0
    out_offsets[0] = 0
    for d in range(len(offsets) - 1):
        first, last = offsets[d], offsets[d + 1]
        if is_ascii(data, first, last):
            at += ascii_places(data, first, last, tables[0], letters, out[at:], starts[at:], ends[at:])
        else:
            at += places(data, first, last, tables, letters, out[at:], starts[at:], ends[at:])
        out_offsets[d + 1] = at
