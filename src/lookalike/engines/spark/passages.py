"""Passages on Spark: fingerprints are keys; texts travel only where two documents share one, and are compared there.

What two documents share depends on these two alone, as long as no text is left out because it is common: a task
gives the documents of its pairs to the local engine, and keeps what that tells of the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lookalike.data import I64
from lookalike.engines.passage_job import PassageJob
from lookalike.engines.passages import MOST_SEEDS, in_characters, run, summed
from lookalike.engines.spark.answer import check_ids, named
from lookalike.engines.spark.batches import as_binary, numbers
from lookalike.engines.spark.flow import brought, candidates, meet, weigh
from lookalike.engines.spark.reading import Made, read_items
from lookalike.engines.spark.sources import Origin
from lookalike.engines.spark.told import told
from lookalike.engines.trace import Trace
from lookalike.errors import TooManyPairs, UsageError
from lookalike.io.collection import Collection
from lookalike.io.read import open_collection
from lookalike.io.texts import OnBadText, as_texts
from lookalike.stages.arrow import as_arrow
from lookalike.stages.places import place_words
from lookalike.stages.winnowing import NOTHING, fingerprint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEATURES = "size int, keys binary, places binary, words string"
AT_ONCE = 256  # pairs of documents that are compared together
PLACES = ("left_start", "left_end", "right_start", "right_end", "tokens")
SUMS = ("shared_tokens", "left_in_right", "right_in_left", "longest", "passages")
FOUND = (
    "left long, right long, left_start long, left_end long, right_start long, right_end long, tokens long, "
    "shared_tokens long, left_in_right double, right_in_left double, longest long, passages long"
)


@dataclass(frozen=True)
class SparkPassages:
    """The answer to `passages` on Spark. DataFrames are evaluated when something is asked of them."""

    job: PassageJob
    origins: Sequence[Origin]
    on_bad_text: OnBadText = "error"

    def __post_init__(self) -> None:
        for name in ("language", "max_share"):
            if getattr(self.job, name) is not None:
                raise UsageError(f"{name} (--{name.replace('_', '-')}) is for one machine; on Spark leave it out.")
        if any(origin.is_tokens for origin in self.origins):
            raise UsageError(
                "passages need texts, not token lists: a place is told in characters. Choose another column."
            )

    @cached_property
    def passages(self) -> DataFrame:
        """Every shared passage: left, right, left_start, left_end, right_start, right_end (characters), tokens."""
        with told():
            return self._named(self._found.select("left", "right", *PLACES))

    @cached_property
    def pairs(self) -> DataFrame:
        """Every pair of documents that shares one: shared_tokens, left_in_right, right_in_left, longest, passages."""
        with told():
            return self._named(self._found.select("left", "right", *SUMS).distinct())

    @cached_property
    def things(self) -> DataFrame:
        job, on_bad = self.job, self.on_bad_text

        def make(batch: pa.RecordBatch) -> Made:
            texts, _, _ = as_texts(batch["text"], on_bad_text=on_bad, where=lambda row: f"row {row} of a batch")
            placed = place_words(texts, fold_case=job.fold_case, strip_accents=job.strip_accents)
            prints = fingerprint(placed.tokens, placed.offsets, k=job.k, window=job.window, barred=NOTHING)
            owner = np.repeat(np.arange(len(texts), dtype=np.uint64), np.diff(prints.offsets))
            order = np.lexsort((prints.hashes, owner))
            hashes, owner = prints.hashes[order], owner[order]
            new = np.ones(len(hashes), np.bool_)
            new[1:] = (hashes[1:] != hashes[:-1]) | (owner[1:] != owner[:-1])
            ends = np.concatenate([[0], np.cumsum(np.bincount(owner[new].astype(np.int64), minlength=len(texts)))])
            n = len(texts)
            yield batch, {
                "size": as_arrow(placed.sizes.astype(np.int32)),
                "keys": as_binary(hashes[new], ends.astype(np.int64)),
                "places": as_binary(np.empty(0, np.int32), np.zeros(n + 1, np.int64)),
                "words": texts.cast(pa.string()),
            }  # fmt: skip

        return read_items(self.origins, make, FEATURES, preferred=None).persist()

    @cached_property
    def _found(self) -> DataFrame:
        check_ids(self.origins, self.things)
        met = meet(self.things.withColumn("rep", self.things["item"])).persist()
        weight = weigh(met)
        if weight.pairs > max(MOST_SEEDS, self.job.max_pairs):
            raise TooManyPairs(
                f"{weight.pairs:,} times two documents share a fingerprint, the most common one stands in "
                f"{weight.largest:,}: that is boilerplate. Raise --min-tokens, or take it out of the texts first."
            )
        pairs = candidates(met, None, weight, at_once=AT_ONCE).persist()
        job, cross = self.job, len(self.origins) == 2

        def work(left: pa.RecordBatch, right: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            yield from compared(left, right, job, cross=cross)

        return brought(pairs, self.things, work, ["words"], FOUND).persist()

    def _named(self, frame: DataFrame) -> DataFrame:
        return named(frame, self.origins, self.things, ["left"], ["right"])

    def done(self) -> None:
        """Let go of what executors keep for the next question."""
        for frame in (self.__dict__.get(name) for name in ("things", "_found")):
            if frame is not None:
                frame.unpersist()


def compared(left: pa.RecordBatch, right: pa.RecordBatch, job: PassageJob, *, cross: bool) -> Iterator[pa.RecordBatch]:
    """What documents (item, words) at the same rows of two batches share (FOUND)."""
    wanted = np.stack([numbers(left, "item"), numbers(right, "item")], axis=1)
    items, first = np.unique(wanted.T.reshape(-1), return_index=True)
    texts = pa.chunked_array([left["words"], right["words"]]).take(as_arrow(first)).combine_chunks()
    sides = [items % 2 == 0, items % 2 == 1] if cross else [np.ones(len(items), np.bool_)]
    order = np.concatenate([items[side] for side in sides])
    collections: list[Collection] = [
        open_collection(pa.table({"text": texts.filter(as_arrow(side))})) for side in sides
    ]
    shared = run(collections, job, Trace())
    one, other = order[shared.sums[:, 0]], order[shared.sums[:, 1]]

    def packed(one: I64, other: I64) -> I64:
        low, high = np.minimum(one, other), np.maximum(one, other)
        return np.searchsorted(items, low) * len(items) + np.searchsorted(items, high)

    keep = np.isin(packed(one, other), packed(wanted[:, 0], wanted[:, 1]))
    each = np.repeat(np.arange(len(one)), shared.sums[:, 5])
    rows = np.flatnonzero(keep[each])
    columns: dict[str, Any] = {"left": one[each], "right": other[each], **in_characters(shared)}
    columns |= {name: values[each] for name, values in summed(shared).items()}
    yield pa.record_batch({name: as_arrow(np.ascontiguousarray(values[rows])) for name, values in columns.items()})
