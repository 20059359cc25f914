"""The first half of a run: one pass over the texts to sets and their fingerprints."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.data import I64, U64, Sets, ShingleRule
from lookalike.engines.kept import InMemory, KeptSets, Piece, Shelved, shelved
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.engines.work import ABOUT, Place, Space, digest, read_json
from lookalike.io.batch import TextBatch
from lookalike.io.collection import Collection
from lookalike.stages.arrow import as_arrow
from lookalike.stages.boilerplate import drop_common
from lookalike.stages.duplicates import fingerprints
from lookalike.stages.features import shingle

MOST = 1 << 32  # elements for which room is set apart before they are counted
TASK_BYTES = 1 << 21  # text that one task shingles: its elements stay in the cache until they have their fingerprint
ID = ""  # the name of the ids among the columns that are set aside


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


def read_features(
    collections: Sequence[Collection], rule: ShingleRule, pool: Pool, trace: Trace, space: Space, *,
    extra: Sequence[str] = (), max_share: float | None = None,
) -> Features:  # fmt: skip
    """Shingle every text of the collections, in order; texts are let go batch by batch.

    What a work folder holds already is not read again. With `max_share`, shingles that stand in a larger share of the
    documents are dropped afterwards.
    """
    trace.add(bytes=0, null_texts=0, bad_texts=0)
    with trace.stage("read") as report:
        wanted = [tuple(extra), ()]
        if space.folder is None:
            shelf = InMemory(min(MOST, sum(c.nbytes or 0 for c in collections) // 2))
            counter = _Counter(collections, trace, report)
            for collection, names in zip(collections, wanted, strict=False):
                shelf.begin()
                for piece in _pieces(collection, names, 0, rule, pool):
                    shelf.append(piece)
                    counter.add(len(piece), piece.counts)
            found = shelf.finish()
        else:
            found = _kept(collections, wanted, rule, pool, space, _Counter(collections, trace, report))
        ids = [_column(table, ID) for table in found.columns]
        for collection, names in zip(collections, ids, strict=True):
            if collection.id_column is not None:
                collection.check_ids(names)
    sizes = found.numbers["sizes"]
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    sets, prints = Sets(found.numbers["elements"], offsets), found.numbers["prints"]
    if max_share is not None:
        with trace.stage("common"):
            sets, dropped = drop_common(sets, max_share, space.array)
            trace.add(common_shingles=dropped)
            prints = fingerprints(sets)
    trace.add(documents=len(sets), empty=int((sizes == 0).sum()), shingles=len(sets.elements))
    columns = {name: _column(found.columns[0], name) for name in extra}
    return Features(sets, prints, ids, columns, len(ids[0]), found.numbers["lengths"])


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table[name] if name in table.column_names else pa.chunked_array([], pa.int64() if name == ID else pa.null())


class _Counter:
    """Counts what is read and reports how far it has come."""

    def __init__(self, collections: Sequence[Collection], trace: Trace, report: Any) -> None:
        hints = [collection.rows_hint for collection in collections]
        self._total = None if None in hints else sum(hint or 0 for hint in hints)
        self._trace, self._report, self._done = trace, report, 0

    def add(self, rows: int, counts: Mapping[str, int]) -> None:
        self._trace.add(**counts)
        self._done += rows
        self._report(self._done, self._total)


def _kept(
    collections: Sequence[Collection], wanted: Sequence[tuple[str, ...]], rule: ShingleRule, pool: Pool, space: Space,
    counter: _Counter,
) -> Shelved:  # fmt: skip
    """The sets of the collections in the work folder: those that are there, and the rest after reading."""
    all_kept = []
    for collection, names in zip(collections, wanted, strict=False):
        kept = KeptSets(_place(collection, names, rule, space), pool, space)
        all_kept.append(kept)
        collection.restore(kept.state())
        counter.add(kept.rows, kept.counts)
        if kept.complete:
            space.notes.append(
                f"the sets of {collection.name} ({kept.rows:,} documents) are taken from {kept.place.path}."
            )
            continue
        if kept.rows:
            space.notes.append(f"going on with {collection.name} after {kept.rows:,} documents.")
        with kept:
            for piece in _pieces(collection, names, kept.rows, rule, pool):
                kept.append(piece, collection.state)
                counter.add(len(piece), piece.counts)
            kept.end(collection.state())
    return shelved(all_kept, space)


def about_sets(collection: Collection, extra: Sequence[str], rule: ShingleRule) -> dict[str, Any]:
    """What the sets of a collection are made from: where any of it differs, they are other sets."""
    return {
        "holds": "sets",
        "name": collection.name,
        "rule": rule.as_dict(),
        "columns": [collection.text_column, collection.id_column, *extra],
        "on_bad_text": collection.on_bad_text,
        "on_bad_file": collection.on_bad_file,
        "files": collection.stamp(),
    }


def _place(collection: Collection, extra: Sequence[str], rule: ShingleRule, space: Space) -> Place:
    """Where the sets of a collection are kept; says so where the folder holds other sets of the same input."""
    assert space.folder is not None
    about = about_sets(collection, extra, rule)
    if about["files"] is None:  # a table in memory cannot be known again
        return space.place(Path(tempfile.mkdtemp(prefix="sets-", dir=space.folder)), about)
    path = space.folder / f"sets-{digest(about)}"
    if not path.exists():
        for other in sorted(space.folder.glob("sets-*")):
            known = read_json(other / ABOUT) or {}
            if known.get("name") == collection.name:
                changed = [
                    what for what in ("rule", "columns", "on_bad_text", "files") if known.get(what) != about[what]
                ]
                words = {"files": "the input has changed", "rule": "the shingle options differ"}
                why = " and ".join(words.get(what, f"{what} differs") for what in changed)
                space.notes.append(f"{other} is of no use here: {why}. Reading {collection.name} anew.")
    return space.place(path, about)


def _pieces(collection: Collection, extra: Sequence[str], start: int, rule: ShingleRule, pool: Pool) -> Iterator[Piece]:
    """The items of the collection from row `start` on, about TASK_BYTES of text at a time."""

    def tasks() -> Iterator[tuple[TextBatch, int, int]]:
        for batch in collection.texts(extra, start=start):
            step = max(1, TASK_BYTES * len(batch.texts) // max(1, batch.texts.nbytes))
            for at in range(0, len(batch.texts), step):
                yield batch, at, step

    return pool.map(lambda task: _features(*task, rule), tasks())


def _features(batch: TextBatch, at: int, step: int, rule: ShingleRule) -> Piece:
    """One task: texts to sets and fingerprints."""
    texts = batch.texts.slice(at, step)
    sets = shingle(texts, rule)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    first = batch.first_row + at
    ids = as_arrow(np.arange(first, first + len(texts))) if batch.ids is None else batch.ids.slice(at, step)
    columns = {ID: ids} | {name: values.slice(at, step) for name, values in batch.extra.items()}
    counts = {"bytes": texts.nbytes}
    if at == 0:  # only the sums are of use, so the first piece may carry them
        counts |= {"null_texts": batch.null_texts, "bad_texts": batch.bad_texts}
    numbers = {
        "elements": sets.elements,
        "sizes": sets.sizes,
        "prints": fingerprints(sets),
        "lengths": np.diff(offsets),
    }
    return Piece(numbers, pa.record_batch(columns), counts)
