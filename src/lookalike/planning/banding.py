"""Choose minhash bands and rows for a threshold, a target recall and a number of hashes, and bound the recall.

Two items agree in one slot of their signatures with probability p (for minhash, p is their Jaccard similarity s).
A band of r rows agrees with probability p^r (AND), at least one of b bands with 1-(1-p^r)^b (OR): the S-curve.
"""

from __future__ import annotations

import heapq
import math
import warnings
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, overload

from lookalike.core.notebook import card, curve
from lookalike.core.options import accepts
from lookalike.errors import RecallWarning, UsageError
from lookalike.planning.amplification import (  # fmt: skip
    Sensitive,
    amplify,
    and_of,
    between,
    check_shape,
    fixed_point,
    or_of,
    rounded_down,
    shape_of,
    whole,
)
from lookalike.planning.options import FamilyOptions
from lookalike.planning.small_sets import binomial, least_recall, missed_by_agreement, reported

if TYPE_CHECKING:
    from lookalike.planning.family_banding import FamilyPlan

__all__ = ["Plan", "Sensitive", "amplify", "and_of", "fixed_point", "or_of", "plan", "rounded_down"]

CHECK_LOSS = 1e-4  # maximum fraction of the pairs at the threshold that the filter by agreeing slots may lose
ROUNDING = 1e-9  # rounding error of the bound for small sets; the S-curve is used if the bound is this close to it
FINEST = 10**9  # largest denominator of a threshold, the same as for exact scores
CHECKED_HASHES = 2000  # above this, advice adds 2 % to the hashes instead of evaluating the bound for small sets
MOST_HASHES = 100_000  # longer signatures are never advised: a document rarely has as many shingles


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The number of bands and rows for a threshold. `plan` chooses them; the constructor does not warn about recall.

    >>> book = Plan(threshold=0.8, recall=0.99, num_hashes=100, bands=20, rows=5)
    >>> [round(book.probability(s), 3) for s in (0.2, 0.4, 0.6, 0.8)], round(book.turning_point, 3)
    ([0.006, 0.186, 0.802, 1.0], 0.549)
    """

    threshold: float
    recall: float  # the target; recall_at_threshold is the value reached
    num_hashes: int
    bands: int
    rows: int
    estimated: bool = False  # pairs are reported by the estimate from agreeing slots, without an exact score

    def __post_init__(self) -> None:
        # convert NumPy scalars to Python numbers, so that the receipt can be written as JSON
        plain = {
            "threshold": between("threshold", self.threshold, "above 0 and at most 1", closed=True),
            "recall": between("recall", self.recall, "above 0 and below 1", closed=False),
            **{name: whole(name, getattr(self, name)) for name in ("num_hashes", "bands", "rows")},
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        check_shape(f"bands x rows is {self.bands} x {self.rows} =", self.num_hashes, self.hashes_used)

    def probability(self, similarity: float) -> float:
        """Return the probability that a pair of this similarity becomes a candidate: 1-(1-s^r)^b.

        With `estimated` it is the probability that the pair is reported: a candidate that also agrees in `cut` slots.
        """
        if self.estimated:
            missed = missed_by_agreement(self.num_hashes, self.rows, self.bands, self.threshold)
            return reported(self.num_hashes, similarity, missed, self.cut)
        return amplify(similarity, self.rows, self.bands)

    @cached_property
    def _check(self) -> tuple[int, float]:
        if self.estimated:
            share = Fraction(repr(self.threshold)).limit_denominator(FINEST)
            cut = math.ceil(share * self.num_hashes)
            first, law = binomial(self.num_hashes, self.threshold)
            return cut, math.fsum(law[: max(0, cut - first)])
        return _largest_cut(self.threshold, self.num_hashes, _allowed_loss(self.recall))

    @property
    def cut(self) -> int:
        """Minimum number of agreeing slots, of all `num_hashes`, for a candidate to be scored.

        It is the largest number that loses at most 1e-4 of the pairs at the threshold (and at most a hundredth of the
        misses that the target recall allows), if the number of agreeing slots is binomial. With `estimated` it is the
        threshold itself: the smallest number of slots whose fraction is at least `threshold`.
        """
        return self._check[0]

    @property
    def check_loss(self) -> float:
        """Probability that a pair exactly at the threshold has fewer agreeing slots than `cut`."""
        return self._check[1]

    @cached_property
    def recall_at_threshold(self) -> float:
        """Lower bound of the probability that a pair exactly at the threshold shares a band and agrees in `cut` slots.

        It holds for sets of every size: the slots of small sets under Fast Similarity Sketching are not independent,
        so a pair may be found less often than `probability` says (see `lookalike.planning.small_sets`).
        """
        independent = self.probability(self.threshold) - (0.0 if self.estimated else self.check_loss)
        least = least_recall(self.num_hashes, self.rows, self.bands, self.threshold, self.cut)
        return max(0.0, least if least < independent - ROUNDING else independent)

    @property
    def hashes_used(self) -> int:
        return self.bands * self.rows

    @property
    def shape(self) -> str:
        """Description such as '16 bands of 6 rows'."""
        return shape_of(self.bands, self.rows)

    @property
    def turning_point(self) -> float:
        """Similarity (1/b)^(1/r), near the steepest point of the curve, where the probability is about 0.63."""
        return float((1.0 / self.bands) ** (1.0 / self.rows))

    @property
    def midpoint(self) -> float:
        """Similarity at which a pair becomes a candidate with probability 1/2."""
        return float((-math.expm1(-math.log(2.0) / self.bands)) ** (1.0 / self.rows))

    @property
    def false_positive_area(self) -> float:
        """Integral of the curve from 0 to the threshold: candidates that the exact score rejects."""
        return _area_below(self.threshold, self.rows, self.bands)

    @property
    def false_negative_area(self) -> float:
        """Integral of 1 - curve from the threshold to 1: true pairs that share no band."""
        found = _area_below(1.0, self.rows, self.bands) - self.false_positive_area
        return max(0.0, 1.0 - self.threshold - found)

    def table(self, step: float = 0.1) -> list[tuple[float, float]]:
        """Return (similarity, probability) at step, 2*step, … up to 1."""
        step = between("step", step, "above 0 and at most 1", closed=True)
        similarities = [round(i * step, 12) for i in range(1, math.floor(1.0 / step + 1e-9) + 1)]
        return [(s, self.probability(s)) for s in similarities]

    def as_dict(self) -> dict[str, Any]:
        """Return all parameters and derived values as a dict of plain numbers, for the receipt."""
        derived = ("hashes_used", "cut", "recall_at_threshold", "turning_point", "midpoint")
        areas = ("false_positive_area", "false_negative_area")
        return asdict(self) | {name: getattr(self, name) for name in (*derived, *areas)}

    def __str__(self) -> str:
        return (
            f"{self.shape} ({self.hashes_used} of {self.num_hashes} hashes): "
            f"recall {rounded_down(self.recall_at_threshold)} at threshold {self.threshold:g}"
        )

    def _repr_html_(self) -> str:
        facts = [("similarity found as often as not", f"{self.midpoint:.3f}")]
        areas = {"area of false candidates": self.false_positive_area, "area of missed pairs": self.false_negative_area}
        facts += [(name, f"{area:.2g}") for name, area in areas.items()]
        points = [(i / 100, self.probability(i / 100)) for i in range(101)]
        return card(str(self), facts, curve(points, mark=self.threshold, words="similarity", rising=True))


@overload
def plan(
    threshold: float, *, recall: float = ..., num_hashes: int = ..., bands: int | None = ..., rows: int | None = ...
) -> Plan: ...
@overload
def plan(
    *, measure: str, distance: float, recall: float = ..., num_hashes: int = ..., bands: int | None = ...,
    rows: int | None = ..., **family: Unpack[FamilyOptions],
) -> FamilyPlan: ...  # fmt: skip
@accepts(FamilyOptions)
def plan(
    threshold: float | None = None,
    *,
    measure: str | None = None,
    distance: float | None = None,
    recall: float = 0.99,
    num_hashes: int = 128,
    bands: int | None = None,
    rows: int | None = None,
    **family: Any,
) -> Plan | FamilyPlan:
    """Choose bands and rows so that a pair exactly at `threshold` is found with probability `recall` or more.

    Of all combinations with bands x rows <= `num_hashes` that reach the recall, it chooses the one with the fewest
    false candidates (the smallest `false_positive_area`), then the fewest hashes. If `rows` is given, it chooses the
    fewest bands that reach the recall; if `bands` is given, the most rows; if both are given, these are used.

    It issues a RecallWarning, with a number of hashes that would be sufficient, in two cases:

    - The recall is not reached. The plan is then the one that comes nearest.
    - The recall is reached, but with a curve so flat that more than half of the pairs at half the threshold become
      candidates: few pairs are missed, but many are compared needlessly. (Not if bands or rows are given.)

    Parameters
    ----------
    threshold
        Jaccard similarity; omit it with `distance`.
    measure, distance
        A measure (jaccard, cosine, euclidean, hamming) and a distance instead of a threshold: the plan is for the
        hash family of that distance, see `lookalike.planning.family_banding`. The distance of cosine is an angle in
        degrees.
    recall
        Probability with which a pair at the threshold is found.
    num_hashes
        Largest number of hashes of a signature.
    bands, rows
        Numbers to use instead of the chosen ones.
    family
        hamming requires `bits`; euclidean accepts the `width` of a bucket; `sample` (distances of random pairs) is
        the distribution over which false candidates are counted.

    Returns
    -------
    Plan
        Bands, rows, and the curve of the probability of becoming a candidate; for other measures a FamilyPlan.

    Examples
    --------
    >>> print(plan(0.8))
    16 bands of 6 rows (96 of 128 hashes): recall 0.9922 at threshold 0.8
    >>> print(plan(0.8, rows=5))
    12 bands of 5 rows (60 of 128 hashes): recall 0.9914 at threshold 0.8
    >>> print(plan(measure="cosine", distance=30))
    15 bands of 7 rows (105 of 128 hashes): recall 0.9926 at 30 degrees
    """
    if measure is not None or distance is not None:
        return _of_family(threshold, measure, distance, recall, num_hashes, bands, rows, family)
    if family or threshold is None:
        raise UsageError("give a threshold, or a measure and a distance; bits, width and sample go with these.")
    goal = Plan(threshold=threshold, recall=recall, num_hashes=num_hashes, bands=1, rows=1)
    if bands is not None and rows is not None:
        shape = bands, rows
    elif rows is not None:
        most = goal.num_hashes // _within("rows", rows, goal.num_hashes)
        shape = min(_enough_bands(replace(goal, rows=rows)) or most, most), rows
    else:
        given = None if bands is None else _within("bands", bands, goal.num_hashes)
        shape = _fewest_false(goal, given) or (given or goal.num_hashes, 1)
    chosen = replace(goal, bands=shape[0], rows=shape[1])
    complaint = _unmet(chosen, by_hand=bands is not None or rows is not None)
    if complaint:
        warnings.warn(complaint, RecallWarning, stacklevel=3)  # the caller of the decorated function
    return chosen


def _fewest_false(goal: Plan, bands: int | None = None) -> tuple[int, int] | None:
    """Return (bands, rows) that reach the recall with the smallest false-positive area, then fewest hashes; or None.

    For given rows the area grows with the bands, so only the fewest sufficient bands are considered. The curve gives
    a lower bound of their number cheaply; if small sets need more, the shape is tried again with one more band.
    """
    options: list[tuple[float, int, int, int]] = []

    def offer(bands_taken: int, rows: int) -> None:
        area = _area_below(goal.threshold, rows, bands_taken)
        heapq.heappush(options, (area, bands_taken * rows, bands_taken, rows))

    for rows in range(1, goal.num_hashes // (bands or 1) + 1):
        needed = _fewest_bands(goal.threshold, rows, goal.recall, goal.check_loss)
        if needed is not None and needed <= (bands or goal.num_hashes // rows):
            offer(bands or needed, rows)
    while options:
        _, hashes, taken, rows = heapq.heappop(options)
        if replace(goal, bands=taken, rows=rows).recall_at_threshold >= goal.recall:
            return taken, rows
        if bands is None and hashes + rows <= goal.num_hashes:
            offer(taken + 1, rows)
    return None


def _enough_bands(goal: Plan) -> int | None:
    """Return the fewest bands of goal.rows rows that reach the recall for sets of every size; None if impossible."""
    bands = _fewest_bands(goal.threshold, goal.rows, goal.recall, goal.check_loss)
    while bands is not None and bands * goal.rows <= goal.num_hashes:
        if replace(goal, bands=bands).recall_at_threshold >= goal.recall:
            return bands
        bands += 1
    return None


def _fewest_bands(p: float, rows: int, wish: float, loss: float) -> int | None:
    """Return the fewest bands whose OR, minus the loss of the filter, reaches the recall; None beyond about 10^12."""
    share = and_of(p, rows)
    if share < 1e-12:
        return None
    bands = 1 if share >= 1.0 else max(1, math.floor(math.log(1.0 - wish - loss) / math.log1p(-share)))
    # the logarithms may round either way: evaluate the curve itself
    return next((b for b in (bands, bands + 1, bands + 2) if or_of(share, b) - loss >= wish), None)


def _area_below(t: float, rows: int, bands: int) -> float:
    """Integrate 1-(1-s^rows)^bands over s from 0 to t, exactly.

    Integration by parts gives F(b)·(1 + r·b) = t·curve_b(t) + r·b·F(b-1), F(0) = 0: all terms positive, so it is
    stable where the alternating binomial sum is not.
    """
    share, area = and_of(t, rows), 0.0
    for b in range(1, bands + 1):
        area = (t * or_of(share, b) + rows * b * area) / (1 + rows * b)
    return area


def _allowed_loss(wish: float) -> float:
    return min(CHECK_LOSS, (1.0 - wish) / 100)


def _largest_cut(p: float, slots: int, loss: float) -> tuple[int, float]:
    """Return the largest c with P(X < c) <= loss, and this P, for X binomial with `slots` trials of probability `p`."""
    first, law = binomial(slots, p)
    below = 0.0
    for k, chance in enumerate(law, first):
        if below + chance > loss:
            return k, below
        below += chance
    return slots, below


def _unmet(chosen: Plan, *, by_hand: bool) -> str | None:
    """Return a one-line warning with a sufficient number of hashes, or None if the plan is good."""
    t, wish = chosen.threshold, chosen.recall
    stated = f"recall at threshold {t:g} is {rounded_down(chosen.recall_at_threshold)} with {chosen.shape}"
    if chosen.recall_at_threshold < wish:
        line = f"{stated}, not the requested {wish:g}; {_remedy(t, chosen.rows, wish)} would reach it"
        if by_hand and (better := _fewest_false(chosen)):
            line += f", or {shape_of(*better)}"
        elif not by_hand and (steep := _steep_rows(t, wish)) > chosen.rows:
            line += f", {_remedy(t, steep, wish)} with few false candidates"
        return line + "."
    share = chosen.probability(t / 2)
    if by_hand or share <= 0.5:
        return None
    return (
        f"{stated}, but {share:.1%} of the pairs at similarity {t / 2:g} become candidates; "
        f"{_remedy(t, _steep_rows(t, wish), wish)} would make it at most half."
    )


def _steep_rows(t: float, wish: float) -> int:
    """Return the fewest rows that, with enough bands, make at most half of the pairs at t / 2 candidates."""
    rows = 1
    while (bands := _fewest_bands(t, rows, wish, _allowed_loss(wish))) is not None and amplify(
        t / 2, rows, bands
    ) > 0.5:
        rows += 1
    return rows


def _remedy(t: float, rows: int, wish: float) -> str:
    """Describe a sufficient number of hashes, assuming that the filter loses as much as it may."""
    bands = _fewest_bands(t, rows, wish, _allowed_loss(wish))
    if bands is not None and bands * rows > CHECKED_HASHES:
        bands += bands // 50
    while bands is not None and bands * rows <= MOST_HASHES:
        if (
            bands * rows > CHECKED_HASHES
            or Plan(threshold=t, recall=wish, num_hashes=bands * rows, bands=bands, rows=rows).recall_at_threshold
            >= wish
        ):
            return f"{bands * rows} hashes ({shape_of(bands, rows)})"
        bands += 1
    return "no practical number of hashes"


def _within(what: str, value: Any, budget: int) -> int:
    number = whole(what, value)
    if number > budget:
        raise UsageError(f"{what} is {number}, num_hashes is {budget}; take fewer {what} or more hashes.")
    return number


def _of_family(
    threshold: float | None, measure: str | None, distance: float | None, recall: float, num_hashes: int,
    bands: int | None, rows: int | None, family: Any,
) -> FamilyPlan:  # fmt: skip
    from lookalike.planning.family_banding import plan_family  # importing measures loads numba

    if threshold is not None or measure is None or distance is None:
        raise UsageError("give a threshold alone, or a measure and a distance together.")
    made = plan_family(measure, distance, recall, num_hashes, bands, rows, **family)
    if complaint := made.unmet():
        warnings.warn(complaint, RecallWarning, stacklevel=4)
    return made
