"""The planner against brute force, the textbook's numbers, and plain quadrature."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import warnings
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.errors import RecallWarning, UsageError
from lookalike.planning.banding import Plan, Sensitive, amplify, and_of, fixed_point, or_of, plan, rounded_down

thresholds = st.floats(0.02, 1.0)
recalls = st.floats(0.01, 0.9999)
shapes = st.tuples(st.integers(1, 40), st.integers(1, 20))


def quiet(threshold: float, **options: Any) -> tuple[Plan, str]:
    """The plan, and the warning it gave or nothing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = plan(threshold, **options)
    assert all(w.category is RecallWarning for w in caught)
    assert len(caught) <= 1
    return made, str(caught[0].message) if caught else ""


def made(bands: int, rows: int, threshold: float = 0.8, recall: float = 0.99) -> Plan:
    return Plan(threshold=threshold, recall=recall, num_hashes=bands * rows, bands=bands, rows=rows)


def quadrature(bands: int, rows: int, low: float, high: float, steps: int = 4000) -> float:
    """The integral of the curve by Simpson's rule."""
    width = (high - low) / steps
    total = 0.0
    for i in range(steps + 1):
        weight = 1 if i in (0, steps) else 4 if i % 2 else 2
        total += weight * (1 - (1 - (low + i * width) ** rows) ** bands)
    return total * width / 3


def binomial_below(cut: int, slots: int, p: Fraction) -> Fraction:
    return sum((math.comb(slots, k) * p**k * (1 - p) ** (slots - k) for k in range(cut)), Fraction(0))


# the textbook


def test_the_s_curve_of_20_bands_of_5_rows() -> None:
    book = made(20, 5)
    rounded = [round(book.probability(s / 10), 3) for s in range(2, 8)]
    assert rounded == [0.006, 0.047, 0.186, 0.470, 0.802, 0.975]
    assert round(book.probability(0.8), 4) == 0.9996
    assert round(1 - book.probability(0.8), 5) == 0.00036  # the book cuts 0.000356 to .00035
    assert round(book.probability(0.3), 4) == 0.0475
    assert round(book.turning_point, 3) == 0.549


def test_a_family_and_its_and_or_construction() -> None:
    values = [round(amplify(p / 10, 4, 4), 4) for p in range(2, 10)]
    assert values == [0.0064, 0.0320, 0.0985, 0.2275, 0.4260, 0.6666, 0.8785, 0.9860]
    assert round(and_of(or_of(0.2, 4), 4), 4) == 0.1215
    assert round(amplify(and_of(or_of(0.8, 4), 4), 4, 4), 7) == 0.9999996
    family = Sensitive(0.2, 0.6, 0.8, 0.4)
    assert str(family) == "(0.2, 0.6, 0.8, 0.4)-sensitive"
    better = family.amplified(rows=4, bands=4)
    assert (better.d1, better.d2) == (0.2, 0.6)
    assert better.p1 == pytest.approx(0.8785, abs=5e-5)
    assert better.p2 == pytest.approx(0.0985, abs=5e-5)


# building blocks


@given(st.floats(0, 1), shapes)
def test_amplify_is_the_plain_formula_and_stays_between_0_and_1(p: float, shape: tuple[int, int]) -> None:
    bands, rows = shape
    assert amplify(p, rows, bands) == pytest.approx(1 - (1 - p**rows) ** bands, abs=1e-12)
    assert 0 <= amplify(p, rows, bands) <= 1


def test_or_keeps_its_accuracy_for_tiny_probabilities() -> None:
    assert or_of(1e-20, 3) == pytest.approx(3e-20, rel=1e-12)
    assert or_of(1.0, 3) == 1.0


@given(st.integers(2, 60), st.integers(2, 60))
def test_the_fixed_point_parts_what_rises_from_what_falls(rows: int, bands: int) -> None:
    point = fixed_point(rows, bands)
    assert amplify(point, rows, bands) == pytest.approx(point, abs=1e-12)
    assert amplify(point * 0.99, rows, bands) < point * 0.99
    above = point + (1 - point) * 0.01
    assert amplify(above, rows, bands) > above


def test_the_fixed_point_of_a_single_row_or_band() -> None:
    assert fixed_point(rows=1, bands=5) == 0.0
    assert fixed_point(rows=5, bands=1) == 1.0
    with pytest.raises(UsageError, match="1 band of 1 row changes nothing"):
        fixed_point(1, 1)
    with pytest.raises(UsageError, match="rows is 0; expected a whole number, at least 1"):
        fixed_point(0, 2)


