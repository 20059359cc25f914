"""What an executor starts in place of pyspark's own daemon: all is loaded once, and workers are forked from that.

A worker that starts cold takes about a second of a core to import NumPy, Arrow, pandas and Numba and to load kernels.
"""

from __future__ import annotations

import gc

import pyarrow as pa
import pyspark.sql.pandas.serializers  # noqa: F401  (workers need it)
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

from lookalike.engines.job import Job
from lookalike.engines.local import planned_for
from lookalike.engines.spark import run  # noqa: F401
from lookalike.engines.spark.documents import Keys, features, read_sets
from lookalike.engines.trace import Trace


def load() -> None:
    """Go once through what every task over documents does, and take nothing of it for garbage later."""
    job = Job(method="lsh")
    keys = Keys(job, planned_for(job, Trace()))
    for _, sets, lengths in read_sets(pa.record_batch({"text": ["so many words as it takes"]}), job, "error"):
        features(sets, lengths, keys)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    load()
    manager()
