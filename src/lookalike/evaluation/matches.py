"""Sets of matches with a common interface: a set of pairs, or a partition into groups.

Pairs are undirected. A partition never enumerates its pairs: a group of a million items has 500 billion of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U64

Mask = npt.NDArray[np.bool_]
LOW_BITS = np.uint64(0xFFFFFFFF)


class Matches(Protocol):
    """The interface of a set of matching pairs, by item number (below 2^32)."""

    @property
    def total(self) -> int:
        """Return the number of matching pairs."""
        ...

    def holds(self, left: I64, right: I64) -> Mask:
        """Return whether left[i] and right[i], two different items, match (bool[p])."""
        ...

    def partners(self, label: I64) -> I64:
        """Return for each item the number of matching items with the same label. label: i64[n]."""
        ...


@dataclass(frozen=True)
class PairSet:
    """A set of distinct pairs.

    keys: u64[p], sorted: smaller item << 32 | larger item; similarity: f64[p], NaN if unknown.

    >>> left, right, similarity = np.array([2, 1, 1, 3]), np.array([1, 2, 0, 3]), np.array([0.5, 0.7, 0.9, 1.0])
    >>> pairs, repeated, selves = PairSet.of(left, right, similarity)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist(), repeated, selves
    ([0, 1], [1, 2], [0.9, 0.7], 1, 1)
    """

    keys: U64
    similarity: F64

    @classmethod
    def of(cls, left: I64, right: I64, similarity: F64) -> tuple[PairSet, int, int]:
        """Return the distinct pairs, the number of repeated pairs, and the number of pairs of an item with itself.

        The latter two are dropped. A repeated pair has the highest of its similarities.
        """
        keys = _keys(left, right)
        two = left != right
        selves = int(len(two) - np.count_nonzero(two))
        if selves:
            keys, similarity = keys[two], similarity[two]
        if np.any(keys[1:] <= keys[:-1]):
            order = np.argsort(keys)
            keys, similarity = keys[order], similarity[order]
        starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(keys)), np.bool_), keys[1:] != keys[:-1]]))
        repeated = len(keys) - len(starts)
        if repeated:
            # fmax prefers numbers to NaN
            keys, similarity = keys[starts], np.fmax.reduceat(similarity, starts)
        return cls(keys, similarity), repeated, selves

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def left(self) -> I64:
        return (self.keys >> np.uint64(32)).astype(np.int64)

    @cached_property
    def right(self) -> I64:
        return (self.keys & LOW_BITS).astype(np.int64)

    @cached_property
    def by_similarity(self) -> I64:
        """Return the indices of the pairs by descending similarity, those without a similarity last."""
        return np.argsort(-self.similarity, kind="stable")

    @property
    def total(self) -> int:
        return len(self.keys)

    def holds(self, left: I64, right: I64) -> Mask:
        wanted = _keys(left, right)
        if len(self.keys) == 0:
            return np.zeros(len(wanted), np.bool_)
        place = np.searchsorted(self.keys, wanted)
        found: Mask = self.keys[np.minimum(place, len(self.keys) - 1)] == wanted
        return found

    def partners(self, label: I64) -> I64:
        left, right = self.left, self.right
        same = label[left] == label[right]
        ends = np.concatenate([left[same], right[same]])
        return np.bincount(ends, minlength=len(label)).astype(np.int64)


@dataclass(frozen=True)
class Partition:
    """A partition of items into groups. label: i64[n], the number of each item's group, which may be a single item.

    >>> groups = Partition.of(np.array([7, -1, 7, -1]))
    >>> groups.total, groups.holds(np.array([0, 1]), np.array([2, 3])).tolist(), groups.sizes.tolist()
    (1, [True, False], [2, 1, 1])
    """

    label: I64

    @classmethod
    def of(cls, label: I64) -> Partition:
        """Make a partition from small group numbers; an item with a negative number is a group of one."""
        free = int(label.max(initial=-1)) + 1
        alone = np.where(label < 0, free + np.arange(len(label)), label)
        used = np.bincount(alone) > 0
        return cls((np.cumsum(used) - 1)[alone])

    @cached_property
    def sizes(self) -> I64:
        return np.bincount(self.label).astype(np.int64)

    @property
    def total(self) -> int:
        return int(pairs_within(self.sizes).sum())

    def holds(self, left: I64, right: I64) -> Mask:
        same: Mask = self.label[left] == self.label[right]
        return same

    def partners(self, label: I64) -> I64:
        _, cell, size = np.unique(cells(self.label, label), return_inverse=True, return_counts=True)
        return (size[cell] - 1).astype(np.int64)


def pairs_within(sizes: I64) -> I64:
    """Return the number of pairs within groups of these sizes."""
    return sizes * (sizes - 1) // 2


def cells(one: I64, other: I64) -> I64:
    """Return a number for each item that is equal for items with the same two labels."""
    return one * (int(other.max(initial=0)) + 1) + other


def unmatched(one: PairSet | Partition, other: Matches, most: int) -> tuple[I64, I64, F64]:
    """Return up to `most` pairs of `one` that are not in `other`: (left, right, similarity or NaN).

    Pairs are ordered by descending similarity; for the order of those of groups see `missing_pairs`.
    """
    if isinstance(one, Partition):
        left, right = missing_pairs(one, other, most)
        return left, right, np.full(len(left), np.nan)
    lost = ~other.holds(one.left, one.right)
    first = one.by_similarity[lost[one.by_similarity]][:most]
    return one.left[first], one.right[first], one.similarity[first]


def missing_pairs(groups: Partition, found: Matches, most: int) -> tuple[I64, I64]:
    """Return up to `most` pairs that are within a group but not in `found`, spread over the groups.

    Groups with the most missing pairs come first, and in each the items with the most missing partners. Only groups
    from which pairs are taken are scanned: the cost is that of `found.partners` plus about `most` scans of a group.
    """
    label, sizes = groups.label, groups.sizes
    lacking = sizes[label] - 1 - found.partners(label)
    lost = np.bincount(label, weights=lacking).astype(np.int64) // 2
    worst = np.argsort(-lost, kind="stable")[: min(most, int(np.count_nonzero(lost)))]
    by_group = np.argsort(label, kind="stable")
    ends = np.cumsum(sizes)
    pieces: list[tuple[I64, I64]] = []
    for group, share in zip(worst.tolist(), _shares(lost[worst].tolist(), most), strict=True):
        members = by_group[ends[group] - sizes[group] : ends[group]]
        for left, right in _missing_within(members, lacking[members], found):
            pieces.append((left[:share], right[:share]))
            share -= len(pieces[-1][0])
            if share == 0:
                break
    if not pieces:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([left for left, _ in pieces]), np.concatenate([right for _, right in pieces])


def _shares(lost: list[int], room: int) -> list[int]:
    """Return the number of pairs to take from each group: as even as possible, and `room` in total if available.

    lost: the number of missing pairs of each group, in descending order.

    >>> _shares([10, 3, 1], 8)
    [4, 3, 1]
    """
    shares = []
    for left, most in zip(range(len(lost), 0, -1), reversed(lost), strict=True):
        shares.append(min(most, room // left))
        room -= shares[-1]
    return shares[::-1]


def _missing_within(members: I64, lacking: I64, found: Matches) -> Iterator[tuple[I64, I64]]:
    ordered = members[np.argsort(-lacking, kind="stable")]
    for place in range(int(np.count_nonzero(lacking))):
        others = ordered[place + 1 :]  # the pairs with earlier items have been checked already
        item = np.full(len(others), ordered[place])
        gone = ~found.holds(item, others)
        yield item[gone], others[gone]


def _keys(left: I64, right: I64) -> U64:
    low, high = np.minimum(left, right).astype(np.uint64), np.maximum(left, right).astype(np.uint64)
    keys: U64 = (low << np.uint64(32)) | high
    return keys
