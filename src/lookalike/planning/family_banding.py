"""Choose bands and rows for any hash family: a target recall at a distance, with the fewest false candidates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Unpack

from lookalike.core.arrays import check_choice
from lookalike.core.notebook import card, curve
from lookalike.errors import UsageError
from lookalike.planning.amplification import (
    Sensitive,
    amplify,
    between,
    check_shape,
    fixed_point,
    rounded_down,
    shape_of,
    whole,
)
from lookalike.planning.families import HYPERPLANES, MINHASH, Family, projections, sampled_bits
from lookalike.planning.options import FamilyOptions

MEASURES = ("jaccard", "cosine", "angle", "euclidean", "hamming")
CURVE_DISTANCES = 200  # number of distances beyond the target at which the curve is evaluated
REACH = 8.0  # if distances are unbounded, pairs count up to this multiple of the target distance
PROJECTION_WIDTHS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # bucket widths to try, as multiples of the distance


@dataclass(frozen=True, kw_only=True)
class FamilyPlan:
    """The number of bands and rows for a hash family: the AND of `rows` functions, then the OR of `bands`.

    sample: distances of random pairs, if known; otherwise all distances are assumed to be equally likely.

    >>> made = plan_family("hamming", 8, bits=64)
    >>> print(made, made.sensitive(16), sep=chr(10))
    13 bands of 9 rows (117 of 128 hashes): recall 0.9904 at 8 bits
    (8, 16, 0.9904, 0.6375)-sensitive
    """

    family: Family
    distance: float
    recall: float  # the target
    num_hashes: int
    bands: int
    rows: int
    sample: tuple[float, ...] = ()

    def probability(self, distance: float) -> float:
        """Return the probability that items at this distance become candidates: 1-(1-p(d)^r)^b."""
        return amplify(self.family.p(distance), self.rows, self.bands)

    @property
    def recall_at_threshold(self) -> float:
        return self.probability(self.distance)

    @property
    def hashes_used(self) -> int:
        return self.bands * self.rows

    @property
    def shape(self) -> str:
        return shape_of(self.bands, self.rows)

    @property
    def false_candidates(self) -> float:
        """Fraction of the pairs beyond the distance that become candidates."""
        beyond = _beyond(self.family, self.distance, self.sample)
        return sum(map(self.probability, beyond)) / len(beyond) if beyond else 0.0

    @property
    def fixed_distance(self) -> float | None:
        """Distance at which the candidate probability equals that of one hash: it is higher below, lower beyond.

        None if bands or rows are 1, which change all probabilities in one direction.
        """
        if self.rows == 1 or self.bands == 1:
            return None
        return self._distance_at(fixed_point(self.rows, self.bands))

    @property
    def midpoint(self) -> float:
        """Distance at which a pair becomes a candidate with probability 1/2."""
        return self._distance_at((-math.expm1(-math.log(2.0) / self.bands)) ** (1.0 / self.rows))

    def sensitive(self, d2: float | None = None) -> Sensitive:
        """Return the (d1, d2, p1, p2)-sensitivity of the plan; d1 is the planned distance, d2 twice that by default."""
        return self.base(d2).amplified(self.rows, self.bands)

    def base(self, d2: float | None = None) -> Sensitive:
        """Return the (d1, d2, p1, p2)-sensitivity of a single hash function."""
        return self.family.sensitive(self.distance, self._far(d2))

    def table(self, steps: int = 10) -> list[tuple[float, float, float]]:
        """Return (distance, probability of one hash, candidate probability) in equal steps of the distance from 0."""
        last = self.family.furthest if math.isfinite(self.family.furthest) else 4.0 * self.distance
        return [(d, self.family.p(d), self.probability(d)) for d in (last * i / steps for i in range(steps + 1))]

    def unmet(self) -> str | None:
        """Return a one-line warning if the target recall is not reached, otherwise None."""
        if self.recall_at_threshold >= self.recall:
            return None
        return (
            f"recall at {self._at()} is {rounded_down(self.recall_at_threshold)} with {self.shape}, not the requested "
            f"{self.recall:g}; take more hashes, or fewer rows."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return all parameters and derived values as a dict of plain numbers."""
        names = ("distance", "recall", "num_hashes", "bands", "rows", "hashes_used", "recall_at_threshold")
        facts = {name: getattr(self, name) for name in (*names, "false_candidates", "midpoint", "fixed_distance")}
        whole_, one = self.sensitive(), self.base()
        return {
            "family": self.family.name, "measure": self.family.measure, **facts,
            "one_hash": [one.d1, one.d2, one.p1, one.p2], "sensitive": [whole_.d1, whole_.d2, whole_.p1, whole_.p2],
        }  # fmt: skip

    def __str__(self) -> str:
        return (
            f"{self.shape} ({self.hashes_used} of {self.num_hashes} hashes): "
            f"recall {rounded_down(self.recall_at_threshold)} at {self._at()}"
        )

    def _repr_html_(self) -> str:
        facts = [("as hash functions", self.family.name), ("together", self.sensitive())]
        points = [(d, chance) for d, _, chance in self.table(steps=100)]
        words = f"distance in {self.family.unit}" if self.family.unit else "distance"
        return card(str(self), facts, curve(points, mark=self.distance, words=words, rising=False))

    def _at(self) -> str:
        unit = self.family.unit
        return f"{self.distance:g} {unit}" if unit else f"{self.family.measure} distance {self.distance:g}"

    def _far(self, d2: float | None) -> float:
        if d2 is not None:
            return d2
        return min(2.0 * self.distance, (self.distance + self.family.furthest) / 2)

    def _distance_at(self, p: float) -> float:
        """Return the distance at which one hash agrees with probability p."""
        low, high = 0.0, self.family.furthest if math.isfinite(self.family.furthest) else self.distance
        while self.family.p(high) > p and not math.isfinite(self.family.furthest):
            high *= 2.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self.family.p(middle) > p else (low, middle)
        return high


