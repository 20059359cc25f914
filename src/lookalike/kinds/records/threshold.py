"""How a pair of records stands: its weighted similarity, its rivals, and the threshold that the data itself suggests.

What is a match is first guessed by the weights of evidence: by the fields (`chances`), or, where these cannot tell,
by the whole record as well (`evidence`). These chances give the weights of the fields and, within one table, the
threshold: the cut of the weighted similarity with the best F1 that is to be expected.

Between two tables every record usually has one partner at most. A pair is lifted by what it is better than the best
other pair of its records, and falls steeply where there is a better one. The threshold is then read off what records
show when their best partner is taken away. That records have one partner is held against the data, for each table on
its own (`single_sides`): rivals for a record that has several do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F32, F64, U32
from lookalike.kinds.records.em_composite import estimate
from lookalike.kinds.records.em_three_class import fit_from_fields
from lookalike.kinds.records.pair_table import BOTH, Mask, PairTable, Sides

LIFT, FALL = 0.5, 8.0  # of a score, for each unit that it is above its best rival, or below
DEFAULT_THRESHOLD = 0.5  # the threshold where there is too little to learn from
MIN_PAIRS = 20  # pairs from which on something can be learned
NOISE = 3  # pairs by which the best cut may be missed: a difference of so few tells nothing
DOUBT = 0.2  # expected F1 that rivals may cost before they are taken for further partners
FURTHER = 0.1  # further partners, for each first one, that records with one partner seem to have, at most
LEARNED = 100_000  # pairs that are learned from
SHARES = (1.0, 0.5, 0.0)  # of the whole record's weight, of which the one with the best expected F1 is taken
BLUR = 0.15  # added to the spread of a field, so that one that never varies does not weigh without end


def settled(table: PairTable, score: F32, keep: Mask, alive: Mask | None = None, sides: Sides = BOTH) -> F32:
    """The score of kept pairs with the lift over what else is to be had, on the scale of `standing`."""
    return standing(score, table.settled_margins(score, keep, alive, sides))


def standing(score: F32, margin: F32) -> F32:
    """The score, lifted by LIFT or lowered by FALL for each unit of the margin, on a scale that ends at 1."""
    moved = score + np.where(margin > 0, np.float32(LIFT), np.float32(FALL)) * margin
    return np.asarray(np.clip(moved / np.float32(1 + LIFT), 0, 1), np.float32)


@dataclass(frozen=True)
class ThresholdEstimate:
    """at: the threshold; f1: that is to be expected there."""

    at: float
    f1: float


@dataclass(frozen=True)
class Learned:
    """weights: of the fields; cut: where the data suggests to cut the plain similarity; whole: what the words of the
    whole record weigh beside the fields; sides: between two tables, whose records have one partner at most, where the
    fields alone tell it."""

    weights: list[float]
    cut: ThresholdEstimate
    whole: float
    sides: Sides | None = None


def learn(table: PairTable, weights: Sequence[float | None], whole: float) -> Learned:
    """Weights and cut from the pairs alone; weights that are given stay.

    A field weighs as it tells matches from others: (mean of matches - mean of others) / (spread + BLUR), half of it
    against the other candidates and half against random pairs. The candidates are what a match must be told from, but
    they have met because they share something rare: without the random ones, the field that brought them together
    would seem to tell nothing.
    """
    if len(table) < MIN_PAIRS:
        return Learned(
            [1.0 if weight is None else weight for weight in weights], ThresholdEstimate(DEFAULT_THRESHOLD, 0.0), whole
        )
    table = table.sample(LEARNED)
    chance, by_fields = _chance(table)
    if chance.sum() < 1:  # nothing is a match: equal weights, and a cut above all that is there
        made = [1.0 if weight is None else weight for weight in weights]
        score = table.similarity(made, whole)
        return Learned(
            made, ThresholdEstimate(max(DEFAULT_THRESHOLD, min(1.0, 1.01 * float(score.max(initial=0.0)))), 0.0), whole
        )
    drawn = table.population.random if table.population else [np.empty(0, np.float32)] * len(table.fields)
    telling = chance if by_fields or table.split < 0 else estimate(table, whole=True, single=True).chance
    found = [_telling(field, telling, far) for field, far in zip(table.fields, drawn, strict=True)]
    made = [one if weight is None else weight for one, weight in zip(found, weights, strict=True)]
    free = by_fields and all(weight is None for weight in weights)
    cuts = {
        share * whole: max_expected_f1_threshold(table.similarity(made, share * whole), chance)
        for share in (SHARES if free else (1.0,))
    }
    best = max(cuts, key=lambda share: cuts[share].f1)  # the first of equals
    return Learned(made, cuts[best], best, _few_further(table, chance) if by_fields and table.split >= 0 else None)


def _few_further(table: PairTable, chance: F64) -> Sides:
    """Of which tables hardly a record has a second partner by these chances."""
    few = []
    for own in (table.left, table.right):
        partners = np.bincount(own, chance, table.records)
        few.append(float(np.maximum(partners - 1, 0).sum()) <= FURTHER * int((partners >= 0.5).sum()))
    return few[0], few[1]


def _chance(table: PairTable) -> tuple[F64, bool]:
    """(of each pair to be a match, whether the fields alone tell it); else the words of the whole record help."""
    found = fit_from_fields(table)
    return (estimate(table, whole=True).chance, False) if found is None else (found.chance, True)


def _telling(field: F32, chance: F64, random: F32) -> float:
    known = ~np.isnan(field)
    values, match = field[known].astype(np.float64), chance[known]
    far = random[~np.isnan(random)].astype(np.float64)
    if match.sum() < 1 or (1 - match).sum() < 1:
        return 1.0
    mean, spread = _moments(values, match)
    near = _separation(mean, spread, *_moments(values, 1 - match))
    return near if len(far) < MIN_PAIRS else (near + _separation(mean, spread, *_moments(far, np.ones(len(far))))) / 2


def _moments(values: F64, weights: F64) -> tuple[float, float]:
    mean = float((weights * values).sum() / weights.sum())
    return mean, float((weights * (values - mean) ** 2).sum() / weights.sum())


def _separation(mean: float, spread: float, other_mean: float, other_spread: float) -> float:
    return max(0.05, (mean - other_mean) / (float(np.sqrt(spread + other_spread)) + BLUR))


def max_expected_f1_threshold(score: F32, chance: F64) -> ThresholdEstimate:
    """The best cut where pairs are matches with these chances.

    >>> cut = max_expected_f1_threshold(np.array([0.9, 0.8, 0.3, 0.2], np.float32), np.array([1.0, 0.9, 0.1, 0.0]))
    >>> round(cut.at, 2), round(cut.f1, 2)
    (0.55, 0.95)
    """
    order = np.argsort(-score, kind="stable")
    sorted_, right = score[order], np.cumsum(chance[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + chance.sum())
    f1[:-1][sorted_[1:] == sorted_[:-1]] = -1  # no cut parts equal scores
    best = int(f1.argmax())
    below = float(sorted_[best + 1]) if best + 1 < len(order) else 0.0
    return ThresholdEstimate(max(1e-6, (float(sorted_[best]) + below) / 2), float(f1[best]))


def standing_cut(table: PairTable, score: F32, sides: Sides = BOTH) -> ThresholdEstimate:
    """The best cut between two tables, on the scale of `standing`.

    Take from every record its best partner away and look again: what is best then is what a record without a partner
    shows. First of all records, which tells the F1; then of those that seem to have a partner, for a record without one
    has its second best partner left, not its best.
    """
    first = table.greedy(score, sides=sides)
    second = table.greedy(score, ~first, sides)
    best, left = settled(table, score, first, sides=sides)[first], settled(table, score, second, ~first, sides)
    cut = threshold_from_null_scores(best, left[second])
    for _ in range(3):
        matched = np.zeros(table.records, np.bool_)
        pairs = np.flatnonzero(first)[best >= cut.at]
        for own, single in zip((table.left, table.right), sides, strict=True):
            matched[own[pairs]] |= single
        beside = second & (matched[table.left] | matched[table.right])
        if beside.sum() < MIN_PAIRS:
            break
        cut = ThresholdEstimate(threshold_from_null_scores(best, left[beside]).at, cut.f1)
    return cut


def infer_cardinality(table: PairTable, score: F32, expected: float) -> Sides:
    """Whether left records have one partner at most, and whether right ones do. expected: the F1 by the evidence of the
    fields.

    Give every record of the other table its best partner, as far as the cut allows. Some records of this table then
    have several. If they have one partner in truth, the further ones are wrong and seldom as near as the middle one of
    the first partners: there is not one such for ten first ones (`FURTHER`), nor for ten further ones.

    Where both tables hold copies, no record has a best partner that others do not come near. The cut by rivals then
    leaves much more in doubt than the evidence of the fields does.
    """
    sides = _single(table, score, table.left, (False, True)), _single(table, score, table.right, (True, False))
    return (False, False) if sides == BOTH and expected - standing_cut(table, score).f1 > DOUBT else sides


def _single(table: PairTable, score: F32, own: U32, others: Sides) -> bool:
    found = standing(score, table.margins(score, others)) >= standing_cut(table, score, others).at
    pairs = np.flatnonzero(found)
    pairs = pairs[np.lexsort((-score[pairs], own[pairs]))]
    if len(pairs) < MIN_PAIRS:
        return True
    begins = np.append(True, own[pairs][1:] != own[pairs][:-1])
    first, further = score[pairs[begins]], score[pairs[~begins]]
    near = int((further >= np.median(first)).sum())
    return near <= FURTHER * max(len(first), len(further))


def threshold_from_null_scores(best: F32, others: F32) -> ThresholdEstimate:
    """best f32[a], scores of the best pairs; others f32[b], scores of pairs that are no matches.

    The share of the others among the best is read off the low end. The middle of all cuts whose expected F1 is as good
    but for a few pairs.

    >>> matches, others = np.linspace(0.7, 1, 50, dtype=np.float32), np.linspace(0, 0.3, 50, dtype=np.float32)
    >>> 0.3 < threshold_from_null_scores(matches, others).at < 0.7
    True
    """
    if len(best) < MIN_PAIRS or len(others) < MIN_PAIRS:
        return ThresholdEstimate(DEFAULT_THRESHOLD, 0.0)
    middle = np.median(others)
    share = min(1.0, float((best < middle).mean()) / 0.5)
    cuts = np.linspace(0, max(float(best.max()), 1e-6), 401)
    reported = len(best) - np.searchsorted(np.sort(best), cuts)
    wrong = (len(others) - np.searchsorted(np.sort(others), cuts)) * (share * len(best) / len(others))
    right = np.maximum(reported - wrong, 0)
    true = max(len(best) * (1 - share), float(right.max()), 1.0)
    f1 = 2 * right / (reported + true)
    near = np.flatnonzero(f1 >= f1.max() - NOISE / true)
    return ThresholdEstimate(float((cuts[near[0]] + cuts[near[-1]]) / 2), float(f1.max()))
