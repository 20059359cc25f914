"""Compare strings that would need too many keys with every stored string of a length in reach. Exact, as keys are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lookalike.core.arrays import I64
from lookalike.errors import UsageError
from lookalike.index.kinds import ScannedKind
from lookalike.index.store import Blobs, Store, StoreCandidates

SCAN_STEPS = 4 * 10**9  # cells of edit tables that the queries looked up together may fill; some seconds
ITEMS_AT_ONCE = 4096  # stored items that are read together


class OverBudget(UsageError):
    """Scans that would take more steps than a call may take."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


class Budget:
    """Steps that the scans of one call may take together."""

    def __init__(self) -> None:
        self._limit, self._spent = SCAN_STEPS, 0

    def spend(self, steps: int, *, letters: int, threshold: float) -> None:
        """Account for comparisons before they are made; UsageError where they exceed the budget."""
        self._spent += steps
        if self._spent > self._limit:
            raise OverBudget(
                f"a string of {letters:,} letters came; comparing it at {threshold:g} with the strings of similar "
                f"length would take this call beyond {self._limit:,} steps. Ask for nearer matches, for fewer long "
                "strings at once, or for parts of them.",
                self._limit,
            )


def candidates(
    store: Store, kind: ScannedKind, features: Blobs, queries: Sequence[int], threshold: float, budget: Budget | None
) -> Iterator[StoreCandidates]:
    """Yield the stored strings that these queries have to be compared with, in parts. budget: None for no limit."""
    sizes, after = np.diff(features.offsets), -1
    while len(items := store.after(after, ITEMS_AT_ONCE)):
        try:
            stored = store.features(items)
        except KeyError:  # an item was removed between the two calls
            continue
        starts, ends = stored.offsets[:-1], stored.offsets[1:]
        for query in queries:
            rows = in_reach(kind, int(sizes[query]), ends - starts, threshold, budget)
            if len(rows):
                yield StoreCandidates(np.full(len(rows), query), items[rows], stored.data, starts[rows], ends[rows])
        after = int(items[-1])


def in_reach(kind: ScannedKind, query: int, stored: I64, threshold: float, budget: Budget | None) -> I64:
    """Return the rows of the stored strings that can match a query by their lengths, paid for from the budget.

    query: bytes of its features; stored i64[n]: bytes of the features of each stored string.
    """
    rows, steps = kind.in_reach(query, stored, threshold)
    if budget is not None:
        budget.spend(steps, letters=query >> 2, threshold=threshold)
    return rows
