"""Match weights after Fellegi and Sunter (1969), estimated from the candidates alone by expectation maximisation.

The similarity of a field falls on one of a few comparison levels, with an m-probability among matches and a
u-probability among non-matches. The match weight of a level is log2(m / u), in bits; a missing value has weight 0. The
weights of the fields and the prior add up to the log2 odds of a match.

Three constraints keep the estimate from finding matches where there are none. A match agrees in a field at least as
often as not (`AGREE`): without this, any two clusters of pairs are taken for matches and non-matches, and thousands of
matches are found in a table without any. A higher level never has a lower match weight. And dependent fields do not
count twice: match weights are scaled down by the ratio between the variance that their sum would have among
non-matches if fields were independent and the variance that it has (the usual correction of a composite likelihood).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, F64
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.rules import EDGES

LEVEL_COUNT = len(EDGES) + 1
ALIKE = 4  # the lowest comparison level that counts as agreement
AGREE = 0.5  # minimum share of matches that agree in a field
MIN_INDEPENDENCE = 0.2  # lower bound of the factor that scales match weights down for dependence between fields
EM_ROUNDS, SETTLED = 30, 1e-3
MAX_BITS = 60.0  # log2 odds are clipped to this range, beyond which the probability is practically 0 or 1

Level = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Evidence:
    """Estimated match weights, and the match probability of every pair.

    prior: log2 of the prior odds; bits: the match weight of each comparison level of each field; chance f64[p].
    """

    prior: float
    bits: list[tuple[float, ...]]
    chance: F64


def levels(field: F32) -> Level:
    """Return the comparison level of each similarity (i8[p]), -1 for a missing value.

    >>> levels(np.array([1.0, 0.3, np.nan], np.float32)).tolist()
    [6, 1, -1]
    """
    made = np.searchsorted(np.array(EDGES, np.float32), np.nan_to_num(field, nan=0.0), side="right")
    return np.where(np.isnan(field), -1, made).astype(np.int8)


def level_sums(level: Level, weights: F64) -> F64:
    """Return the sum of the weights of each comparison level, as float64 even if the input is empty.

    >>> level_sums(np.empty(0, np.int8), np.empty(0)).dtype, level_sums(np.array([1, 1], np.int8), np.ones(2))[1].item()
    (dtype('float64'), 2.0)
    """
    return np.bincount(level, weights, LEVEL_COUNT).astype(np.float64)  # NumPy returns integers for an empty input


def estimate(table: PairTable, *, whole: bool = False, single: bool = False) -> Evidence:
    """Estimate match weights from the candidate pairs alone; with `whole`, the words of the whole record are a field.

    single: a record has at most one partner, so its pairs exclude one another. Initially the pairs that are the best
    ones of both their records are probable matches. The weights are estimated first with independent fields, then
    scaled down for dependence.
    """
    seen = [levels(field) for field in (*table.fields, *([table.whole] if whole else []))]
    if not len(table):
        return Evidence(0.0, [(0.0,) * LEVEL_COUNT for _ in seen], np.empty(0))
    plain = table.similarity([1.0] * len(table.fields), 0.5)
    chance: F64 = np.where(table.margins(plain) >= 0, np.clip(plain.astype(np.float64), 0.01, 0.99) ** 2, 0.01)
    prior, bits = 0.0, [(0.0,) * LEVEL_COUNT for _ in seen]
    for dependent in (False, True):
        for _ in range(EM_ROUNDS):
            share = float(np.clip(chance.mean(), 1e-6, 1 - 1e-6))
            prior = float(np.log2(share / (1 - share)))
            bits = [_bits(level, chance) for level in seen]
            parts = [np.array([*one, 0.0])[level] for one, level in zip(bits, seen, strict=True)]
            total: F64 = np.sum(parts, axis=0)
            if dependent:
                held = independence(parts, total, 1 - chance)
                bits, total = [tuple(held * bit for bit in one) for one in bits], held * total
            made = one_to_one_posterior(table, prior + total) if single else probability(prior + total)
            moved = float(np.abs(made - chance).max())
            chance = made
            if moved < SETTLED:
                break
    return Evidence(prior, bits, chance)


def one_to_one_posterior(table: PairTable, bits: F64) -> F64:
    """Return the match probability of each pair, given that no record has two partners."""
    odds = 2.0 ** np.clip(bits, -MAX_BITS, MAX_BITS)
    left, right = (np.bincount(records, odds, table.records) for records in (table.left, table.right))
    if table.split < 0:  # a record of one table is on either side
        left = right = left + right
    return np.asarray(odds / (1 + left[table.left] + right[table.right] - odds))


def independence(parts: Sequence[F64], total: F64, weight: F64) -> float:
    """Return the variance that the sum would have if fields were independent, divided by its actual variance.

    The ratio is clipped to the range from `MIN_INDEPENDENCE` to 1.
    """

    def spread(values: F64) -> float:
        mean = float((weight * values).sum() / weight.sum())
        return float((weight * (values - mean) ** 2).sum() / weight.sum())

    whole = spread(total) if weight.sum() > 0 else 0.0
    return float(np.clip(sum(spread(part) for part in parts) / whole, MIN_INDEPENDENCE, 1)) if whole > 0 else 1.0


def _bits(level: Level, chance: F64) -> tuple[float, ...]:
    """Return the match weight of each comparison level; half a pair is added to every level to keep it finite."""
    known = level >= 0
    m = level_sums(level[known], chance[known]) + 0.5
    u = level_sums(level[known], 1 - chance[known]) + 0.5
    counts = m + u
    m, u = m / m.sum(), u / u.sum()
    agree = float(m[ALIKE:].sum())
    if agree < AGREE:
        m[:ALIKE] *= (1 - AGREE) / (1 - agree)
        m[ALIKE:] *= AGREE / agree
    return tuple(float(bit) for bit in isotonic(np.log2(m / u), counts))


def isotonic(values: F64, weights: F64) -> F64:
    """Return the weighted least-squares fit of non-decreasing values (pool adjacent violators).

    >>> isotonic(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    blocks: list[list[float]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            value, weight, count = blocks.pop()
            before = blocks[-1]
            whole = before[1] + weight
            blocks[-1] = [(before[0] * before[1] + value * weight) / whole, whole, before[2] + count]
    return np.repeat([block[0] for block in blocks], [int(block[2]) for block in blocks])


def probability(bits: F64) -> F64:
    """Convert log2 odds to match probabilities."""
    return np.asarray(1 / (1 + 2.0 ** -np.clip(bits, -MAX_BITS, MAX_BITS)))
