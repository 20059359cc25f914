"""First stage of a run: one pass over the texts that computes sets of shingles and their fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, U64, Sets, ShingleRule
from lookalike.core.exact_duplicates import fingerprints
from lookalike.core.trace import Trace
from lookalike.io.collection import Collection
from lookalike.kinds.documents.common_shingles import drop_common
from lookalike.kinds.documents.features import shingle
from lookalike.runtime.local.memory_limit import InputNeed
from lookalike.runtime.local.memory_needs import MEMORY_PER_TEXT_BYTE
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.text_pass import FeaturePass, column_of, extract_features, ids_of
from lookalike.runtime.local.work_folder import Workspace

SETS_NEED = InputNeed("documents", row=400, byte=4, text_byte=4)  # where the sets are held in memory
DTYPES: dict[str, Any] = {"elements": np.uint64, "sizes": np.int64, "prints": np.uint64, "lengths": np.int64}


@dataclass(frozen=True)
class Features:
    """The features of all items of one or two collections.

    ids: one array per collection; extra: columns of the first collection; split: number of items of the first
    collection; lengths i64[n]: bytes (or tokens) of each text.
    """

    sets: Sets
    prints: U64
    ids: list[pa.ChunkedArray]
    extra: dict[str, pa.ChunkedArray]
    split: int
    lengths: I64


def sets_recipe(rule: ShingleRule) -> FeaturePass:
    """Define the feature pass that turns texts into sets and fingerprints."""

    def make(texts: pa.Array, _: pa.Array) -> dict[str, Any]:
        sets = shingle(texts, rule)
        offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        return {
            "elements": sets.elements,
            "sizes": sets.sizes,
            "prints": fingerprints(sets),
            "lengths": np.diff(offsets),
        }

    return FeaturePass("sets", rule.as_dict(), DTYPES, "elements", make, MEMORY_PER_TEXT_BYTE[rule.unit])


def read_features(
    collections: Sequence[Collection], rule: ShingleRule, pool: Pool, trace: Trace, space: Workspace, *,
    extra: Sequence[str] = (), max_share: float | None = None,
) -> Features:  # fmt: skip
    """Shingle every text of the collections.

    With `max_share`, shingles that occur in a larger share of the documents are dropped afterwards.
    """
    wanted = [tuple(extra), ()][: len(collections)]
    found = extract_features(collections, wanted, sets_recipe(rule), pool, trace, space)
    ids = ids_of(collections, found)
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
    columns = {name: column_of(found.columns[0], name) for name in extra}
    return Features(sets, prints, ids, columns, len(ids[0]), found.numbers["lengths"])
