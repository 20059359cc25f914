"""Measure the recall of queries: how much of what an exact comparison with all items finds do their keys find?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.core.audit_sample import Partners, draw, keys_of
from lookalike.core.recall_audit import Share, share_of
from lookalike.index.kinds import IndexKind
from lookalike.index.scan import ITEMS_AT_ONCE
from lookalike.index.search import query_spans, scored
from lookalike.index.store import Blobs, Store, StoreCandidates

RECALL_SAMPLE = 300  # queries that are compared with all items, unless another number is asked for
QUERIED = 20_000  # queries that are looked up, among which the sample is drawn
CHEAP_BYTES = 2 * 10**9  # bytes of features that a measurement nobody asked for may compare; takes about a second
COMPARISON_BYTES = 200  # fixed cost of a comparison, in bytes
FEWEST_QUERIES = 30  # a smaller sample says too little, unless there are no more queries
QUERIES_AT_ONCE = 64
QUERY_PAIRS = "pairs of a query and an item of the index"

Report = Callable[[int, int], object]


@dataclass(frozen=True)
class IndexRecall:
    """The measured recall of queries. sampled: queries compared with all items; queried: those among which they were
    drawn; items: number of stored items; planned: the recall at the threshold, None if none is planned."""

    sampled: int
    queried: int
    items: int
    planned: float | None
    share: Share

    @property
    def recall(self) -> float | None:
        """Estimated recall; None if no pair was found and none is in the sample."""
        return self.share.recall

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the recall."""
        return self.share.interval

    def as_dict(self) -> dict[str, Any]:
        known = self.share.as_dict()
        known.pop("predicted")
        return {
            "sampled": self.sampled, "queried": self.queried, "items": self.items, "over": QUERY_PAIRS, **known,
            "planned_at_threshold": self.planned,
        }  # fmt: skip


@dataclass
class QuerySample:
    """A random sample of queries that arrive in batches: the features of those with the lowest keys."""

    size: int = QUERIED // 10
    seed: int = 42
    count: int = 0
    _keys: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    _rows: list[bytes] = field(default_factory=list)

    def add(self, features: Blobs) -> None:
        keys = keys_of(np.arange(self.count, self.count + len(features)), self.seed)
        limit = self._keys.max() if len(self._keys) >= self.size else np.uint64(2**64 - 1)
        near = np.flatnonzero(keys <= limit)
        self.count += len(features)
        self._keys = np.concatenate([self._keys, keys[near]])
        self._rows += [features[row] for row in near.tolist()]
        if len(self._keys) > self.size:
            kept = np.sort(np.argpartition(self._keys, self.size - 1)[: self.size])
            self._keys, self._rows = self._keys[kept], [self._rows[row] for row in kept.tolist()]

    @property
    def features(self) -> Blobs:
        return Blobs.of(self._rows)


def of_queries(
    store: Store, kind: IndexKind, queries: QuerySample, threshold: float, *, asked: int | None, report: Report
) -> IndexRecall | None:
    """Measure the recall of these queries. asked: size of the sample; by default what is cheap, or None if too few."""
    features = queries.features
    size = min(len(features), cheap(store) if asked is None else asked)
    if size < min(FEWEST_QUERIES, len(features)) and asked is None:
        return None
    return _measured(store, kind, features, None, threshold, size, queries.seed, report)


def of_stored(store: Store, kind: IndexKind, threshold: float, *, size: int, seed: int, report: Report) -> IndexRecall:
    """Measure the recall of queries that are stored items: of the other items that each of them matches."""
    pages, after = [np.empty(0, np.int64)], -1
    while len(page := store.after(after, 1 << 16)):
        pages.append(page)
        after = int(page[-1])
    items = np.concatenate(pages)
    own = np.sort(items[np.argsort(keys_of(items, seed), kind="stable")[: max(QUERIED, size)]])
    return _measured(store, kind, _stored(store, own), own, threshold, size, seed, report)


