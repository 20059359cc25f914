"""Calibration of stated match probabilities: the share of true pairs in each bin of stated probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.core.binomial import clopper_pearson
from lookalike.evaluation.matches import Mask

BIN_EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # bin edges; the last bin includes 1


@dataclass(frozen=True)
class Reliability:
    """A reliability table: pairs in bins of stated probability, without empty bins.

    low, high f64[b]: the edges of each bin; pairs, true i64[b]: the number of pairs, and of true pairs; stated f64[b]:
    the mean stated probability.

    >>> made = reliability(np.array([0.62, 0.68, 1.0, 1.0]), np.array([True, False, True, True]))
    >>> made.pairs.tolist(), made.share.tolist(), round(made.error, 4)
    ([2, 2], [0.5, 1.0], 0.075)
    """

    low: F64
    high: F64
    pairs: I64
    stated: F64
    true: I64

    @property
    def share(self) -> F64:
        """Return the share of true pairs in each bin."""
        return np.asarray(self.true / self.pairs)

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """Return the 95 % Clopper-Pearson interval of each share, which assumes that pairs are independent."""
        return [
            clopper_pearson(hits, trials) for hits, trials in zip(self.true.tolist(), self.pairs.tolist(), strict=True)
        ]

    @property
    def error(self) -> float:
        """Return the expected calibration error: the mean |stated - share true| over pairs; NaN without pairs."""
        if not len(self.pairs):
            return float("nan")
        return float((self.pairs * np.abs(self.stated - self.share)).sum() / self.pairs.sum())

    def as_dict(self) -> dict[str, Any]:
        """Return the table as JSON-compatible data."""
        rows = zip(self.low, self.high, self.pairs, self.stated, self.share, self.intervals, strict=True)
        return {
            "expected_calibration_error": self.error,
            "bins": [
                {
                    "from": float(low), "to": float(high), "pairs": int(pairs), "mean_stated": float(stated),
                    "share_true": float(share), "interval_95": list(interval),
                }
                for low, high, pairs, stated, share, interval in rows
            ],
        }  # fmt: skip


def reliability(stated: F64, is_true: Mask) -> Reliability:
    """Compare stated match probabilities with the truth. stated f64[p], from 0 to 1; is_true bool[p]."""
    edges = np.array(BIN_EDGES)
    place = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, len(edges) - 2)
    pairs = np.bincount(place, minlength=len(edges) - 1)
    used = np.flatnonzero(pairs)
    sums, true = (np.bincount(place, weights, len(edges) - 1)[used] for weights in (stated, is_true))
    pairs = pairs[used].astype(np.int64)
    return Reliability(edges[used], edges[used + 1], pairs, sums / pairs, true.astype(np.int64))
