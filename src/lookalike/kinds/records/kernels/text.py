"""Kernels of text normalisation: the values of a field as folded letters and words.

A letter is a folded code point in 16 bits (those above are mapped to the private use area). Punctuation and white space
become one blank between words; apostrophes are removed, so that "o'neil" is one word; each Han or kana character is a
word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, half_mix
from lookalike.kernels.tokens import code_point
from lookalike.kernels.unicode import ALONE, KIND, OTHER

BLANK = np.uint16(32)
APOSTROPHES = (0x27, 0x60, 0xB4, 0x2019, 0x02BC)
ZERO = np.uint64(0)


@jit
def short(point: int) -> Any:  # -> u16
    """Return the code point in 16 bits; those above 0xFFFF are mapped to the private use area."""
    if point < 0x10000:
        return np.uint16(point)
    return np.uint16(0xE000 | (point & 0x1FFF))


@jit
def fold_value(data: Any, start: int, end: int, compact: bool, tables: Any, out: Any) -> int:
    """Write the folded letters of one value, with one blank between words or, with `compact`, none. Returns how many.

    data u8[bytes]; tables kernels.unicode.Tables; out u16[at least 4 (end - start)].
    """
    _, classes, folds, multi = tables
    n = 0
    gap = False
    i = start
    while i < end:
        point, i = code_point(data, i, end)
        kind = classes[point] & KIND
        if kind == OTHER or point == 0x5F:
            gap = gap or point not in APOSTROPHES
            continue
        if (gap or kind == ALONE) and n > 0 and not compact and out[n - 1] != BLANK:
            out[n] = BLANK
            n += 1
        gap = kind == ALONE
        fold = folds[point]
        if fold >= 0:
            out[n] = short(fold)
            n += 1
            continue
        for j in range(3):
            part = multi[-1 - fold, j]
            if part == 0:
                break
            out[n] = short(part)
            n += 1
    return n


@jit
def fold_values(data: Any, offsets: Any, compact: bool, tables: Any, out: Any, out_offsets: Any) -> None:
    """As `fold_value`, for every value: offsets i64[n+1]; out u16[at least 4 bytes + n]; out_offsets i64[n+1], out."""
    at = 0
    out_offsets[0] = 0
    for v in range(len(offsets) - 1):
        at += fold_value(data, offsets[v], offsets[v + 1], compact, tables, out[at:])
        out_offsets[v + 1] = at


@jit
def hash_letters(letters: Any) -> Any:  # u16[m] -> u64
    """Return the hash of a sequence of letters."""
    h = ZERO
    for i in range(len(letters)):
        h = (h + np.uint64(letters[i]) + np.uint64(1)) * CHARS
    return half_mix(h)


@jit
def hash_values(letters: Any, offsets: Any, out: Any) -> None:  # letters u16; offsets i64[n+1]; out u64[n]
    """out[v] = the hash of value v; 0 for an empty one."""
    for v in range(len(out)):
        out[v] = hash_letters(letters[offsets[v] : offsets[v + 1]])


@jit
def find_words(letters: Any, offsets: Any, starts: Any, sizes: Any, hashes: Any, masks: Any, word_offsets: Any) -> int:
    """Find the words of every value: their positions, their hashes, and their letters as bits of a mask.

    letters u16; offsets i64[n+1]; starts i64[w], sizes i32[w], hashes u64[w], masks u64[w], out, with w at least half
    the letters + n; word_offsets i64[n+1], out. Returns the number of words.
    """
    at = 0
    word_offsets[0] = 0
    for v in range(len(offsets) - 1):
        i, end = offsets[v], offsets[v + 1]
        while i < end:
            stop = i
            mask = ZERO
            while stop < end and letters[stop] != BLANK:
                mask |= np.uint64(1) << (np.uint64(letters[stop]) & np.uint64(63))
                stop += 1
            starts[at] = i
            sizes[at] = stop - i
            hashes[at] = hash_letters(letters[i:stop])
            masks[at] = mask
            at += 1
            i = stop + 1
        word_offsets[v + 1] = at
    return at


@jit
def number_hashes(hashes: Any, table: Any, slots: Any, out: Any) -> int:
    """out[i] = the number of hashes[i], in the order of first occurrence; returns how many are distinct.

    hashes u64[n]; table u64[2**m], zeros, with more than n slots; slots u32[2**m]; out u32[n].
    """
    mask = np.uint64(len(table) - 1)
    count = 0
    for i in range(len(hashes)):
        key = hashes[i] | np.uint64(1)  # 0 marks an empty slot
        at = (key >> np.uint64(20)) & mask
        while table[at] != ZERO and table[at] != key:
            at = (at + np.uint64(1)) & mask
        if table[at] == ZERO:
            table[at] = key
            slots[at] = count
            count += 1
        out[i] = slots[at]
    return count


@jit
def count_words(words: Any, word_offsets: Any, counts: Any, last: Any, out: Any) -> None:
    """out[w] += the number of records whose value contains word w.

    words u32[t]; word_offsets i64[n+1]; counts i64[n]: the number of records with each value; last i64[distinct], -1;
    out i64[distinct].
    """
    for v in range(len(word_offsets) - 1):
        for t in range(word_offsets[v], word_offsets[v + 1]):
            w = words[t]
            if last[w] != v:
                last[w] = v
                out[w] += counts[v]
