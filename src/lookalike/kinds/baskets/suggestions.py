"""Recommendations: items in the baskets most similar to a given one that this one does not contain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64, I64
from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import count
from lookalike.core.measures import SetMeasure
from lookalike.errors import InputError, nearest
from lookalike.kernels import bounds
from lookalike.kinds.baskets.source import Baskets


@dataclass(frozen=True, kw_only=True)
class Suggestions:
    """Items to suggest to `who`, best first.

    items: item, score (the share of the neighbours' total similarity that comes from those with the item), count, by
    (the neighbours that have it, most similar first). neighbours: id, similarity, shared.
    """

    who: Any
    items: pa.Table
    neighbours: pa.Table

    def to_arrow(self) -> pa.Table:
        return self.items

    def __repr__(self) -> str:
        items, neighbours = count(len(self.items), "items"), count(len(self.neighbours), "neighbours")
        return f"<Suggestions for {self.who}: {items} from {neighbours}>"


@dataclass(frozen=True)
class BasketNeighbours:
    """The baskets most similar to a given one, most similar first; ties in input order.

    places i64[m]; similarity f64[m]; shared i64[m]: number of items in common.
    """

    places: I64
    similarity: F64
    shared: I64


def find(baskets: Baskets, who: Any) -> int:
    """Return the number of the basket with this id, which may be given as text."""
    names = baskets.ids.cast(pa.large_string())
    at = pc.index(names, pa.scalar(str(who), pa.large_string())).as_py()
    if at < 0:
        close = nearest(str(who), names.slice(0, 100_000).to_pylist())
        raise InputError(f"no {baskets.set_name} {str(who)!r} in {baskets.name}.{close}")
    return int(at)


def neighbours_of(
    baskets: Baskets, me: int, measure: SetMeasure, *, bag: bool, least: float, most: int
) -> BasketNeighbours:
    """Return up to `most` baskets that share an item with basket `me` and have at least similarity `least`.

    Linear in the entries.
    """
    shared, sizes = overlaps(baskets, me, bag=bag)
    n = len(baskets)
    similarity = np.empty(n)
    bounds.scores(measure.code, shared, np.full(n, me, np.uint32), np.arange(n, dtype=np.uint32), sizes, similarity)
    similarity[me] = 0.0
    order = np.argsort(-similarity, kind="stable")[:most]
    order = order[(similarity[order] > 0) & (similarity[order] >= least)]
    return BasketNeighbours(order, similarity[order], shared[order])


def overlaps(baskets: Baskets, me: int, *, bag: bool) -> tuple[I64, I64]:
    """Return how many items each basket shares with basket `me`, and how many it has; in a bag every copy counts."""
    owners = np.repeat(np.arange(len(baskets)), np.diff(baskets.offsets))
    width = max(1, len(baskets.items))
    cells, times = np.unique(owners * width + baskets.numbers, return_counts=True)
    times = times if bag else np.ones_like(times)
    owner, number = cells // width, cells % width
    wanted = np.zeros(width, np.int64)
    wanted[number[owner == me]] = times[owner == me]
    shared = np.bincount(owner, np.minimum(times, wanted[number]), len(baskets))
    return shared.astype(np.int64), np.bincount(owner, times, len(baskets)).astype(np.int64)


def suggestions(baskets: Baskets, me: int, near: BasketNeighbours, limit: int) -> Suggestions:
    """Return up to `limit` items that neighbours have and basket `me` lacks, by the neighbours' total similarity."""
    lists = [np.unique(baskets[int(one)]) for one in near.places]
    numbers = np.concatenate([np.empty(0, np.int64), *lists])
    rank = np.repeat(np.arange(len(lists)), [len(one) for one in lists]).astype(np.int64)
    new = ~np.isin(numbers, baskets[me])
    numbers, rank = numbers[new], rank[new]
    weight = np.bincount(numbers, near.similarity[rank], len(baskets.items))
    count = np.bincount(numbers, minlength=len(baskets.items)).astype(np.int64)
    best = np.flatnonzero(count)
    best = best[np.lexsort((best, -count[best], -weight[best]))][:limit]
    by = [near.places[rank[numbers == item]] for item in best]
    ends = np.cumsum([0, *(len(one) for one in by)]).astype(np.int64)
    names = baskets.ids.take(as_arrow(np.concatenate([np.empty(0, np.int64), *by])))
    items = pa.table(
        {
            "item": baskets.items.take(as_arrow(best)),
            "score": as_arrow(weight[best] / (near.similarity.sum() or 1.0)),
            "count": as_arrow(count[best]),
            "by": pa.LargeListArray.from_arrays(as_arrow(ends), names),
        }
    )
    table = pa.table(
        {
            "id": baskets.ids.take(as_arrow(near.places)),
            "similarity": as_arrow(near.similarity),
            "shared": as_arrow(near.shared),
        }
    )
    return Suggestions(who=baskets.ids[me].as_py(), items=items, neighbours=table)
