"""The nearest strings of each string."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import DISTANCE, SIMILARITY, U64
from lookalike.core.trace import Trace
from lookalike.io.collection import Collection
from lookalike.kernels import edits
from lookalike.kinds.strings.kernels.nearest import nearest_strings
from lookalike.kinds.strings.kernels.strings import pair_bags
from lookalike.kinds.strings.lengths import Ranked, StringsByLength, ranked
from lookalike.kinds.strings.local import ids_of_batches
from lookalike.runtime.local.memory_limit import UNLIMITED, MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.nearest_result import NearestResult, NearestSpec, Ranking, nearest_result

STRINGS_PER_SEARCH = 256


def nearest_of(
    collections: Sequence[Collection], top: int, lowest: float, *, options: dict[str, Any], trace: Trace,
    memory: MemoryLimit = UNLIMITED,
) -> NearestResult:  # fmt: skip
    """Find the nearest strings of each string of the first collection in the last one. lowest: the lowest score."""
    read, ids = [], []
    trace.add(bytes=0, null_texts=0, bad_texts=0)
    with trace.stage("read"):
        for collection in collections:
            batches = list(collection.texts([]))
            read.append(pa.concat_arrays([batch.texts for batch in batches] or [pa.array([], pa.large_string())]))
            for batch in batches:
                trace.add(null_texts=batch.null_texts, bad_texts=batch.bad_texts, bytes=batch.texts.nbytes)
            ids.append(ids_of_batches(batches))
            if collection.id_column is not None:
                collection.check_ids(ids[-1])
        folds = {name: options[name] for name in ("fold_case", "strip_accents")}
        memory.look()
        texts = StringsByLength.of(pa.concat_arrays(read), **folds)
        trace.add(strings=len(texts), empty=int((texts.lengths == 0).sum()))
    split, alone = len(read[0]), len(read) == 1
    filled = np.flatnonzero(texts.lengths)
    mine = filled[filled < split]
    theirs = mine if alone else filled[filled >= split]
    part = Ranking.empty(
        len(mine), top, len(theirs), itself=alone, limit=options["max_pairs"], trace=trace, memory=memory
    )  # an empty string is no neighbour
    measure = (edits.INDEL if options["measure"] == "indel" else edits.LEVENSHTEIN) + (
        edits.SIMILARITY_SHARE if options["by_similarity"] else 0
    )
    with trace.stage("match") as report, Pool(options["threads"] or usable_cores(), memory.look) as pool:
        left = ranked(texts, mine, np.zeros(len(mine), np.uint8))
        right = left if alone else ranked(texts, theirs, np.zeros(len(theirs), np.uint8))
        pairs = _pair_bags(left), _pair_bags(right)
        lows = range(0, len(left) if part.nearest.shape[1] else 0, STRINGS_PER_SEARCH)
        for done, _ in enumerate(
            pool.map(lambda low: _search(measure, left, low, right, pairs, lowest, part), lows), 1
        ):
            report(min(done * STRINGS_PER_SEARCH, len(left)), len(left))
    ranking = part.spread(mine, split, theirs - (0 if alone else split))
    scale = SIMILARITY if options["by_similarity"] else DISTANCE
    name = "Levenshtein" if options["measure"] == "levenshtein" else "insert/delete"
    words = f"the {top:,} nearest by {name} {scale.column}"
    if lowest > -np.inf:
        words += f", {scale.bound} {lowest * scale.sign:g}"
    return nearest_result(collections, ids, ranking, NearestSpec("strings", scale, words, options), trace)


def _pair_bags(texts: Ranked) -> U64:
    out = np.empty((2, len(texts)), np.uint64)
    pair_bags(texts.texts.points, texts.texts.ends, out)
    return out


def _search(
    measure: int, left: Ranked, low: int, right: Ranked, pairs: tuple[U64, U64], lowest: float, out: Ranking
) -> None:
    nearest_strings(
        measure, left.texts.points, left.texts.ends, left.bags, pairs[0], left.order,
        low, min(low + STRINGS_PER_SEARCH, len(left)),
        right.texts.points, right.texts.ends, right.bags, pairs[1], right.order, right.starts, left is right,
        left.letters, lowest, out.nearest, out.score, out.filled,
    )  # fmt: skip
