"""Whether the records of one table have at most one partner, by the number of partners, and a model for such tables.

Two sources in one table, or a register in which somebody was entered twice, have pairs rather than groups. Partners are
counted, regardless of their scores: among the pairs that the threshold of the free model finds, or where that model
finds many partners for each record, in a second fit in which the partners of a record exclude one another.

The free model collapses on series of products: the models of a series agree in more fields than the two offers of one
model do, and outnumber them. In the second fit, agreement that a record shares with ten others carries no evidence, so
the fields that single out one partner gain weight. Where records really have several partners, these exclude one
another as well, and the mean match probability is low.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.core.arrays import F32, F64, I64
from lookalike.kinds.records.em import ENOUGH_FIELDS
from lookalike.kinds.records.em_composite import estimate
from lookalike.kinds.records.pair_table import Mask, PairTable
from lookalike.kinds.records.threshold import (
    DOUBT,
    FURTHER,
    LEARNED,
    MIN_PAIRS,
    ThresholdEstimate,
    learned_weights,
    standing_cut,
    standing_scores,
)

# Minimum mean match probability of an expected match in the second fit. Records of groups of three have 1/3 each.
DECISIVE = 0.4
# A competing pair is close if it has this share of the score of the pair it competes with. At most a quarter of the
# best pairs have one: the second partner of a record in a group is as similar as the first.
CLOSE, MAX_CLOSE = 0.95, 0.25


def few_further_partners(table: PairTable, found: Mask, sizes: I64) -> bool:
    """Return whether the records with a partner have few further ones (`FURTHER`), given the pairs that were found.

    found bool[p]; sizes i64[records]: the number of equal records of each class, which are partners too.

    >>> pairs = np.array([0, 2, 4], np.uint32), np.array([1, 3, 5], np.uint32)
    >>> table = PairTable(*pairs, [], np.ones(3, np.float32), 6, -1)
    >>> few_further_partners(table, np.ones(3, np.bool_), np.ones(6, np.int64))
    True
    """
    left, right = table.left[found], table.right[found]
    partners = np.bincount(left, sizes[right], table.records) + np.bincount(right, sizes[left], table.records)
    partners += sizes - 1
    first = partners > 0
    return float((sizes * (partners - 1))[first].sum()) <= FURTHER * float(sizes[first].sum())


def competing_weights(
    table: PairTable, weights: tuple[Sequence[float], Sequence[float | None]], whole: float, free: ThresholdEstimate,
    sizes: I64,
) -> Sequence[float] | None:  # fmt: skip
    """Return the weights with which the pairs of one table compete; None if its records have several partners.

    weights: those that the free model learned, and those that were given; free: its threshold. Competing pairs must be
    expected to do better, unless the second fit decides who the partners are; then not much worse (`DOUBT`). After the
    second fit, few of the best pairs may have a close competing pair.
    """
    learned, given = weights
    score = table.similarity(learned, whole)
    found = score >= np.float32(free.at)
    if int(found.sum()) < MIN_PAIRS:
        return None
    if few_further_partners(table, found, sizes):
        return learned if standing_cut(table, score).f1 > free.f1 else None
    if float((sizes * (sizes - 1)).sum()) > FURTHER * float(sizes.sum()):  # equal records are partners already
        return None
    sample = table.sample(LEARNED)
    chance = estimate(sample, whole=whole > 0, single=True).chance
    decisive = is_decisive(chance)
    if not decisive and (float(chance.sum()) < 1 or len(table.own_fields) < ENOUGH_FIELDS):
        return None
    made = learned_weights(sample, chance, given)
    score = table.similarity(made, whole)
    cut = standing_cut(table, score)
    better = cut.f1 > free.f1 - (DOUBT if decisive else 0.0)
    return made if better and close_competitors(table, score, cut.at) <= MAX_CLOSE else None


def close_competitors(table: PairTable, score: F32, cut: float) -> float:
    """Return how many of the pairs found that are the best ones of both records have a close competing pair (share)."""
    margin = table.margins(score)
    best = np.flatnonzero((margin > 0) & (standing_scores(table, score) >= np.float32(cut)))
    return float((score[best] - margin[best] >= CLOSE * score[best]).mean()) if len(best) else 1.0


def is_decisive(chance: F64) -> bool:
    """Return whether the partners of the records are decided, given match probabilities that exclude one another.

    >>> is_decisive(np.array([0.9] * 30)), is_decisive(np.array([1 / 3] * 600))
    (True, False)
    """
    expected = float(chance.sum())
    return expected >= MIN_PAIRS and float((chance**2).sum()) >= DECISIVE * expected
