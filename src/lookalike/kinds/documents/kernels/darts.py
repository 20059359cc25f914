"""Consistent weighted sampling by darts: slots of two signatures agree with the probability of the weighted Jaccard.

Each element owns a strip of the plane, from 0 up without end; darts fall on it as a Poisson process, each with a height
and a rank, the same in every set. A set of weights has the darts below the weight of each element. Each dart belongs to
one of k slots, and a slot keeps its dart of lowest rank. Of the darts below the larger weights of two sets, the lowest
one of a slot is below the smaller weights, too, with the probability of their areas: sum of the minima / sum of the
maxima. Slots are independent, as parts of a Poisson process (after Christiani, DartMinHash, 2020).

The strip is cut at unit, 2 unit, 4 unit, ..., so that the darts of each piece can be drawn in the order of their ranks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.hashing import CHARS, TOKENS, mix
from lookalike.kernels.sketches import NOTHING

HALF, S11 = np.uint64(32), np.uint64(11)
RESOLUTION = 2.0**-53
ROOM = 2.0  # darts drawn at first: slots times (ln of slots + this)


@jit
def uniform(x: Any) -> float:  # u64
    """Return a number in (0, 1] from the high bits of a hash."""
    return (float(x >> S11) + 1.0) * RESOLUTION


@jit
def throw(
    element: Any,  # u64
    weight: float,
    unit: float,  # height of the lowest piece of the strip
    salt: Any,  # u64
    limit: float,  # highest rank
    ranks: Any,  # f64[k], in and out: lowest rank in each slot so far
    out: Any,  # u32[k], in and out: the value of the dart with this rank
) -> None:
    """Throw the darts of one element, up to a rank."""
    base = mix(element ^ salt)
    low, high, piece = 0.0, unit, np.uint64(0)
    while low < weight:
        piece += np.uint64(1)
        state = mix(base + piece * TOKENS)
        rank, number = 0.0, np.uint64(0)
        while True:
            number += np.uint64(1)
            x = mix(state + number * CHARS)
            rank -= math.log(uniform(x)) / (high - low)
            if rank > limit:
                break
            y = mix(x + TOKENS)
            if low + (high - low) * uniform(y) <= weight:
                z = mix(y + TOKENS)
                slot = ((z >> HALF) * np.uint64(len(out))) >> HALF
                if rank < ranks[slot]:
                    ranks[slot] = rank
                    value = np.uint32(z & np.uint64(0xFFFFFFFF))
                    out[slot] = value if value != NOTHING else np.uint32(0)
        low, high = high, 2.0 * high


@jit
def dart_signatures(
    places: Any,  # i64[nnz]: place of each element in the vocabulary, set by set
    counts: Any,  # f64[nnz]: occurrences of each; empty if each occurs once
    ends: Any,  # i64[n]: where the elements of each set end
    low: int,  # sets low to high-1 are processed
    high: int,
    vocabulary: Any,  # u64[v]
    weights: Any,  # f64[v]
    unit: float,
    seed: Any,  # u64
    out: Any,  # u32[high-low, k], out
) -> None:
    """Compute the signature of each set; that of a set without elements has NOTHING in each slot."""
    k, salt = out.shape[1], mix(seed)
    ranks = np.empty(k, np.float64)
    for i in range(low, high):
        row = out[i - low]
        row[:] = NOTHING
        begin, total = ends[i - 1] if i > 0 else 0, 0.0
        for e in range(begin, ends[i]):
            total += weights[places[e]] * (counts[e] if len(counts) > 0 else 1.0)
        if total == 0.0:
            continue
        limit = k * (math.log(k) + ROOM) / total
        while True:
            ranks[:] = np.inf
            for e in range(begin, ends[i]):
                weight = weights[places[e]] * (counts[e] if len(counts) > 0 else 1.0)
                throw(vocabulary[places[e]], weight, unit, salt, limit, ranks, row)
            if ranks.max() < np.inf:
                break
            limit *= 2.0
