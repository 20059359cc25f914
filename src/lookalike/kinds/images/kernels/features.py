"""Match the local features of two pictures by the Hamming distance of their codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels._jit import jit
from lookalike.kernels.signs import ones


@jit
def match_codes(
    left: Any,  # u64[n, w]: codes of the features of one picture
    right: Any,  # u64[m, w]: codes of the features of the other
    max_bits: int,  # maximum number of bits in which matching codes differ
    margin: int,  # number of bits by which the best match must be nearer than the second best
    best_right: Any,  # i64[n], out: the feature of the other picture that matches, or -1
) -> int:  # the number of matches
    """Find mutual nearest neighbours whose second nearest neighbour is clearly farther away."""
    n, m, words = len(left), len(right), left.shape[1]
    far = np.int64(64 * words + 1)
    nearest_left = np.full(m, -1, np.int64)
    distance_left = np.full(m, far, np.int64)
    for i in range(n):
        best, second, choice = far, far, np.int64(-1)
        for j in range(m):
            bits = np.int64(0)
            for w in range(words):
                bits += np.int64(ones(left[i, w] ^ right[j, w]))
            if bits < best:
                best, second, choice = bits, best, np.int64(j)
            elif bits < second:
                second = bits
            if bits < distance_left[j]:
                distance_left[j], nearest_left[j] = bits, i
        best_right[i] = choice if best <= max_bits and second - best >= margin else -1
    matches = 0
    for i in range(n):
        if best_right[i] >= 0 and nearest_left[best_right[i]] != i:
            best_right[i] = -1
        matches += int(best_right[i] >= 0)
    return matches
