"""Search of an index: look up candidates by their keys and score each one exactly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.index import scan
from lookalike.index.kinds import IndexKind, ScannedKind
from lookalike.index.scan import Budget
from lookalike.index.store import Blobs, Id, Store, StoredKeys, TooManyCandidates


class Match(NamedTuple):
    """An item of the index that matches a query.

    similarity: the exact score; for kinds with a distance (`index.kind.scale`), it is that distance.
    """

    id: Id
    similarity: float


def query_spans(kind: IndexKind, count: int) -> Iterator[tuple[int, int]]:
    """Split `count` queries into spans (first, last + 1) whose probes are computed together."""
    step = max(1, count if kind.queries_at_once is None else kind.queries_at_once)
    return ((low, min(low + step, count)) for low in range(0, count, step))


class WorkLimit(NamedTuple):
    """The most work for a caller that must not block: candidates per part of the store, bytes of features to score."""

    candidates: int
    scored_bytes: int


def scored(
    store: Store,
    kind: IndexKind,
    features: Blobs,
    probes: StoredKeys,
    threshold: float,
    budget: Budget | None,
    limit: WorkLimit | None = None,
) -> tuple[I64, I64, F64]:
    """Return (query, item, score) arrays of all candidates that reach the threshold.

    budget: limit of the scans, None for no limit. limit: raise TooManyCandidates before doing more work than this.
    """
    parts, scored_bytes = [], 0
    candidates = store.candidates(probes, None if limit is None else limit.candidates)
    if probes.scanned and isinstance(kind, ScannedKind):
        more = scan.candidates(store, kind, features, probes.scanned, threshold, budget)
        candidates = itertools.chain(candidates, more)
    for batch in candidates:
        if limit is not None:
            scored_bytes += int((batch.ends - batch.starts).sum())
            if scored_bytes > limit.scored_bytes:
                raise TooManyCandidates
        scores = kind.score(features, batch, threshold)
        good = scores > -np.inf
        parts.append((batch.query[good], batch.items[good], scores[good]))
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    if len(parts) == 1:
        return parts[0]
    query, items, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    return query, items, scores


def matches(
    store: Store,
    kind: IndexKind,
    features: Blobs,
    probes: StoredKeys,
    threshold: float,
    k: int | None,
    budget: Budget,
    limit: WorkLimit | None = None,
) -> list[list[Match]]:
    """Return the matches of each query, nearest first and at equal scores the oldest item first; at most `k` of them.

    limit: see `scored`.
    """
    query, items, scores = scored(store, kind, features, probes, threshold, budget, limit)
    out: list[list[Match]] = [[] for _ in range(len(features))]
    if not len(query):
        return out
    order = np.lexsort((items, -scores, query))
    if k is not None:
        ordered = query[order]
        order = order[np.arange(len(order)) - np.searchsorted(ordered, ordered) < k]
    ids = store.ids(items[order]).to_pylist()
    for number, id, score in zip(query[order].tolist(), ids, scores[order].tolist(), strict=True):  # noqa: A001
        if id is not None:
            out[number].append(Match(id, shown(kind, score)))
    return out


def shown(kind: IndexKind, score: float) -> float:
    """Convert an internal score to the one that users see: distances are not negated."""
    return kind.scale.sign * score + 0.0
