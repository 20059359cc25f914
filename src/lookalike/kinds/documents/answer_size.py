"""Estimate of the number of pairs in the answer, and the largest groups that cause it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import I64, Pairs
from lookalike.core.clusters import components
from lookalike.core.exact_duplicates import Classes
from lookalike.core.size_limit import CERTAIN_EXCESS, MIN_SAMPLED_PAIRS, far_more
from lookalike.errors import TooManyPairs
from lookalike.kinds.documents.planner import SampleJoin
from lookalike.runtime.local.memory_needs import fewer_pairs

SHOWN_GROUPS = 3  # large groups to show, and members of each
MIN_SAMPLED_MEMBERS = 5  # sampled members of a large group; fewer may be chance


@dataclass(frozen=True)
class LargeGroup:
    """A large group of similar items. size: its (estimated) number of items; equal: whether they are exact duplicates;
    some: a few members."""

    size: int
    equal: bool
    some: I64

    def words(self, name: Callable[[int], str], grow: float = 1.0) -> str:
        """Describe the group. name: gives the name of an item. grow: factor from the sample to all items."""
        about, kind = ("" if grow == 1.0 else "about ", "copies") if self.equal else ("about ", "look-alikes")
        members = ", ".join(name(int(item)) for item in self.some)
        return f"{about}{round(self.size * grow):,} {kind}: {members}{' ...' if self.size > len(self.some) else ''}"


@dataclass(frozen=True)
class AnswerSize:
    """The size of an answer. copies: exact number of pairs of equal items. expected: estimated number of all pairs; the
    same as copies without a sample. sampled: pairs in the sample. crowds: the largest groups."""

    copies: int
    expected: int
    sampled: int
    crowds: list[LargeGroup]

    def check(self, limit: int, name: Callable[[int], str], *, cross: bool) -> None:
        """Raise TooManyPairs before the join if the answer is certain to exceed the limit.

        name: gives the name of an item. cross: the pairs are between two collections.
        """
        if self.copies > limit:
            begin = f"the answer has at least {self.copies:,} pairs, more than `max_pairs={limit:,}`."
        elif self.sampled >= MIN_SAMPLED_PAIRS and self.expected > CERTAIN_EXCESS * limit:
            begin = far_more(self.expected, limit) + "."
        else:
            return
        largest = "; ".join(crowd.words(name) for crowd in self.crowds)
        advice = fewer_pairs("pairs", cross=cross, method="")
        raise TooManyPairs(f"{begin} The largest crowds: {largest}. {advice}")


def size_of(classes: Classes, seen: SampleJoin | None, split: int) -> AnswerSize:
    """Estimate the size of the answer from the classes of equal items and a joined sample of them, if any."""
    counts = classes.counts
    lefts = classes.lefts(split) if split >= 0 else counts
    copies = int((lefts * (counts - lefts)).sum() if split >= 0 else (counts * (counts - 1) // 2).sum())
    if seen is None:
        return AnswerSize(copies, copies, 0, _crowds(classes, None))
    pairs = (counts[seen.picked[seen.left]] * counts[seen.picked[seen.right]]).sum()
    return AnswerSize(
        copies, copies + round(float(pairs) * seen.grow * seen.grow), len(seen.left), _crowds(classes, seen)
    )


def _crowds(classes: Classes, seen: SampleJoin | None) -> list[LargeGroup]:
    """List the most frequent exact duplicates, and the largest groups of the sample with extrapolated sizes."""
    counts, firsts = classes.counts, classes.firsts
    starts = classes.ends - counts
    found = []
    for number in np.argsort(-counts, kind="stable")[:SHOWN_GROUPS]:
        if counts[number] > 1:
            some = classes.members[starts[number] : starts[number] + min(SHOWN_GROUPS, counts[number])]
            found.append(LargeGroup(int(counts[number]), True, some))
    if seen is not None and len(seen.left):
        group = components(Pairs(seen.left, seen.right, np.ones(len(seen.left))), np.arange(len(seen.picked)))
        roots, sizes = np.unique(group.representative, return_counts=True)
        for root in roots[np.argsort(-sizes, kind="stable")[:SHOWN_GROUPS]]:
            members = seen.picked[np.flatnonzero(group.representative == root)]
            if len(members) >= MIN_SAMPLED_MEMBERS:
                size = round(float(counts[members].sum()) * seen.grow)
                found.append(LargeGroup(size, False, firsts[members[:SHOWN_GROUPS]]))
    return sorted(found, key=lambda crowd: -crowd.size)[:SHOWN_GROUPS]
