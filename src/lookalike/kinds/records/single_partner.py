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

from lookalike.core.arrays import F64, I64
from lookalike.kinds.records.em_composite import estimate
from lookalike.kinds.records.pair_table import Mask, PairTable
from lookalike.kinds.records.threshold import FURTHER, LEARNED, MIN_PAIRS, learned_weights

# Minimum mean match probability of an expected match in the second fit. Records of groups of three have 1/3 each.
DECISIVE = 0.4


def few_further_partners(table: PairTable, found: Mask, sizes: I64) -> bool:
    """Return whether the records with a partner have few further ones (`FURTHER`), given the pairs that were found.

    found bool[p]; sizes i64[records]: the number of equal records of each class, which are partners too.

    >>> pairs = np.array([0, 2, 4], np.uint32), np.array([1, 3, 5], np.uint32)
    >>> table = PairTable(*pairs, [], np.ones(3, np.float32), 6, -1)
    >>> few_further_partners(table, np.ones(3, np.bool_), np.ones(6, np.int64))
    False
    """
    if int(found.sum()) < MIN_PAIRS:
        return False
    left, right = table.left[found], table.right[found]
    partners = np.bincount(left, sizes[right], table.records) + np.bincount(right, sizes[left], table.records)
    partners += sizes - 1
    first = partners > 0
    return float((sizes * (partners - 1))[first].sum()) <= FURTHER * float(sizes[first].sum())


def single_partner_weights(table: PairTable, weights: Sequence[float | None], whole: float) -> list[float] | None:
    """Return weights learned under the assumption of at most one partner; None if the pairs do not support it.

    weights: those that are given are not changed.
    """
    table = table.sample(LEARNED)
    chance = estimate(table, whole=whole > 0, single=True).chance
    return learned_weights(table, chance, weights) if is_decisive(chance) else None


def is_decisive(chance: F64) -> bool:
    """Return whether the partners of the records are decided, given match probabilities that exclude one another.

    >>> is_decisive(np.array([0.9] * 30)), is_decisive(np.array([1 / 3] * 600))
    (True, False)
    """
    expected = float(chance.sum())
    return expected >= MIN_PAIRS and float((chance**2).sum()) >= DECISIVE * expected
