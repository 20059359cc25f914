"""Random numbers that are equal on every machine and with every version of NumPy, because an index is long-lived."""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import F32, F64, I64, U64
from lookalike.kernels import hashing

UNIT = 2.0**-53


def words(seed: int, stream: int, count: int) -> U64:
    """Return `count` random 64-bit words of a numbered stream."""
    base = np.empty(1, np.uint64)
    hashing.mix_all(np.array([stream], np.uint64), np.uint64(seed), base)
    out = np.empty(count, np.uint64)
    hashing.mix_all(np.arange(count, dtype=np.uint64), base[0], out)
    return out


def uniform(seed: int, stream: int, count: int) -> F64:
    """Return `count` uniform random numbers in [0, 1).

    >>> uniform(42, 0, 2).round(3).tolist()
    [0.531, 0.981]
    """
    return (words(seed, stream, count) >> np.uint64(11)).astype(np.float64) * UNIT


def normal(seed: int, stream: int, count: int) -> F32:
    """Return `count` standard normal random numbers, by the Box-Muller transform."""
    half = -(-count // 2)
    radius = np.sqrt(-2.0 * np.log1p(-uniform(seed, stream, half)))
    turn = 2.0 * np.pi * uniform(seed, stream + 1, half)
    return np.concatenate([radius * np.cos(turn), radius * np.sin(turn)])[:count].astype(np.float32)


def order(seed: int, stream: int, count: int) -> I64:
    """Return a random permutation of the numbers 0 to count - 1."""
    return np.argsort(words(seed, stream, count), kind="stable")