def cheap(store: Store) -> int:
    """Return the number of queries whose comparison with all items takes about a second."""
    page = store.after(-1, ITEMS_AT_ONCE)
    mean = len(_stored(store, page).data) / max(1, len(page))
    return int(CHEAP_BYTES / max(1.0, store.count() * (mean + COMPARISON_BYTES)))


def _stored(store: Store, items: I64) -> Blobs:
    """Return the features of stored items, in pieces, as a large call would hold up a writer."""
    pieces = [store.features(items[low : low + ITEMS_AT_ONCE]) for low in range(0, len(items), ITEMS_AT_ONCE)]
    return Blobs.of([piece[row] for piece in pieces for row in range(len(piece))])


def _measured(
    store: Store, kind: IndexKind, features: Blobs, own: I64 | None, threshold: float, size: int, seed: int,
    report: Report,
) -> IndexRecall:  # fmt: skip
    """own i64[n]: the item that each query is, which is not its own match; None for queries from outside."""
    query, item = _looked_up(store, kind, features, threshold)
    if own is not None:
        query, item = query[own[query] != item], item[own[query] != item]
    counts = np.bincount(query, minlength=len(features))
    lowest = np.full(len(features), np.iinfo(np.int64).max) if own is None else own.copy()
    np.minimum.at(lowest, query, item)
    sample = draw(Partners(counts, np.unique(lowest, return_inverse=True)[1]), size, seed)
    true_query, true_item = _compared(store, kind, features.take(sample.items.tolist()), threshold, report)
    if own is not None:
        others = own[sample.items][true_query] != true_item
        true_query, true_item = true_query[others], true_item[others]
    found = np.isin(_packed(sample.items[true_query], true_item), _packed(query, item))
    there, gone = (np.bincount(true_query[part], minlength=len(sample)).astype(float) for part in (found, ~found))
    planned = kind.plan()["recall_at_threshold"]
    share = share_of(
        sample, there, gone, len(query), true=len(true_query), found=int(found.sum()), predicted=planned or 1.0
    )
    return IndexRecall(len(sample), len(features), store.count(), planned, share)


def _looked_up(store: Store, kind: IndexKind, features: Blobs, threshold: float) -> tuple[I64, I64]:
    """Return (query, item) of the matches that the keys find."""
    queries, items = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for low, high in query_spans(kind, len(features)):
        part = features.part(low, high)
        query, item, _ = scored(store, kind, part, kind.probes(part), threshold, None)
        queries.append(query + low)
        items.append(item)
    return np.concatenate(queries), np.concatenate(items)


def _compared(store: Store, kind: IndexKind, features: Blobs, threshold: float, report: Report) -> tuple[I64, I64]:
    """Return (query, item) of the matches among all pairs of these queries and the items."""
    queries, items = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    after, done, total = -1, 0, store.count()
    report(0, total)
    while len(page := store.after(after, ITEMS_AT_ONCE)):
        try:
            stored = store.features(page)
        except KeyError:  # an item was removed between the two calls
            continue
        for low, high in ((low, min(low + QUERIES_AT_ONCE, len(features))) for low in _steps(len(features))):
            query = np.repeat(np.arange(high - low), len(page))
            starts, ends = (np.tile(side, high - low) for side in (stored.offsets[:-1], stored.offsets[1:]))
            met = StoreCandidates(query, np.tile(page, high - low), stored.data, starts, ends)
            good = kind.score(features.part(low, high), met, threshold) > -np.inf
            queries.append(query[good] + low)
            items.append(met.items[good])
        after = int(page[-1])
        done += len(page)
        report(min(done, total), total)
    return np.concatenate(queries), np.concatenate(items)


def _steps(count: int) -> range:
    return range(0, count, QUERIES_AT_ONCE)


def _packed(query: I64, item: I64) -> U64:
    return query.astype(np.uint64) << np.uint64(40) | item.astype(np.uint64)
