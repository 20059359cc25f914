"""Commit the changes of several clients in one transaction, with the result that each would have had alone.

The changes of a batch are concurrent: none of their clients has been answered, so any order of them is correct. The
order in a transaction is: additions with `if_new`, then removals, then additions that replace stored items, which take
effect together, as in one call of `Index.add`, then other additions. Reads in a transaction see what was committed
before it. A change that depends on another one of the batch therefore waits for the next transaction.
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

FAILURES_OF_ALL = (DamagedIndex, DatabaseFailed, IndexBusy, OutputError)  # not caused by a single change


@dataclass(frozen=True)
class Addition:
    """A call of `Index.add`, or with `if_new` of `Index.add_if_new`. ids: one for each item; None for automatic ids."""

    items: Sequence[Any]
    ids: Sequence[Id] | None = None
    if_new: bool = False


@dataclass(frozen=True)
class Removal:
    """A call of `Index.remove` with one id."""

    id: Id


class Postponed:
    """The outcome of a change that was not committed because too many items must be put into groups before it."""


Change = Addition | Removal
Outcome = Added | list[Match | None] | int | Postponed | Exception


@dataclass
class Prepared:
    """An addition with its computed features and keys. known: the ids, or None for automatic ids."""

    addition: Addition
    features: Blobs
    keys: StoredKeys
    raw: Blobs | None
    known: pa.Array | None

    def block(self, first: int) -> Block:
        ids = pa.array(np.arange(first, first + len(self.features))) if self.known is None else self.known
        return Block(ids, self.features, self.keys, self.raw)


def commit(index: Index, changes: Sequence[Change], most_ungrouped: int | None = None) -> list[Outcome]:
    """Commit these changes and return the outcome of each: its result, or the error that it would have raised alone.

    Every change with a result is committed. A change that fails writes nothing and does not affect the others.
    most_ungrouped: postpone removals and replacements while more items than this are not yet in groups; None for never.
    """
    outcomes: list[Outcome] = [0] * len(changes)
    prepared: dict[int, Prepared | Removal] = {}
    for number, change in enumerate(changes):
        try:
            prepared[number] = change if isinstance(change, Removal) else _prepare(index, change)
        except Exception as error:
            outcomes[number] = error
    if most_ungrouped is not None and grouping.has_ungrouped(index.store, most_ungrouped):
        for number in [number for number, change in prepared.items() if _takes_away(index, change)]:
            outcomes[number] = Postponed()
            del prepared[number]
    while prepared:
        together = _compatible(index, prepared)
        try:
            results = _commit(index, [prepared[number] for number in together]) if len(together) > 1 else None
        except FAILURES_OF_ALL as error:
            results = [error] * len(together)
        except Exception:  # caused by one of them: each is then committed alone, and that one raises it again
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


def _takes_away(index: Index, change: Prepared | Removal) -> bool:
    """Return whether a change removes or replaces a stored item."""
    if isinstance(change, Removal):
        return _stored(index, ids_of([change.id])) > 0
    return change.known is not None and _stored(index, change.known) > 0


def _compatible(index: Index, prepared: dict[int, Prepared | Removal]) -> list[int]:
    """Choose changes for one transaction: the first, and all later ones that are independent of those chosen."""
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
            if len(ids) < len(known) or ids & (used | removed):
                if not out:
                    return [number]
                continue
            used |= ids
        if automatic in (None, known is None) and not (known is None and removed):
            automatic = known is None
            out.append(number)
    return out


def _commit(index: Index, changes: Sequence[Prepared | Removal]) -> list[Outcome]:
    """Commit compatible changes in one transaction."""
    store, kind = index.store, index.kind
    outcomes: list[Outcome] = [0] * len(changes)
    additions = [(number, change) for number, change in enumerate(changes) if isinstance(change, Prepared)]
    removals = [(number, change.id) for number, change in enumerate(changes) if isinstance(change, Removal)]
    with store.writing():
        replaced = {number: 0 if change.known is None else _stored(index, change.known) for number, change in additions}
        if removals or any(replaced.values()):
            grouping.catch_up_before_change(store, kind)
        blocks: list[Block] = []
        sieve = NewItemFilter(store, kind)

        def order(numbered: tuple[int, Prepared]) -> int:
            return 0 if numbered[1].addition.if_new else 1 if replaced[numbered[0]] else 2

        for number, change in sorted(additions, key=order):
            if not len(change.features):
                outcomes[number] = [] if change.addition.if_new else Added(0, 0)
                continue
            block = change.block(store.take_ids(len(change.features)) if change.known is None else 0)
            if change.addition.if_new:
                outcomes[number], new = sieve.sift(block)
                if new is not None:
                    blocks.append(new)
                    sieve.replaced_by(new)
            else:
                outcomes[number] = Added(len(block), replaced[number])
                blocks.append(block)
        if removals:
            _remove(index, removals, outcomes)
        if blocks:
            store.add([_joined(blocks)])
    return outcomes


def _stored(index: Index, ids: pa.Array) -> int:
    """Return how many of these ids are stored."""
    return int(np.count_nonzero(index.store.numbers(ids) >= 0))


def _remove(index: Index, removals: Sequence[tuple[int, Id]], outcomes: list[Outcome]) -> None:
    items: dict[int, None] = {}
    for number, name in removals:
        item = int(index.store.numbers(ids_of([name]))[0])
        outcomes[number] = int(item >= 0 and item not in items)
        if item >= 0:
            items[item] = None
    if items:
        index.store.remove(np.unique(np.array(list(items), np.int64)))


def _joined(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    if len({block.ids.type for block in blocks}) > 1:
        raise UsageError(
            "ids of several types came together."
        )  # each change is then committed alone, with its own error message
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
