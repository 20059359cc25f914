"""Euclidean distance of two vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lookalike.measures.families import projections
from lookalike.measures.record import Distance


def between(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """The length of the difference.

    >>> between([0, 0], [3, 4])
    5.0
    """
    return float(np.linalg.norm(np.asarray(left, np.float64) - np.asarray(right, np.float64)))


EUCLIDEAN = Distance(name="euclidean", unit="", formula="sqrt(Σ (x - y)²)", between=between, family=projections)
