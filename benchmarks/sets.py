"""Text to sets of word 5-shingles, written apart from the package it judges.

A word is a maximal run of alphanumeric characters (str.isalnum), underscores and combining marks, case-folded; a Han
ideograph or a kana, with its marks, is a word by itself. A document shorter than five words is one shingle; one
without words is empty and matches nothing.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
from numba import uint64

from compiler import jit, mix

K = 5
COUNTERS = 1 << 27
ALONE = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")
HAN_SIGNS = "々〆〇〡〢〣〤〥〦〧〨〩〸〹〺〻"


class _Kinds(dict[int, str]):
    """Each code point's part in a word, worked out when it is first met: see `kind_of`."""

    def __missing__(self, point: int) -> str:
        self[point] = kind = kind_of(chr(point))
        return kind


def kind_of(character: str) -> str:
    """m: a combining mark; a: Han or kana, a word by itself; w: any other part of a word; blank: no part of one."""
    if unicodedata.category(character).startswith("M"):
        return "m"
    if not (character.isalnum() or character == "_"):
        return " "
    return "a" if character in HAN_SIGNS or unicodedata.name(character, "").startswith(ALONE) else "w"


KINDS = _Kinds()
WORD = re.compile("am*|[wm]+")


def plain(text: str) -> str:
    """The words of a text, case-folded, with blanks between them: what the kernel then splits at ASCII alone."""
    folded = text.casefold()
    return " ".join(folded[word.start() : word.end()] for word in WORD.finditer(folded.translate(KINDS)))


@jit
def shingle(data: Any, offsets: Any, out: Any, ends: Any) -> Any:
    # data u8[]; offsets i32[d+1]: the documents; out u64[]: room for all shingles; ends i64[d+1]
    """Hash the shingles of each document, sorted, each once. Bytes from 128 on are letters."""
    ring = np.zeros(K, np.uint64)
    ends[0] = 0
    at = 0
    for d in range(len(offsets) - 1):
        first, words, inside, word = at, 0, False, uint64(0)
        for i in range(offsets[d], offsets[d + 1] + 1):
            byte = data[i] if i < offsets[d + 1] else 32
            upper = 65 <= byte <= 90
            if upper or 97 <= byte <= 122 or 48 <= byte <= 57 or byte == 95 or byte >= 128:
                word = mix(word + uint64(1 + byte + (32 if upper else 0)))
                inside = True
            elif inside:
                ring[words % K] = word
                words += 1
                inside, word = False, uint64(0)
                if words >= K:
                    out[at] = joined(ring, words, K)
                    at += 1
        if 0 < words < K:
            out[at] = joined(ring, words, words)
            at += 1
        out[first:at] = np.sort(out[first:at])
        write = first
        for i in range(first, at):
            if i == first or out[i] != out[i - 1]:
                out[write] = out[i]
                write += 1
        at = write
        ends[d + 1] = at


@jit
def joined(ring: Any, words: Any, size: Any) -> Any:
    """The hash of the last `size` words, in their order."""
    value = uint64(size)
    for i in range(words - size, words):
        value = mix(value * uint64(0x9E3779B97F4A7C15) + ring[i % K])
    return value


@jit
def order_by_frequency(elements: Any, offsets: Any, counts: Any) -> Any:
    # elements u64[nnz]; offsets i64[n+1]; counts u8[COUNTERS], zero at first
    """Put 8 bits of how common an element is in front of 56 bits of its hash, and sort each set: rare ones first."""
    mask = uint64(len(counts) - 1)
    for element in elements:
        cell = element & mask
        if counts[cell] < 255:
            counts[cell] += 1
    for i in range(len(elements)):
        elements[i] = (uint64(counts[elements[i] & mask]) << uint64(56)) | (elements[i] >> uint64(8))
    for d in range(len(offsets) - 1):
        elements[offsets[d] : offsets[d + 1]] = np.sort(elements[offsets[d] : offsets[d + 1]])


def _sets_of(texts: pa.StringArray) -> tuple[Any, Any]:
    """(elements, ends) of one batch."""
    ascii_only = pa.compute.string_is_ascii(texts).to_pylist()
    if not all(ascii_only):
        texts = pa.array(
            [text if is_ascii else plain(text) for text, is_ascii in zip(texts.to_pylist(), ascii_only, strict=True)],
            pa.string(),
        )
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    out = np.empty((int(starts[-1]) - int(starts[0])) // 2 + len(texts) + 1, np.uint64)
    ends = np.empty(len(starts), np.int64)
    shingle(letters, starts, out, ends)
    return out[: ends[-1]].copy(), ends


def sets_of(corpus: Path) -> tuple[Any, Any]:
    """(elements u64[nnz], offsets i64[n+1]) of a corpus, from the files next to it where they exist."""
    files = corpus.with_suffix(".elements.npy"), corpus.with_suffix(".offsets.npy")
    if not all(file.exists() for file in files):
        parts, ends = [], [np.zeros(1, np.int64)]
        for batch in pq.ParquetFile(corpus).iter_batches(columns=["text"], batch_size=10_000):
            elements, offsets = _sets_of(batch.column(0))
            parts.append(elements)
            ends.append(offsets[1:] + ends[-1][-1])
        elements, offsets = np.concatenate(parts), np.concatenate(ends)
        order_by_frequency(elements, offsets, np.zeros(COUNTERS, np.uint8))
        np.save(files[0], elements)
        np.save(files[1], offsets)
    return np.load(files[0]), np.load(files[1])
