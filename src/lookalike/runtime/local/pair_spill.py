"""Candidate pairs set aside on disk, and read back in the order of their items without duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.runtime.local.spill import PostingSpill, SpilledArray, spans

CELL_BITS = 12  # 2^12 items in a row form a cell, the smallest range of items that is read back
ITEM_SHIFT = np.uint64(32)  # a pair is one item in the high 32 bits and another one in the low 32 bits


class SortedPairs(NamedTuple):
    """A spilled batch of sorted pairs. ends i64[cells]: where the pairs of each cell end."""

    pairs: SpilledArray
    ends: I64


class PairSpill:
    """Pairs on disk, sorted in batches; a batch of them is merged whenever it is read back.

    >>> with PairSpill(5) as spill:
    ...     for batch in ([(3, 1), (2, 0)], [(3, 1), (4, 1)]):
    ...         spill.add(np.array([first << 32 | second for first, second in batch], np.uint64))
    ...     [(int(pair) >> 32, int(pair) & 7) for piece in spill.pieces(0, 1, most=10) for pair in piece]
    [(2, 0), (3, 1), (4, 1)]
    """

    def __init__(self, items: int, folder: Path | None = None) -> None:
        """items: their number. folder: for the temporary file."""
        self.cells = -(-items // (1 << CELL_BITS))
        self._spill = PostingSpill(folder)
        self._batches: list[SortedPairs] = []
        self._counts = np.zeros(self.cells, np.int64)

    def __enter__(self) -> PairSpill:
        return self

    def __exit__(self, *_: object) -> None:
        self._spill.__exit__()

    def __len__(self) -> int:
        """Return the number of pairs, repeated ones included."""
        return int(self._counts.sum())

    def add(self, pairs: U64) -> None:
        """Sort a batch of pairs in place and write it to disk."""
        if len(pairs):
            pairs.sort()
            firsts = np.arange(1, self.cells + 1, dtype=np.uint64) << (ITEM_SHIFT + np.uint64(CELL_BITS))
            ends = np.searchsorted(pairs, firsts).astype(np.int64)
            self._batches.append(SortedPairs(self._spill.put(pairs), ends))
            self._counts += np.diff(ends, prepend=0)

    def pieces(self, low: int, high: int, *, most: int) -> Iterator[U64]:
        """Yield the distinct pairs whose first item is in the cells from `low` to `high` - 1, in ascending order.

        most: pairs in memory at a time, unless a single cell has more.
        """
        for begin, end in spans(self._counts[low:high], most):
            whole = [self._part(batch, low + begin, low + end) for batch in self._batches]
            if whole:
                yield np.unique(np.concatenate(whole))

    def _part(self, batch: SortedPairs, low: int, high: int) -> U64:
        start = int(batch.ends[low - 1]) if low else 0
        return self._spill.get(batch.pairs, start, int(batch.ends[high - 1]))
