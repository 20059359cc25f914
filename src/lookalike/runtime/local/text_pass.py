"""Extract features from texts in one pass: in memory, or in a work folder from which a run can resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import size
from lookalike.core.trace import Trace
from lookalike.io.batch import TextBatch
from lookalike.io.collection import Collection
from lookalike.runtime.local.checkpoints import FeatureChunk, FeaturesInMemory, Shelved, shelved
from lookalike.runtime.local.kept_features import KeptInput, keep_features
from lookalike.runtime.local.memory_budget import free_memory
from lookalike.runtime.local.memory_needs import check_memory, longest, per_byte
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

LONG_BYTES = 1 << 22  # a task with more bytes of text is processed alone
TEXT_TASK_BYTES = 1 << 21  # bytes of text per task, so that its arrays fit in the cache
ID = ""  # the name of the id column among the stored columns


@dataclass(frozen=True)
class FeaturePass:
    """The definition of a feature extraction.

    holds: name of the features; options: everything that they depend on; dtypes: of each array by name; widest: name of
    the longest array; make: computes the arrays from texts and their ids; growth: bytes of memory per byte of a text
    while its features are computed; noun: of the items.
    """

    holds: str
    options: Mapping[str, Any]
    dtypes: Mapping[str, Any]
    widest: str
    make: Callable[[pa.Array, pa.Array], Mapping[str, Any]]
    growth: float
    noun: str = "documents"

    def about(self, collection: Collection, extra: Sequence[str]) -> dict[str, Any]:
        """Return everything that the features of a collection depend on; it identifies their checkpoint."""
        return {
            "holds": self.holds,
            "noun": self.noun,
            "name": collection.name,
            "options": dict(self.options),
            "columns": [collection.text_column, collection.id_column, *extra],
            "on_bad_text": collection.on_bad_text,
            "on_bad_file": collection.on_bad_file,
            "lines": collection.lines,
            "files": collection.stamp(),
        }


def extract_features(
    collections: Sequence[Collection], extra: Sequence[Sequence[str]], recipe: FeaturePass, pool: Pool, trace: Trace,
    space: Workspace,
) -> Shelved:  # fmt: skip
    """Extract the features of all texts of the collections, in order; texts are released batch by batch.

    extra: columns of each collection to store with the ids. Texts whose features are in the work folder are not read
    again.
    """
    trace.add(bytes=0, null_texts=0, bad_texts=0)
    with trace.stage("read") as report:
        counter = _Counter(collections, trace, report)
        if space.folder is not None:
            pairs = zip(collections, extra, strict=True)
            inputs = [_kept_input(collection, names, recipe, pool, space) for collection, names in pairs]
            return shelved(keep_features(inputs, recipe.dtypes, pool, space, counter.add), recipe.dtypes, space)
        # Unused space costs nothing, but the system refuses to map more than it has.
        room = min(free_memory() // 16, sum(collection.nbytes or 0 for collection in collections) // 2)
        shelf = FeaturesInMemory(recipe.dtypes, {recipe.widest: room})
        for collection, names in zip(collections, extra, strict=True):
            shelf.begin()
            for piece in _pieces(collection, names, 0, recipe, pool, space):
                shelf.append(piece)
                counter.add(len(piece), piece.counts)
        return shelf.finish()


def ids_of(collections: Sequence[Collection], found: Shelved) -> list[pa.ChunkedArray]:
    """Return the ids of each collection; raises DuplicateIds if they are not unique."""
    all_ids = [column_of(table, ID) for table in found.columns]
    for collection, ids in zip(collections, all_ids, strict=True):
        if collection.id_column is not None:
            collection.check_ids(ids)
    return all_ids


def column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    return table[name] if name in table.column_names else pa.chunked_array([], pa.int64() if name == ID else pa.null())


class _Counter:
    """Counts the rows read and reports progress."""

    def __init__(self, collections: Sequence[Collection], trace: Trace, report: Any) -> None:
        hints = [collection.rows_hint for collection in collections]
        self._total = None if None in hints else sum(hint or 0 for hint in hints)
        self._trace, self._report, self._done = trace, report, 0

    def add(self, rows: int, counts: Mapping[str, int]) -> None:
        self._trace.add(**counts)
        self._done += rows
        self._report(self._done, self._total)


def _kept_input(
    collection: Collection, names: Sequence[str], recipe: FeaturePass, pool: Pool, space: Workspace
) -> KeptInput:
    return KeptInput(
        collection.name, recipe.holds, recipe.about(collection, names), collection.nbytes or 0,
        lambda start: _pieces(collection, names, start, recipe, pool, space), collection.state, collection.restore,
        recipe.noun,
    )  # fmt: skip


def _pieces(
    collection: Collection, extra: Sequence[str], start: int, recipe: FeaturePass, pool: Pool, space: Workspace
) -> Iterator[FeatureChunk]:
    """Yield the features of the collection from row `start` on, for about TEXT_TASK_BYTES of text at a time.

    Raises UsageError for a text that is too long for the memory budget.
    """

    def tasks() -> Iterator[Task]:
        for batch in collection.texts(extra, start=start):
            at, nbytes = longest(batch.texts)
            where = f"the document in row {batch.first_row + at:,} of {collection.name} ({size(nbytes)})"
            check_memory(space.keeper, per_byte(recipe.growth) * nbytes, lambda where=where: where)  # type: ignore[misc]
            step = max(1, TEXT_TASK_BYTES * len(batch.texts) // max(1, batch.texts.nbytes))
            for at in range(0, len(batch.texts), step):
                yield Task(batch, at, step)

    for is_long, together in groupby(tasks(), lambda task: task.texts.nbytes > LONG_BYTES):
        # Long texts need hundreds of MB while they are processed: one at a time, with no other task running.
        if not is_long:
            yield from pool.map(lambda task: _piece(task, recipe), together)
            continue
        for task in together:
            yield _piece(task, recipe)
            pool.rest()


class Task(NamedTuple):
    """Texts of a batch that are processed together: `step` texts from index `at` on."""

    batch: TextBatch
    at: int
    step: int

    @property
    def texts(self) -> pa.Array:
        return self.batch.texts.slice(self.at, self.step)


def _piece(task: Task, recipe: FeaturePass) -> FeatureChunk:
    """Extract the features of one task."""
    (batch, at, step), texts = task, task.texts
    first = batch.first_row + at
    ids = as_arrow(np.arange(first, first + len(texts))) if batch.ids is None else batch.ids.slice(at, step)
    columns = {ID: ids} | {name: values.slice(at, step) for name, values in batch.extra.items()}
    counts = {"bytes": texts.nbytes}
    if at == 0:  # only the totals are used, so the first chunk of a batch has its counts
        counts |= {"null_texts": batch.null_texts, "bad_texts": batch.bad_texts}
    return FeatureChunk(recipe.make(texts, ids), pa.record_batch(columns), counts)
