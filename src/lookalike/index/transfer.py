"""Copy all items of an index to another index or to a table."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.errors import RecipeMismatch
from lookalike.index.grouping import Forest, pages
from lookalike.index.kinds import IndexKind
from lookalike.index.store import Blobs, Block, Store
from lookalike.io.atomic import check_output
from lookalike.io.write import write_table

ITEMS_PER_STEP = 4096


def check_alike(mine: IndexKind, other: IndexKind, place: str) -> None:
    """Raise RecipeMismatch, naming the difference, unless both kinds compute the same features and keys."""
    if mine.name != other.name:
        raise RecipeMismatch(f"{place} is an index of {other.name}, this one of {mine.name}; expected one kind.")
    ours, theirs = mine.settings(), other.settings()
    for name, value in ours.items():
        if value != theirs[name]:
            shown = "" if isinstance(value, dict) else f": {theirs[name]!r} there, {value!r} here"
            raise RecipeMismatch(
                f"{place} was created with another {name}{shown}. Add its items from where they came from instead."
            )


def all_ids(store: Store) -> Iterator[pa.Array]:
    for items in pages(store, -1, ITEMS_PER_STEP):
        yield store.ids(items)


def blocks(store: Store, kind: IndexKind, *, raw: bool) -> Iterator[Block]:
    """Yield all items as blocks to store. raw: include the original items."""
    for items in pages(store, -1, ITEMS_PER_STEP):
        features = store.features(items)
        kept = Blobs.of([blob or b"" for blob in store.raw(items)]) if raw else None
        yield Block(store.ids(items), features, kind.keys(features), kept)


def export(store: Store, kind: IndexKind, forest: Forest, path: Path, *, force: bool) -> None:
    """Write id, item and group of all items, in the order in which they were added."""
    check_output(path, force=force)
    grouped, groups = forest.members()
    known = dict(zip(grouped.tolist(), groups.tolist(), strict=True))

    def batch(items: I64) -> pa.RecordBatch:
        columns = {
            "id": store.ids(items),
            "item": pa.array(_shown(store, kind, items), pa.large_string()),
            "group": pa.array([known.get(item, item) for item in items.tolist()], pa.int64()),
        }
        return pa.record_batch(columns)

    nothing = np.empty(0, np.int64)  # so that an empty index gives a table without rows
    write_table(map(batch, itertools.chain([nothing], pages(store, -1, ITEMS_PER_STEP))), path, force=force)


def _shown(store: Store, kind: IndexKind, items: I64) -> list[str | None]:
    """Return items as text: strings unchanged, everything else as JSON."""
    features = store.features(items) if kind.is_own_feature else None
    raw: list[bytes | None] = [features[i] for i in range(len(items))] if features else store.raw(items)
    return [None if blob is None else _text(kind.item(blob)) for blob in raw]


def _text(item: Any) -> str | None:
    return item if isinstance(item, str | None) else json.dumps(item, ensure_ascii=False)
