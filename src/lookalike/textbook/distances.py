"""Textbook distances between two items, each with its family of hash functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.kernels import bits, edits
from lookalike.planning.families import HYPERPLANES, Family, projections, sampled_bits


@dataclass(frozen=True, kw_only=True)
class Distance:
    """A metric: non-negative, 0 only for equal items, symmetric, and subject to the triangle inequality.

    between: the function of two items. unit: the unit of its values. formula: a readable formula. equal: which items
    count as equal, if other than equality. family: its LSH family, built from keywords such as bits or width; None if
    candidates are found in another way.
    """

    name: str
    unit: str
    formula: str
    between: Callable[[Any, Any], float]
    family: Callable[..., Family] | None = None
    equal: str = "items are equal"


def angle(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """Compute the angle between two vectors, 0 to 180 degrees.

    The arc tangent of the norms of difference and sum is accurate for small angles too, where the cosine is flat.

    >>> round(angle([1, 0], [1, 1]), 6)
    45.0
    """
    one, other = (np.asarray(v, np.float64) / np.linalg.norm(np.asarray(v, np.float64)) for v in (left, right))
    return 2.0 * math.degrees(math.atan2(float(np.linalg.norm(one - other)), float(np.linalg.norm(one + other))))


ANGLE = Distance(
    name="angle", unit="degrees", formula="arccos(x·y / |x||y|)", between=angle, family=lambda: HYPERPLANES,
    equal="vectors have one direction",
)  # fmt: skip


def euclidean(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """Compute the Euclidean distance, the norm of the difference.

    >>> euclidean([0, 0], [3, 4])
    5.0
    """
    return float(np.linalg.norm(np.asarray(left, np.float64) - np.asarray(right, np.float64)))


EUCLIDEAN = Distance(name="euclidean", unit="", formula="sqrt(Σ (x - y)²)", between=euclidean, family=projections)


def hamming(left: Any, right: Any) -> float:
    """Compute the Hamming distance of two bit codes, given as 64-bit words (u64[words]) or as integers below 2^64.

    >>> hamming(0b1011, 0b0010)
    2.0
    """
    one, other = (np.atleast_1d(np.asarray(code, np.uint64))[None] for code in (left, right))
    return float(bits.distance(one, 0, other, 0, 64 * one.shape[1]))


HAMMING = Distance(name="hamming", unit="bits", formula="bits that differ", between=hamming, family=sampled_bits)


def edit_distance(measure: int, left: str, right: str) -> float:
    """Compute the edit distance of two strings in Unicode code points. measure: edits.LEVENSHTEIN or edits.INDEL.

    >>> edit_distance(edits.LEVENSHTEIN, "kitten", "sitting"), edit_distance(edits.INDEL, "kitten", "sitting")
    (3.0, 5.0)
    """
    if not left or not right:
        return float(len(left) + len(right))
    both = np.frombuffer((left + right).encode("utf-32-le", "surrogatepass"), np.uint32)
    letters, points = np.unique(both, return_inverse=True)
    ends = np.array([0, len(left), len(left) + len(right)], np.int64)
    out = np.empty(1, np.int64)
    first, second, most = np.array([0]), np.array([1]), len(left) + len(right)
    edits.distances(measure, points.astype(np.uint32), ends, first, second, most, len(letters), out)
    return float(out[0])


LEVENSHTEIN = Distance(
    name="levenshtein", unit="edits", formula="fewest letters inserted, deleted or replaced",
    between=partial(edit_distance, edits.LEVENSHTEIN),
)  # fmt: skip
INDEL = Distance(
    name="indel", unit="edits", formula="|x| + |y| - 2 LCS(x, y)", between=partial(edit_distance, edits.INDEL)
)


DISTANCES = {distance.name: distance for distance in (HAMMING, ANGLE, EUCLIDEAN, LEVENSHTEIN, INDEL)}
