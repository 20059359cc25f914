"""Hamming distance: the number of bits in which two codes of one length differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from lookalike.kernels.bits import distance
from lookalike.measures.families import sampled_bits
from lookalike.measures.record import Distance


def between(left: Any, right: Any) -> float:
    """Of two codes, as words of 64 bits (u64[words]) or as whole numbers below 2^64.

    >>> between(0b1011, 0b0010)
    2.0
    """
    one, other = (np.atleast_1d(np.asarray(code, np.uint64))[None] for code in (left, right))
    return float(distance(one, 0, other, 0, 64 * one.shape[1]))


HAMMING = Distance(name="hamming", unit="bits", formula="bits that differ", between=between, family=sampled_bits)