@pytest.mark.parametrize("bad", [(0.6, 0.2, 0.8, 0.4), (0.2, 0.6, 0.4, 0.8), (0.2, 0.6, 1.1, 0.4), (-1, 2, 0.5, 0.1)])
def test_a_family_that_cannot_be(bad: tuple[float, float, float, float]) -> None:
    with pytest.raises(UsageError, match=r"cannot be; expected 0 <= d1 < d2 and 0 <= p2 <= p1 <= 1\."):
        Sensitive(*bad)


# one plan


@given(shapes, st.floats(0, 1), st.floats(0, 1))
def test_the_curve_never_falls(shape: tuple[int, int], a: float, b: float) -> None:
    curve = made(*shape)
    low, high = sorted((a, b))
    assert curve.probability(low) <= curve.probability(high)
    assert curve.probability(0.0) == 0.0
    assert curve.probability(1.0) == 1.0


@pytest.mark.promise("docs/explanation/scale.md", "give the integral exactly")
@given(shapes, thresholds)
@settings(max_examples=40)
def test_the_areas_are_the_integrals(shape: tuple[int, int], t: float) -> None:
    one = made(*shape, threshold=t)
    assert one.false_positive_area == pytest.approx(quadrature(*shape, 0, t), abs=1e-9)
    assert one.false_negative_area == pytest.approx((1 - t) - quadrature(*shape, t, 1), abs=1e-9)


def test_a_tiny_area_keeps_its_digits() -> None:
    assert made(3, 40, threshold=0.1).false_positive_area == pytest.approx(3 * 0.1**41 / 41, rel=1e-12)


@given(shapes)
def test_turning_point_and_midpoint(shape: tuple[int, int]) -> None:
    one = made(*shape)
    assert one.probability(one.midpoint) == pytest.approx(0.5)
    assert one.probability(one.turning_point) == pytest.approx(1 - (1 - 1 / one.bands) ** one.bands)


@pytest.mark.promise("docs/explanation/estimates.md", "(one true pair in 10,000 at the threshold is lost that way")
@pytest.mark.parametrize(("t", "slots", "recall"), [(0.8, 128, 0.99), (0.5, 64, 0.9), (0.05, 128, 0.99), (0.9, 7, 0.9)])
def test_the_cut_is_the_largest_that_loses_no_more_than_allowed(t: float, slots: int, recall: float) -> None:
    one = Plan(threshold=t, recall=recall, num_hashes=slots, bands=1, rows=1)
    p, allowed = Fraction(t), Fraction(1, 10_000)
    assert binomial_below(one.cut, slots, p) <= allowed < binomial_below(one.cut + 1, slots, p)
    lost = one.probability(t) - one.recall_at_threshold
    assert lost == pytest.approx(float(binomial_below(one.cut, slots, p)), rel=1e-9, abs=1e-15)


def test_the_cut_gives_way_to_a_wish_for_more() -> None:
    sure = Plan(threshold=0.8, recall=0.99999, num_hashes=128, bands=16, rows=6)
    assert sure.cut < made(16, 8).cut
    assert binomial_below(sure.cut, 128, Fraction(0.8)) <= Fraction(1, 10**7)


def test_equal_items_agree_everywhere() -> None:
    same = plan(1.0)
    assert (same.bands, same.rows, same.cut, same.recall_at_threshold) == (1, 128, 128, 1.0)


def test_table() -> None:
    one = made(20, 5)
    assert [s for s, _ in one.table()] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert one.table()[4] == (0.5, one.probability(0.5))
    assert [s for s, _ in one.table(0.3)] == [0.3, 0.6, 0.9]
    assert len(one.table(0.01)) == 100
    with pytest.raises(UsageError, match=r"step is 0; expected a number above 0 and at most 1\."):
        one.table(0)


def test_a_plan_is_a_plain_frozen_record_for_the_receipt() -> None:
    one = Plan(threshold=np.float32(0.5), recall=0.99, num_hashes=np.int64(128), bands=np.int64(35), rows=3)  # type: ignore[arg-type]
    facts = json.loads(json.dumps(one.as_dict()))
    names = (
        "threshold recall num_hashes bands rows estimated hashes_used cut recall_at_threshold turning_point midpoint "
    )
    assert list(facts) == (names + "false_positive_area false_negative_area").split()
    assert facts["hashes_used"] == 105
    assert facts["cut"] == one.cut == 43
    assert one == Plan(threshold=0.5, recall=0.99, num_hashes=128, bands=35, rows=3)
    with pytest.raises(FrozenInstanceError):
        one.bands = 3  # type: ignore[misc]


