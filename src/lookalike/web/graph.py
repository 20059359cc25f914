"""The items and pairs of a result as a graph: the pairs of each item, and the groups at every threshold."""

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
    """The graph of the pairs of a result. Items without a pair are not part of it.

    ids: ids of the items, one array for each input; the items of the second input are numbered after those of the
    first. left, right i64[p]: items of each pair; shown f64[p]: displayed score of each pair, NaN for one that only a
    verdict joins; level i64[p]: the strictest cut (threshold) that each pair passes.
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
        """Return the number of the input (0 or 1) of an item."""
        return int(item >= len(self.ids[0]))

    def item_of(self, key: Any, side: int = 0) -> int | None:
        """Return the item with an id, given as it is or as text; None if no pair has it."""
        if self._numbers[side] is None:
            names = self.ids[side].cast(pa.string()).to_pylist()
            self._numbers[side] = {name: at for at, name in enumerate(names)}
        at = (self._numbers[side] or {}).get(str(key))
        return None if at is None else at + (len(self.ids[0]) if side else 0)

    @cached_property
    def _numbers(self) -> list[dict[str, int] | None]:
        return [None] * len(self.ids)

    def id(self, item: int) -> Any:
        side = self.side(item)
        return self.ids[side][item - (len(self.ids[0]) if side else 0)].as_py()

    @cached_property
    def by_score(self) -> I64:
        """Pair numbers, nearest first; pairs with equal scores in their original order."""
        return np.argsort(-self.cuts.sign * self.shown, kind="stable")

    @cached_property
    def place(self) -> I64:
        """The position of each item in `linkage.order`."""
        place = np.empty(len(self), np.int64)
        place[self.linkage.order] = np.arange(len(self))
        return place

    @cached_property
    def _ends(self) -> tuple[I64, I64]:
        """(pair numbers grouped by item, end of the pairs of each item in that array)."""
        both = np.concatenate([self.left, self.right])
        order = np.argsort(both, kind="stable")
        return order % max(1, len(self.left)), np.cumsum(np.bincount(both, minlength=len(self)))

    def pairs_of(self, item: int) -> I64:
        """Return the numbers of the pairs of an item, nearest first."""
        pairs, ends = self._ends
        mine = pairs[int(ends[item - 1]) if item else 0 : int(ends[item])]
        return mine[np.argsort(-self.cuts.sign * self.shown[mine], kind="stable")]

    def score(self, pair: int) -> float | None:
        """Return the displayed score of a pair, or None if it has none."""
        score = float(self.shown[pair])
        return score if score == score else None

    def pair_of(self, one: int, other: int) -> int | None:
        """Return the number of the pair of two items, or None."""
        mine = self.pairs_of(one)
        at = np.flatnonzero(self.left[mine] + self.right[mine] - one == other)
        return int(mine[at[0]]) if len(at) else None

    def group_of(self, item: int, cut: int) -> I64:
        """Return the items of the group of an item at a cut, in the order of `linkage.order`."""
        at, bonds = int(self.place[item]), self.linkage.link
        breaks = np.flatnonzero(bonds < cut)
        number = int(np.searchsorted(breaks, at))
        low = int(breaks[number - 1]) + 1 if number else 0
        high = int(breaks[number]) + 1 if number < len(breaks) else len(self)
        return self.linkage.order[low:high]


def make_graph(pairs: pa.Table, column: str, sign: int, threshold: float, *, cross: bool) -> Graph:
    """Build the graph of a table of pairs. cross: whether left and right are ids of two inputs instead of one."""
    shown = np.asarray(pairs[column].to_numpy(), np.float64)
    if cross:
        (left, first), (right, second) = _numbered(pairs["left"]), _numbered(pairs["right"])
        ids: tuple[pa.Array, ...] = first, second
        right = right + len(first)
    else:
        both, known = _numbered(pa.chunked_array([*pairs["left"].chunks, *pairs["right"].chunks], pairs["left"].type))
        left, right, ids = both[: len(shown)], both[len(shown) :], (known,)
    scored = np.isfinite(shown)
    cuts = make_cuts(shown[scored], threshold, cast(Literal[1, -1], sign))
    level = np.where(scored, cuts.levels(np.where(scored, shown, threshold)), len(cuts) - 1)
    return Graph(ids, left, right, shown, level, cuts, link(left, right, level, sum(map(len, ids)), len(cuts)))


def graph_of_groups(groups: pa.Table, threshold: float, sign: int) -> Graph:
    """Build the graph of a result without pairs: each group is a chain, and there is only one cut."""
    first, known = _numbered(groups["id"])
    group = groups["group"].to_numpy()
    near = np.flatnonzero(group[1:] == group[:-1])
    cuts = Cuts(np.array([float(threshold)]), cast(Literal[1, -1], sign))
    level = np.zeros(len(near), np.int64)
    left, right = first[near], first[near + 1]
    linkage = link(left, right, level, len(known), 1)
    return Graph((known,), left[:0], right[:0], np.empty(0), level[:0], cuts, linkage)


def _numbered(values: pa.ChunkedArray) -> tuple[I64, pa.Array]:
    """Return (code of each value, distinct values in the order of their first occurrence)."""
    coded = pc.dictionary_encode(values).combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], values.type).dictionary_encode()
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64), coded.dictionary
