"""Edit distances of two strings: Levenshtein (insert, delete, replace), and insert/delete alone."""

from __future__ import annotations

from functools import partial

import numpy as np

from lookalike.kernels import edits
from lookalike.measures.record import Distance


def between(measure: int, left: str, right: str) -> float:
    """In Unicode code points.

    >>> between(edits.LEVENSHTEIN, "kitten", "sitting"), between(edits.INDEL, "kitten", "sitting")
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
    between=partial(between, edits.LEVENSHTEIN),
)  # fmt: skip
INDEL = Distance(name="indel", unit="edits", formula="|x| + |y| - 2 LCS(x, y)", between=partial(between, edits.INDEL))
