"""Candidate pairs: items that share a bucket of a band, or a rare element (the exact join). Nothing is scored here.

Both methods split the work into blocks that an engine distributes over threads; `candidates(block)` yields batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U32, U64
from lookalike.core.measures import Bar
from lookalike.kernels import buckets, prefixes

LEVELS = (12 * np.log2(np.arange(1 << 16) + 1.0)).astype(np.uint8)  # level of each count; at most 192
PIECE = 1 << 18  # candidate pairs per batch
COPIED = 1 << 21  # maximum number of elements of a sample that are copied into memory
COUNTED_AT_ONCE = 128  # items whose elements are counted in one batch


@dataclass(frozen=True)
class Items:
    """The sets to join: elements u64[nnz]; starts, sizes i64[n]; sides u8[n] (1 left, 2 right, 3 both)."""

    elements: U64
    starts: I64
    sizes: I64
    sides: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, order: I64) -> Items:
        """Select items by number, in the given order, without copying elements."""
        return Items(self.elements, self.starts[order], self.sizes[order], self.sides[order])

    def sampled(self, order: I64, after: Callable[[], None] = lambda: None) -> Items:
        """Select items by number with a copy of their elements, unless there are more than COPIED elements.

        A sample is scattered over a memory-mapped file, where reading an item makes its neighbours resident too.
        after: called after every few items.
        """
        starts, sizes = self.starts[order], self.sizes[order]
        if sizes.sum() > COPIED:
            return self.take(order)
        ends = np.cumsum(sizes)
        elements = np.empty(int(ends[-1]) if len(ends) else 0, np.uint64)
        for at, (start, size, end) in enumerate(zip(starts.tolist(), sizes.tolist(), ends.tolist(), strict=True)):
            elements[end - size : end] = self.elements[start : start + size]
            if at % COUNTED_AT_ONCE == 0:
                after()
        return Items(elements, ends - sizes, sizes, self.sides[order])

    def part(self, low: int, high: int) -> Items:
        """Select the items from `low` to `high` - 1."""
        return Items(self.elements, self.starts[low:high], self.sizes[low:high], self.sides[low:high])


@dataclass(frozen=True)
class Candidates:
    """Candidate pairs by anchor: partners[ends[i-1]:ends[i]] may match anchors[i].

    anchors u32[a]; ends i64[a]; partners u32[p].
    """

    anchors: U32
    ends: I64
    partners: U32

    def __len__(self) -> int:
        return len(self.partners)


def item_bits(n: int) -> int:
    return max(1, int(n - 1).bit_length())


def commonness(sample: Items, after: Callable[[], None] = lambda: None) -> npt.NDArray[np.uint8]:
    """Return u8[2**m]: the frequency level of elements in the sampled items, 12 levels per doubling; 0 if not seen.

    An exact join is correct with any order of the elements. This one puts frequent elements last, with the finest
    resolution among the most frequent ones, and its table fits in the cache. after: called after every few items.
    """
    counts = np.zeros(1 << min(22, int(4 * sample.sizes.sum()).bit_length()), np.uint16)
    for low in range(0, len(sample), COUNTED_AT_ONCE):
        part = sample.part(low, low + COUNTED_AT_ONCE)
        prefixes.count_elements(part.elements, part.starts, part.sizes, counts)
        after()
    levels: npt.NDArray[np.uint8] = LEVELS[counts]
    return levels


@dataclass(frozen=True)
class Band:
    """The sorted keys of one band. packed u64[n]: the key in the high bits, the item number in the low bits."""

    number: int
    packed: U64

    @classmethod
    def sort(cls, keys: U64, number: int) -> Band:
        packed = np.empty(len(keys), np.uint64)
        buckets.pack(keys, number, item_bits(len(keys)), packed)
        packed.sort()
        return cls(number, packed)

    def bucket_pairs(self) -> tuple[int, int]:
        """Return the number of pairs that share a bucket, and the size of the largest bucket."""
        total, largest, _ = buckets.pairs_in_buckets(self.packed, item_bits(len(self.packed)))
        return int(total), int(largest)

    def count_sizes(self, out: I64) -> None:
        """Add the number of buckets per doubling of the bucket size to out i64[d]."""
        buckets.bucket_sizes(self.packed, item_bits(len(self.packed)), out)

    def blocks(self, size: int) -> list[tuple[int, int]]:
        return [(at, min(at + size, len(self.packed))) for at in range(0, len(self.packed), size)]

    def candidates(
        self, block: tuple[int, int], items: Items, keys: U64, values: U32, cut: int, bar: Bar
    ) -> Iterator[Candidates]:
        """Yield pairs that share no earlier bucket and may match by size and signature (`cut` slots agree)."""
        at, stop = block
        while at < stop:
            anchors, ends = np.empty(stop - at, np.uint32), np.empty(stop - at, np.int64)
            partners = np.empty(max(len(items), PIECE), np.uint32)
            at, a, p = buckets.band_candidates(
                self.packed, item_bits(len(self.packed)), at, stop, self.number, keys, values, cut,
                items.sizes, items.sides, bar.code, bar.num, bar.den, anchors, ends, partners,
            )  # fmt: skip
            yield Candidates(anchors[:a], ends[:a], partners[:p])

    def listed(self, items: Items, bar: Bar) -> Iterator[U64]:
        """Yield the pairs that share a bucket and may match by size, whether or not they share an earlier bucket.

        A pair is the number of its later item in the high 32 bits, and of its earlier item in the low ones.
        """
        at = 0
        while at < len(self.packed):
            out = np.empty(max(len(items), PIECE), np.uint64)
            at, count = buckets.list_pairs(
                self.packed, item_bits(len(self.packed)), at, items.sizes, items.sides, bar.code, bar.num, bar.den, out
            )
            yield out[:count]


@dataclass(frozen=True)
class Postings:
    """The inverted index of the prefixes of items, which are sorted by size.

    split: pairs are formed between items before `split` and the others; -1: between any two items.
    """

    items: Items
    bar: Bar
    index: I64
    packed: U64
    bits: int
    position: U32
    owner: U32
    ends: I64
    split: int = -1

    def bucket_pairs(self) -> tuple[int, int, int]:
        """Return the number of pairs of postings with equal elements, and length and start of the longest list."""
        total, longest, where = buckets.pairs_in_buckets(self.packed, self.bits)
        return int(total), int(longest), int(where)

    def visits(self) -> int:
        """Count the postings that the search for candidates reads."""
        return int(
            prefixes.count_visits(
                self.packed, self.bits, self.position, self.owner, self.ends, self.items.sizes, *self.bar
            )
        )

    def count_sizes(self, out: I64) -> None:
        """Add the number of inverted lists per doubling of their length to out i64[d]."""
        buckets.bucket_sizes(self.packed, self.bits, out)

    def blocks(self, size: int) -> list[tuple[int, int]]:
        first = max(0, self.split)
        return [(at, min(at + size, len(self.items))) for at in range(first, len(self.items), size)]

    def candidates(self, block: tuple[int, int]) -> Iterator[Candidates]:
        """Yield every pair that can reach the threshold, and few others, by prefix, length and positional filters."""
        at, stop = block
        met = np.zeros(len(self.items), np.bool_)
        while at < stop:
            anchors, ends = np.empty(stop - at, np.uint32), np.empty(stop - at, np.int64)
            partners = np.empty(max(2 * len(self.items), PIECE), np.uint32)
            at, a, p = prefixes.prefix_candidates(
                at, stop, self.packed, self.bits, self.position, self.owner, self.ends, self.index,
                self.items.sizes, self.items.sides, self.bar.code, self.bar.num, self.bar.den,
                self.split if self.split >= 0 else len(self.items), met,
                anchors, ends, partners,
            )  # fmt: skip
            yield Candidates(anchors[:a], ends[:a], partners[:p])
