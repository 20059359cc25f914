"""Sources of vectors on Spark: open them as rows with a position, and start the run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.core.trace import Trace
from lookalike.io.array_files import ARRAY_FILES
from lookalike.io.list_columns import choose_list
from lookalike.io.vectors import open_vectors
from lookalike.kinds.vectors.spark.run import VectorRun
from lookalike.kinds.vectors.spec import VectorJob
from lookalike.runtime.run_output import OutputKind
from lookalike.runtime.spark.session import open_session, quiet, tune
from lookalike.runtime.spark.sources import PLACE, SparkSource, open_origins


def run_vectors(
    sources: Sequence[Any], columns: dict[str, str | None], job: VectorJob, want: OutputKind, keep: str,
    cluster: dict[str, Any], trace: Trace,
) -> VectorRun:  # fmt: skip
    """Create the run over one collection of vectors, or over two if the second source is not None."""
    session = open_session(**cluster)
    origins = []
    for source in (one for one in sources if one is not None):
        if _is_near(source):
            origins.append(_of_arrays(session, source, columns))
        else:
            several = sources[1] is not None
            made = open_origins(
                session, [source], text=columns["column"], id=columns["id"], choose=choose_list, several=several
            )
            origins += [replace(one, shown={"vectors": one.text_column, "id": one.id_column}) for one in made]
    tune(session, (origin.frame for origin in origins))
    return VectorRun(origins, job, want, keep, "error", trace)


def _is_near(source: Any) -> bool:
    """Return True for sources that Spark cannot read: arrays in memory, or array files."""
    from pyspark.sql import DataFrame

    paths = source if isinstance(source, list | tuple) else [source]
    if isinstance(source, DataFrame):
        return False
    if all(isinstance(path, str | os.PathLike) for path in paths):
        return any(os.fspath(path).lower().endswith(tuple(ARRAY_FILES)) for path in paths)
    return True


def _of_arrays(session: Any, source: Any, columns: dict[str, str | None]) -> SparkSource:
    """Send vectors that the driver holds or reads to Spark, with their positions."""
    if isinstance(source, tuple):
        source = [Path(name) for name in source]
    opened = open_vectors(source, **columns)
    rows, ids = [], []
    for batch in opened.batches():
        width = batch.values.shape[1]
        flat = pa.FixedSizeListArray.from_arrays(as_arrow(np.ascontiguousarray(batch.values).reshape(-1)), width)
        rows.append(flat.cast(pa.list_(pa.float32())))
        ids.append(batch.ids if batch.ids is not None else None)
    vectors = pa.chunked_array(rows) if rows else pa.chunked_array([], pa.list_(pa.float32()))
    table = pa.table({"vector": vectors, PLACE: as_arrow(np.arange(len(vectors)))})
    named = bool(ids) and all(one is not None for one in ids)
    if named:
        table = table.append_column("id", pa.chunked_array(ids))
    with quiet():
        frame = session.createDataFrame(table)
    files = tuple(str(file) for part in opened.parts for file in part.files)
    shown = {"vectors": opened.column, "id": opened.id_column}
    return SparkSource(
        opened.name,
        frame,
        "vector",
        "id" if named else None,
        "column",
        {},
        given=opened.given,
        files=files,
        shown=shown,
    )
