"""The angle between two vectors, in degrees: the distance that goes with the cosine."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from lookalike.measures.families import HYPERPLANES
from lookalike.measures.record import Distance


def between(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """0 to 180. (The arc tangent of sum and difference is accurate for small angles too, where the cosine is flat.)

    >>> round(between([1, 0], [1, 1]), 6)
    45.0
    """
    one, other = (np.asarray(v, np.float64) / np.linalg.norm(np.asarray(v, np.float64)) for v in (left, right))
    return 2.0 * math.degrees(math.atan2(float(np.linalg.norm(one - other)), float(np.linalg.norm(one + other))))


ANGLE = Distance(
    name="angle", unit="degrees", formula="arccos(x·y / |x||y|)", between=between, family=lambda: HYPERPLANES,
    equal="vectors have one direction",
)  # fmt: skip
