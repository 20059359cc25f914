"""Agreement of a result with the ground truth: of pairs at every threshold, and of groups.

A ratio whose denominator is 0 (no pairs reported, or no true pairs) is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from lookalike.core.arrays import F64, I64, Scale
from lookalike.evaluation.matches import Mask, Matches, PairSet, Partition, cells, pairs_within


@dataclass(frozen=True, kw_only=True)
class PairCurve:
    """Precision and recall of pairs at every distinct threshold, from the strictest to the loosest.

    threshold: f64[m], NaN for pairs without scores; reported, correct: i64[m], the number of pairs at or above it, and
    of true pairs among them; true: the number of all true pairs. sign: -1 if thresholds are distances, so that pairs at
    or below them count.

    >>> found, _, _ = PairSet.of(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.9, 0.8, 0.8]))
    >>> curve = pair_curve(found, np.array([True, False, True]), true=4)
    >>> curve.threshold.tolist(), curve.precision.round(3).tolist(), curve.recall.tolist()
    ([0.9, 0.8], [1.0, 0.667], [0.25, 0.5])
    >>> round(curve.average_precision, 4)
    0.4167
    """

    threshold: F64
    reported: I64
    correct: I64
    true: int
    sign: Literal[1, -1] = 1

    def __len__(self) -> int:
        return len(self.threshold)

    @property
    def precision(self) -> F64:
        return _ratio(self.correct, self.reported)

    @property
    def recall(self) -> F64:
        return _ratio(self.correct, np.full(len(self), self.true))

    @property
    def f1(self) -> F64:
        return _ratio(2 * self.correct, self.reported + self.true)

    @property
    def average_precision(self) -> float:
        """Return the area under the precision-recall curve: the sum of precision times the increase of recall."""
        if self.true == 0:
            return float("nan")
        gained = np.diff(self.correct, prepend=0)
        return float((gained * self.precision).sum() / self.true) if len(self) else 0.0

    @cached_property
    def best(self) -> int:
        """Return the index of the point with the highest F1 (the strictest of equal ones); -1 if the curve is empty."""
        return int(np.argmax(np.nan_to_num(self.f1))) if len(self) else -1

    def at(self, threshold: float) -> int:
        """Return the index of the point with all pairs at this threshold or nearer; -1 if there are none."""
        return int(np.count_nonzero(self.sign * self.threshold >= self.sign * threshold)) - 1

    def on(self, scale: Scale) -> Self:
        """Convert a curve whose thresholds are higher for nearer pairs to the thresholds of this scale."""
        return replace(self, threshold=scale.sign * self.threshold, sign=scale.sign)

    def take(self, places: Sequence[int]) -> Self:
        """Return the curve with these points only, to avoid computing ratios for millions of points."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("true", "sign")}
        return replace(self, **{name: values[list(places)] for name, values in arrays.items()})


@dataclass(frozen=True, kw_only=True)
class GroupCurve(PairCurve):
    """Agreement of groups at every threshold, or a single point without one. `reported`: all pairs within groups.

    groups: i64[m], the number of groups of two or more items; bcubed_precision, bcubed_recall, adjusted_rand: f64[m].
    """

    groups: I64
    bcubed_precision: F64
    bcubed_recall: F64
    adjusted_rand: F64

    @property
    def bcubed_f1(self) -> F64:
        """Return the harmonic mean of B-cubed precision and recall, which are never 0: an item is in its own group."""
        precision, recall = self.bcubed_precision, self.bcubed_recall
        return 2.0 * precision * recall / (precision + recall)


def pair_curve(pairs: PairSet, is_true: Mask, *, true: int) -> PairCurve:
    """Return the curve of reported pairs. is_true: bool[p], the correct ones; true: the number of all true pairs.

    Either all similarities are numbers, or all are NaN.
    """
    order = pairs.by_similarity
    similarity = pairs.similarity[order]
    ends = last_of_each(similarity)
    correct = np.cumsum(is_true[order], dtype=np.int64)[ends]
    return PairCurve(threshold=similarity[ends], reported=ends + 1, correct=correct, true=true)


def last_of_each(values: F64) -> I64:
    """Return the index of the last element of each run of equal values; NaN equals NaN."""
    if len(values) == 0:
        return np.empty(0, np.int64)
    differ = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return np.flatnonzero(np.append(differ, True)).astype(np.int64)


def group_agreement(groups: Partition, truth: Partition, true_pairs: PairSet | None = None) -> GroupCurve:
    """Compare two partitions by pairwise, B-cubed and adjusted Rand measures, as a curve with one point.

    Both partitions are over the same items. Computed from the sizes of groups and of their intersections. Pairwise
    counts use `true_pairs` if given, else all pairs within the groups of `truth`.
    """
    _, first, counts = np.unique(cells(groups.label, truth.label), return_index=True, return_counts=True)
    counts = counts.astype(np.int64)
    sizes, true_sizes = groups.sizes, truth.sizes
    shared = int(pairs_within(counts).sum())
    wanted: Matches = truth if true_pairs is None else true_pairs
    correct = shared if true_pairs is None else int(groups.holds(true_pairs.left, true_pairs.right).sum())
    squares = counts.astype(np.float64) ** 2
    items = np.full(1, len(groups.label))
    return GroupCurve(
        threshold=np.full(1, np.nan),
        reported=np.array([groups.total]),
        correct=np.array([correct]),
        true=wanted.total,
        groups=np.array([np.count_nonzero(sizes > 1)]),
        bcubed_precision=_ratio(np.array([(squares / sizes[groups.label[first]]).sum()]), items),
        bcubed_recall=_ratio(np.array([(squares / true_sizes[truth.label[first]]).sum()]), items),
        adjusted_rand=adjusted_rand(np.array([shared]), np.array([groups.total]), truth.total, len(groups.label)),
    )


def adjusted_rand(shared: I64, reported: I64, true: int, items: int) -> F64:
    """Return the adjusted Rand index from numbers of pairs: in both partitions, in the result, and in the truth.

    (shared - expected) / (mean of reported and true - expected), with expected = reported x true / all pairs (Hubert
    and Arabie 1985). 1 if both partitions consist of single items only, or both of one group.

    >>> adjusted_rand(np.array([2]), np.array([4]), true=3, items=6).round(4).tolist()
    [0.4444]
    """
    everything = items * (items - 1) / 2
    expected = reported * (true / everything) if everything else np.zeros(len(reported))
    above, below = shared - expected, (reported + true) / 2 - expected
    trivial = (reported == true) & ((reported == 0) | (reported == everything))
    return np.where(trivial, 1.0, above / np.where(trivial, 1.0, below))


def _ratio(above: F64 | I64, below: F64 | I64) -> F64:
    out = np.full(len(above), np.nan)
    np.divide(above, below, out=out, where=below != 0)
    return out
