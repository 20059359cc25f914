"""Pairs of records that come from elsewhere: to be scored, or to be grouped and merged without a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.core.arrow import as_arrow
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.trace import Trace
from lookalike.errors import InputError, UsageError, nearest
from lookalike.evaluation.ground_truth import Listed, read_pairs
from lookalike.evaluation.pair_groups import distinct, output_of
from lookalike.kinds.records.local import Searched
from lookalike.kinds.records.rules import GIVEN_PAIRS
from lookalike.kinds.records.source import RecordTable
from lookalike.kinds.records.spec import RecordJob
from lookalike.runtime.run_output import RunOutput

DEFAULT_GIVEN_THRESHOLD = 1e-9  # pairs that are given match, unless a threshold is given too


def given_output(
    tables: Sequence[RecordTable], pairs: Any, options: dict[str, Any], trace: Trace, *, keep: str = "first"
) -> tuple[RecordJob, RunOutput]:
    """Return the output of a run whose pairs are given instead of searched for. keep: as for `dedup`, of one table."""
    column = preferred_column(keep)
    if keep in ("longest", "shortest"):
        raise UsageError(f"keep {keep!r} needs fields to compare; with given pairs, choose another one.")
    threshold = options.pop("threshold", None)
    options.pop("memory", None)  # nothing is searched for, and the pairs are in memory already
    job = RecordJob(rules=GIVEN_PAIRS, threshold=DEFAULT_GIVEN_THRESHOLD if threshold is None else threshold, **options)
    with trace.stage("read"):
        columns = [
            table.read([*dict.fromkeys(filter(None, (table.id_column or table.usable()[0], column)))])
            for table in tables
        ]
        ids = [table.ids(read) for table, read in zip(tables, columns, strict=True)]
        records = sum(map(len, ids))
        trace.add(records=records)
        listed = read_pairs(pairs)
        left, right = places(ids, listed)
        similarity = np.ones(len(left)) if listed.similarity is None else np.nan_to_num(listed.similarity, nan=1.0)
        low, high = np.minimum(left, right), np.maximum(left, right)
        near = (low != high) & (similarity >= job.threshold)
        found = distinct(low[near], high[near], similarity[near])
        trace.add(pairs=len(found))
    order = preference(keep, np.zeros(records, np.int64), {} if column is None else {column: columns[0].column(column)})
    return job, output_of(ids, found, order)


def places(ids: Sequence[pa.ChunkedArray], listed: Listed) -> tuple[I64, I64]:
    """Return the record numbers of the listed pairs; of two tables, right ids are those of the second one.

    Ids that exist in several of more than two tables, or of one table, must be distinct.
    """
    if len(ids) == 2:
        return _rows(ids[:1], listed.ids[0]), _rows(ids[1:], listed.ids[1]) + len(ids[0])
    return _rows(ids, listed.ids[0]), _rows(ids, listed.ids[1])


def _rows(ids: Sequence[pa.ChunkedArray], wanted: pa.Array | pa.ChunkedArray) -> I64:
    texts = one_array([part.cast(pa.string()) for part in ids])
    if len(ids) > 1 and pc.count_distinct(texts).as_py() < len(texts):
        raise InputError("two of the tables share an id, so the pairs are ambiguous; make the ids distinct.")
    asked = wanted.cast(pa.string())
    rows = pc.index_in(asked, texts)
    if rows.null_count:
        missing = asked.filter(pc.is_null(rows))[0].as_py()
        close = nearest(missing, texts.slice(0, 100_000).to_pylist())
        raise InputError(
            f"the pairs name {missing!r}, which is no id of the records.{close} Without a column of "
            "ids, these are row numbers."
        )
    return np.asarray(pc.cast(rows, pa.int64()).to_numpy(zero_copy_only=False), np.int64)


def one_array(parts: Sequence[pa.ChunkedArray]) -> pa.Array:
    """Return columns of strings, one under the other."""
    return pa.concat_arrays([pa.array([], pa.string()), *(chunk for part in parts for chunk in part.chunks)])


def scored_table(search: Searched, left: I64, right: I64) -> pa.Table:
    """Return left, right, similarity, match and the contribution of each field, for pairs of records in this order."""
    made, ids = search.search, search.loaded.ids
    similarity = made.scores_of(search.score, left, right)
    texts = one_array([part.cast(pa.string()) for part in ids])
    columns = {
        "left": texts.take(as_arrow(left)), "right": texts.take(as_arrow(right)),
        search.job.rules.score_name: as_arrow(similarity),
        "match": pa.array(similarity >= search.job.threshold),
    }  # fmt: skip
    return pa.table({**columns, **made.contributions(search.job.rules, left, right, similarity)})
