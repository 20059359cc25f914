"""Threshold selection without labels: field weights, competitor adjustment and the threshold, learned from the pairs.

The match probability of each pair is estimated first, with the Fellegi-Sunter model: from the fields alone
(`em_three_class.fit_from_fields`) or, where these do not identify matches, from the whole record as well
(`em_composite.estimate`). The match probabilities give the weights of the fields and, within one table, the threshold:
the one of the weighted similarity with the highest expected F1.

Between two tables a record usually has at most one partner. The score of a pair is then raised by its margin over the
best competing pair (another pair of one of its records), and lowered steeply where a competing pair is better. The
threshold is selected from null scores: those that records have after their best partner is removed. The assumption of
at most one partner is tested on the data, separately for each table (`infer_cardinality`); competing pairs of records
with several partners do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F32, F64, U32
from lookalike.kinds.records.em_composite import estimate
from lookalike.kinds.records.em_three_class import fit_from_fields
from lookalike.kinds.records.pair_table import BOTH, Mask, PairTable, Sides

LIFT, FALL = 0.5, 8.0  # change of a score per unit of its margin over the best competing pair: positive, negative
DEFAULT_THRESHOLD = 0.5  # the threshold where there are too few pairs to learn from
MIN_PAIRS = 20  # the minimum number of pairs to learn from
NOISE = 3  # thresholds whose expected F1 differs by this many pairs or fewer count as equally good
DOUBT = 0.2  # loss of expected F1 above which competing pairs are taken for further partners
FURTHER = 0.1  # maximum number of apparent further partners per first partner where records have at most one
LEARNED = 100_000  # maximum number of pairs to learn from
SHARES = (1.0, 0.5, 0.0)  # multiples of the whole record's weight to try; the one with the best expected F1 is used
BLUR = 0.15  # added to the standard deviation of a field, to bound the weight of a field that hardly varies


def settled(table: PairTable, score: F32, keep: Mask, alive: Mask | None = None, sides: Sides = BOTH) -> F32:
    """Return the scores of kept pairs, adjusted by their margin over the available competing pairs as in `standing`."""
    return standing(score, table.settled_margins(score, keep, alive, sides))


def standing(score: F32, margin: F32) -> F32:
    """Adjust scores by their margins: LIFT per unit of a positive margin, FALL per unit of a negative one.

    The result is rescaled and clipped to the range from 0 to 1.
    """
    moved = score + np.where(margin > 0, np.float32(LIFT), np.float32(FALL)) * margin
    return np.asarray(np.clip(moved / np.float32(1 + LIFT), 0, 1), np.float32)


def standing_scores(table: PairTable, score: F32, sides: Sides = BOTH) -> F32:
    """Return the scores of all pairs, adjusted by competing pairs.

    Pairs that are the best ones of both their records compete only with pairs that are still available: the next model
    of a series is no competitor if it has a better partner itself. This is the scale of the threshold (`standing_cut`).
    """
    margin = table.margins(score, sides)
    best, adjusted = margin > 0, standing(score, margin)
    return np.where(best, np.maximum(adjusted, settled(table, score, best, sides=sides)), adjusted)


@dataclass(frozen=True)
class ThresholdEstimate:
    """A selected threshold. at: the threshold; f1: the expected F1 at it."""

    at: float
    f1: float


@dataclass(frozen=True)
class Learned:
    """Parameters learned from the candidate pairs.

    weights: one for each field; cut: the threshold selected for the unadjusted similarity; whole: the weight of the
    words of the whole record relative to the fields; sides: for each of two tables, whether its records have at most
    one partner; None where the fields alone do not identify matches.
    """

    weights: list[float]
    cut: ThresholdEstimate
    whole: float
    sides: Sides | None = None


def learn(table: PairTable, weights: Sequence[float | None], whole: float) -> Learned:
    """Learn field weights and a threshold from unlabelled pairs; weights that are given are not changed.

    The weight of a field is how well it separates matches from non-matches: (mean of matches - mean of non-matches) /
    (standard deviation + BLUR), averaged over two contrasts: with the other candidates and with random pairs. Matches
    must be separated from the other candidates; but these were selected because they share something rare, so without
    the random pairs the field that formed their block would appear to have no discriminating power.
    """
    if len(table) < MIN_PAIRS:
        return Learned(
            [1.0 if weight is None else weight for weight in weights], ThresholdEstimate(DEFAULT_THRESHOLD, 0.0), whole
        )
    table = table.sample(LEARNED)
    chance, by_fields = _chance(table)
    if chance.sum() < 1:  # no match is expected: equal weights, and a threshold above all scores
        made = [1.0 if weight is None else weight for weight in weights]
        score = table.similarity(made, whole)
        return Learned(
            made, ThresholdEstimate(max(DEFAULT_THRESHOLD, min(1.0, 1.01 * float(score.max(initial=0.0)))), 0.0), whole
        )
    telling = chance if by_fields or table.split < 0 else estimate(table, whole=True, single=True).chance
    made = learned_weights(table, telling, weights)
    free = by_fields and all(weight is None for weight in weights)
    cuts = {
        share * whole: max_expected_f1_threshold(table.similarity(made, share * whole), chance)
        for share in (SHARES if free else (1.0,))
    }
    best = max(cuts, key=lambda share: cuts[share].f1)  # the first of equal ones
    return Learned(made, cuts[best], best, _few_further(table, chance) if by_fields and table.split >= 0 else None)


def learned_weights(table: PairTable, chance: F64, weights: Sequence[float | None]) -> list[float]:
    """Return the weight of each field, given the match probability of each pair; given weights are not changed."""
    drawn = table.population.random if table.population else [np.empty(0, np.float32)] * len(table.fields)
    found = [_telling(field, chance, far) for field, far in zip(table.fields, drawn, strict=True)]
    return [one if weight is None else weight for one, weight in zip(found, weights, strict=True)]


def _few_further(table: PairTable, chance: F64) -> Sides:
    """Return for each table whether few of its records have a second partner, by these match probabilities."""
    few = []
    for own in (table.left, table.right):
        partners = np.bincount(own, chance, table.records)
        few.append(float(np.maximum(partners - 1, 0).sum()) <= FURTHER * int((partners >= 0.5).sum()))
    return few[0], few[1]


def _chance(table: PairTable) -> tuple[F64, bool]:
    """Return the match probability of each pair, and whether it was estimated from the fields alone.

    Otherwise the words of the whole record are used as well.
    """
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
    """Return the threshold with the highest expected F1, given the match probability of each pair.

    >>> cut = max_expected_f1_threshold(np.array([0.9, 0.8, 0.3, 0.2], np.float32), np.array([1.0, 0.9, 0.1, 0.0]))
    >>> round(cut.at, 2), round(cut.f1, 2)
    (0.55, 0.95)
    """
    order = np.argsort(-score, kind="stable")
    sorted_, right = score[order], np.cumsum(chance[order])
    f1 = 2 * right / (np.arange(1, len(order) + 1) + chance.sum())
    f1[:-1][sorted_[1:] == sorted_[:-1]] = -1  # no threshold separates equal scores
    best = int(f1.argmax())
    below = float(sorted_[best + 1]) if best + 1 < len(order) else 0.0
    return ThresholdEstimate(max(1e-6, (float(sorted_[best]) + below) / 2), float(f1[best]))


def standing_cut(table: PairTable, score: F32, sides: Sides = BOTH) -> ThresholdEstimate:
    """Select the best threshold between two tables, on the scale of `standing`.

    The null distribution is estimated by removing the best partner of every record: the best of the remaining pairs
    shows the score of a record without a true partner. It is taken first over all records, which gives the expected F1,
    and then only over records that appear to have a partner: where a record has no true partner, its best pair is a
    null pair itself, and what remains is only the second best one.
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
    """Infer whether left records have at most one partner, and whether right ones do.

    expected: the expected F1 of the threshold that was selected without competing pairs.

    Every record of the other table gets its best partner, subject to the threshold. Some records of this table then
    have several partners. If they have only one in truth, the further ones are wrong and rarely score as high as the
    median first partner: at most one does for ten first partners (`FURTHER`), or for ten further ones.

    Where both tables hold duplicates, no record has a best partner with a clear margin. The threshold with competing
    pairs then has an expected F1 lower by more than `DOUBT`.
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
    """Select the threshold with the best expected F1 from the scores of the best pairs and of non-matching pairs.

    best f32[a]: scores of the best pairs; others f32[b]: scores of pairs that are not matches. The share of
    non-matches among the best pairs is estimated at the low end of the scores. Returns the midpoint of all thresholds
    whose expected F1 is the best, up to a few pairs (`NOISE`).

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