def test_a_plan_in_words() -> None:
    assert str(plan(0.8)) == "16 bands of 6 rows (96 of 128 hashes): recall 0.9922 at threshold 0.8"
    assert str(plan(1.0, num_hashes=1)) == "1 band of 1 row (1 of 1 hashes): recall 1 at threshold 1"


@given(st.floats(0, 1))
def test_a_stated_recall_is_never_too_high(p: float) -> None:
    assert float(rounded_down(p)) <= p
    assert float(rounded_down(p)) == pytest.approx(p, abs=1.0001e-4)
    assert (float(rounded_down(p)) == 1.0) == (p == 1.0)


# the choice


@pytest.mark.promise("docs/tutorial/textbook.md", "those with the fewest false candidates")
@pytest.mark.promise("docs/explanation/curves.md", "which gives the fewest false candidates")
@pytest.mark.parametrize("t", [0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97])
def test_the_choice_has_the_fewest_false_candidates_of_all(t: float) -> None:
    chosen, _ = quiet(t)
    options = []
    for rows in range(1, 129):
        for bands in range(1, 128 // rows + 1):
            one = Plan(threshold=t, recall=0.99, num_hashes=128, bands=bands, rows=rows)
            if one.recall_at_threshold >= 0.99:
                options.append((one.false_positive_area, one.hashes_used, bands, rows))
    assert (chosen.bands, chosen.rows) == min(options)[2:]
    assert chosen.recall_at_threshold >= 0.99


def test_the_usual_wish() -> None:
    usual = plan(0.8)
    assert (usual.bands, usual.rows) == (16, 6)
    assert 0.99 <= usual.recall_at_threshold < usual.probability(0.8) == pytest.approx(0.99228, abs=1e-5)


@given(thresholds, recalls, st.integers(1, 300))
@settings(deadline=None)
def test_a_plan_meets_the_wish_or_says_so_with_advice_that_holds(t: float, wish: float, hashes: int) -> None:
    chosen, warning = quiet(t, recall=wish, num_hashes=hashes)
    assert chosen.hashes_used <= hashes
    flat = chosen.probability(t / 2) > 0.5
    assert bool(warning) == (chosen.recall_at_threshold < wish or flat)
    if chosen.recall_at_threshold < wish:
        assert (chosen.bands, chosen.rows) == (hashes, 1)  # no other choice comes nearer
    advice = [int(number) for number in re.findall(r"(\d+) hashes", warning)]
    if advice and "no practical" not in warning and advice[-1] < 5000:
        assert quiet(t, recall=wish, num_hashes=advice[-1])[1] == ""
        assert quiet(t, recall=wish, num_hashes=advice[0])[0].recall_at_threshold >= wish


@pytest.mark.parametrize(("t", "hashes"), [(0.2, 1725), (0.3, 507)])
def test_the_advice_is_the_smallest_number_that_does(t: float, hashes: int) -> None:
    assert f" {hashes} hashes " in quiet(t)[1]
    assert quiet(t, num_hashes=hashes)[1] == ""
    assert quiet(t, num_hashes=hashes - 1)[1] != ""


def test_a_curve_is_too_flat_where_more_than_half_of_the_pairs_at_half_the_threshold_pass() -> None:
    assert "59.9% of the pairs at similarity 0.35 become candidates" in quiet(0.7, num_hashes=32)[1]
    steep, warning = quiet(0.5)
    assert 0.4 < steep.probability(0.25) < 0.5
    assert warning == ""


def test_a_wish_met_exactly_is_met() -> None:
    assert (
        str(plan(0.75, recall=0.75, num_hashes=1)) == "1 band of 1 row (1 of 1 hashes): recall 0.7500 at threshold 0.75"
    )


@given(thresholds, recalls, st.integers(1, 200), st.integers(1, 200))
@example(0.99, 0.5, 69, 87)
@settings(deadline=None)
def test_more_hashes_never_mean_more_false_candidates(t: float, wish: float, a: int, b: int) -> None:
    (small, _), (large, _) = (quiet(t, recall=wish, num_hashes=n) for n in sorted((a, b)))
    # Both margins leave room for what the check may lose, and for rounding where a recall is met exactly.
    if small.probability(t) >= wish + 1.0001e-4 and small.recall_at_threshold >= wish + 1e-9:
        assert large.false_positive_area <= small.false_positive_area


@given(thresholds, recalls, st.integers(1, 128))
@settings(deadline=None)
def test_rows_by_hand_get_the_fewest_bands_that_do(t: float, wish: float, rows: int) -> None:
    chosen, warning = quiet(t, recall=wish, rows=rows)
    assert chosen.rows == rows
    if chosen.recall_at_threshold < wish:
        assert chosen.bands == 128 // rows
        assert "not the requested" in warning
    else:
        assert warning == ""
        if chosen.bands > 1:
            assert replace(chosen, bands=chosen.bands - 1).recall_at_threshold < wish


@given(thresholds, recalls, st.integers(1, 128))
@settings(deadline=None)
def test_bands_by_hand_get_the_most_rows_that_do(t: float, wish: float, bands: int) -> None:
    chosen, warning = quiet(t, recall=wish, bands=bands)
    assert chosen.bands == bands
    if chosen.recall_at_threshold < wish:
        assert chosen.rows == 1
        assert "not the requested" in warning
    else:
        assert warning == ""
        more = chosen.rows + 1
        assert more * bands > 128 or replace(chosen, rows=more).recall_at_threshold < wish


def test_bands_and_rows_by_hand_are_kept() -> None:
    chosen = plan(0.8, bands=20, rows=5)
    assert (chosen.bands, chosen.rows, chosen.num_hashes) == (20, 5, 128)


# what is said


@pytest.mark.parametrize(
    ("threshold", "options", "line"),
    [
        (
            0.01,
            {},
            "recall at threshold 0.01 is 0.7237 with 128 bands of 1 row, not the requested 0.99; 460 hashes (460 bands of "
            "1 row) would reach it, no practical number of hashes with few false candidates.",
        ),
        (
            0.2,
            {"num_hashes": 16},
            "recall at threshold 0.2 is 0.9718 with 16 bands of 1 row, not the requested 0.99; 21 hashes (21 bands of "
            "1 row) would reach it, 1725 hashes (575 bands of 3 rows) with few false candidates.",
        ),
        (
            0.2,
            {},
            "recall at threshold 0.2 is 0.9907 with 21 bands of 1 row, but 89.1% of the pairs at similarity 0.1 become "
            "candidates; 1725 hashes (575 bands of 3 rows) would make it at most half.",
        ),
        (
            0.8,
            {"bands": 9, "rows": 13},
            "recall at threshold 0.8 is 0.3707 with 9 bands of 13 rows, not the requested 0.99; 1066 hashes (82 bands of "
            "13 rows) would reach it, or 16 bands of 6 rows.",
        ),
        (
            1e-200,
            {},
            "recall at threshold 1e-200 is 0.0000 with 128 bands of 1 row, not the requested 0.99; "
            "no practical number of hashes would reach it.",
        ),
    ],
)
def test_warnings(threshold: float, options: dict[str, int], line: str) -> None:
    with pytest.warns(RecallWarning) as caught:
        plan(threshold, **options)  # type: ignore[arg-type]
    assert [str(w.message) for w in caught] == [line]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"threshold": 1.3}, "threshold is 1.3; expected a number above 0 and at most 1."),
        ({"threshold": 0}, "threshold is 0; expected a number above 0 and at most 1."),
        ({"threshold": math.nan}, "threshold is nan; expected a number above 0 and at most 1."),
        ({"threshold": "0.8"}, "threshold is '0.8'; expected a number above 0 and at most 1."),
        ({"threshold": 0.8, "recall": 1}, "recall is 1; expected a number above 0 and below 1."),
        ({"threshold": 0.8, "recall": 0.0}, "recall is 0.0; expected a number above 0 and below 1."),
        ({"threshold": 0.8, "recall": math.nan}, "recall is nan; expected a number above 0 and below 1."),
        ({"threshold": 0.8, "num_hashes": 0}, "num_hashes is 0; expected a whole number, at least 1."),
        ({"threshold": 0.8, "num_hashes": 12.5}, "num_hashes is 12.5; expected a whole number, at least 1."),
        ({"threshold": 0.8, "bands": -1}, "bands is -1; expected a whole number, at least 1."),
        ({"threshold": 0.8, "bands": 0, "rows": 4}, "bands is 0; expected a whole number, at least 1."),
        ({"threshold": 0.8, "rows": 200}, "rows is 200, num_hashes is 128; take fewer rows or more hashes."),
        ({"threshold": 0.8, "bands": 200}, "bands is 200, num_hashes is 128; take fewer bands or more hashes."),
        (
            {"threshold": 0.8, "bands": 20, "rows": 13},
            "bands x rows is 20 x 13 = 260, num_hashes is 128; take fewer bands or rows, or more hashes.",
        ),
    ],
)
def test_errors(options: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(**options)
    assert str(caught.value) == line


def test_planning_loads_nothing_heavy() -> None:
    program = (
        "import sys, lookalike.planning.banding; print([m for m in ('numpy', 'numba', 'pyarrow') if m in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
