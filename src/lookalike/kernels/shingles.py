"""Documents to sets: tokens -> k-shingles -> 64-bit elements, each once per document (or numbered, for bags).

A shingle's hash is the polynomial t1*B^(k-1) + ... + tk over its tokens, then mix. A document of fewer than k tokens
is one shingle; one without tokens is the empty set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels import tokens as text
from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import TOKENS, mix

WORD, CHAR, BYTE, LINE = 0, 1, 2, 3
ZERO, ONE = np.uint64(0), np.uint64(1)
HALF = np.uint64(32)


@jit
def roll(tokens: Any, n: int, k: int, narrow: bool, out: Any) -> int:  # tokens u64[>=n]; out u64[>=n]
    """The hash of each shingle in turn; returns how many. `narrow` keeps 32 bits. No element is 0."""
    if n == 0:
        return 0
    k = min(k, n)
    power = ONE
    h = ZERO
    for j in range(k - 1):
        power *= TOKENS
        h = h * TOKENS + tokens[j]
    for i in range(n - k + 1):
        h = h * TOKENS + tokens[i + k - 1]
        x = mix(h)
        if narrow:
            x >>= HALF
        out[i] = x if x != ZERO else ONE
        h -= tokens[i] * power
    return n - k + 1


@jit
def distinct(hashes: Any, n: int, table: Any, out: Any, at: int) -> int:  # hashes u64[n]; table u64[2**m >= 2n], zeros
    """Write the distinct hashes to out[at:], in order of first occurrence; returns the end. Leaves the table zero."""
    mask = np.uint64(len(table) - 1)
    start = at
    for i in range(n):
        x = hashes[i]
        slot = x & mask
        while table[slot] != ZERO and table[slot] != x:
            slot = (slot + ONE) & mask
        if table[slot] == ZERO:
            table[slot] = x
            out[at] = x
            at += 1
    if (at - start) * 8 > len(table):
        table[:] = ZERO
    else:
        for i in range(start, at):
            slot = out[i] & mask
            while table[slot] != ZERO:
                table[slot] = ZERO
                slot = (slot + ONE) & mask
    return at


@jit
def numbered(hashes: Any, n: int, table: Any, counts: Any, narrow: bool, out: Any, at: int) -> int:
    """As `distinct`, but the i-th occurrence of a hash is an element of its own. counts u64[len(table)], zeros."""
    mask = np.uint64(len(table) - 1)
    for i in range(n):
        x = hashes[i]
        slot = x & mask
        while table[slot] != ZERO and table[slot] != x:
            slot = (slot + ONE) & mask
        table[slot] = x
        element = x
        if counts[slot] != ZERO:
            element = mix(x + counts[slot] * TOKENS)
            if narrow:
                element >>= HALF
        counts[slot] += ONE
        out[at] = element if element != ZERO else ONE
        at += 1
    table[:] = ZERO
    counts[:] = ZERO
    return at


@jit
def table_size(n: int) -> int:
    """The power of two that holds n elements at most half full."""
    size = 16
    while size < 2 * n:
        size *= 2
    return size


@jit
def gather(tokens: Any, n: int, k: int, bag: bool, narrow: bool, work: Any, table: Any, counts: Any, out: Any, at: int) -> int:
    """Tokens of one document -> its elements in out[at:]; returns the end. work u64[>=n]; tables as above."""
    m = roll(tokens, n, k, narrow, work)
    size = table_size(m)
    if bag:
        return numbered(work, m, table[:size], counts[:size], narrow, out, at)
    return distinct(work, m, table[:size], out, at)


@jit
def shingle_texts(
    data: Any,  # u8[bytes], UTF-8
    offsets: Any,  # i64[n+1]
    unit: int,  # WORD, CHAR, BYTE or LINE
    k: int,
    bag: bool,
    narrow: bool,
    squeeze: bool,
    no_punctuation: bool,
    tables: Any,  # kernels.unicode.Tables
    out: Any,  # u64[at least max_tokens over all documents]
    ends: Any,  # i64[n], out: where the elements of each document end
) -> None:
    """The elements of every document, one after the other."""
    lut, classes, folds, multi = tables
    longest = 0
    for d in range(len(ends)):
        longest = max(longest, offsets[d + 1] - offsets[d])
    most = longest // 2 + 2 if unit == WORD else longest + longest // 2 + 2
    tokens = np.empty(most, np.uint64)
    work = np.empty(most, np.uint64)
    table = np.zeros(table_size(most), np.uint64)
    counts = np.zeros(len(table) if bag else 0, np.uint64)
    at = 0
    for d in range(len(ends)):
        start, end = offsets[d], offsets[d + 1]
        if unit == WORD:
            if text.is_ascii(data, start, end):
                n = text.ascii_words(data, start, end, lut, tokens)
            else:
                n = text.words(data, start, end, lut, classes, folds, multi, tokens)
        elif unit == CHAR:
            n = text.characters(data, start, end, squeeze, no_punctuation, classes, folds, multi, tokens)
        elif unit == LINE:
            n = text.lines(data, start, end, squeeze, classes, folds, multi, tokens)
        else:
            n = text.raw_bytes(data, start, end, tokens)
        at = gather(tokens, n, k, bag, narrow, work, table, counts, out, at)
        ends[d] = at


@jit
def shingle_tokens(tokens: Any, offsets: Any, k: int, bag: bool, narrow: bool, out: Any, ends: Any) -> None:
    """As `shingle_texts` for lists of token hashes: tokens u64[total]; offsets i64[n+1]; out u64[total]; ends i64[n]."""
    longest = 0
    for d in range(len(ends)):
        longest = max(longest, offsets[d + 1] - offsets[d])
    work = np.empty(longest, np.uint64)
    table = np.zeros(table_size(longest), np.uint64)
    counts = np.zeros(len(table) if bag else 0, np.uint64)
    at = 0
    for d in range(len(ends)):
        start, end = offsets[d], offsets[d + 1]
        at = gather(tokens[start:end], end - start, k, bag, narrow, work, table, counts, out, at)
        ends[d] = at
