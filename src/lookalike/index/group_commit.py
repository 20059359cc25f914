"""Commit the changes of several clients in one transaction, with the answer that each would have had alone.

The changes that come together are concurrent: none of their clients has been answered, so that any order of them is
right. In one transaction the order is: additions of new items only, then removals, then other additions. Reads in a
transaction see what was committed before it, hence a change that depends on another one of the transaction, or that
replaces an item, which first has to take part in groups, waits for the next transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.errors import DamagedIndex, DatabaseFailed, IndexBusy, OutputError, UsageError
from lookalike.index import grouping
from lookalike.index.index import Added, Index
from lookalike.index.items import ids_of
from lookalike.index.new_items import NewItemFilter, check_ids
from lookalike.index.search import Match
from lookalike.index.store import Blobs, Block, Id, StoredKeys, ends_of

FAILURES_OF_ALL = (DamagedIndex, DatabaseFailed, IndexBusy, OutputError)  # no fault of a single change


@dataclass(frozen=True)
class Addition:
    """As `Index.add`, or with `if_new` as `Index.add_if_new`. ids: one for each item, or None for automatic ones."""

    items: Sequence[Any]
    ids: Sequence[Id] | None = None
    if_new: bool = False


@dataclass(frozen=True)
class Removal:
    """As `Index.remove` of one id."""

    id: Id


Change = Addition | Removal
Outcome = Added | list[Match | None] | int | Exception


@dataclass
class Prepared:
    """An addition whose features and keys are made. known: the ids, None where they are automatic."""

    addition: Addition
    features: Blobs
    keys: StoredKeys
    raw: Blobs | None
    known: pa.Array | None

    def block(self, first: int) -> Block:
        ids = pa.array(np.arange(first, first + len(self.features))) if self.known is None else self.known
        return Block(ids, self.features, self.keys, self.raw)


def commit(index: Index, changes: Sequence[Change]) -> list[Outcome]:
    """Make these changes and return what became of each: its answer, or the error that it alone would have raised.

    What is returned for is committed. A change that fails leaves nothing behind and does not concern the others.
    """
    outcomes: list[Outcome] = [0] * len(changes)
    prepared: dict[int, Prepared | Removal] = {}
    for number, change in enumerate(changes):
        try:
            prepared[number] = change if isinstance(change, Removal) else _prepare(index, change)
        except Exception as error:
            outcomes[number] = error
    while prepared:
        together = _compatible(index, prepared)
        try:
            results = _commit(index, [prepared[number] for number in together]) if len(together) > 1 else None
        except FAILURES_OF_ALL as error:
            results = [error] * len(together)
        except Exception:  # the fault of one of them, which gets it when it comes alone
            results = None
        if results is None:
            results = [_alone(index, changes[number]) for number in together]
        for number, result in zip(together, results, strict=True):
            outcomes[number] = result
            del prepared[number]
    return outcomes


def _alone(index: Index, change: Change) -> Outcome:
    try:
        if isinstance(change, Removal):
            return index.remove([change.id])
        return (index.add_if_new if change.if_new else index.add)(change.items, ids=change.ids)
    except Exception as error:
        return error


def _prepare(index: Index, addition: Addition) -> Prepared:
    kind = index.kind
    pieces = list(kind.pieces(addition.items))
    features = [kind.features(piece) for piece in pieces]
    raw = _blobs([kind.raw(piece) for piece in pieces]) if index.store.settings["store_items"] else None
    count = sum(map(len, features))
    known = None if addition.ids is None else ids_of(addition.ids)
    check_ids(known, count)
    return Prepared(addition, _blobs(features), _keys([kind.keys(part) for part in features]), raw, known)


def _compatible(index: Index, prepared: dict[int, Prepared | Removal]) -> list[int]:
    """Choose changes for one transaction: the first, and all later ones that depend on no other one of them."""
    out: list[int] = []
    used, removed = set[Id](), set[Id]()
    automatic: bool | None = None
    for number, change in prepared.items():
        if isinstance(change, Removal):
            if change.id not in used and automatic is not True:
                removed.add(change.id)
                out.append(number)
            continue
        known = change.known
        if known is not None:
            ids = set(known.to_pylist())
            if len(ids) < len(known) or ids & (used | removed) or _is_stored(index, known):
                if not out:
                    return [number]
                continue
            used |= ids
        if automatic in (None, known is None) and not (known is None and removed):
            automatic = known is None
            out.append(number)
    return out


def _commit(index: Index, changes: Sequence[Prepared | Removal]) -> list[Outcome]:
    """Make compatible changes in one transaction."""
    store, kind = index.store, index.kind
    outcomes: list[Outcome] = [0] * len(changes)
    additions = [(number, change) for number, change in enumerate(changes) if isinstance(change, Prepared)]
    removals = [(number, change.id) for number, change in enumerate(changes) if isinstance(change, Removal)]
    with store.writing():
        blocks: list[Block] = []
        sieve = NewItemFilter(store, kind)
        for number, change in sorted(additions, key=lambda pair: not pair[1].addition.if_new):
            if not len(change.features):
                outcomes[number] = [] if change.addition.if_new else Added(0, 0)
                continue
            if change.known is not None and _is_stored(index, change.known):
                raise UsageError("an id that was new is there now.")  # by another process; each comes alone then
            block = change.block(store.take_ids(len(change.features)) if change.known is None else 0)
            if change.addition.if_new:
                outcomes[number], new = sieve.sift(block)
                blocks += [] if new is None else [new]
            else:
                outcomes[number] = Added(len(block), 0)
                blocks.append(block)
        if removals:
            _remove(index, removals, outcomes)
        if blocks:
            store.add([_joined(blocks)])
    return outcomes


def _is_stored(index: Index, ids: pa.Array) -> bool:
    return bool(np.any(index.store.numbers(ids) >= 0))


def _remove(index: Index, removals: Sequence[tuple[int, Id]], outcomes: list[Outcome]) -> None:
    items: dict[int, None] = {}
    for number, name in removals:
        item = int(index.store.numbers(ids_of([name]))[0])
        outcomes[number] = int(item >= 0 and item not in items)
        if item >= 0:
            items[item] = None
    if items:
        grouping.catch_up_before_change(index.store, index.kind)
        index.store.remove(np.unique(np.array(list(items), np.int64)))


def _joined(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    if len({block.ids.type for block in blocks}) > 1:
        raise UsageError(
            "ids of several types came together."
        )  # each of them is told what is wrong when it comes alone
    raw = None if blocks[0].raw is None else _blobs([block.raw for block in blocks if block.raw is not None])
    features, keys = _blobs([block.features for block in blocks]), _keys([block.keys for block in blocks])
    return Block(pa.concat_arrays([block.ids for block in blocks]), features, keys, raw)


def _blobs(parts: Sequence[Blobs]) -> Blobs:
    if len(parts) == 1:
        return parts[0]
    data = np.concatenate([np.empty(0, np.uint8), *(part.data for part in parts)])
    return Blobs(data, ends_of([size for part in parts for size in np.diff(part.offsets).tolist()]))


def _keys(parts: Sequence[StoredKeys]) -> StoredKeys:
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([np.empty(0, np.uint64), *(part.values for part in parts)])
    return StoredKeys(values, ends_of([size for part in parts for size in np.diff(part.offsets).tolist()]))
