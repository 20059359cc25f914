"""The candidates of a banded join whose sets are in a file: listed first, then verified in the order of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from lookalike.core.arrays import I64, Recipe
from lookalike.core.candidates import Band, Candidates, Items
from lookalike.core.measures import Bar
from lookalike.core.verification import estimated, verified
from lookalike.kernels import buckets
from lookalike.kinds.documents.signatures import sketch_items
from lookalike.runtime.local.gathered import BYTES_PER_ELEMENT, gathered
from lookalike.runtime.local.joins import Block, Pieces, Report
from lookalike.runtime.local.pair_store import MEMORY_PER_KEPT_PAIR, FoundPairs, PairStore
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.spill import spans
from lookalike.runtime.local.work_folder import Workspace

PART_ITEMS = 1 << 17  # items per checkpoint
TASK_SHARE = 32  # 1/32 of the memory budget holds the sets that the running tasks compare,
LEAST_TASK, MOST_TASK = 1 << 22, 1 << 26  # within these bytes for each task
PIECE_SHARE = 8  # 1/8 of the memory budget holds a piece


def parts(items: int) -> list[tuple[int, int]]:
    """Return the ranges of items that are checkpoints; they depend on the number of items only."""
    return [(low, min(low + PART_ITEMS, items)) for low in range(0, items, PART_ITEMS)]


@dataclass(frozen=True)
class DiskJoin:
    """A banded join of items whose sets are in an open file. bands: yields the sorted bands; cut: as in the plan."""

    bands: Callable[[], Iterator[Band]]
    items: Items
    file: int
    recipe: Recipe
    cut: int
    bar: Bar
    pool: Pool
    space: Workspace

    def units(self, report: Report, *, exact: bool) -> Iterator[tuple[str, Pieces]]:
        """Yield the units of work: the listing of the pairs of all bands, then one for each range of items.

        A resumed run lists the pairs again if a range is missing.
        """
        ranges = parts(len(self.items))
        listed = PairStore(self.space, "listed", most=self._held, scored=False, passing=True)
        done = False

        def listing(sizes: I64 | None) -> Iterator[tuple[Block, int]]:
            nonlocal done
            if not done:
                for band in self.bands():
                    if sizes is not None:
                        band.count_sizes(sizes)
                    for pairs in band.listed(self.items, self.bar):
                        listed.add(pairs.copy())  # not the buffer of which they are a part
                    self.pool.rest()
                done = True
            return iter(())

        def verifying(low: int, high: int, _: I64) -> Iterator[tuple[Block, int]]:
            listing(None)
            return self.pool.map(partial(self._verify, exact=exact), self._pieces(listed, low, high))

        yield "buckets", listing
        for number, (low, high) in enumerate(ranges):
            yield f"pairs-{number}" if exact else f"estimated-{number}", partial(verifying, low, high)
            report(number + 1, len(ranges))

    @property
    def _held(self) -> int:
        """Return the number of listed pairs in memory."""
        return self.space.budget // (PIECE_SHARE * MEMORY_PER_KEPT_PAIR)

    def _pieces(self, listed: PairStore, low: int, high: int) -> Iterator[FoundPairs]:
        """Yield the distinct pairs of the items from `low` to `high` - 1, as many at a time as one task verifies."""
        sizes, threads = self.items.sizes, self.pool.threads
        room = min(MOST_TASK, max(LEAST_TASK, self.space.budget // (TASK_SHARE * threads)))
        for pairs in listed.pieces(low << 32, high << 32, most=self._held):
            first = pairs.left
            read = sizes[pairs.right]
            new = np.ones(len(first), np.bool_)
            new[1:] = first[1:] != first[:-1]
            read[new] += sizes[first[new]]
            for begin, end in spans(read * BYTES_PER_ELEMENT, room):
                yield FoundPairs(pairs.keys[begin:end], pairs.scores)

    def _verify(self, pairs: FoundPairs, *, exact: bool) -> tuple[Block, int]:
        """Return the matching pairs, and the number of pairs whose signatures agree in at least `cut` slots.

        Signatures are computed again from the sets, which is cheaper than reading them. exact: as `verify` of
        `BandedJoin.pairs`.
        """
        numbers, local = np.unique(np.concatenate([pairs.left, pairs.right]), return_inverse=True)
        left, right = local[: len(pairs.keys)].astype(np.uint32), local[len(pairs.keys) :].astype(np.uint32)
        some = gathered(self.items, numbers, self.file)
        values = sketch_items(some.elements, some.starts, some.sizes, self.recipe).values
        agree = np.empty(len(pairs.keys), np.int64)
        buckets.agreements(values, left, right, agree)
        left, right = left[agree >= self.cut], right[agree >= self.cut]
        anchors, counts = np.unique(left, return_counts=True)
        candidates = Candidates(anchors, np.cumsum(counts), right)
        one, other, score = verified(some, candidates, self.bar) if exact else estimated(values, candidates)
        return (numbers[one].astype(np.uint32), numbers[other].astype(np.uint32), score), len(candidates)
