"""Group verified pairs into components, stars or cliques. The items are classes of equal sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, Groups, Pairs
from lookalike.core.exact_duplicates import Classes
from lookalike.kernels import graph


def components(pairs: Pairs, preference: I64) -> Groups:
    """Group items into connected components; the representative is the most preferred member."""
    parent = np.arange(len(preference))
    graph.components(pairs.left, pairs.right, parent)
    return represented(parent, preference)


def represented(root: I64, preference: I64) -> Groups:
    """Build groups from the union-find root of each item, with the most preferred member as representative."""
    best = np.full(len(root), -1, np.int64)
    backwards = preference[::-1]
    best[root[backwards]] = backwards
    representative = best[root]
    return Groups(representative, np.where(representative == np.arange(len(root)), 1.0, np.nan))


def stars(pairs: Pairs, preference: I64) -> Groups:
    """Keep each item or assign it to a kept, more preferred item that it forms a pair with: no chaining."""
    return _walked(graph.stars, pairs, preference)


def cliques(pairs: Pairs, preference: I64) -> Groups:
    """Partition the items into groups in which every two members are similar, greedily in order of preference.

    No two of the groups could be merged into one. The representative is the most preferred member.
    """
    return _walked(graph.cliques, pairs, preference)


def _walked(walk: Callable[..., None], pairs: Pairs, preference: I64) -> Groups:
    """Build groups with a greedy kernel that reads the neighbours of each item in order of preference."""
    n = len(preference)
    both = np.concatenate([pairs.left, pairs.right])
    order = np.argsort(both, kind="stable")
    ends = np.cumsum(np.bincount(both, minlength=n)).astype(np.int64)
    neighbours = np.concatenate([pairs.right, pairs.left])[order]
    similarity = np.concatenate([pairs.similarity, pairs.similarity])[order]
    out = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
    walk(neighbours, similarity, ends, preference, out.representative, out.similarity)
    return out


MAKERS = {"components": components, "stars": stars, "cliques": cliques}


def of_items(groups: Groups, classes: Classes, items: int, own: F64) -> Groups:
    """Convert groups of classes to groups of items; items without a class stay single.

    own: similarity of the members of each class to each other, 1 unless the measure counts elements.
    """
    out = Groups(np.arange(items), np.ones(items))
    firsts = classes.firsts
    number = classes.numbers
    out.representative[classes.members] = firsts[groups.representative[number]]
    alone = groups.representative == np.arange(len(classes))
    out.similarity[classes.members] = np.where(alone, own, groups.similarity)[number]
    return out


def beyond(groups: Groups, preferred: I64, copies: int) -> npt.NDArray[np.bool_]:
    """Return which items go where at most `copies` of each group stay; with 0 copies, groups of one stay.

    The representative stays first, then the other members in order of preference. preferred: item numbers, best first.

    >>> groups = Groups(np.array([0, 0, 0, 3]), np.ones(4))
    >>> beyond(groups, np.array([2, 1, 0, 3]), 2).tolist(), beyond(groups, np.arange(4), 0).tolist()
    ([False, True, False, False], [True, True, True, False])
    """
    representative, n = groups.representative, len(groups.representative)
    sizes = np.bincount(representative, minlength=n)
    if copies == 0:
        return np.asarray(sizes[representative] > 1)
    rank = np.empty(n, np.int64)
    rank[preferred] = np.arange(n)
    rank[representative] = -1
    order = np.lexsort((rank, representative))
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(n, np.bool_)
    out[order] = np.arange(n) - starts[representative[order]] >= copies
    return out


def best_matches(pairs: Pairs, classes: Classes, split: int, own: F64) -> Groups:
    """Assign each item before `split` to the most similar item from `split` on (the first in a tie), or to itself.

    own: as in `of_items`.
    """
    n = len(classes)
    number = classes.numbers
    right = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(right, number, np.where(classes.members >= split, classes.members, np.iinfo(np.int64).max))
    none = right == np.iinfo(np.int64).max
    both = np.flatnonzero(~none)
    left = np.concatenate([both, pairs.left, pairs.right])
    other = np.concatenate([both, pairs.right, pairs.left])
    score = np.concatenate([own[both], pairs.similarity, pairs.similarity])
    usable = ~none[other]
    left, other, score = left[usable], other[usable], score[usable]
    order = np.lexsort((right[other], -score))[::-1]
    match, best = np.full(n, -1, np.int64), np.full(n, np.nan)
    match[left[order]], best[left[order]] = right[other[order]], score[order]
    out = Groups(np.arange(split), np.ones(split))
    mine = classes.members < split
    members, number = classes.members[mine], number[mine]
    found = match[number] >= 0
    out.representative[members[found]] = match[number[found]]
    out.similarity[members[found]] = best[number[found]]
    return out
