"""Groups of an index: what matches connect, with ids that stay.

A group is named by the number of its oldest item. Items are put into groups in the order of their numbers: an item
joins the group of the older items that it matches; where these are in several groups, all become part of the oldest
one, and that is recorded. `parents` of the store holds the group that an item joined, and for a group that was merged
the group that it became part of. Items above `grouped` are put into groups when somebody asks, or before one of them is
removed, so that the answer does not depend on when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from lookalike.data import I64
from lookalike.engines.pool import Pool, usable_cores
from lookalike.errors import IndexBusy
from lookalike.index.kinds import Kind
from lookalike.index.search import scored
from lookalike.index.store import Merge, Store

AT_ONCE = 4096


class Forest:
    """Which group each item is in: what the store has, and what has not been written down yet."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.fresh: dict[int, int] = {}
        self.merges: list[Merge] = []

    def look(self, items: I64) -> dict[int, int]:
        """The parents of these items and of all groups on the way, as the store has them."""
        known: dict[int, int] = {}
        open_ones = np.unique(items)
        while len(open_ones):
            parents = self._store.parents(open_ones)
            known |= zip(open_ones.tolist(), parents.tolist(), strict=True)
            beyond = {self.fresh.get(item, item) for item in open_ones.tolist()} | set(parents.tolist())
            open_ones = np.array([item for item in beyond if item not in known], np.int64)
        return known

    def root(self, item: int, known: dict[int, int]) -> int:
        """The group of an item."""
        at = item
        while (parent := self.fresh.get(at, known.get(at, at))) != at:
            at = parent
        return at

    def of(self, item: int) -> int:
        return self.root(item, self.look(np.array([item])))

    def put(self, item: int, near: list[int], known: dict[int, int], now: str) -> None:
        """Put an item with the older items that it matches."""
        roots = sorted({self.root(other, known) for other in near})
        if not roots:
            return
        self.fresh[item] = roots[0]
        for other in roots[1:]:
            self.fresh[other] = roots[0]
            self.merges.append(Merge(other, roots[0], now))

    def members(self) -> tuple[I64, I64]:
        """(items that are there and in a group with others, now or earlier; their groups)."""
        children, parents = self._store.all_parents()
        known = dict(zip(children.tolist(), parents.tolist(), strict=True))
        involved = {*known, *known.values(), *self.fresh, *self.fresh.values()}
        items = np.intersect1d(np.fromiter(involved, np.int64, len(involved)), live(self._store), assume_unique=True)
        return items, np.array([self.root(item, known) for item in items.tolist()], np.int64)


def current(store: Store, kind: Kind) -> Forest:
    """The groups with all items in them; written down, where this may write and nobody else does."""
    if not store.read_only:
        try:
            catch_up(store, kind)
        except IndexBusy:
            pass
        else:
            return Forest(store)
    while True:
        try:
            return _caught_up(store, kind)[0]
        except KeyError:  # an item went while we looked
            continue


def catch_up(store: Store, kind: Kind) -> None:
    """Put all items into groups that are not yet, and write it down."""
    if not len(store.after(store.grouped() - 1, 1)):
        return
    with store.writing():
        forest, grouped = _caught_up(store, kind)
        items = np.array(list(forest.fresh), np.int64)
        parents = np.array(list(forest.fresh.values()), np.int64)
        store.join(items, parents, forest.merges, grouped)


def _caught_up(store: Store, kind: Kind) -> tuple[Forest, int]:
    """Groups with all items in them, and the number after the last item."""
    forest, grouped = Forest(store), store.grouped()
    now = datetime.now(UTC).isoformat(timespec="seconds")

    def near(items: I64) -> tuple[I64, I64, I64]:
        features = store.features(items)
        query, others, _ = scored(store, kind, features, kind.probes(features), kind.threshold)
        older = others < items[query]
        order = np.lexsort((others[older], query[older]))
        return items, query[older][order], others[older][order]

    with Pool(usable_cores()) as pool:
        for items, query, others in pool.map(near, pages(store, grouped - 1, AT_ONCE)):
            grouped = int(items[-1]) + 1
            known = forest.look(others)
            numbers, starts = np.unique(query, return_index=True)
            for number, some in zip(numbers.tolist(), np.split(others, starts[1:]), strict=False):
                forest.put(int(items[number]), some.tolist(), known, now)
    return forest, grouped


def table(store: Store, forest: Forest) -> pa.Table:
    """id, group, size of all items in groups of two or more, the largest first."""
    items, groups = forest.members()
    _, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sizes = counts[inverse]
    order = np.lexsort((items, groups, -sizes))
    order = order[sizes[order] > 1]
    return pa.table({"id": store.ids(items[order]), "group": groups[order], "size": sizes[order].astype(np.int64)})


def pages(store: Store, after: int, limit: int) -> Iterator[I64]:
    while len(items := store.after(after, limit)):
        yield items
        after = int(items[-1])


def live(store: Store) -> I64:
    """All item numbers."""
    return np.concatenate([np.empty(0, np.int64), *pages(store, -1, 1 << 20)])
