"""Convert a column of a table to a field that can be compared: distinct values, folded and split into words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64, I64, U32, U64
from lookalike.core.arrow import as_arrow, as_numpy
from lookalike.kernels import hashing, tokens, unicode
from lookalike.kinds.records.dates import standard_date
from lookalike.kinds.records.kernels import text as kernel
from lookalike.kinds.records.kernels.similarity import Words
from lookalike.kinds.records.rules import COMPACT, FieldRule
from lookalike.kinds.records.units import texts_with_units

I32 = npt.NDArray[np.int32]
U16 = npt.NDArray[np.uint16]
NO_OFFSETS = np.zeros(1, np.int64)
NUMBER_SALT = np.uint64(17)


@dataclass(frozen=True)
class Field:
    """A column of records, dictionary-encoded.

    values i32[n]: the index of each record's distinct value, -1 for a missing value; texts: the distinct values as in
    the input; of values that are equal after folding, `values` refers to the first; offsets i64[v + 1], hashes u64[v],
    words: of the folded values; word_hashes u64[words]: equal for equal words of all fields.
    """

    rule: FieldRule
    values: I32
    texts: pa.Array
    offsets: I64
    hashes: U64
    words: Words
    word_hashes: U64

    @property
    def letters(self) -> U16:
        return self.words.letters

    def text(self, record: int) -> str | None:
        """Return the value of a record as in the input, or the first value that is equal to it after folding."""
        place = int(self.values[record])
        return None if place < 0 else str(self.texts[place])

    @cached_property
    def numbers(self) -> F64:
        """Return the distinct values as numbers; NaN for those that are not numbers."""
        return numbers_of(self.texts)

    @cached_property
    def days(self) -> F64:
        """Return the distinct values as days since 1970; NaN for those that are not dates, and a NaN at the end.

        The last one is for missing values, whose index is -1.
        """
        out = np.full(len(self.offsets), np.nan)
        for v in np.flatnonzero(np.diff(self.offsets) == 8):
            text = self.letters[self.offsets[v] : self.offsets[v + 1]].astype(np.uint8).tobytes().decode("latin-1")
            if text.isdigit():
                try:
                    out[v] = np.datetime64(f"{text[:4]}-{text[4:6]}-{text[6:]}", "D").astype(np.int64)
                except ValueError:
                    continue
        return out


def make_field(column: pa.ChunkedArray, rule: FieldRule) -> Field:
    """Fold and number the values of a text column. A value without letters and digits counts as missing.

    >>> names = pa.chunked_array([["O'Neil, Ann", "ann oneil", None, "O'NEIL ANN"]])
    >>> make_field(names, FieldRule(column="name")).values.tolist()
    [0, 1, -1, 0]
    """
    texts, raw = _distinct(column)
    shown = texts
    if rule.compare == "date":
        texts = _texts([standard_date(text) or "" for text in texts.to_pylist()])
    elif rule.compare == "words":
        texts = texts_with_units(texts)
    letters, offsets = _fold(texts, compact=rule.compare in COMPACT)
    hashes = np.empty(len(texts), np.uint64)
    kernel.hash_values(letters, offsets, hashes)
    if rule.compare == "number":  # 1.5 and 15 have the same digits
        hashing.mix_all(hashes ^ (numbers_of(shown) + 0.0).view(np.uint64), NUMBER_SALT, hashes)
    first, same = number_hashes(hashes)
    # Values that are equal after folding get the index of the first one.
    place = np.where(np.diff(offsets) > 0, first[same], -1).astype(np.int32) if len(texts) else np.empty(0, np.int32)
    values = np.where(raw >= 0, place[np.maximum(raw, 0)], -1).astype(np.int32) if len(texts) else raw
    words, word_hashes = _words(letters, offsets, values)
    return Field(rule, values, shown, offsets, hashes, words, word_hashes)


def numbers_of(texts: pa.Array) -> F64:
    """Parse texts as numbers; NaN for those that are not numbers.

    >>> numbers_of(pa.array(["$1,500.50", "-3", "many"])).tolist()
    [1500.5, -3.0, nan]
    """
    plain = pc.replace_substring_regex(texts, r"[^0-9.\-]", "")
    good = pc.match_substring_regex(plain, r"^-?(\d+\.?\d*|\.\d+)$")
    numbers = np.full(len(texts), np.nan)
    numbers[as_numpy(good)] = as_numpy(plain.filter(good).cast(pa.float64()))
    return numbers


def _distinct(column: pa.ChunkedArray) -> tuple[pa.Array, I32]:
    """Return the distinct values as large_string, and the index of each record's value among them (-1 for null).

    Values are distinguished by 64-bit hashes, which is several times faster than dictionary encoding.
    """
    texts = column.combine_chunks().cast(pa.large_string())
    missing = as_numpy(texts.is_null())
    # The bytes under a null do not matter; without the validity mask they are hashed like any other value.
    full = pa.Array.from_buffers(texts.type, len(texts), [None, *texts.buffers()[1:]], offset=texts.offset)
    hashes = np.empty(len(full), np.uint64)
    _, offsets, data = full.buffers()
    window = np.frombuffer(offsets, np.int64)[full.offset : full.offset + len(full) + 1] if len(full) else NO_OFFSETS
    tokens.hash_strings(np.frombuffer(data, np.uint8) if data else np.zeros(1, np.uint8), window, hashes)
    first, places = number_hashes(hashes)
    return full.take(as_arrow(first)), np.where(missing, -1, places.astype(np.int32))


def _texts(values: list[str]) -> pa.Array:
    """Return the values as large_string. (`pa.array` would import pandas to inspect them.)"""
    parts = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, parts)])
    return pa.Array.from_buffers(
        pa.large_string(), len(parts), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(parts))]
    )


def _fold(texts: pa.Array, *, compact: bool) -> tuple[U16, I64]:
    _, offsets, data = texts.buffers()
    window = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    room = int(window[-1] - window[0]) if len(texts) else 0
    out, ends = np.empty(4 * room + len(texts) + 1, np.uint16), np.zeros(len(texts) + 1, np.int64)
    bytes_ = np.frombuffer(data, np.uint8) if data else np.zeros(1, np.uint8)
    kernel.fold_values(bytes_, window, compact, unicode.tables(True, True), out, ends)
    return out[: ends[-1]].copy(), ends


def number_hashes(hashes: U64) -> tuple[I64, U32]:
    """Return the first position of each distinct hash, and for each hash the number of its distinct one."""
    size = 1 << max(4, int(2 * len(hashes)).bit_length())
    out = np.empty(len(hashes), np.uint32)
    count = kernel.number_hashes(hashes, np.zeros(size, np.uint64), np.empty(size, np.uint32), out)
    first = np.empty(count, np.int64)
    first[out[::-1]] = np.arange(len(hashes))[::-1]
    return first, out


def _words(letters: U16, offsets: I64, values: I32) -> tuple[Words, U64]:
    n = len(offsets) - 1
    room = len(letters) // 2 + n + 1
    starts, sizes = np.empty(room, np.int64), np.empty(room, np.int32)
    hashes, masks, ends = np.empty(room, np.uint64), np.empty(room, np.uint64), np.zeros(n + 1, np.int64)
    count = kernel.find_words(letters, offsets, starts, sizes, hashes, masks, ends)
    first, ids = number_hashes(hashes[:count])
    often = np.bincount(values[values >= 0], minlength=n).astype(np.int64)
    holders = np.zeros(len(first), np.int64)
    kernel.count_words(ids, ends, often, np.full(len(first), -1, np.int64), holders)
    weights = rarity(holders, int(often.sum()))
    made = Words(letters, starts[:count].copy(), sizes[:count].copy(), masks[:count].copy(), ids, weights, ends)
    return made, hashes[:count].copy()


def rarity(holders: I64, records: int) -> npt.NDArray[np.float32]:
    """Return the weight of words: their squared inverse document frequency, log2((records + 1) / holders) ** 2.

    >>> rarity(np.array([1, 7]), 7).round(2).tolist()
    [9.0, 0.03999999910593033]
    """
    return np.asarray(np.log2((records + 1) / np.maximum(holders, 1)) ** 2, np.float32)
