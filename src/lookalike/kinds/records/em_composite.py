"""Weights of evidence after Fellegi and Sunter (1969), estimated without labels by expectation-maximisation.

A field's similarity falls on one of a few levels. m: how often matches are on a level; u: how often other pairs are.
The evidence of a level is log2(m / u) bits; a missing value gives none. Bits add up, with those that a pair has before
anything is looked at, and become the probability of a match.

Three things keep the estimate from telling what is not there. A match agrees in a field at least as often as not
(`AGREE`): without this, any two clusters of pairs pass for matches and others, and a table without matches has
thousands. A higher level never tells less than a lower one. And fields that say the same thing twice are not two
witnesses: evidence is scaled down by how much more its sum varies among the other pairs than independent fields would
(the usual correction of a composite likelihood).
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
ALIKE = 4  # the level from which on two values agree
AGREE = 0.5  # of the matches agree in a field, at least
MIN_INDEPENDENCE = 0.2  # of what independent fields would tell, at least, is told by fields that depend on each other
EM_ROUNDS, SETTLED = 30, 1e-3
MAX_BITS = 60.0  # bits beyond which a probability is not told from 0 or 1

Level = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Evidence:
    """prior: bits before any field; bits: of the levels of each field; chance f64[p]: of a match, for every pair."""

    prior: float
    bits: list[tuple[float, ...]]
    chance: F64


def levels(field: F32) -> Level:
    """The level of each similarity, -1 for a missing value.

    >>> levels(np.array([1.0, 0.3, np.nan], np.float32)).tolist()
    [6, 1, -1]
    """
    made = np.searchsorted(np.array(EDGES, np.float32), np.nan_to_num(field, nan=0.0), side="right")
    return np.where(np.isnan(field), -1, made).astype(np.int8)


def level_sums(level: Level, weights: F64) -> F64:
    """Return the sum of the weights of each level, as float64 also where there are none.

    >>> level_sums(np.empty(0, np.int8), np.empty(0)).dtype, level_sums(np.array([1, 1], np.int8), np.ones(2))[1].item()
    (dtype('float64'), 2.0)
    """
    return np.bincount(level, weights, LEVEL_COUNT).astype(np.float64)  # NumPy counts nothing in integers


def estimate(table: PairTable, *, whole: bool = False, single: bool = False) -> Evidence:
    """From the candidate pairs alone; with `whole` the words of the whole record are one more field.

    single: the pairs of a record exclude one another: it has one partner at most.
    Begins with the pairs that are the best of both their records. First as if fields were independent, then with their
    evidence scaled.
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
    """The chance of each pair where no record has two partners."""
    odds = 2.0 ** np.clip(bits, -MAX_BITS, MAX_BITS)
    left = np.bincount(table.left, odds, table.records)[table.left]
    right = np.bincount(table.right, odds, table.records)[table.right]
    return np.asarray(odds / (1 + left + right - odds))


def independence(parts: Sequence[F64], total: F64, weight: F64) -> float:
    """The variance of the sum if fields were independent, over its variance; 1 at most."""

    def spread(values: F64) -> float:
        mean = float((weight * values).sum() / weight.sum())
        return float((weight * (values - mean) ** 2).sum() / weight.sum())

    whole = spread(total) if weight.sum() > 0 else 0.0
    return float(np.clip(sum(spread(part) for part in parts) / whole, MIN_INDEPENDENCE, 1)) if whole > 0 else 1.0


def _bits(level: Level, chance: F64) -> tuple[float, ...]:
    """Half a pair on every level keeps the bits finite."""
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
    """The nearest values that never fall (pool adjacent violators).

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
    """Of a match, from its bits."""
    return np.asarray(1 / (1 + 2.0 ** -np.clip(bits, -MAX_BITS, MAX_BITS)))
