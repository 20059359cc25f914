"""Prepare items for storage, and filter out those that match an item of the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core import formatting
from lookalike.errors import UsageError
from lookalike.index import grouping, scan
from lookalike.index.items import Batch, plain_ids
from lookalike.index.kinds import IndexKind, ScannedKind
from lookalike.index.memtable import MemTable
from lookalike.index.scan import Budget
from lookalike.index.search import Match, matches, query_spans, shown
from lookalike.index.store import Blobs, Block, Id, Store, StoreCandidates, StoredKeys, ends_of
from lookalike.runtime.local.pool import Pool, usable_cores


def blocks(store: Store, kind: IndexKind, batches: Iterable[Batch], *, raw: bool) -> Iterator[Block]:
    """Yield blocks of items to store, computed in parallel; call it while writing. raw: include the original items."""

    def made(given: tuple[Any, pa.Array]) -> Block:
        piece, ids = given
        features = kind.features(piece)
        return Block(ids, features, kind.keys(features), kind.raw(piece) if raw else None)

    replacing = False
    with Pool(usable_cores()) as pool:
        for block in pool.map(made, _pieces(store, kind, batches)):
            if not replacing and bool(np.any(store.numbers(block.ids) >= 0)):
                grouping.catch_up_before_change(store, kind)  # an item is assigned to a group before it is replaced
                replacing = True
            yield block


def _pieces(store: Store, kind: IndexKind, batches: Iterable[Batch]) -> Iterator[tuple[Any, pa.Array]]:
    for items, ids in batches:
        given, done = None if ids is None else plain_ids(ids), 0
        for piece in kind.pieces(items):
            if given is None:
                first = store.take_ids(len(piece))
                yield piece, pa.array(np.arange(first, first + len(piece)))
            elif done + len(piece) <= len(given):
                yield piece, given.slice(done, len(piece))
            done += len(piece)
        check_ids(given, done)


def check_ids(ids: pa.Array | None, count: int) -> None:
    """Raise UsageError unless there is one id for each of `count` items."""
    if ids is not None and len(ids) != count:
        raise UsageError(
            f"{formatting.count(len(ids), 'ids')} came for {formatting.count(count, 'items')}; expected one for each."
        )


class NewItemFilter:
    """A filter that passes the items that match neither a stored item nor an item that was passed before."""

    def __init__(self, store: Store, kind: IndexKind) -> None:
        self._store, self._kind, self._fresh = store, kind, MemTable()
        self._budget = Budget()
        self._gone = set[Id]()

    def replaced_by(self, block: Block) -> None:
        """Disregard stored items with the ids of this block, which replaces them, in the following blocks."""
        self._gone.update(block.ids.to_pylist())

    def sift(self, block: Block) -> tuple[list[Match | None], Block | None]:
        """Return (the nearest match of each item, None for a new item; the block of new items, or None)."""
        kind, fresh = self._kind, self._fresh
        same = self._same(block)
        out: list[Match | None] = []
        rows = []
        for low, high in query_spans(kind, len(block)):
            features = block.features.part(low, high)
            probes = kind.probes(features)
            old = matches(self._store, kind, features, probes, kind.threshold, None, self._budget)
            for row, mine in enumerate(block.ids.slice(low, high - low).to_pylist(), low):
                own = block.features.part(row, row + 1)
                there = (match for match in old[row - low] if match.id not in self._gone)
                near = next((match for match in there if match.id != mine or row in same), None)
                met = self._fresh_candidates(own, probes.part(row - low, row - low + 1))
                best = near if met is None else self._nearer(near, own, met, mine)
                out.append(best)
                if best is None:
                    fresh.add(len(fresh), mine, block.keys.part(row, row + 1).values, own[0])
                    rows.append(row)
        return out, _taken(block, rows) if rows else None

    def _fresh_candidates(self, features: Blobs, probes: StoredKeys) -> StoreCandidates | None:
        """Return the passed items with which one item has to be compared, or None."""
        if not probes.scanned or not isinstance(self._kind, ScannedKind):
            return self._fresh.candidates(probes)
        every = self._fresh.everything()
        if every is None:
            return None
        sizes = every.ends - every.starts
        rows = scan.in_reach(self._kind, len(features.data), sizes, self._kind.threshold, self._budget)
        return every.only(np.isin(np.arange(len(every)), rows)) if len(rows) else None

    def _same(self, block: Block) -> set[int]:
        """Return the rows that are stored already, with the same id and the same features."""
        numbers = self._store.numbers(block.ids)
        known = np.flatnonzero(numbers >= 0)
        stored = self._store.features(numbers[known])
        return {row for at, row in enumerate(known.tolist()) if stored[at] == block.features[row]}

    def _nearer(self, near: Match | None, features: Blobs, met: StoreCandidates, mine: Id) -> Match | None:
        """Return the best candidate with another id than `mine` if it is nearer than `near`, and otherwise `near`."""
        ids = [self._fresh.ids[item] for item in met.items.tolist()]
        scores = self._kind.score(features, met, self._kind.threshold)
        scores[[id == mine for id in ids]] = -np.inf  # noqa: A001
        at = int(np.argmax(scores))
        least = -np.inf if near is None else self._kind.scale.sign * near.similarity
        return Match(ids[at], shown(self._kind, float(scores[at]))) if scores[at] > least else near


def _taken(block: Block, rows: Sequence[int]) -> Block:
    """Return a block of these rows."""
    raw = None if block.raw is None else Blobs.of([block.raw[row] for row in rows])
    keys = [block.keys.part(row, row + 1).values for row in rows]
    return Block(
        block.ids.take(pa.array(rows, pa.int64())), Blobs.of([block.features[row] for row in rows]),
        StoredKeys(np.concatenate(keys), ends_of([len(values) for values in keys])), raw,
    )  # fmt: skip
