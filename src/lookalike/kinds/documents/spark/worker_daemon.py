"""Replacement of pyspark's worker daemon: it loads all libraries once, and workers are forked from it.

A cold worker needs about a second of a core to import NumPy, Arrow, pandas and Numba and to load kernels.
"""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pyspark.sql.pandas.serializers
import pyspark.worker  # noqa: F401  (workers need both)
from pyspark.daemon import manager

from lookalike.core.trace import Trace
from lookalike.kinds.documents.local import planned_for
from lookalike.kinds.documents.spark import run  # noqa: F401
from lookalike.kinds.documents.spark.features import DocumentKeys, features, read_sets, set_score
from lookalike.kinds.documents.spec import Job
from lookalike.runtime.spark.key_join import KEY_COLUMNS, bucket_pairs


def load() -> None:
    """Run every step of a document task once, and exclude the loaded objects from garbage collection."""
    job = Job(method="lsh")
    plan = planned_for(job, Trace())
    texts = pa.record_batch({"text": ["as many words as it takes"] * 2})
    for _, sets, lengths in read_sets(texts, job, "error"):
        made = features(sets, lengths, DocumentKeys(job, plan))
        items = pa.record_batch({"item": pa.array([0, 1]), "elements": made["elements"]})
        set_score(job, plan)(items, items)
    rows = {name: np.zeros(2, kind) for name, kind in KEY_COLUMNS.items()}
    list(bucket_pairs(rows, np.zeros(2, np.int8), job.bar()))
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    load()
    manager()
