"""Specification of a run over measurements, and the plan of its hash tables of ranges.

The range of a measurement is its value, quantised with a width and a random offset. The ranges of two measurements
collide if the lookup of one, which includes the adjacent range near an edge, finds the other.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from lookalike.core.arrays import F64, Scale
from lookalike.core.formatting import count
from lookalike.core.options import check_values, defaults
from lookalike.core.run_options import OnBadItem, RowMethod
from lookalike.errors import UsageError
from lookalike.kinds.faces.options import FaceOptions

FACE_DEFAULTS = defaults(FaceOptions)
RANGES_PER_KEY = range(2, 17)
RANGE_WIDTHS = (
    2.0,
    3.0,
    4.0,
    6.0,
)  # widths of a range, in units of the tolerance; from 2 on, at most two ranges are looked up
MAX_FACE_TABLES = 600  # hash tables
# Nanoseconds on one core; only their ratios matter.
COST_PER_FACE_KEY, PER_LOOKUP, PER_MEASUREMENT = 40.0, 90.0, 0.4


@dataclass(frozen=True, kw_only=True)
class FaceJob:
    """The options that determine the result.

    Items match if a share of at least `threshold` of their measurements differ by at most `tolerance`.
    """

    noun: ClassVar[str] = "faces"
    verify: ClassVar[bool] = True
    scale: ClassVar[Scale] = Scale("agreement", 1)

    tolerance: float = FACE_DEFAULTS["tolerance"]
    threshold: float = FACE_DEFAULTS["threshold"]
    method: RowMethod = FACE_DEFAULTS["method"]
    recall: float = FACE_DEFAULTS["recall"]
    tables: int | None = FACE_DEFAULTS["tables"]
    rows: int | None = FACE_DEFAULTS["rows"]
    max_scored: float | None = FACE_DEFAULTS["max_scored"]
    seed: int = FACE_DEFAULTS["seed"]
    max_pairs: int = FACE_DEFAULTS["max_pairs"]
    audit: int = FACE_DEFAULTS["audit"]
    on_bad: OnBadItem = FACE_DEFAULTS["on_bad"]
    threads: int | None = FACE_DEFAULTS["threads"]

    def __post_init__(self) -> None:
        check_values(FaceOptions, self.__dict__)
        if not math.isfinite(self.tolerance):
            raise UsageError(f"tolerance is {self.tolerance}; expected a finite number.")
        if self.rows is not None and self.rows > RANGES_PER_KEY[-1]:
            raise UsageError(
                f"rows is {self.rows}; expected at most {RANGES_PER_KEY[-1]}: each may double the lookups."
            )

    def need(self, measurements: int) -> int:
        """Return how many measurements must agree, computed exactly from the share that the user wrote."""
        return max(1, math.ceil(Fraction(repr(float(self.threshold))) * measurements))

    def words(self) -> str:
        return f"measurements within {self.tolerance:g} in a share of at least {self.threshold:g}"

    def as_dict(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass(frozen=True, kw_only=True)
class RangePlan:
    """A plan for hash tables of ranges: `bands` tables of `rows` measurements each, in ranges of this width.

    meeting: share of the measurements whose ranges collide for a pair at the threshold, from a sample; scored: share of
    all pairs that will be scored; recall_at_threshold: mean over the sampled pairs at the threshold. A pair whose other
    measurements collide less often than in the sample is found less often; recall_of_any_pair: of a pair in which
    only the measurements that must agree collide.
    """

    threshold: float
    recall: float
    bands: int
    rows: int
    width: float
    meeting: float
    scored: float
    recall_at_threshold: float
    recall_of_any_pair: float
    measurements: int

    def probability(self, meeting: F64) -> F64:
        """Return the probability that pairs are found, given the shares of their measurements whose ranges collide."""
        return found(meeting, self.rows, self.bands, self.measurements)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {
            "shape": f"{count(self.bands, 'tables')} of {count(self.rows, 'measurements')}",
            "recall_is": "on average over sampled pairs at the threshold, at least "
            f"{math.floor(1000 * self.recall_of_any_pair) / 1000:.3f} for any pair",
        }


@dataclass(frozen=True)
class CollisionStatistics:
    """Shares of the measurements whose ranges collide, for one width of ranges.

    near f64[k]: of pairs at the threshold; far f64[p]: of random pairs.
    """

    width: float
    near: F64
    far: F64


def found(meeting: F64, rows: int, bands: int, measurements: int) -> F64:
    """Return the probability that all measurements of at least one table collide.

    Each table takes `rows` measurements without repeats.

    >>> found(np.array([0.5]), rows=2, bands=1, measurements=4)  # 2 of 4 meet: 2/4 * 1/3
    array([0.16666667])
    """
    size = min(rows, measurements)
    taken = np.arange(size)
    left = np.maximum(np.asarray(meeting)[:, None] * measurements - taken, 0.0)
    with np.errstate(divide="ignore"):
        chance: F64 = -np.expm1(bands * np.log1p(-np.minimum((left / (measurements - taken)).prod(axis=1), 1.0)))
    return chance


def plan_ranges(
    job: FaceJob, samples: list[CollisionStatistics], items: int, pairs: float, measurements: int
) -> tuple[RangePlan, float]:
    """Return the cheapest plan that reaches the recall at the threshold, and its cost in seconds on one core.

    With `max_scored`, it is the cheapest plan that scores at most this share of the pairs.
    """
    best: tuple[float, float, float, RangePlan] | None = None
    for sample in samples:
        for rows in [job.rows] if job.rows else RANGES_PER_KEY:
            bands = job.tables or _bands(sample.near, rows, job.recall, measurements)
            reached = float(found(sample.near, rows, bands, measurements).mean())
            scored = float(found(sample.far, rows, bands, measurements).mean())
            lookups = items * bands * (1.0 + 2.0 * job.tolerance / sample.width) ** rows
            cost = items * bands * rows * COST_PER_FACE_KEY + lookups * PER_LOOKUP
            cost += pairs * scored * measurements * PER_MEASUREMENT
            least = float(found(np.array([job.need(measurements) / measurements]), rows, bands, measurements)[0])
            made = RangePlan(
                threshold=job.threshold, recall=job.recall, bands=bands, rows=rows, width=sample.width,
                meeting=float(sample.near.mean()), scored=scored, recall_at_threshold=reached,
                recall_of_any_pair=least, measurements=measurements,
            )  # fmt: skip
            missing = 0.0 if job.tables else max(0.0, job.recall - reached)
            beyond = max(0.0, scored - (job.max_scored or 1.0))
            if best is None or (missing, beyond, cost) < best[:3]:
                best = (missing, beyond, cost, made)
    assert best is not None
    return best[3], best[2] / 1e9


def _bands(near: F64, rows: int, recall: float, measurements: int) -> int:
    """Return the smallest number of tables that reaches the recall, at most MAX_FACE_TABLES."""
    low, high = 1, MAX_FACE_TABLES
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if found(near, rows, middle, measurements).mean() >= recall else (middle + 1, high)
    return low
