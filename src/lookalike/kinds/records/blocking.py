"""Blocking: candidates are the records that share the keys with the highest weights.

Blocks that are too large are intersected with one another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, I64, U32, U64
from lookalike.core.candidates import item_bits
from lookalike.kernels import hashing
from lookalike.kinds.records.fields import Field
from lookalike.kinds.records.kernels import blocking
from lookalike.kinds.records.kernels import keys as record_keys
from lookalike.kinds.records.rules import KEYS

MAX_BLOCK_SIZE = 100  # blocks with more records are oversized
HUB = 1000  # records with more matches than this do not connect others by two-hop pairs
CROSSED = 5  # number of oversized blocks of a record (the smallest) that are intersected with one another


@dataclass(frozen=True)
class ValueKeys:
    """The keys of each distinct value of a field: keys u64; offsets i64[v + 1]."""

    keys: U64
    offsets: I64

    @classmethod
    def of(cls, field: Field, number: int, kinds: Iterable[str]) -> ValueKeys:
        """Compute the keys of a field. number: the number of the field, which distinguishes its keys from others."""
        w = field.words
        n, code = len(field.offsets) - 1, sum(1 << KEYS.index(kind) for kind in kinds)
        room = 3 * len(w.starts) + (2 + record_keys.BANDS) * n
        keys, offsets = np.empty(room, np.uint64), np.empty(n + 1, np.int64)
        salt = np.empty(1, np.uint64)
        hashing.mix_all(np.array([number + 1], np.uint64), np.uint64(7), salt)
        record_keys.keys_of_values(
            w.letters, field.offsets, w.starts, w.sizes, field.word_hashes, w.offsets, code, salt[0], keys, offsets
        )
        return cls(keys[: offsets[-1]].copy(), offsets)

    def packed(self, values: npt.NDArray[np.int32], bits: int) -> U64:
        """Return every key of every record as u64: the high bits of the key, and below them the record number."""
        counts = np.diff(self.offsets)
        out = np.empty(int(counts[values[values >= 0]].sum()), np.uint64)
        blocking.pack_keys(values, self.keys, self.offsets, bits, out)
        return out


@dataclass(frozen=True)
class Buckets:
    """Blocks of records that share a key, with at least two records each.

    packed u64[t]: sorted keys and record numbers; begins, sizes i64[b]: the start of each block in `packed`, and its
    number of records.
    """

    packed: U64
    bits: int
    begins: I64
    sizes: I64

    @classmethod
    def sort(cls, packed: U64, bits: int, split: int) -> Buckets:
        packed.sort()
        begins, sizes = np.empty(len(packed) // 2 + 1, np.int64), np.empty(len(packed) // 2 + 1, np.int64)
        count = blocking.find_buckets(packed, bits, split, begins, sizes)
        return cls(packed, bits, begins[:count].copy(), sizes[:count].copy())

    def index(self, wanted: npt.NDArray[np.bool_], records: int) -> KeyIndex:
        """Return the index of the wanted blocks (bool[b]), by record and by block."""
        offsets = np.zeros(records + 1, np.int64)
        total = blocking.count_keys(self.packed, self.bits, self.begins, wanted, offsets)
        np.cumsum(offsets, out=offsets)
        keys, postings = np.empty(total, np.uint32), np.empty(total, np.uint32)
        ends = np.empty(int(wanted.sum()), np.int64)
        blocking.list_keys(self.packed, self.bits, self.begins, wanted, offsets[:-1].copy(), keys, postings, ends)
        return KeyIndex(keys, offsets, postings, ends, self.sizes[wanted])


@dataclass(frozen=True)
class KeyIndex:
    """An inverted index of blocks.

    keys u32[t], offsets i64[n + 1]: the blocks of each record; postings u32[t], ends i64[b]: the records of each block;
    sizes i64[b]: the number of records of each block.
    """

    keys: U32
    offsets: I64
    postings: U32
    ends: I64
    sizes: I64

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of_words(cls, words: U32, offsets: I64, holders: I64) -> KeyIndex:
        """Make an index in which every word is a key, however frequent.

        words u32[t], offsets i64[n + 1]: the words of each record; holders i64[words]: the records with each word.
        """
        ends = np.cumsum(holders) - holders
        postings = np.empty(len(words), np.uint32)
        blocking.transpose(words, offsets, ends, postings)
        return cls(words, offsets, postings, ends, holders)

    def with_more(self, other: KeyIndex) -> KeyIndex:
        """Return an index with the blocks of both."""
        keys = np.empty(len(self.keys) + len(other.keys), np.uint32)
        blocking.merge_keys(self.keys, self.offsets, other.keys, other.offsets, len(self.ends), keys)
        postings = np.concatenate([self.postings, other.postings])
        ends = np.concatenate([self.ends, other.ends + len(self.postings)])
        return KeyIndex(keys, self.offsets + other.offsets, postings, ends, np.concatenate([self.sizes, other.sizes]))

    def weights(self) -> F32:
        """Return the weight of each block in bits: log2((records + 1) / size)."""
        return np.asarray(np.log2((len(self) + 1) / self.sizes), np.float32)

    def nearest(self, span: tuple[int, int], weights: F32, split: int, k: int, least: float) -> U64:
        """Return the candidates (lower << 32 | higher) of the records from span[0] up to, but not including, span[1].

        Each record has at most k: those with the highest total weight of shared keys, of at least `least` bits.
        """
        low, high = span
        out = np.empty((high - low) * k, np.uint64)
        totals, touched = _scratch(len(self))
        count = blocking.nearest_by_keys(
            low,
            high,
            self.keys,
            self.offsets,
            self.postings,
            self.ends,
            weights,
            split,
            totals,
            touched,
            k,
            least,
            out,
        )
        return out[:count]


_own = threading.local()


def _scratch(records: int) -> tuple[F32, U32]:
    """Return scratch arrays of the calling thread (the first one zeroed), reused because allocation is expensive."""
    kept: tuple[F32, U32] | None = getattr(_own, "memory", None)
    if kept is None or len(kept[0]) != records:
        kept = np.zeros(records, np.float32), np.empty(records, np.uint32)
        _own.memory = kept
    return kept


@dataclass(frozen=True)
class OversizedBlocks:
    """A block with too many records to compare all of its pairs.

    records: the number of records; example: the number of one of them; key: the high bits of the shared key.
    """

    records: int
    example: int
    key: int


def index_keys(
    fields: Sequence[Field],
    split: int,
    mapped: Callable[[Callable[[int], U64], Iterable[int]], Iterator[U64]],
    *,
    crowd: int = MAX_BLOCK_SIZE,
) -> tuple[KeyIndex, list[OversizedBlocks], int]:
    """Return the index of all keys, the 100 largest oversized blocks, and how many records are in such blocks only.

    mapped: an ordered map, which may use threads. A block of more than `crowd` records has too many pairs. It is
    replaced by its intersections with other oversized blocks: records that share two of them share a smaller block.
    """
    n = len(fields[0].values)
    bits = item_bits(max(n, 2))

    def packed(number: int) -> U64:
        field = fields[number]
        return ValueKeys.of(field, number, field.rule.keys).packed(field.values, bits)

    buckets = Buckets.sort(np.concatenate(list(mapped(packed, range(len(fields))))), bits, split)
    crowded = buckets.sizes > crowd
    index = buckets.index(~crowded, n)
    if not crowded.any():
        return index, [], 0
    full = buckets.index(crowded, n)
    names = buckets.packed[buckets.begins[crowded]] & high_bits(bits)
    crosses = np.empty(n * CROSSED * (CROSSED - 1) // 2, np.uint64)
    count = blocking.cross_keys(full.keys, full.offsets, full.sizes, names, CROSSED, bits, crosses)
    crossed = Buckets.sort(crosses[:count], bits, split)
    index = index.with_more(crossed.index(crossed.sizes <= crowd, n))
    stranded = (np.diff(index.offsets) == 0) & (np.diff(full.offsets) > 0)
    mask = np.uint64((1 << bits) - 1)
    order = np.flatnonzero(crowded)[np.argsort(-buckets.sizes[crowded], kind="stable")]
    words = buckets.packed[buckets.begins[order]]
    return (
        index,
        [
            OversizedBlocks(int(buckets.sizes[b]), int(word & mask), int(word >> np.uint64(bits)))
            for b, word in zip(order[:100], words[:100], strict=True)
        ],
        int(stranded.sum()),
    )


def high_bits(bits: int) -> np.uint64:
    """Return the mask of the key in a packed word, whose lower `bits` bits are the record number."""
    return ~np.uint64((1 << bits) - 1)


def two_hop_pairs(friends: U64, records: int, most: int) -> U64:
    """Return at most `most` pairs (lower << 32 | higher) of records that match a third record but not each other.

    friends u64[p]: the matching pairs.
    """
    a, b = (friends >> np.uint64(32)).astype(np.uint32), friends.astype(np.uint32)
    one, other = np.concatenate([a, b]), np.concatenate([b, a])
    counts = np.bincount(one, minlength=records)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    out = np.empty(max(0, min(most, int((counts**2).sum()))), np.uint64)
    by_one = other[np.argsort(one, kind="stable")]
    return out[: blocking.friends_of_friends(offsets, by_one, HUB, np.zeros(records, np.uint32), out)]
