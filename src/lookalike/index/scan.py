"""Exact search for strings that would need too many keys: compare them with every stored string of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from lookalike.core.arrays import I64
from lookalike.errors import UsageError
from lookalike.index.kinds import ScannedKind
from lookalike.index.store import Blobs, Store, StoreCandidates

SCAN_STEPS = 4 * 10**9  # edit-distance cells that all scans of one call may fill; takes some seconds
ITEMS_AT_ONCE = 4096  # stored items that are read at once


class OverBudget(UsageError):
    """Raised when the scans of one call would take more steps than allowed."""

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message)
        self.limit = limit


class Budget:
    """The limit of the steps that all scans of one call may take."""

    def __init__(self) -> None:
        self._limit, self._spent = SCAN_STEPS, 0

    def spend(self, steps: int, *, letters: int, threshold: float) -> None:
        """Account for comparisons before they are made; OverBudget if they exceed the budget."""
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
    """Yield the stored strings with which these queries have to be compared, in parts. budget: None for no limit."""
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
    """Return the rows of the stored strings whose length allows a match, and charge the comparisons to the budget.

    query: size of its features in bytes; stored i64[n]: size of the features of each stored string in bytes.
    """
    rows, steps = kind.in_reach(query, stored, threshold)
    if budget is not None:
        budget.spend(steps, letters=query >> 2, threshold=threshold)
    return rows
