"""Groups of an index: the connected components of its matches, with stable group ids.

The id of a group is the number of its oldest item. Items are assigned to groups in the order of their numbers: an item
joins the group of the older items that it matches; if these are in several groups, all of them are merged into the
oldest one, and the merge is recorded. `Store.parents` gives the group that an item joined and, for a merged group, the
group that it became part of. Items from `Store.grouped` on are assigned when groups are requested, or before an item is
removed, so that the groups do not depend on when they are requested.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.errors import IndexBusy, UsageError
from lookalike.index.kernels import lookup
from lookalike.index.kinds import IndexKind
from lookalike.index.scan import Budget, OverBudget
from lookalike.index.search import query_spans, scored
from lookalike.index.store import Blobs, Merge, Store, StoreCandidates
from lookalike.io import disk
from lookalike.runtime.local.pool import Pool, usable_cores

ITEMS_PER_STEP = 4096


class Forest:
    """Union-find forest of the groups: the parents in the store, and new ones (`fresh`) that are not written yet."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._grouped = store.grouped()  # items from here on have no stored parent
        self.fresh: dict[int, int] = {}
        self.merges: list[Merge] = []

    def look(self, items: I64) -> dict[int, int]:
        """Return the stored parents of these items and of all groups on the way to their roots."""
        known: dict[int, int] = {}
        level = np.unique(items)
        while len(level):
            stored = level[level < self._grouped]
            parents = self._store.parents(stored).tolist() if len(stored) else []
            known |= dict(zip(level.tolist(), level.tolist(), strict=True)) | dict(
                zip(stored.tolist(), parents, strict=True)
            )
            beyond = {self.fresh.get(item, item) for item in level.tolist()} | set(parents)
            level = np.array([item for item in beyond if item not in known], np.int64)
        return known

    def root(self, item: int, known: dict[int, int]) -> int:
        """Return the group (root) of an item. known: the stored parents, from `look`."""
        at = item
        while (parent := self.fresh.get(at, known.get(at, at))) != at:
            at = parent
        return at

    def of(self, item: int) -> int:
        return self.root(item, self.look(np.array([item])))

    def put(self, item: int, near: list[int], known: dict[int, int], now: str) -> None:
        """Assign an item to the group of the older items that it matches, and merge their groups."""
        roots = sorted({self.root(other, known) for other in near})
        if not roots:
            return
        self.fresh[item] = roots[0]
        for other in roots[1:]:
            self.fresh[other] = roots[0]
            self.merges.append(Merge(other, roots[0], now))

    def members(self) -> tuple[I64, I64]:
        """Return (live items that share or once shared a group with others, their groups)."""
        children, parents = self._store.all_parents()
        known = dict(zip(children.tolist(), parents.tolist(), strict=True))
        involved = {*known, *known.values(), *self.fresh, *self.fresh.values()}
        items = np.intersect1d(np.fromiter(involved, np.int64, len(involved)), live(self._store), assume_unique=True)
        return items, np.array([self.root(item, known) for item in items.tolist()], np.int64)


def current(store: Store, kind: IndexKind) -> Forest:
    """Return the groups of all items; they are also written to the store unless it is read-only or busy."""
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
        except KeyError:  # an item was removed by another process meanwhile
            continue


def has_ungrouped(store: Store, more_than: int = 0) -> bool:
    """Return whether more than this many items are not yet assigned to groups."""
    return len(store.after(store.grouped() - 1, more_than + 1)) > more_than


def catch_up(store: Store, kind: IndexKind, budget: Budget | None = None, most: int | None = None) -> None:
    """Assign all remaining items to groups and write the groups.

    budget: limit of the scans; most: assign at most this many items, oldest first. None for no limit.
    """
    if not has_ungrouped(store):
        return
    with store.writing():
        forest, grouped = _caught_up(store, kind, budget, most)
        items = np.array(list(forest.fresh), np.int64)
        parents = np.array(list(forest.fresh.values()), np.int64)
        store.join(items, parents, forest.merges, grouped)


