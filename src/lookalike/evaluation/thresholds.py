"""Number of pairs, and the groups that they form, at every threshold of a grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.evaluation.kernels import merge_tree
from lookalike.evaluation.merge_tree import Growth

GRID_THRESHOLDS = 250  # approximate number of thresholds in the grid


@dataclass(frozen=True)
class Cuts:
    """A grid of thresholds from the loosest to the strictest: ascending for similarities, descending for distances.

    sign: 1 for similarities, -1 for distances. A score v passes the threshold c if sign * v >= sign * c.
    """

    values: F64
    sign: Literal[1, -1]

    def __len__(self) -> int:
        return len(self.values)

    def levels(self, shown: F64) -> I64:
        """Return the index of the strictest threshold that each score passes; -1 if it passes none."""
        return np.searchsorted(self.sign * self.values, self.sign * shown + SLACK, side="right") - 1

    def nearest(self, shown: float) -> int:
        """Return the index of the loosest threshold of the grid that is at least as strict as this one."""
        at = int(np.searchsorted(self.sign * self.values, self.sign * shown - SLACK))
        return min(at, len(self.values) - 1)


SLACK = 1e-9  # tolerance of comparisons, so that a fraction that is displayed as 0.85 reaches the threshold 0.85


def make_cuts(shown: F64, threshold: float, sign: Literal[1, -1]) -> Cuts:
    """Make a grid of round thresholds from `threshold` (or the farthest score, if that is beyond) to the nearest score.

    >>> make_cuts(np.array([0.8, 0.93]), 0.8, 1).values[[0, 1, -1]].tolist()
    [0.8, 0.801, 1.0]
    >>> make_cuts(np.array([1.0, 3.0]), 4, -1).values.tolist()
    [4.0, 3.0, 2.0, 1.0, 0.0]
    """
    whole = bool(np.all(shown == np.round(shown))) and float(threshold).is_integer()
    best = float((sign * shown).max(initial=sign * threshold))
    worst = min(sign * threshold, float((sign * shown).min(initial=sign * threshold)))
    top = max(best, 1.0 if sign > 0 and not whole and best <= 1 else 0.0 if sign < 0 else best)
    step = _round_step((top - worst) / GRID_THRESHOLDS, whole)
    low, high = math.floor(worst / step + 1e-6), math.ceil(top / step - 1e-6)
    digits = max(0, -math.floor(math.log10(step)) + 1)
    values = np.round(np.arange(low, high + 1) * step, digits)
    # the slider begins at the threshold itself, even if that is not a round number
    values = np.concatenate([[worst], values[values > worst + step * 1e-3]])
    return Cuts(sign * values + 0.0, sign)


def _round_step(width: float, whole: bool) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least `width` (at least 1 for whole numbers).

    >>> [_round_step(w, False) for w in (0.0004, 0.003, 0.0)], _round_step(0.02, True)
    ([0.0005, 0.005, 0.001], 1.0)
    """
    if whole and width <= 1:
        return 1.0
    if width <= 0:
        return 1e-3
    power = 10.0 ** math.floor(math.log10(width))
    return float(f"{next(m * power for m in (1, 2, 5, 10) if m * power >= width * (1 - 1e-9)):.12g}")


@dataclass(frozen=True)
class Linkage:
    """The groups (connected components) of pairs at every threshold of a grid (a "cut").

    order i64[n]: the items in an order in which every group, at any cut, is contiguous. link i64[n-1]: the strictest
    cut at which an item and the next one in that order are in one group; -1 for none. pairs, groups, grouped, largest
    i64[cuts]: the number of pairs, of groups of two or more items, of items in these, and the size of the largest.
    """

    order: I64
    link: I64
    pairs: I64
    groups: I64
    grouped: I64
    largest: I64

    def runs(self, cut: int) -> tuple[I64, I64]:
        """Return the start in `order` and the size of each group of two or more items at a cut, the largest first."""
        together = np.concatenate([[False], self.link >= cut, [False]])
        begins = np.flatnonzero(together[1:] & ~together[:-1])
        sizes = np.flatnonzero(together[:-1] & ~together[1:]) - begins + 1
        largest = np.argsort(-sizes, kind="stable")
        return begins[largest], sizes[largest]


def link(left: I64, right: I64, level: I64, items: int, cuts: int) -> Linkage:
    """Compute the linkage of pairs with these levels (`Cuts.levels`). Time n log n, for any number of cuts."""
    nearest = np.argsort(-level, kind="stable")
    growth = Growth.of(left[nearest], right[nearest], items)
    at = np.append(level[nearest][growth.edge], -1)  # the cut at which each merge happens; -1 for no merge
    merge = growth.joined(growth.order[:-1], growth.order[1:])
    between = at[np.minimum(merge, len(at) - 1)] if items > 1 else np.empty(0, np.int64)
    biggest = np.empty(len(growth.child), np.int64)
    merge_tree.largest(growth.child, growth.parent, biggest)
    done = np.searchsorted(-at[:-1], -np.arange(cuts), side="right")  # merges up to each cut
    links = _at_least(between, cuts)
    groups = links - _at_least(np.minimum(between[1:], between[:-1]), cuts)
    return Linkage(
        order=growth.order,
        link=between,
        pairs=_at_least(level, cuts),
        groups=groups,
        grouped=links + groups,
        largest=np.where(done > 0, np.append(biggest, 0)[np.maximum(done, 1) - 1], 0),
    )


def _at_least(level: I64, cuts: int) -> I64:
    """Return the number of levels at or above each cut: i64[cuts]."""
    counts = np.bincount(level[level >= 0], minlength=cuts)
    return np.asarray(np.cumsum(counts[::-1])[::-1], np.int64)
