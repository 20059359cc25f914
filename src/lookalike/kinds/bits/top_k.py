"""The nearest codes of each code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lookalike.core.arrays import DISTANCE, U64
from lookalike.core.trace import Trace
from lookalike.kinds.bits.kernels.nearest import nearest_codes
from lookalike.kinds.bits.local import together
from lookalike.kinds.bits.source import CodeSource
from lookalike.runtime.local.memory_limit import UNLIMITED, MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.nearest_result import NearestResult, NearestSpec, Ranking, nearest_result

CODES_PER_SEARCH = 512


def nearest_of(
    sources: Sequence[CodeSource], top: int, lowest: float, *, trace: Trace, options: dict[str, Any],
    memory: MemoryLimit = UNLIMITED,
) -> NearestResult:  # fmt: skip
    """Find the nearest codes of each code of the first source in the last one. lowest: the lowest score, or -inf."""
    with trace.stage("read"):
        read = [source.read() for source in sources]
        codes = together([one.bits for one in read], sources)
        trace.add(codes=len(codes), bits=codes.width, null_texts=int(sum((~one.present).sum() for one in read)))
    split = len(read[0].bits)
    places = [np.flatnonzero(one.present) for one in read]
    queries = np.ascontiguousarray(codes.words[:split][places[0]])
    alone = len(read) == 1
    searched = queries if alone else np.ascontiguousarray(codes.words[split:][places[1]])
    part = Ranking.empty(
        len(queries), top, len(searched), itself=alone, limit=options["max_pairs"], trace=trace, memory=memory
    )
    most = codes.width if lowest == -np.inf else int(-lowest)
    with trace.stage("match") as report, Pool(options["threads"] or usable_cores(), memory.look) as pool:
        done = 0
        for count in pool.map(
            lambda low: _search(queries, searched, low, alone, most, part), range(0, len(queries), CODES_PER_SEARCH)
        ):
            done += count
            report(done, len(queries))
    ranking = part.spread(places[0], split, places[-1])
    words = f"the {top:,} nearest by differing bits" + ("" if lowest == -np.inf else f", at most {most}")
    spec = NearestSpec("codes", DISTANCE, words, options)
    return nearest_result(sources, [one.ids for one in read], ranking, spec, trace)


def _search(queries: U64, searched: U64, low: int, alone: bool, most: int, out: Ranking) -> int:
    part = slice(low, low + CODES_PER_SEARCH)
    codes = queries[part]
    if out.nearest.shape[1]:
        first = low if alone else -len(codes)
        nearest_codes(codes, searched, first, most, out.nearest[part], out.score[part], out.filled[part])
    return len(codes)
