"""Collapse equal sets into classes before a join, and expand the pairs of classes to pairs of items after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U64, Pairs, Sets
from lookalike.core.candidates import Candidates, Items
from lookalike.core.measures import Bar
from lookalike.core.verification import verified
from lookalike.errors import TooManyPairs
from lookalike.kernels import bounds, classes, verify

ADVICE = "Ask for groups or dedup instead, take a stricter threshold, or raise `max_pairs`."
Same = Callable[[I64, I64], npt.NDArray[np.bool_]]  # whether items left[i] and right[i] are equal


@dataclass(frozen=True)
class Classes:
    """Classes of items with equal, non-empty sets. members i64[m]: by class, preferred item first; ends i64[c]."""

    members: I64
    ends: I64

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def firsts(self) -> I64:
        """The most preferred item of each class. i64[c]"""
        return self.members[np.concatenate([[0], self.ends[:-1]]).astype(np.int64)] if len(self) else self.members

    @property
    def counts(self) -> I64:
        return np.diff(self.ends, prepend=0)

    @property
    def numbers(self) -> I64:
        """The class number of each member. i64[m]"""
        return np.repeat(np.arange(len(self)), self.counts)

    def lefts(self, split: int) -> I64:
        """Count the members of each class that are items before `split`. i64[c]"""
        before = np.concatenate([[0], np.cumsum(self.members < split)])
        counts: I64 = np.diff(before[np.concatenate([[0], self.ends])])
        return counts

    def sides(self, split: int) -> npt.NDArray[np.uint8]:
        """Return the sides of each class: 1 all members before `split`, 2 none, 3 some (or split is -1). u8[c]"""
        if split < 0:
            return np.full(len(self), 3, np.uint8)
        lefts = self.lefts(split)
        return ((lefts > 0) + 2 * (lefts < self.counts)).astype(np.uint8)

    def ranked(self, best: I64) -> I64:
        """Order the classes by their preferred items. best: item numbers, most preferred first."""
        rank = np.empty(len(best), np.int64)
        rank[best] = np.arange(len(best))
        return np.argsort(rank[self.firsts], kind="stable")

    def class_of(self, items: int) -> I64:
        """Return the class of each item, -1 for items in no class (empty sets). i64[items]"""
        out = np.full(items, -1, np.int64)
        out[self.members] = self.numbers
        return out


def fingerprints(sets: Sets) -> U64:
    """Compute a 64-bit fingerprint per set; equal sets have equal fingerprints."""
    out = np.empty(len(sets), np.uint64)
    verify.fingerprints(sets.elements, sets.offsets, out)
    return out


def collapse(
    sets: Sets,
    prints: U64,
    preference: I64 | None = None,
    *,
    least: int = 1,
    at_once: int = 1 << 20,
    after: Callable[[], None] = lambda: None,
) -> Classes:
    """Group items with equal sets. The result is exact: sets with equal fingerprints are compared.

    Classes are numbered by their lowest item number. preference: item numbers, most preferred first; default: input
    order. least: items with smaller sets are left out, because they match nothing, not even a copy of themselves.
    at_once: number of copies compared per batch; after: called after each batch.
    """
    sizes = sets.sizes
    order = np.arange(len(sets)) if preference is None else preference
    order = order[sizes[order] >= max(1, least)]
    mine = prints[order]
    by_print = np.argsort(mine, kind="stable")
    order, mine = order[by_print], mine[by_print]
    del by_print  # saves memory with millions of items
    new = np.ones(len(order), np.bool_)
    new[1:] = mine[1:] != mine[:-1]
    del mine
    new = _confirm(sets, sizes, order, new, at_once, after)
    return classes_of(order, new)


def collapse_equal(prints: U64, same: Same, preference: I64) -> Classes:
    """Group equal items of any kind: `same` compares items with equal prints. preference: the items to group, in order.

    >>> prints = np.array([7, 5, 7], np.uint64)
    >>> collapse_equal(prints, lambda left, right: prints[left] == prints[right], np.array([2, 1, 0])).members.tolist()
    [2, 0, 1]
    """
    print_of = prints[preference]
    ordered = np.sort(print_of)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(repeated):  # np.sort is several times faster than np.argsort
        return classes_of(preference, np.ones(len(preference), np.bool_))
    shared = repeated[np.minimum(np.searchsorted(repeated, print_of), len(repeated) - 1)] == print_of
    some = preference[shared]
    order = np.concatenate([some[np.argsort(prints[some], kind="stable")], preference[~shared]])
    new = np.ones(len(order), np.bool_)
    new[1:] = prints[order[1:]] != prints[order[:-1]]
    copies = np.flatnonzero(~new)
    if len(copies):
        first = np.flatnonzero(new)[np.cumsum(new) - 1][copies]
        order, new = _apart(order, new, copies[~same(order[first], order[copies])])
    return classes_of(order, new)


def classes_of(order: I64, new: npt.NDArray[np.bool_]) -> Classes:
    """Build classes from items in runs of equal ones; `new` marks run starts. Numbered by their lowest item number."""
    start = np.flatnonzero(new)
    by_first = np.argsort(_lowest(order, start), kind="stable")
    counts = np.diff(start, append=len(order))[by_first]
    ends = np.cumsum(counts)
    spread = np.repeat(start[by_first] - (ends - counts), counts) + np.arange(len(order))
    return Classes(order[spread], ends)


def _lowest(order: I64, start: I64) -> I64:
    return np.minimum.reduceat(order, start) if len(start) else start


def _confirm(
    sets: Sets, sizes: I64, order: I64, new: npt.NDArray[np.bool_], at_once: int, after: Callable[[], None]
) -> npt.NDArray[np.bool_]:
    """Compare each set with the first of its run; a set that differs (a hash collision) becomes a new class."""
    copies = np.flatnonzero(~new)
    if not len(copies):
        return new
    first = np.flatnonzero(new)[np.cumsum(new) - 1][copies]
    items = Items(sets.elements, sets.offsets[:-1], sizes, np.full(len(sets), 3, np.uint8))
    equal = []
    for low in range(0, len(copies), at_once):
        anchors, at = np.unique(first[low : low + at_once], return_index=True)
        some = order[copies[low : low + at_once]].astype(np.uint32)
        proposed = Candidates(order[anchors].astype(np.uint32), np.append(at[1:], len(some)).astype(np.int64), some)
        equal.append(verified(items, proposed, Bar(bounds.JACCARD, 1, 1))[1])
        after()
    same = np.concatenate(equal)
    if len(same) == len(copies):
        return new
    order[:], new = _apart(order, new, copies[~np.isin(order[copies], same)])
    return new


def _apart(order: I64, new: npt.NDArray[np.bool_], impostors: I64) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Move each item with a colliding fingerprint (an impostor) to a separate class at the end."""
    keep = np.ones(len(order), np.bool_)
    keep[impostors] = False
    order = np.concatenate([order[keep], order[impostors]])
    return order, np.concatenate([new[keep], np.ones(len(impostors), np.bool_)])


