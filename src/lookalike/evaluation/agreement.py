"""How well an answer agrees with the truth: pairs at every threshold, and groups.

Where a ratio has nothing below the line (no pair reported, none true) it is NaN: neither good nor bad.
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
    """Precision and recall of pairs, at every threshold that makes a difference, from the strictest to the loosest.

    threshold: f64[m], NaN where there is none; reported, correct: i64[m], the pairs at or above it, and those of them
    that are true; true: all true pairs. sign: -1 where thresholds are distances, and pairs at or below them count.

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
        """The area under precision against recall: the sum of precision times what recall has gained."""
        if self.true == 0:
            return float("nan")
        gained = np.diff(self.correct, prepend=0)
        return float((gained * self.precision).sum() / self.true) if len(self) else 0.0

    @cached_property
    def best(self) -> int:
        """The point with the highest F1, the stricter threshold among equals; -1 where there is no point."""
        return int(np.argmax(np.nan_to_num(self.f1))) if len(self) else -1

    def at(self, threshold: float) -> int:
        """The point that holds what is at this threshold or nearer; -1 where nothing is."""
        return int(np.count_nonzero(self.sign * self.threshold >= self.sign * threshold)) - 1

    def on(self, scale: Scale) -> Self:
        """The curve of nearness (higher is nearer) with the thresholds of this scale."""
        return replace(self, threshold=scale.sign * self.threshold, sign=scale.sign)

    def take(self, places: Sequence[int]) -> Self:
        """The curve with these points only: a few of millions, before looking at more than one of their numbers."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("true", "sign")}
        return replace(self, **{name: values[list(places)] for name, values in arrays.items()})


@dataclass(frozen=True, kw_only=True)
class GroupCurve(PairCurve):
    """Groups, at every threshold (or one answer without). `reported` are all pairs within the groups.

    groups: i64[m], of two or more items; bcubed_precision, bcubed_recall, adjusted_rand: f64[m].
    """

    groups: I64
    bcubed_precision: F64
    bcubed_recall: F64
    adjusted_rand: F64

    @property
    def bcubed_f1(self) -> F64:
        """The harmonic mean of the two, which are never 0: every item is in its own group."""
        precision, recall = self.bcubed_precision, self.bcubed_recall
        return 2.0 * precision * recall / (precision + recall)


def pair_curve(pairs: PairSet, is_true: Mask, *, true: int) -> PairCurve:
    """The curve of reported pairs, of which `is_true` (bool[p]) are correct; `true`: how many true pairs there are.

    All similarities are numbers, or none is.
    """
    order = pairs.by_similarity
    similarity = pairs.similarity[order]
    ends = last_of_each(similarity)
    correct = np.cumsum(is_true[order], dtype=np.int64)[ends]
    return PairCurve(threshold=similarity[ends], reported=ends + 1, correct=correct, true=true)


def last_of_each(values: F64) -> I64:
    """The place of the last one of each run of equal values; NaN equals NaN."""
    if len(values) == 0:
        return np.empty(0, np.int64)
    differ = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return np.flatnonzero(np.append(differ, True)).astype(np.int64)


def group_agreement(groups: Partition, truth: Partition, true_pairs: PairSet | None = None) -> GroupCurve:
    """One answer, as a curve of one point: pairwise, B-cubed and Rand, from the sizes of groups and of what they share.

    Both partitions are over the same items. Pairwise counts take `true_pairs` where they are given, else all pairs
    within the groups of `truth`.
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
    """From pairs that are together in both, in the answer, and in the truth. 1 where both are trivial in the same way.

    (shared - expected) / (mean of reported and true - expected), expected = reported x true / all pairs (Hubert and
    Arabie 1985).

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
