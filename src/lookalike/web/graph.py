"""The items and pairs of a result as numbers: who is near whom, and which groups there are at every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import F64, I64
from lookalike.evaluation.thresholds import Cuts, Linkage, link, make_cuts


@dataclass(frozen=True)
class Graph:
    """ids: of the items, one array for each input; items of the second are counted on from the first. left, right
    i64[p], shown f64[p]: the pairs, with their scores as they are shown. level i64[p]: the strictest cut each passes.

    Items without a pair are not in it.
    """

    ids: tuple[pa.Array, ...]
    left: I64
    right: I64
    shown: F64
    level: I64
    cuts: Cuts
    linkage: Linkage

    def __len__(self) -> int:
        return sum(len(ids) for ids in self.ids)

    def side(self, item: int) -> int:
        """Of which input an item is."""
        return int(item >= len(self.ids[0]))

    def id(self, item: int) -> Any:
        side = self.side(item)
        return self.ids[side][item - (len(self.ids[0]) if side else 0)].as_py()

    @cached_property
    def by_score(self) -> I64:
        """The pairs, the nearest first, else in their own order."""
        return np.argsort(-self.cuts.sign * self.shown, kind="stable")

    @cached_property
    def place(self) -> I64:
        """Where each item stands in the order of groups."""
        place = np.empty(len(self), np.int64)
        place[self.linkage.order] = np.arange(len(self))
        return place

    @cached_property
    def _ends(self) -> tuple[I64, I64]:
        """(the pairs of each item one after the other, where those of each item end)."""
        both = np.concatenate([self.left, self.right])
        order = np.argsort(both, kind="stable")
        return order % max(1, len(self.left)), np.cumsum(np.bincount(both, minlength=len(self)))

    def pairs_of(self, item: int) -> I64:
        """The numbers of the pairs that an item is in, the nearest first."""
        pairs, ends = self._ends
        mine = pairs[int(ends[item - 1]) if item else 0 : int(ends[item])]
        return mine[np.argsort(-self.cuts.sign * self.shown[mine], kind="stable")]

    def pair_of(self, one: int, other: int) -> int | None:
        """The number of the pair of two items, or None."""
        mine = self.pairs_of(one)
        at = np.flatnonzero(self.left[mine] + self.right[mine] - one == other)
        return int(mine[at[0]]) if len(at) else None

    def group_of(self, item: int, cut: int) -> I64:
        """The items of the group of this item at a cut, in the order in which they came together."""
        at, bonds = int(self.place[item]), self.linkage.link
        breaks = np.flatnonzero(bonds < cut)
        number = int(np.searchsorted(breaks, at))
        low = int(breaks[number - 1]) + 1 if number else 0
        high = int(breaks[number]) + 1 if number < len(breaks) else len(self)
        return self.linkage.order[low:high]


def make_graph(pairs: pa.Table, column: str, sign: int, threshold: float, *, cross: bool) -> Graph:
    """The graph of a table of pairs. cross: left and right are ids of two inputs, else of one."""
    shown = np.asarray(pairs[column].to_numpy(), np.float64)
    if cross:
        (left, first), (right, second) = _numbered(pairs["left"]), _numbered(pairs["right"])
        ids: tuple[pa.Array, ...] = first, second
        right = right + len(first)
    else:
        both, known = _numbered(pa.chunked_array([*pairs["left"].chunks, *pairs["right"].chunks], pairs["left"].type))
        left, right, ids = both[: len(shown)], both[len(shown) :], (known,)
    cuts = make_cuts(shown, threshold, cast(Literal[1, -1], sign))
    level = cuts.levels(shown)
    return Graph(ids, left, right, shown, level, cuts, link(left, right, level, sum(map(len, ids)), len(cuts)))


def graph_of_groups(groups: pa.Table, threshold: float, sign: int) -> Graph:
    """The graph of a result that has groups only: each is a chain, and there is one cut."""
    first, known = _numbered(groups["id"])
    group = groups["group"].to_numpy()
    near = np.flatnonzero(group[1:] == group[:-1])
    cuts = Cuts(np.array([float(threshold)]), cast(Literal[1, -1], sign))
    level = np.zeros(len(near), np.int64)
    left, right = first[near], first[near + 1]
    linkage = link(left, right, level, len(known), 1)
    return Graph((known,), left[:0], right[:0], np.empty(0), level[:0], cuts, linkage)


def _numbered(values: pa.ChunkedArray) -> tuple[I64, pa.Array]:
    """(the number of each value, the different values in the order of their first appearance)."""
    coded = pc.dictionary_encode(values).combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], values.type).dictionary_encode()
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64), coded.dictionary