def too_many_copies(total: str, limit: int, copies: int, advice: str) -> TooManyPairs:
    """Return the error for too many pairs of equal items. copies: how often the most repeated item occurs."""
    return TooManyPairs(
        f"the answer has {total} pairs, more than `max_pairs={limit:,}`; the most repeated item occurs {copies:,} "
        f"times. {advice}"
    )


def expand(pairs: Pairs, among: Classes, own: F64, *, split: int = -1, limit: int, advice: str = ADVICE) -> Pairs:
    """Expand pairs of classes to pairs of items, sorted by (left, right).

    own: similarity of the members of each class to each other. split: items from this number on are on the right side.
    Raises TooManyPairs, with `advice`, above `limit` pairs.
    """
    members, lefts = among.members, np.zeros(0, np.int64)
    if split >= 0:
        lefts = among.lefts(split)
        members = members[np.lexsort((members >= split, among.numbers))]
    total = classes.count_expanded(pairs.left, pairs.right, among.ends, lefts)
    if total > limit:
        raise too_many_copies(f"{total:,}", limit, int(among.counts.max(initial=0)), advice)
    out = Pairs(np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.float64))
    classes.expand(
        pairs.left, pairs.right, pairs.similarity, members, among.ends, lefts, own, out.left, out.right, out.similarity
    )
    if total < len(members):
        order = np.lexsort((out.right, out.left))
        return Pairs(out.left[order], out.right[order], out.similarity[order])
    items = int(members.max(initial=-1)) + 1
    classes.sort_pairs(out.left, out.right, out.similarity, items, np.empty(total, np.uint32), np.empty(total))
    return out
