"""Rows on disk of which equal ones count once: the distinct rows are numbered through, the copies are listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U64
from lookalike.runtime.local.memory_needs import check_memory
from lookalike.runtime.local.stored_array import StoredArray
from lookalike.runtime.local.work_folder import Workspace

Mask = npt.NDArray[np.bool_]
Prints = Callable[[int, int], U64]  # fingerprints of the rows from low to high - 1
Same = Callable[[I64, I64], Mask]  # whether rows left[i] and right[i], in ascending order of left, are equal
ROWS_PER_MASK_BLOCK = 1 << 16  # rows that are read or numbered together
PRINT_BYTES = 24  # bytes of memory per fingerprint while repeated ones are searched
COPY_BYTES = 100  # bytes of memory per row that occurs several times
PRINT_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplied by it, fingerprints are spread over the parts


def grouped(numbers: I64) -> Iterator[tuple[int, I64]]:
    """Yield each distinct number and the positions at which it is.

    >>> [(number, at.tolist()) for number, at in grouped(np.array([7, 3, 7]))]
    [(3, [1]), (7, [0, 2])]
    """
    order = np.argsort(numbers, kind="stable")
    known, counts = np.unique(numbers[order], return_counts=True)
    ends = np.cumsum(counts)
    for number, begin, end in zip(known.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True):
        yield number, order[begin:end]


class RowMask:
    """The rows that take part, numbered through as items.

    >>> mask = RowMask(np.array([True, False, True, True]))
    >>> mask.rows_of(np.array([1, 2])).tolist(), mask.items_of(np.array([0, 3])).tolist()
    ([2, 3], [0, 2])
    """

    def __init__(self, kept: Mask) -> None:
        self.kept = kept
        counts = [
            int(np.count_nonzero(kept[at : at + ROWS_PER_MASK_BLOCK]))
            for at in range(0, len(kept), ROWS_PER_MASK_BLOCK)
        ]
        self._before: I64 = np.cumsum([0, *counts])  # items before each block
        self.is_all = len(self) == len(kept)

    def __len__(self) -> int:
        """Return the number of items."""
        return int(self._before[-1])

    def rows_of(self, items: I64) -> I64:
        """Return the row of each item."""
        if self.is_all:
            return items
        blocks = np.searchsorted(self._before, items, side="right") - 1
        out = np.empty(len(items), np.int64)
        for block, some in grouped(blocks):
            rows = np.flatnonzero(self.kept[block * ROWS_PER_MASK_BLOCK : (block + 1) * ROWS_PER_MASK_BLOCK])
            out[some] = block * ROWS_PER_MASK_BLOCK + rows[items[some] - self._before[block]]
        return out

    def items_of(self, rows: I64) -> I64:
        """Return the item of each row that takes part."""
        if self.is_all:
            return rows
        blocks = rows // ROWS_PER_MASK_BLOCK
        out = np.empty(len(rows), np.int64)
        for block, some in grouped(blocks):
            rank = np.cumsum(self.kept[block * ROWS_PER_MASK_BLOCK : (block + 1) * ROWS_PER_MASK_BLOCK]) - 1
            out[some] = self._before[block] + rank[rows[some] - block * ROWS_PER_MASK_BLOCK]
        return out


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of a stored array, as items. mask: the first row of each class of equal rows."""

    stored: StoredArray
    mask: RowMask

    def __len__(self) -> int:
        return len(self.mask)

    @property
    def row_bytes(self) -> int:
        return self.stored.row_bytes

    def block(self, low: int, high: int) -> npt.NDArray[Any]:
        """Return the items from `low` to `high` - 1."""
        if self.mask.is_all or low >= high:
            return self.stored.read(low, high)
        first, last = self.mask.rows_of(np.array([low, high - 1])).tolist()
        return self.stored.read(first, last + 1)[self.mask.kept[first : last + 1]]

    def gather(self, items: I64) -> npt.NDArray[Any]:
        """Return these items, which must be in ascending order."""
        return self.stored.gather(self.mask.rows_of(items))