def catch_up_before_change(store: Store, kind: IndexKind) -> None:
    """Assign all items to groups before one of them is removed or replaced; UsageError if that would take too long.

    In that case nothing is written. Requests for groups themselves have no limit.
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
    """Consecutive items. fresh: rows to query; copies: (row, older item) of rows whose features occurred before."""

    items: I64
    features: Blobs
    fresh: list[int]
    copies: list[tuple[int, int]]


def _caught_up(
    store: Store, kind: IndexKind, budget: Budget | None = None, most: int | None = None
) -> tuple[Forest, int]:
    """Return the groups of all items, or those after the next `most` items, and the number after the last of these."""
    forest, grouped = Forest(store), store.grouped()
    now = disk.system.now().isoformat(timespec="seconds")

    def near(page: GroupPage) -> tuple[I64, I64, I64]:
        """Return (items of the page, rows of the page that have matches, the older item of each match)."""
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

    found = _with_copies(store, grouped - 1, ITEMS_PER_STEP if most is None else most)
    with Pool(usable_cores()) as pool:
        for items, query, others in pool.map(near, itertools.islice(found, None if most is None else 1)):
            grouped = int(items[-1]) + 1
            known = forest.look(others)
            rows, starts = np.unique(query, return_index=True)
            near_items, ends = others.tolist(), [*starts[1:].tolist(), len(others)]
            for item, start, end in zip(items[rows].tolist(), starts.tolist(), ends, strict=False):
                forest.put(item, near_items[start:end], known, now)
    return forest, grouped


def _with_copies(store: Store, after: int, limit: int) -> Iterator[GroupPage]:
    """Yield pages of at most `limit` items.

    Of items with equal features only the first is queried: the others have the same matches, and a thousand copies
    would give a million pairs.
    """
    seen: dict[int, int] = {}
    for items in pages(store, after, limit):
        features = store.features(items)
        prints = np.empty(len(items), np.uint64)
        lookup.blob_prints(features.data, features.offsets, prints)
        firsts = [
            seen.setdefault(fingerprint, item)
            for fingerprint, item in zip(prints.tolist(), items.tolist(), strict=True)
        ]
        again = [row for row, (first, item) in enumerate(zip(firsts, items.tolist(), strict=True)) if first != item]
        originals = store.features(np.array([firsts[row] for row in again], np.int64))
        copies = {row: firsts[row] for at, row in enumerate(again) if features[row] == originals[at]}
        yield GroupPage(items, features, [row for row in range(len(items)) if row not in copies], list(copies.items()))


def _matching(store: Store, kind: IndexKind, page: GroupPage) -> I64:
    """Return the (row, older item) of copies that match their original, i64[c, 2]; empty documents match nothing."""
    pairs = np.array(page.copies, np.int64).reshape(-1, 2)
    if not len(pairs):
        return pairs
    originals = store.features(pairs[:, 1])
    candidates = StoreCandidates(
        np.arange(len(pairs)), pairs[:, 1], originals.data, originals.offsets[:-1], originals.offsets[1:]
    )
    return pairs[kind.score(page.features.take(pairs[:, 0].tolist()), candidates, kind.threshold) > -np.inf]


def counts(store: Store) -> tuple[int, int]:
    """Return (number of groups of two or more items, number of items that are not yet assigned to a group)."""
    _, sizes = np.unique(Forest(store).members()[1], return_counts=True)
    return int((sizes > 1).sum()), int((live(store) >= store.grouped()).sum())


def table(store: Store, items: I64, groups: I64) -> pa.Table:
    """Return a table of id, group and size for all items in groups of two or more, largest groups first."""
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
    """Return the numbers of all items that are not removed."""
    return np.concatenate([np.empty(0, np.int64), *pages(store, -1, 1 << 20)])
