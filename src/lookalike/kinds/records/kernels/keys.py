"""Kernels of blocking keys: 64-bit numbers that matching records are likely to share."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, half_mix, mix
from lookalike.kinds.records.kernels.text import hash_letters

VALUE, WORDS, JOINED, STARTS, SOUNDS, SHINGLES = 1, 2, 4, 8, 16, 32
PREFIX_LETTERS = 3  # length of the prefix of each word in a `STARTS` key
BANDS, ROWS, SHINGLE = 8, 2, 3  # banding of the MinHash signature of letter shingles, for `SHINGLES`
# The Soundex class of each letter of the alphabet; 0 for letters that are ignored.
SOUND = np.array([0, 1, 2, 3, 0, 1, 2, 0, 0, 2, 2, 4, 5, 5, 0, 1, 2, 6, 2, 3, 0, 1, 0, 2, 0, 2], np.uint64)
ONE = np.uint64(1)


@jit
def sound(word: Any) -> Any:  # u16[m] -> u64
    """Return the hash of a phonetic code: the first letter, then up to five Soundex classes of consonants."""
    code = np.uint64(word[0])
    last = SOUND[word[0] - 97] if 97 <= word[0] <= 122 else np.uint64(0)
    heard = 0
    for i in range(1, len(word)):
        if not 97 <= word[i] <= 122:
            code = code * np.uint64(31) + np.uint64(word[i])
            continue
        here = SOUND[word[i] - 97]
        if here != np.uint64(0) and here != last:
            code = code * np.uint64(8) + here
            heard += 1
            if heard == 5:
                break
        last = here
    return mix(code)


@jit
def shingle_bands(letters: Any, salt: Any, out: Any) -> int:  # letters u16[m]; out u64[BANDS]
    """Write one key for each band of a MinHash signature of the shingles of three letters. Returns how many."""
    n = len(letters) - SHINGLE + 1
    if n < 1:
        return 0
    for band in range(BANDS):
        key = salt
        for row in range(ROWS):
            seed = mix(np.uint64(band * ROWS + row + 1))
            least = ~np.uint64(0)
            for i in range(n):
                least = min(least, mix(hash_letters(letters[i : i + SHINGLE]) ^ seed))
            key = (key + least) * CHARS
        out[band] = mix(key)
    return BANDS


@jit
def keys_of_values(
    letters: Any,  # u16
    offsets: Any,  # i64[v + 1], letters of each value
    starts: Any,  # i64[w]
    sizes: Any,  # i32[w]
    hashes: Any,  # u64[w]
    word_offsets: Any,  # i64[v + 1]
    kinds: int,  # bit mask of the kinds of keys
    salt: Any,  # u64: distinguishes the keys of fields, except for words
    out: Any,  # u64[3 w + (2 + BANDS) v], out
    out_offsets: Any,  # i64[v + 1], out
) -> None:
    """Write the keys of every value. Keys of words are the same in all fields; others are specific to their field."""
    at = 0
    out_offsets[0] = 0
    begun = np.empty(64, np.uint64)
    for v in range(len(offsets) - 1):
        first, end = word_offsets[v], word_offsets[v + 1]
        if kinds & VALUE and end - first > 1:
            out[at] = mix(hash_letters(letters[offsets[v] : offsets[v + 1]]) ^ salt)
            at += 1
        for w in range(first, end):
            word = letters[starts[w] : starts[w] + sizes[w]]
            if kinds & WORDS:
                out[at] = hashes[w]
                at += 1
            if kinds & JOINED and w + 1 < end:
                # Hash two adjacent words like one joined word, as which they may be written elsewhere.
                h = np.uint64(0)
                for i in range(len(word)):
                    h = (h + np.uint64(word[i]) + ONE) * CHARS
                for i in range(starts[w + 1], starts[w + 1] + sizes[w + 1]):
                    h = (h + np.uint64(letters[i]) + ONE) * CHARS
                out[at] = half_mix(h)
                at += 1
            if kinds & SOUNDS and len(word) > 3:
                out[at] = sound(word) ^ mix(salt)
                at += 1
        count = min(end - first, 64)
        if kinds & STARTS and count > 0:
            for w in range(count):
                size = min(PREFIX_LETTERS, sizes[first + w])
                begin = hash_letters(letters[starts[first + w] : starts[first + w] + size])
                place = w
                while place > 0 and begun[place - 1] > begin:
                    begun[place] = begun[place - 1]
                    place -= 1
                begun[place] = begin
            h = salt
            for part in begun[:count]:
                h = (h + part) * CHARS
            out[at] = mix(h + ONE)
            at += 1
        if kinds & SHINGLES:
            at += shingle_bands(letters[offsets[v] : offsets[v + 1]], salt, out[at:])
        out_offsets[v + 1] = at