@dataclass(frozen=True)
class RepeatedRows:
    """Rows that equal an earlier one. rows i64[m], ascending; firsts i64[m]: the first row of the same class."""

    rows: I64
    firsts: I64

    def mask(self, good: Mask) -> RowMask:
        """Return the rows that are good and no copies."""
        good[self.rows] = False
        return RowMask(good)

    def sides(self, mask: RowMask, split: int) -> npt.NDArray[np.uint8] | None:
        """Return in which collections each class is: 1, 2, or 3 for both; None for a single collection. u8[c]"""
        if split < 0:
            return None
        sides = np.full(len(mask), 2, np.uint8)
        sides[: int(np.count_nonzero(mask.kept[:split]))] = 1
        both = self.firsts[(self.firsts < split) & (self.rows >= split)]
        sides[mask.items_of(np.unique(both))] = 3
        return sides


def find_copies(prints: Prints, good: Mask, same: Same, space: Workspace, room: int) -> RepeatedRows:
    """Find the rows that equal an earlier one: exactly, because rows with equal fingerprints are compared.

    Fingerprints are sorted in as many parts as fit into `room` bytes, each from one pass over all fingerprints.
    """
    repeated = _repeated(prints, good, room)
    if not len(repeated):
        return RepeatedRows(np.empty(0, np.int64), np.empty(0, np.int64))
    rows: list[I64] = []
    known: list[U64] = []

    def check() -> None:
        count = sum(map(len, rows))
        check_memory(space.keeper, COPY_BYTES * count, lambda: f"the list of {count:,} rows that occur several times")

    for low in range(0, len(good), ROWS_PER_MASK_BLOCK):
        mine = prints(low, min(low + ROWS_PER_MASK_BLOCK, len(good)))
        place = np.minimum(np.searchsorted(repeated, mine), len(repeated) - 1)
        here = np.flatnonzero((repeated[place] == mine) & good[low : low + ROWS_PER_MASK_BLOCK])
        rows.append(low + here)
        known.append(mine[here])
        check()
    row, mine = np.concatenate(rows), np.concatenate(known)
    order = np.argsort(mine, kind="stable")
    row, mine = row[order], mine[order]
    new = np.ones(len(row), np.bool_)
    new[1:] = mine[1:] != mine[:-1]
    firsts = row[np.flatnonzero(new)[np.cumsum(new) - 1]]
    row, firsts = row[~new], firsts[~new]
    order = np.argsort(firsts, kind="stable")
    equal = [
        same(firsts[some], row[some])
        for some in np.split(order, range(ROWS_PER_MASK_BLOCK, len(order), ROWS_PER_MASK_BLOCK))
    ]
    order = order[np.concatenate(equal)]
    order = order[np.argsort(row[order], kind="stable")]
    return RepeatedRows(row[order], firsts[order])


def _repeated(prints: Prints, good: Mask, room: int) -> U64:
    """Return the fingerprints that occur several times, in ascending order."""
    parts = max(1, -(-len(good) * PRINT_BYTES // room))
    found = [np.empty(0, np.uint64)]
    for part in range(parts):
        mine = []
        for low in range(0, len(good), ROWS_PER_MASK_BLOCK):
            some = prints(low, min(low + ROWS_PER_MASK_BLOCK, len(good)))[good[low : low + ROWS_PER_MASK_BLOCK]]
            if parts > 1:
                some = some[((some * PRINT_SPREAD) >> np.uint64(32)) % np.uint64(parts) == part]
            mine.append(some)
        whole = np.concatenate(mine) if mine else found[0]
        del mine
        whole.sort()
        found.append(np.unique(whole[1:][whole[1:] == whole[:-1]]))
    out: U64 = np.sort(np.concatenate(found))
    return out
