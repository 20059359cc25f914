"""Who quotes a text: the passages that it shares with the texts of an index, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lookalike.core.arrays import I64
from lookalike.errors import UsageError
from lookalike.index.kinds import IndexKind, PassageFinder
from lookalike.index.store import Blobs, Id, Store


class Quotation(NamedTuple):
    """A passage that a text shares with a stored one.

    Characters start to end (exclusive) of the text are stored_start to stored_end of the stored text. tokens: the
    number of words.
    """

    id: Id
    start: int
    end: int
    stored_start: int
    stored_end: int
    tokens: int


def check_finder(kind: IndexKind, place: str, *, keeps_items: bool) -> PassageFinder:
    """Return the kind if it finds passages; raise UsageError otherwise."""
    if not isinstance(kind, PassageFinder):
        raise UsageError(f"{place} is an index of {kind.name}; passages are found in one that was created for them.")
    if not keeps_items:
        raise UsageError(f"{place} does not keep its texts, so that the places of passages in them are not known.")
    return kind


def quotations(store: Store, kind: PassageFinder, piece: Any, k: int | None) -> list[list[Quotation]]:
    """Return the passages that each text shares with stored texts, at most k of these, most shared words first."""
    features, texts = kind.features(piece), kind.raw(piece)
    probes = kind.probes(features)
    out = []
    for row in range(len(features)):
        items, stored = _candidates(store, probes.part(row, row + 1))

        def raw(rows: I64, items: I64 = items) -> Sequence[bytes | None]:
            return store.raw(items[rows])

        runs = kind.shared_runs(texts[row], features.part(row, row + 1), stored, raw, k)
        names = store.ids(items[[run.candidate for run in runs]]).to_pylist() if runs else []
        out.append([Quotation(name, *run[1:]) for name, run in zip(names, runs, strict=True) if name is not None])
    return out


def _candidates(store: Store, probes: Any) -> tuple[I64, Blobs]:
    """Return the numbers and the features of the stored items that share a key, oldest first."""
    items, features = [np.empty(0, np.int64)], []
    for batch in store.candidates(probes):
        items.append(batch.items)
        features += [batch.data[a:b].tobytes() for a, b in zip(batch.starts, batch.ends, strict=True)]
    numbers = np.concatenate(items)
    order = np.argsort(numbers, kind="stable")
    return numbers[order], Blobs.of([features[at] for at in order.tolist()])
