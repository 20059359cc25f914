"""Group verified pairs into components, stars or cliques. The items are classes of equal sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, Groups, Pairs
from lookalike.core.exact_duplicates import Classes
from lookalike.kernels import graph

Greedy = Literal["stars", "cliques"]


def components(pairs: Pairs, preference: I64) -> Groups:
    """Group items into connected components; the representative is the most preferred member."""
    parent = np.arange(len(preference))
    graph.components(pairs.left, pairs.right, parent)
    return represented(parent, preference)


def connected(pieces: Iterable[Pairs], preference: I64) -> Groups:
    """Return the components of pairs that come in pieces, in any order."""
    parent = np.arange(len(preference))
    for piece in pieces:
        graph.unite(piece.left, piece.right, parent)
    graph.flatten(parent)
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
    return _walked("stars", pairs, preference)


def cliques(pairs: Pairs, preference: I64) -> Groups:
    """Partition the items into groups in which every two members are similar, greedily in order of preference.

    No two of the groups could be merged into one. The representative is the most preferred member.
    """
    return _walked("cliques", pairs, preference)


def _walked(grouping: Greedy, pairs: Pairs, preference: I64) -> Groups:
    one = by_rank(pairs, preference)
    order = np.argsort(one.left, kind="stable")
    return greedy([Pairs(one.left[order], one.right[order], one.similarity[order])], preference, grouping)


def by_rank(pairs: Pairs, preference: I64) -> Pairs:
    """Return the pairs with the ranks of their items instead of their numbers, the less preferred item first."""
    rank = np.empty(len(preference), np.int64)
    rank[preference] = np.arange(len(preference))
    left, right = rank[pairs.left], rank[pairs.right]
    return Pairs(np.maximum(left, right), np.minimum(left, right), pairs.similarity)


def greedy(pieces: Iterable[Pairs], preference: I64, grouping: Greedy) -> Groups:
    """Build stars or cliques from pairs of ranks, as of `by_rank`, that ascend by their less preferred items.

    They come in pieces; all pairs of a less preferred item are in one piece.
    """
    n, done = len(preference), 0
    kept, score = np.empty(n, np.int64), np.empty(n, np.float64)
    members = np.zeros((2, n if grouping == "cliques" else 0), np.int64)

    def walk(stop: int, piece: Pairs) -> None:
        ends = np.cumsum(np.bincount(piece.left - done, minlength=stop - done)).astype(np.int64)
        if grouping == "stars":
            graph.stars(done, piece.right, piece.similarity, ends, kept, score)
        else:
            graph.cliques(done, piece.right, piece.similarity, ends, kept, score, members)

    for piece in pieces:
        stop = int(piece.left[-1]) + 1 if len(piece) else done
        walk(stop, piece)
        done = stop
    empty = np.empty(0, np.int64)
    walk(n, Pairs(empty, empty, np.empty(0)))
    out = Groups(np.empty(n, np.int64), np.empty(n, np.float64))
    out.representative[preference], out.similarity[preference] = preference[kept], score
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


def best_matches(pieces: Iterable[Pairs], classes: Classes, split: int, own: F64) -> Groups:
    """Assign each item before `split` to the most similar item from `split` on (the first in a tie), or to itself.

    The pairs of classes come in pieces. own: as in `of_items`.
    """
    n = len(classes)
    number = classes.numbers
    none = np.iinfo(np.int64).max
    right = np.full(n, none)
    np.minimum.at(right, number, np.where(classes.members >= split, classes.members, none))
    match, best = np.where(right == none, -1, right), np.where(right == none, np.nan, own)
    for pairs in pieces:
        known = np.unique(np.concatenate([pairs.left, pairs.right]))
        known = known[match[known] >= 0]
        left = np.concatenate([known, pairs.left, pairs.right])
        other = np.concatenate([match[known], right[pairs.right], right[pairs.left]])
        score = np.concatenate([best[known], pairs.similarity, pairs.similarity])
        usable = other != none
        left, other, score = left[usable], other[usable], score[usable]
        order = np.lexsort((other, -score))[::-1]
        match[left[order]], best[left[order]] = other[order], score[order]
    out = Groups(np.arange(split), np.ones(split))
    mine = classes.members < split
    members, number = classes.members[mine], number[mine]
    found = match[number] >= 0
    out.representative[members[found]] = match[number[found]]
    out.similarity[members[found]] = best[number[found]]
    return out
