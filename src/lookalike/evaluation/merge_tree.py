"""Connected components of pairs at every threshold, and their agreement with the truth, in one pass over the pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.evaluation.agreement import GroupCurve, adjusted_rand, last_of_each
from lookalike.evaluation.kernels import merge_tree as kernel
from lookalike.evaluation.matches import PairSet, Partition
from lookalike.kernels import graph


@dataclass(frozen=True)
class Growth:
    """The merge tree of n items: merge k attached child[k] to parent[child[k]]; see `kernels.merge_tree`."""

    parent: I64
    when: I64
    child: I64
    edge: I64
    order: I64

    @classmethod
    def of(cls, left: I64, right: I64, items: int) -> Growth:
        parent, when = np.arange(items), np.full(items, items)
        child, edge, order = (np.empty(items, np.int64) for _ in range(3))
        merges = kernel.grow(left, right, parent, when, child, edge, order)
        return cls(parent, when, child[:merges], edge[:merges], order)

    def joined(self, left: I64, right: I64) -> I64:
        """Return the merge that put two items into one group (i64[q]); n if none did."""
        out = np.empty(len(left), np.int64)
        kernel.joined(left, right, self.parent, self.when, out)
        return out


def connected(pairs: PairSet, items: int) -> Partition:
    """Return the connected components of the pairs."""
    parent = np.arange(items)
    graph.components(pairs.left, pairs.right, parent)
    return Partition.of(parent)


def grouped_curve(pairs: PairSet, truth: Partition, true_pairs: PairSet | None = None) -> GroupCurve:
    """Compare the connected components of the pairs at or above each threshold with the truth.

    `true_pairs` as in `group_agreement`. Time about n log n for n items, plus the sort of the pairs.
    """
    similarity = pairs.similarity[pairs.by_similarity]
    growth = Growth.of(pairs.left[pairs.by_similarity], pairs.right[pairs.by_similarity], len(truth.label))
    together, weighted = _together(growth, truth)
    merges, items = len(growth.child), len(truth.label)
    reported, groups = np.zeros((2, merges + 1), np.int64)
    purity = np.full(merges + 1, float(items))
    kernel.purity(growth.child, growth.parent, together, reported[1:], groups[1:], purity[1:])
    shared = _summed(together)
    correct, true = shared, truth.total
    if true_pairs is not None:
        joined = growth.joined(true_pairs.left, true_pairs.right)
        correct, true = _summed(np.bincount(joined, minlength=merges)[:merges]), true_pairs.total
    complete = len(truth.sizes) + 2.0 * np.concatenate([np.zeros(1), np.cumsum(weighted)])
    ends = last_of_each(similarity)
    done = np.searchsorted(growth.edge, ends, side="right")  # the number of merges by the pairs up to each threshold
    return GroupCurve(
        threshold=similarity[ends],
        reported=reported[done],
        correct=correct[done],
        true=true,
        groups=groups[done],
        bcubed_precision=np.minimum(1.0, purity[done] / items),
        bcubed_recall=np.minimum(1.0, complete[done] / items),
        adjusted_rand=adjusted_rand(shared[done], reported[done], truth.total, items),
    )


def _together(growth: Growth, truth: Partition) -> tuple[I64, F64]:
    """Return for each merge the number of pairs of one true group that it puts together, and their weighted number.

    The weight of a pair is 1 / size of the true group. Every group is contiguous in `growth.order`, so the members of a
    true group that are in two merging groups are adjacent among its members in that order: links between adjacent
    members are sufficient.
    """
    members = growth.order[np.argsort(truth.label[growth.order], kind="stable")]
    label = truth.label[members]
    link = np.flatnonzero(label[1:] == label[:-1])
    merge = growth.joined(members[link], members[link + 1])
    by_merge = np.argsort(merge)[: np.count_nonzero(merge < len(members))]
    link, merge = link[by_merge], merge[by_merge]
    together, weighted = np.zeros(len(growth.child), np.int64), np.zeros(len(growth.child), np.float64)
    kernel.products(link, merge, truth.sizes[label[link]], together, weighted)
    return together, weighted


def _summed(values: I64) -> I64:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
