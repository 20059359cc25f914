"""Groups of an index: what matches connect, with ids that stay.

A group is named by the number of its oldest item. Items are put into groups in the order of their numbers: an item
joins the group of the older items that it matches; where these are in several groups, all become part of the oldest
one, and that is recorded. `parents` of the store holds the group that an item joined, and for a group that was merged
the group that it became part of. Items above `grouped` are put into groups when somebody asks, or before one of them is
removed, so that the answer does not depend on when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.errors import IndexBusy, UsageError
from lookalike.index.kernels import lookup
from lookalike.index.kinds import IndexKind
from lookalike.index.scan import Budget, OverBudget
from lookalike.index.search import query_spans, scored
from lookalike.index.store import Blobs, Merge, Store, StoreCandidates
from lookalike.runtime.local.pool import Pool, usable_cores

ITEMS_PER_STEP = 4096


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


def current(store: Store, kind: IndexKind) -> Forest:
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


def catch_up(store: Store, kind: IndexKind, budget: Budget | None = None) -> None:
    """Put all items into groups that are not yet, and write it down. budget: of scans, None for no limit."""
    if not len(store.after(store.grouped() - 1, 1)):
        return
    with store.writing():
        forest, grouped = _caught_up(store, kind, budget)
        items = np.array(list(forest.fresh), np.int64)
        parents = np.array(list(forest.fresh.values()), np.int64)
        store.join(items, parents, forest.merges, grouped)


def catch_up_before_change(store: Store, kind: IndexKind) -> None:
    """Put all items into groups before one of them is removed or replaced; UsageError where that would take too long.

    Nothing is written then. Groups that are asked for by themselves have no limit.
    """
    try:
        catch_up(store, kind, Budget())
    except OverBudget as error:
        raise UsageError(
            "before an item is removed or replaced, all items are put into groups, which would take more than "
            f"{error.limit:,} steps for the long strings here. Export the index (`lookalike index export`) or ask for "
            "its groups(), which have no limit, and try again."
        ) from error


@dataclass(frozen=True)
class GroupPage:
    """Some items in order. fresh: the rows to look for; copies: (row, older item) of those with features met before."""

    items: I64
    features: Blobs
    fresh: list[int]
    copies: list[tuple[int, int]]


def _caught_up(store: Store, kind: IndexKind, budget: Budget | None = None) -> tuple[Forest, int]:
    """Groups with all items in them, and the number after the last item."""
    forest, grouped = Forest(store), store.grouped()
    now = datetime.now(UTC).isoformat(timespec="seconds")

    def near(page: GroupPage) -> tuple[I64, I64, I64]:
        """(items, rows, older items that these match)."""
        features, fresh = page.features.take(page.fresh), np.array(page.fresh, np.int64)
        parts = [np.empty((2, 0), np.int64)]
        for low, high in query_spans(kind, len(features)):
            part = features.part(low, high)
            met, others, _ = scored(store, kind, part, kind.probes(part), kind.threshold, budget)
            parts.append(np.stack([fresh[met + low], others]))
        query, others = np.concatenate(parts, axis=1)
        older = others < page.items[query]
        more = _matching(store, kind, page)
        rows = np.concatenate([query[older], more[:, 0]])
        others = np.concatenate([others[older], more[:, 1]])
        order = np.lexsort((others, rows))
        return page.items, rows[order], others[order]

    with Pool(usable_cores()) as pool:
        for items, query, others in pool.map(near, _with_copies(store, grouped - 1)):
            grouped = int(items[-1]) + 1
            known = forest.look(others)
            numbers, starts = np.unique(query, return_index=True)
            for number, some in zip(numbers.tolist(), np.split(others, starts[1:]), strict=False):
                forest.put(int(items[number]), some.tolist(), known, now)
    return forest, grouped


def _with_copies(store: Store, after: int) -> Iterator[GroupPage]:
    """Pages of items. Of items with the same features only the first is looked for: what the others match, it matches,
    and a thousand copies would match one another a million times."""
    seen: dict[int, int] = {}
    for items in pages(store, after, ITEMS_PER_STEP):
        features = store.features(items)
        prints = np.empty(len(items), np.uint64)
        lookup.blob_prints(features.data, features.offsets, prints)
        firsts = [seen.setdefault(one, item) for one, item in zip(prints.tolist(), items.tolist(), strict=True)]
        again = [row for row, (first, item) in enumerate(zip(firsts, items.tolist(), strict=True)) if first != item]
        there = store.features(np.array([firsts[row] for row in again], np.int64))
        copies = {row: firsts[row] for at, row in enumerate(again) if features[row] == there[at]}
        yield GroupPage(items, features, [row for row in range(len(items)) if row not in copies], list(copies.items()))


def _matching(store: Store, kind: IndexKind, page: GroupPage) -> I64:
    """The copies that match what they are copies of (nothing matches an empty document): i64[c, 2]."""
    pairs = np.array(page.copies, np.int64).reshape(-1, 2)
    if not len(pairs):
        return pairs
    there = store.features(pairs[:, 1])
    found = StoreCandidates(np.arange(len(pairs)), pairs[:, 1], there.data, there.offsets[:-1], there.offsets[1:])
    return pairs[kind.score(page.features.take(pairs[:, 0].tolist()), found, kind.threshold) > -np.inf]


def counts(store: Store) -> tuple[int, int]:
    """(groups of two or more among the items that were put into groups, how many items were not yet)."""
    _, sizes = np.unique(Forest(store).members()[1], return_counts=True)
    return int((sizes > 1).sum()), int((live(store) >= store.grouped()).sum())


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
