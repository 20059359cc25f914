"""From keys to matches: every candidate of the store is scored exactly."""

from __future__ import annotations

import numpy as np

from lookalike.data import F64, I64
from lookalike.index.kinds import Kind
from lookalike.index.store import Blobs, Keys, Store


def scored(store: Store, kind: Kind, features: Blobs, probes: Keys, threshold: float) -> tuple[I64, I64, F64]:
    """(query, item, score) of all candidates that reach the threshold."""
    parts = []
    for found in store.candidates(probes):
        scores = kind.score(features, found, threshold)
        good = scores > -np.inf
        parts.append((found.query[good], found.items[good], scores[good]))
    if not parts:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64)
    if len(parts) == 1:
        return parts[0]
    query, items, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    return query, items, scores