def plan_family(
    measure: str, distance: float, recall: float = 0.99, num_hashes: int = 128, bands: int | None = None,
    rows: int | None = None, **options: Unpack[FamilyOptions],
) -> FamilyPlan:  # fmt: skip
    """Choose bands and rows, within `num_hashes`, that find a pair at `distance` with probability `recall` or more.

    The choice has the fewest false candidates; if none reaches the recall, it is the one that comes nearest. False
    candidates are counted over the distances beyond, all equally likely (up to 8 times the distance if distances are
    unbounded), or over a `sample` of distances of the user's pairs.
    """
    check_choice("measure", measure, MEASURES)
    bits, width, sample = options.get("bits"), options.get("width"), options.get("sample")
    choices: list[FamilyPlan] = []
    for family in _families(measure, distance, bits, width):
        if not 0 < distance < family.furthest:
            most = "" if math.isinf(family.furthest) else f" and below {family.furthest:g}"
            raise UsageError(f"distance is {distance}; expected a {measure} distance above 0{most}.")
        goal = FamilyPlan(
            family=family, distance=float(distance), num_hashes=whole("num_hashes", num_hashes), bands=1, rows=1,
            recall=between("recall", recall, "above 0 and below 1", closed=False),
            sample=tuple(float(d) for d in sample or ()),
        )  # fmt: skip
        choices += [replace(goal, bands=b, rows=r) for b, r in _shapes(goal, bands, rows)]
    able = [one for one in choices if one.recall_at_threshold >= recall]
    if able:
        return min(able, key=lambda one: (one.false_candidates, one.hashes_used))
    return max(choices, key=lambda one: (one.recall_at_threshold, -one.hashes_used))


def _families(measure: str, distance: float, bits: int | None, width: float | None) -> list[Family]:
    if bits is not None and measure != "hamming":
        raise UsageError(f"bits go with hamming; the measure is {measure}.")
    if width is not None and measure != "euclidean":
        raise UsageError(f"width goes with euclidean; the measure is {measure}.")
    if measure == "hamming":
        if bits is None:
            raise UsageError("hamming needs the length of a code: give bits, for example 64.")
        return [sampled_bits(whole("bits", bits))]
    if measure == "euclidean":
        if width is not None and not 0 < width < math.inf:
            raise UsageError(f"width is {width}; expected the width of a bucket, above 0.")
        return [projections(w) for w in ([width] if width else [distance * times for times in PROJECTION_WIDTHS])]
    return [MINHASH if measure == "jaccard" else HYPERPLANES]


def _shapes(goal: FamilyPlan, bands: int | None, rows: int | None) -> Iterator[tuple[int, int]]:
    """Yield (bands, rows) to try: for each number of rows the fewest bands that reach the recall, or the maximum."""
    hashes, wish, p = goal.num_hashes, goal.recall, goal.family.p(goal.distance)
    if bands is not None:
        check_shape(
            f"bands x rows is {bands} x {rows or 1} =", hashes, whole("bands", bands) * whole("rows", rows or 1)
        )
    if rows is not None:
        check_shape("rows is", hashes, whole("rows", rows))
    for r in [rows] if rows else range(1, hashes // (bands or 1) + 1):
        share = p**r
        most = hashes // r
        needed = most if share < 1e-12 else 1 if share >= 1 else math.ceil(math.log(1 - wish) / math.log1p(-share))
        exact = next((b for b in range(max(1, needed - 1), most + 1) if amplify(p, r, b) >= wish), most)
        yield bands or exact, r


def _beyond(family: Family, distance: float, sample: tuple[float, ...]) -> list[float]:
    if sample:
        return [d for d in sample if d > distance]
    last = family.furthest if math.isfinite(family.furthest) else REACH * distance
    return [distance + (last - distance) * (i + 0.5) / CURVE_DISTANCES for i in range(CURVE_DISTANCES)]
