"""How a pair of records stands: its weighted similarity, its rivals, and the threshold that the data itself suggests.

Between two tables every record usually has one partner at most. A pair is lifted by what it is better than the best
other pair of its records, and falls steeply where there is a better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.data import F32, U32
from lookalike.kernels import graph, rivals

Mask = npt.NDArray[np.bool_]
LIFT, FALL = 0.5, 8.0  # of a score, for each unit that it is above its best rival, or below
ENOUGH = 0.3  # the share of the weights that must be there for a similarity to count in full
LEAST, MOST = 0.33, 0.75  # between which the threshold lies that one table suggests
SURE = 0.65  # similarity from which two records of one table are taken as one, to see what is beside them
USUAL = 0.5  # the threshold where there is too little to learn from
FEW = 20  # pairs from which on something can be learned
NOISE = 3  # pairs by which the best cut may be missed: a difference of so few tells nothing


@dataclass(frozen=True)
class PairTable:
    """Candidate pairs and what was compared. left, right u32[p]; fields: f32[p] each, NaN where a value is missing;
    whole f32[p]; records: how many; split: records of the first of two tables, -1 for one; chance: the fields of pairs
    drawn at random, f32 each."""

    left: U32
    right: U32
    fields: Sequence[F32]
    whole: F32
    records: int
    split: int
    chance: Sequence[F32] = ()

    def __len__(self) -> int:
        return len(self.left)

    def similarity(self, weights: Sequence[float], whole: float) -> F32:
        """The weighted mean of the fields that both records have, and of the whole record."""
        total, there = np.zeros(len(self), np.float32), np.zeros(len(self), np.float32)
        for weight, field in zip(weights, self.fields, strict=True):
            known = ~np.isnan(field)
            there += np.float32(weight) * known
            total += np.float32(weight) * np.where(known, field, np.float32(0))
        share = there / np.float32(max(sum(weights), 1e-9))
        mean = np.divide(total, there, out=np.zeros_like(total), where=there > 0)
        return np.asarray(((1 - whole) * mean + whole * self.whole) * np.minimum(1, share / ENOUGH), np.float32)

    def margins(self, score: F32, alive: Mask | None = None) -> F32:
        """What each pair is above the best other (living) pair of its two records."""
        out = np.empty(len(self), np.float32)
        living = np.ones(len(self), np.bool_) if alive is None else alive
        rivals.margins(self.left, self.right, score, living, self.records, out)
        return out

    def greedy(self, score: F32, alive: Mask | None = None) -> Mask:
        """Each record with one partner at most, the nearest pairs first."""
        keep = np.zeros(len(self), np.bool_)
        living = np.ones(len(self), np.bool_) if alive is None else alive
        order = np.argsort(-score, kind="stable")
        rivals.take_best(order, self.left, self.right, living, np.zeros(self.records, np.bool_), keep)
        return keep

    def settled(self, score: F32, keep: Mask, alive: Mask | None = None) -> F32:
        """The score of kept pairs with the lift over what else is to be had, on the scale of `standing`."""
        out = np.empty(len(self), np.float32)
        living = np.ones(len(self), np.bool_) if alive is None else alive
        rivals.settled_margins(self.left, self.right, score, living, keep, self.records, out)
        return standing(score, out)


def standing(score: F32, margin: F32) -> F32:
    """The score, lifted by LIFT or lowered by FALL for each unit of the margin, on a scale that ends at 1."""
    moved = score + np.where(margin > 0, np.float32(LIFT), np.float32(FALL)) * margin
    return np.asarray(np.clip(moved / np.float32(1 + LIFT), 0, 1), np.float32)


@dataclass(frozen=True)
class Learned:
    """weights: of the fields; threshold: where the data suggests to cut; f1: that is to be expected there."""

    weights: list[float]
    threshold: float
    f1: float | None


def learn(table: PairTable, weights: Sequence[float | None], whole: float, *, rounds: int = 4) -> Learned:
    """Weights and threshold from the pairs alone: take what stands out as matches, see how well each field tells them
    from the next best pairs and from pairs drawn at random, weigh the fields by that, and again.

    Fields with a weight keep it. A field tells matches from others by (mean of matches - mean of others) / (spread +
    0.15). The next best pairs are what a match must be told from, but they have met because they share something rare:
    without the random ones, the field that brought them together would seem to tell nothing.
    """
    made = [1.0 if weight is None else weight for weight in weights]
    for _ in range(rounds if any(weight is None for weight in weights) else 0):
        score = table.similarity(made, whole)
        matches, others = _sides(table, score, suggest(table, score)[0])
        if matches.sum() < FEW or others.sum() < FEW:
            break
        found = [_separation(field[matches], field[others]) for field in table.fields]
        if table.chance:
            drawn = zip(found, table.fields, table.chance, strict=True)
            found = [(near + _separation(field[matches], far)) / 2 for near, field, far in drawn]
        made = [one if weight is None else weight for one, weight in zip(found, weights, strict=True)]
    threshold, f1 = suggest(table, table.similarity(made, whole))
    return Learned(made, threshold, f1)


def _sides(table: PairTable, score: F32, cut: float) -> tuple[Mask, Mask]:
    """(pairs taken as matches, the next best pairs of the records when these are gone)."""
    high = score >= cut
    if table.split >= 0:
        matches = table.greedy(score) & high
        rest = ~table.greedy(score)
    else:
        matches, rest = high, ~high
    return matches, rest & (table.margins(score, rest) > 0)


def _separation(matches: F32, others: F32) -> float:
    one, other = matches[~np.isnan(matches)].astype(np.float64), others[~np.isnan(others)].astype(np.float64)
    if len(one) < 5 or len(other) < 5:
        return 0.3
    return float(max(0.05, (one.mean() - other.mean()) / (np.sqrt(one.var() + other.var()) + 0.15)))


def suggest(table: PairTable, score: F32) -> tuple[float, float | None]:
    """(the cut with the best F1 to be expected, that F1), on the scale of the score.

    Take from every record its best partner away and look again: what is best then is what a record without a partner
    shows. Its distribution, in the share that fits the low end, tells how many of the best pairs at each similarity
    are none.
    """
    if table.split >= 0:
        first = table.greedy(score)
        second = table.greedy(score, ~first)
        return expected_cut(score[first], score[second])
    best = table.margins(score) > 0
    parent = np.arange(table.records)
    sure = score >= SURE
    graph.components(table.left[sure].astype(np.int64), table.right[sure].astype(np.int64), parent)
    matched = np.bincount(parent, minlength=table.records)[parent] > 1
    outside = parent[table.left] != parent[table.right]
    beside = outside & (table.margins(score, outside) > 0) & matched[table.left] & matched[table.right]
    # The best pair of a record is nearer than the other pairs of a large group are: the cut leans to the low side.
    cut, f1 = expected_cut(score[best], score[beside], lean=0.25)
    return min(max(cut, LEAST), MOST), f1


def suggest_standing(table: PairTable, score: F32) -> tuple[float, float | None]:
    """As `suggest`, between two tables, on the scale of `standing`."""
    first = table.greedy(score)
    second = table.greedy(score, ~first)
    return expected_cut(table.settled(score, first)[first], table.settled(score, second, ~first)[second])


def expected_cut(best: F32, others: F32, *, lean: float = 0.5) -> tuple[float, float | None]:
    """(cut, F1): best f32[a], scores of the best pairs; others f32[b], scores of pairs that are no matches.

    The middle of all cuts whose F1 is as good but for a few pairs; or so far from their low end as `lean` says.

    >>> matches, others = np.linspace(0.7, 1, 50, dtype=np.float32), np.linspace(0, 0.3, 50, dtype=np.float32)
    >>> cut, f1 = expected_cut(matches, others)
    >>> 0.3 < cut < 0.7, round(f1, 2)
    (True, 1.0)
    """
    if len(best) < FEW or len(others) < FEW:
        return USUAL, None
    middle = np.median(others)
    share = min(1.0, float((best < middle).mean()) / 0.5)
    cuts = np.linspace(0, max(float(best.max()), 1e-6), 401)
    reported = len(best) - np.searchsorted(np.sort(best), cuts)
    wrong = (len(others) - np.searchsorted(np.sort(others), cuts)) * (share * len(best) / len(others))
    right = np.maximum(reported - wrong, 0)
    true = max(len(best) * (1 - share), float(right.max()), 1.0)
    f1 = 2 * right / (reported + true)
    near = np.flatnonzero(f1 >= f1.max() - NOISE / true)
    low, high = cuts[near[0]], cuts[near[-1]]
    return float(low + lean * (high - low)), float(f1.max())
