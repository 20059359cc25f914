"""The nearest codes of each code, by comparing all."""

from __future__ import annotations

from typing import Any

from lookalike.kernels._jit import jit
from lookalike.kernels.bits import distance
from lookalike.kernels.nearest import place

SCANNED_TOGETHER = 4096  # codes that stay in the cache while all codes of a task are compared with them


@jit
def nearest_codes(
    codes: Any,  # u64[m, words]
    others: Any,  # u64[n, words]: the codes that are searched
    itself: int,  # the number of codes[0] among `others`; -m if it is not one of them
    most: int,  # largest distance of a neighbour
    nearest: Any,  # i64[m, k], out, k >= 1
    score: Any,  # f64[m, k], out: negated distances
    filled: Any,  # i64[m], zeros, out
) -> None:
    """Find the k nearest codes of each code; of equal distances, those that come first."""
    last = nearest.shape[1] - 1
    for low in range(0, len(others), SCANNED_TOGETHER):
        high = min(low + SCANNED_TOGETHER, len(others))
        for i in range(len(codes)):
            count = filled[i]
            bar = most
            if count > last:  # codes are visited in order, so a later one must be nearer
                bar = min(most, int(-score[i, last]) - 1)
            for j in range(low, high):
                apart = distance(codes, i, others, j, bar)
                if apart > bar or j == itself + i:
                    continue
                count = place(nearest[i], score[i], count, j, -float(apart))
                if count > last:
                    bar = min(most, int(-score[i, last]) - 1)
            filled[i] = count
