"""The first half of a run: one pass over the texts to sets and their fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lookalike.data import I64, U64, Sets, ShingleRule
from lookalike.engines.growing import Growing
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.io.batch import TextBatch
from lookalike.io.collection import Collection
from lookalike.stages.arrow import as_arrow
from lookalike.stages.boilerplate import drop_common
from lookalike.stages.duplicates import fingerprints
from lookalike.stages.features import shingle

MOST = 1 << 32  # elements for which room is set apart before they are counted
TASK_BYTES = 1 << 21  # text that one task shingles: its elements stay in the cache until they have their fingerprint


@dataclass(frozen=True)
class Features:
    """All items of one or two collections. ids: one array per collection; extra: columns of the first;
    split: how many items the first has; lengths i64[n]: bytes (or tokens) of each text."""

    sets: Sets
    prints: U64
    ids: list[pa.ChunkedArray]
    extra: dict[str, pa.ChunkedArray]
    split: int
    lengths: I64


@dataclass(frozen=True)
class _Piece:
    sets: Sets
    prints: U64
    lengths: I64


def read_features(
    collections: Sequence[Collection], rule: ShingleRule, pool: Pool, trace: Trace, *,
    extra: Sequence[str] = (), max_share: float | None = None,
) -> Features:  # fmt: skip
    """Shingle every text of the collections, in order; texts are let go batch by batch.

    With `max_share`, shingles that stand in a larger share of the documents are dropped afterwards.
    """
    elements = Growing(np.uint64, expect=min(MOST, sum(c.nbytes or 0 for c in collections) // 2))
    prints = Growing(np.uint64)
    sizes, lengths = Growing(np.int64), Growing(np.int64)
    ids: list[pa.ChunkedArray] = []
    columns: dict[str, pa.ChunkedArray] = {}
    split = done = 0
    total = sum(c.rows_hint or 0 for c in collections) if all(c.rows_hint for c in collections) else None
    trace.add(bytes=0, null_texts=0, bad_texts=0)
    with trace.stage("read") as report:
        for number, collection in enumerate(collections):
            notes = Notes(extra if number == 0 else ())
            for piece in pool.map(lambda texts: _features(texts, rule), notes.tasks(collection, trace)):
                elements.append(piece.sets.elements)
                sizes.append(piece.sets.sizes)
                prints.append(piece.prints)
                lengths.append(piece.lengths)
                done += len(piece.sets)
                report(done, total)
            ids.append(notes.all_ids())
            if collection.id_column is not None:
                collection.check_ids(ids[-1])
            if number == 0:
                split, columns = done, notes.all_extra()
    size = sizes.finish()
    offsets = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=offsets[1:])
    sets, fingerprint = Sets(elements.finish(), offsets), prints.finish()
    if max_share is not None:
        with trace.stage("common"):
            sets, dropped = drop_common(sets, max_share)
            trace.add(common_shingles=dropped)
            fingerprint = fingerprints(sets)
    trace.add(documents=len(sets), empty=int((sets.sizes == 0).sum()), shingles=len(sets.elements))
    return Features(sets, fingerprint, ids, columns, split, lengths.finish())


def _features(texts: pa.Array, rule: ShingleRule) -> _Piece:
    """One task: texts to sets and fingerprints."""
    sets = shingle(texts, rule)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return _Piece(sets, fingerprints(sets), np.diff(offsets))


class Notes:
    """Ids, extra columns and counts that are set aside while the texts go by."""

    def __init__(self, extra: Sequence[str]) -> None:
        self._ids: list[pa.Array] = []
        self._extra: dict[str, list[pa.Array]] = {name: [] for name in extra}

    def tasks(self, collection: Collection, trace: Trace) -> Iterator[pa.Array]:
        """The texts of the collection in slices of about TASK_BYTES."""
        for batch in collection.texts(tuple(self._extra)):
            self._set_aside(batch)
            trace.add(null_texts=batch.null_texts, bad_texts=batch.bad_texts, bytes=batch.texts.nbytes)
            step = max(1, TASK_BYTES * len(batch.texts) // max(1, batch.texts.nbytes))
            for at in range(0, len(batch.texts), step):
                yield batch.texts.slice(at, step)

    def _set_aside(self, batch: TextBatch) -> None:
        here = batch.ids
        if here is None:
            here = as_arrow(np.arange(batch.first_row, batch.first_row + len(batch.texts)))
        self._ids.append(here)
        for name, values in batch.extra.items():
            self._extra[name].append(values)

    def all_ids(self) -> pa.ChunkedArray:
        return pa.chunked_array(self._ids) if self._ids else pa.chunked_array([], pa.int64())

    def all_extra(self) -> dict[str, pa.ChunkedArray]:
        return {n: pa.chunked_array(v) if v else pa.chunked_array([], pa.null()) for n, v in self._extra.items()}
