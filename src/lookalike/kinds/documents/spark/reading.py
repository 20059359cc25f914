"""One pass over texts on Spark that computes sets and keys, and recomputation of keys from sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lookalike.io.texts import OnBadText
from lookalike.kinds.documents.spark.features import DOCUMENT_FEATURES, DocumentKeys, features, read_sets, sets_of
from lookalike.kinds.documents.spec import Job
from lookalike.runtime.spark.arrow_batches import mapped
from lookalike.runtime.spark.read_items import Made, read_items
from lookalike.runtime.spark.sources import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def read_things(
    origins: Sequence[SparkSource], job: Job, keys: DocumentKeys, *, preferred: str | None, on_bad_text: OnBadText
) -> DataFrame:
    """Read the documents of all collections, with the columns DOCUMENT_FEATURES."""

    def make(batch: pa.RecordBatch) -> Made:
        for part, sets, lengths in read_sets(batch, job, on_bad_text):
            yield part, features(sets, lengths, keys)

    return read_items(origins, make, DOCUMENT_FEATURES, preferred=preferred)


def rekeyed(things: DataFrame, keys: DocumentKeys) -> DataFrame:
    """Replace the keys of documents by other keys, computed from their sets; the sets are dropped."""
    carried = [field for field in things.schema.fields if field.name not in ("keys", "places", "elements")]
    names = [field.name for field in carried]

    def stage(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        words, places = keys.of(sets_of(batch))
        yield pa.record_batch([*(batch[name] for name in names), words, places], [*names, "keys", "places"])

    listed = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in carried)
    return mapped(things, stage, f"{listed}, keys binary, places binary")
