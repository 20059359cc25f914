"""How many passages of a score a collection has by chance: the same words in the opposite order are the null model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.core.arrays import F64
from lookalike.kinds.passages.kernels.rewording import LEAST_SCORE

FITTED_SCORES = 100  # highest scores by chance to which the decay is fitted
RATE = 0.05  # passages by chance per pair of words and exp(-score); 0.02 were observed in news and documentation
DECAY, ASSUMED = 0.45, 5.0  # decay per nat that is assumed, with the weight of this number of scores


@dataclass(frozen=True)
class Chance:
    """The score from which passages are reported. least_score: inf if no score is safe; found: passages at or above
    it; expected: number of them expected by chance; opposite: passages of opposite order that were found; decay: per
    nat."""

    least_score: float
    found: int
    expected: float
    opposite: int
    decay: float

    @property
    def precision(self) -> float | None:
        """The expected share of the passages that are not there by chance."""
        return None if not self.found else max(0.0, 1.0 - self.expected / self.found)

    def as_dict(self) -> dict[str, Any]:
        least = None if np.isinf(self.least_score) else round(self.least_score, 3)
        return {
            "least_score": least, "expected_precision": self.precision, "expected_by_chance": self.expected,
            "opposite_order": self.opposite, "decay": self.decay,
        }  # fmt: skip


def chance_of(found: F64, opposite: F64, precision: float, compared: float) -> Chance:
    """Return the least score at which the expected share of passages by chance is at most 1 - precision.

    found: scores of the passages; opposite: scores of those with words in the opposite order; compared: number of pairs
    of informative words. Beyond the highest opposite scores their number decays exponentially, and it grows with the
    number of pairs of words, as scores of alignments by chance do (Karlin and Altschul). To those observed, the number
    for RATE is added, so that a small collection without any has an expectation, too.

    >>> made = chance_of(np.array([60.0] * 9 + [18.5]), np.array([20.0, 18.5, 18.2]), 0.98, 1e6)
    >>> made.found, made.least_score
    (9, 60.0)
    """
    falling = np.sort(opposite)[::-1]
    tail = falling[:FITTED_SCORES]
    start = float(tail[-1]) if len(tail) == FITTED_SCORES else LEAST_SCORE
    decay = (len(tail) + ASSUMED) / (float((tail - start).sum()) + ASSUMED / DECAY)
    scores = np.sort(found)
    unseen = RATE * compared * np.exp(-LEAST_SCORE) if len(tail) < FITTED_SCORES else 0.0
    fitted = (len(tail) + unseen) * np.exp(-decay * (scores - start))
    counted = len(falling) - np.searchsorted(falling[::-1], scores, "left")
    expected = np.where(scores >= start, np.maximum(fitted, counted), counted).astype(np.float64)
    above = len(scores) - np.searchsorted(scores, scores, "left")
    good = np.flatnonzero(expected <= (1 - precision) * above)
    if not len(good):
        return Chance(float("inf"), 0, 0.0, len(opposite), decay)
    first = int(good[0])
    return Chance(float(scores[first]), int(above[first]), float(expected[first]), len(opposite), decay)
