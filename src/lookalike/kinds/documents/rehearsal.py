"""Trial join of sampled documents, and the extrapolation of its counts to the whole collection."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U32
from lookalike.core.candidates import Candidates, Items
from lookalike.core.method_choice import Choice
from lookalike.core.trace import Trace
from lookalike.core.verification import verified
from lookalike.kinds.documents.banding import BandedJoin
from lookalike.kinds.documents.counting_join import counted_pairs
from lookalike.kinds.documents.inverted_lists import dcm_pairs
from lookalike.kinds.documents.prefix_join import take_prefixes
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan
from lookalike.runtime.local.joins import ITEMS_PER_TASK
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

PLENTY = 1 << 62
STUDENT = 2.04  # the 97.5 % quantile of Student's distribution with 31 degrees of freedom, for 32 groups
UNSEEN_PAIRS = (
    8.0  # pairs that a sample can miss: a group with 3.9 expected sampled members shows no pair in 1 of 10 samples
)


@dataclass(frozen=True)
class Interval:
    """An estimate with an interval [low, high] that is expected to hold in at least nine of ten collections."""

    value: int
    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    def up_to(self, most: int) -> Interval:
        """Raise the upper limit to at least `most`."""
        return Interval(self.value, self.low, max(self.high, most))


@dataclass(frozen=True)
class Drawn:
    """The sampled documents out of `total`.

    number i64[d]: the class of equal documents of each. group i64[d]: the position at which each was read, or a random
    group. near: whether documents of a group are neighbours in the collection.
    """

    total: int
    number: I64
    group: I64
    groups: int
    near: bool

    @property
    def share(self) -> float:
        return len(self.number) / max(1, self.total)

    def thinned(self, share: float, seed: int) -> Drawn:
        """Draw a random part of the documents; a group then lacks some of its neighbours."""
        kept = np.sort(np.random.default_rng(seed).permutation(len(self.number))[: max(2, int(share * len(self)))])
        return Drawn(self.total, self.number[kept], self.group[kept], self.groups, self.near)

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True)
class Touched:
    """Counts of pairs: in total, with at least one member in each group (touching, f64[groups]), and with both members
    in it (inside, f64[groups])."""

    total: float
    touching: F64
    inside: F64


@dataclass(frozen=True)
class Rehearsal:
    """The result of a trial join. left, right i64[p]: the matching pairs of classes. proposed: (left, right) of the
    candidates, or only their number if the join does not list them."""

    left: I64
    right: I64
    proposed: tuple[I64, I64] | int


def rehearse(items: Items, choice: Choice, job: Job, plan: Plan | None, pool: Pool) -> Rehearsal:
    """Join these items by the chosen method."""
    space, bar = Workspace(MemoryBudget(PLENTY)), job.bar()
    if choice.method == "dcm" or (choice.method == "exact" and choice.way == "counting"):
        trace = Trace()
        if choice.method == "dcm":
            left, right, _ = dcm_pairs(items, bar, pool, trace, PLENTY)
        else:
            left, right, _ = counted_pairs(items, bar, pool, trace, space, PLENTY)
        return Rehearsal(left, right, int(trace.counts["candidates"]))
    order = np.argsort(items.sizes, kind="stable")
    items = items.take(order)
    if choice.method == "lsh" and plan is not None:
        pieces = BandedJoin(items, job.recipe(), plan, bar, pool, Trace(), space).proposals()
    else:
        pieces = _prefix_proposals(items, job, pool, space)
    proposed: list[tuple[U32, U32]] = [(np.empty(0, np.uint32), np.empty(0, np.uint32))]
    matches = list(proposed)
    for piece in pieces:
        anchors = np.repeat(piece.anchors, np.diff(piece.ends, prepend=0))
        proposed.append((anchors, piece.partners))
        matches.append(verified(items, piece, bar)[:2] if job.verify else proposed[-1])
    (left, right), both = (
        [np.concatenate(column) for column in zip(*found, strict=True)] for found in (matches, proposed)
    )
    return Rehearsal(order[left], order[right], (order[both[0]], order[both[1]]))


def _prefix_proposals(items: Items, job: Job, pool: Pool, space: Workspace) -> Iterator[Candidates]:
    whole = (0, len(items))
    postings = take_prefixes(items, job.bar(), pool, space).index_of(whole, whole)
    for block in postings.blocks(ITEMS_PER_TASK):
        yield from postings.candidates(block)


def touched_pairs(drawn: Drawn, classes: int, left: I64, right: I64) -> Touched:
    """Count the pairs of documents from the matching pairs of classes, exact duplicates included."""
    counts = np.bincount(drawn.number, minlength=classes).astype(np.float64)
    cells, held = np.unique(drawn.number * drawn.groups + drawn.group, return_counts=True)
    copies = np.bincount(cells % drawn.groups, held * (held - 1) / 2, drawn.groups)
    inside = copies + _both_inside(drawn, cells, held, counts, left, right)
    others = counts - 1  # documents that each document of a class matches
    others += np.bincount(left, counts[right], classes) + np.bincount(right, counts[left], classes)
    ends = np.bincount(drawn.group, others[drawn.number], drawn.groups)  # pairs inside a group have two ends in it
    return Touched(float(ends.sum() / 2), ends - inside, inside)


def _both_inside(drawn: Drawn, cells: I64, held: I64, counts: F64, left: I64, right: I64) -> F64:
    """Count the pairs of documents of matching classes with both members in the same group.

    cells i64[c]: class * groups + group, sorted; held i64[c]: documents in each cell.
    """
    first = np.searchsorted(cells, np.arange(len(counts) + 1) * drawn.groups)
    lengths = np.diff(first)[left]
    owner = np.repeat(np.arange(len(left)), lengths)
    cell = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + first[:-1][left][owner]
    wanted = right[owner] * drawn.groups + cells[cell] % drawn.groups
    at = np.minimum(np.searchsorted(cells, wanted), max(0, len(cells) - 1))
    weight = np.where(cells[at] == wanted, held[cell] * held[at], 0) if len(cells) else np.zeros(0)
    return np.bincount(cells[cell] % drawn.groups, weight, drawn.groups).astype(np.float64)


def touched_candidates(drawn: Drawn, classes: int, left: I64, right: I64) -> Touched:
    """Count the candidates, which are pairs of classes; a class belongs to the group of its first document."""
    group = np.zeros(classes, np.int64)
    group[drawn.number[::-1]] = drawn.group[::-1]
    same = group[left] == group[right]
    inside = np.bincount(group[left][same], minlength=drawn.groups).astype(np.float64)
    ends = np.bincount(group[left], minlength=drawn.groups) + np.bincount(group[right], minlength=drawn.groups)
    return Touched(float(len(left)), ends - inside, inside)


def scaled(seen: Touched, sizes: I64, total: float, *, near: bool, neighbours: float) -> Interval:
    """Extrapolate the pairs of the sample to all `total` documents, with a jackknife interval over the groups.

    sizes i64[groups]: sampled documents of each group. near: the documents of a group are neighbours in the collection,
    so pairs inside a group represent pairs of neighbours only; they are scaled by `neighbours`.
    """
    count = float(sizes.sum())
    if count >= total:
        return Interval(round(seen.total), round(seen.total), round(seen.total))

    def estimate(pairs: float, inside: float, left: npt.NDArray[np.float64]) -> float:
        local, drawn = float((left * (left - 1)).sum()) / 2, float(left.sum())
        if not near:
            return pairs * total * (total - 1) / max(1.0, drawn * (drawn - 1))
        here = neighbours * count / max(1.0, drawn)
        across = max(0.0, total * (total - 1) / 2 - here * local) / max(1.0, drawn * (drawn - 1) / 2 - local)
        return here * inside + across * (pairs - inside)

    parts = sizes.astype(np.float64)
    inside = float(seen.inside.sum())
    value = estimate(seen.total, inside, parts)
    without = []
    for group in np.flatnonzero(sizes):
        left = parts.copy()
        left[group] = 0
        without.append(estimate(seen.total - seen.touching[group], inside - seen.inside[group], left))
    groups = len(without)
    spread = math.sqrt((groups - 1) / max(1, groups) * float(np.square(np.array(without) - np.mean(without)).sum()))
    spread *= math.sqrt(max(0.0, 1 - count / total))
    factor = math.exp(STUDENT * spread / value) if value else 1.0
    unseen = UNSEEN_PAIRS * (total / count) ** 2 * (1 - count / total)
    return Interval(
        round(value), max(round(seen.total), math.floor(value / factor)), math.ceil(value * factor + unseen)
    )


def most_candidates(items: Items, count: float) -> int:
    """Estimate the pairs that share an element, out of all pairs of `count` items, from a sample of them.

    The prefix join compares fewer. It orders the elements by their frequency in a sample of fixed size, which tells the
    rare ones from the common ones worse in a larger collection, so its candidates grow faster than the square.
    """
    elements = np.concatenate([items.elements[s : s + n] for s, n in zip(items.starts, items.sizes, strict=True)])
    held = np.unique(elements, return_counts=True)[1].astype(np.float64) if len(elements) else np.zeros(0)
    shared = float((held * (held - 1)).sum()) / 2
    return math.ceil(min(count * (count - 1) / 2, shared * (count / max(1, len(items))) ** 2))


def different(number: I64, total: int) -> int:
    """Estimate the number of distinct documents in the collection from the classes of a sample (Chao and Lin 2012).

    >>> different(np.array([0, 1, 2, 2]), 4), different(np.array([0, 1, 2, 3]), 40)
    (3, 40)
    """
    held = np.unique(number, return_counts=True)[1]
    once, twice, share = int((held == 1).sum()), int((held == 2).sum()), len(number) / max(1, total)
    if share >= 1 or not once:
        return len(held)
    return min(total, round(len(held) + once * once / (2 * twice + share / (1 - share) * once)))
