"""In-memory table of items that were added in small batches, until there are enough of them for a segment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from lookalike.core.arrays import U64
from lookalike.index.store import Id, StoreCandidates, StoredKeys, TooManyCandidates, ends_of


class MemTable:
    """Recent items, accessible by item number, by id and by key."""

    def __init__(self) -> None:
        self.ids: dict[int, Id] = {}
        self.items: dict[Id, int] = {}
        self._features: dict[int, bytes] = {}
        self._keys: dict[int, U64] = {}
        self._holders: dict[int, list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, item: int, id: Id, keys: U64, features: bytes) -> None:  # noqa: A002  (the user's word)
        self.ids[item], self.items[id], self._features[item], self._keys[item] = id, item, features, keys
        for key in keys.tolist():
            self._holders[key].append(item)

    def remove(self, item: int) -> None:
        id = self.ids.pop(item, None)  # noqa: A001
        if id is None:
            return
        if self.items.get(id) == item:
            del self.items[id]
        del self._features[item]
        for key in self._keys.pop(item).tolist():
            holders = self._holders.get(key)
            if holders is not None and item in holders:
                holders.remove(item)
                if not holders:
                    del self._holders[key]

    def candidates(self, keys: StoredKeys, most: int | None = None) -> StoreCandidates | None:
        """Return the items that share a key with each query; None if there are none. most: see `Store.candidates`."""
        if not self.ids:
            return None
        values, ends, get = keys.values.tolist(), keys.offsets.tolist(), self._holders.get
        if most is not None and sum(len(get(key, ())) for key in values) > most:
            raise TooManyCandidates
        query: list[int] = []
        items: list[int] = []
        for number in range(len(keys)):
            met: set[int] = set()
            for key in values[ends[number] : ends[number + 1]]:
                if holders := get(key):
                    met.update(holders)
            if met:
                items += sorted(met)
                query += [number] * len(met)
        return self._found(query, items) if items else None

    def everything(self) -> StoreCandidates | None:
        """Return all items as candidates of one query, or None if the table is empty."""
        return self._found([0] * len(self.ids), sorted(self.ids)) if self.ids else None

    def features(self, items: Iterable[int]) -> list[bytes]:
        return [self._features[item] for item in items]

    def _found(self, query: list[int], items: list[int]) -> StoreCandidates:
        pieces = self.features(items)
        ends = ends_of([len(piece) for piece in pieces])
        data = np.frombuffer(b"".join(pieces), np.uint8)
        return StoreCandidates(np.array(query, np.int64), np.array(items, np.int64), data, ends[:-1], ends[1:])
