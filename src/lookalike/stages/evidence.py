"""Weights of evidence after Fellegi and Sunter (1969), estimated without labels by expectation-maximisation.

A field's similarity falls on one of a few levels. m: how often matches are on a level; u: how often other pairs are.
The evidence of a level is log2(m / u) bits; a missing value gives none. Bits add up, with those that a pair has before
anything is looked at, and become the probability of a match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lookalike.data import F32
from lookalike.measures.fields import EDGES
from lookalike.stages.standing import PairTable, suggest

LEVELS = len(EDGES) + 1
ROUNDS, SETTLED = 200, 1e-4
SURE = 60.0  # bits beyond which a probability is not told from 0 or 1


def levels(field: F32) -> npt.NDArray[np.int8]:
    """The level of each similarity, -1 for a missing value.

    >>> levels(np.array([1.0, 0.3, np.nan], np.float32)).tolist()
    [6, 1, -1]
    """
    made = np.searchsorted(np.array(EDGES, np.float32), np.nan_to_num(field, nan=0.0), side="right")
    return np.where(np.isnan(field), -1, made).astype(np.int8)


def estimate(table: PairTable) -> tuple[float, list[tuple[float, ...]]]:
    """(bits before any field, the bits of the levels of each field), from the candidate pairs alone.

    Begins with the pairs that stand out by the plain mean of their fields. A higher level never tells less than a lower
    one. Half a pair on every level keeps the bits finite.
    """
    seen = [levels(field) for field in table.fields]
    plain = table.similarity([1.0] * len(seen), 0.5)
    chance = np.where(plain >= suggest(table, plain)[0], 0.99, 0.01)
    if table.split >= 0:
        chance = np.where(table.margins(plain) > 0, chance, 0.01)
    prior, bits = 0.0, [(0.0,) * LEVELS for _ in seen]
    for _ in range(ROUNDS):
        share = float(np.clip(chance.mean(), 1e-6, 1 - 1e-6))
        prior = float(np.log2(share / (1 - share)))
        bits = [_bits(level, chance) for level in seen]
        made = probability(prior, bits, seen)
        moved = float(np.abs(made - chance).max(initial=0))
        chance = made
        if moved < SETTLED:
            break
    return prior, bits


def _bits(level: npt.NDArray[np.int8], chance: npt.NDArray[np.float64]) -> tuple[float, ...]:
    known = level >= 0
    m = np.bincount(level[known], chance[known], LEVELS) + 0.5
    u = np.bincount(level[known], 1 - chance[known], LEVELS) + 0.5
    evidence = np.log2((m / m.sum()) / (u / u.sum()))
    return tuple(float(bit) for bit in rising(evidence, m + u))


def rising(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The nearest values that never fall (pool adjacent violators).

    >>> rising(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
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


def field_bits(field: F32, bits: Sequence[float]) -> npt.NDArray[np.float64]:
    """The evidence of each pair, 0 for a missing value."""
    return np.array([*bits, 0.0])[levels(field)]


def probability(
    prior: float, bits: Sequence[Sequence[float]], seen: Sequence[npt.NDArray[np.int8]]
) -> npt.NDArray[np.float64]:
    """The chance that a pair is a match, from the levels of its fields."""
    total = np.full(len(seen[0]), prior)
    for level, evidence in zip(seen, bits, strict=True):
        total += np.array([*evidence, 0.0])[level]
    return np.asarray(1 / (1 + 2.0 ** -np.clip(total, -SURE, SURE)))


def weigh(table: PairTable, prior: float, bits: Sequence[Sequence[float]]) -> F32:
    """The probability of a match of every pair."""
    return np.asarray(probability(prior, bits, [levels(field) for field in table.fields]), np.float32)
