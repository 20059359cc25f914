"""Plans for the hash family of any distance, against a look at every number of bands and rows."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import RecallWarning, UsageError
from lookalike.planning.family_banding import FamilyPlan, plan_family

CASES: list[tuple[str, float, dict[str, Any]]] = [
    ("jaccard", 0.2, {}),
    ("cosine", 30.0, {}),
    ("angle", 12.0, {}),
    ("hamming", 8.0, {"bits": 64}),
    ("euclidean", 3.0, {"width": 6.0}),
]


@pytest.mark.parametrize(("measure", "distance", "more"), CASES)
def test_the_choice_has_the_fewest_false_candidates_of_all(measure: str, distance: float, more: dict[str, Any]) -> None:
    chosen = la.plan(measure=measure, distance=distance, num_hashes=40, **more)
    options = []
    for rows in range(1, 41):
        for bands in range(1, 40 // rows + 1):
            one = FamilyPlan(
                family=chosen.family, distance=distance, recall=0.99, num_hashes=40, bands=bands, rows=rows
            )
            if one.recall_at_threshold >= 0.99:
                options.append((one.false_candidates, bands, rows))
    assert (chosen.bands, chosen.rows) == min(options)[1:]
    assert chosen.recall_at_threshold >= 0.99


def test_jaccard_is_the_plan_of_a_threshold() -> None:
    one, other = la.plan(0.8), la.plan(measure="jaccard", distance=0.2)
    assert (one.bands, one.rows) == (other.bands, other.rows) == (16, 6)
    assert str(other) == "16 bands of 6 rows (96 of 128 hashes): recall 0.9922 at jaccard distance 0.2"


@settings(max_examples=30, deadline=None)
@given(st.floats(2, 120), st.floats(0.5, 0.999))
def test_the_wish_is_met_or_there_is_a_warning(distance: float, recall: float) -> None:
    made = plan_family("cosine", distance, recall, 64)
    assert (made.unmet() is None) == (made.recall_at_threshold >= recall)
    assert made.hashes_used <= 64
    assert made.probability(made.midpoint) == pytest.approx(0.5)
    fixed = made.fixed_distance
    assert fixed is None or made.probability(fixed) == pytest.approx(made.family.p(fixed), abs=1e-9)


def test_a_wish_out_of_reach() -> None:
    with pytest.warns(
        RecallWarning, match=r"recall at 170 degrees is 0\.8\d+ with 32 bands of 1 row, not the requested 0.99"
    ):
        la.plan(measure="cosine", distance=170, num_hashes=32)


def test_a_bucket_as_wide_as_serves_best() -> None:
    free = plan_family("euclidean", 2.0)
    for times in (1.0, 2.0, 4.0, 8.0):
        assert free.false_candidates <= plan_family("euclidean", 2.0, width=2.0 * times).false_candidates
    far = plan_family("euclidean", 2.0, width=4.0)
    assert far.probability(far.midpoint) == pytest.approx(0.5)


def test_the_users_own_distances_decide_where_false_candidates_lie() -> None:
    far, near = (plan_family("cosine", 20.0, sample=draw) for draw in ([90.0] * 9, [25.0] * 9))
    assert far.false_candidates == pytest.approx(far.probability(90.0))
    assert far.false_candidates < 0.1 < near.false_candidates
    assert plan_family("cosine", 20.0, sample=[5.0]).false_candidates == 0.0


def test_bands_and_rows_by_hand() -> None:
    assert (made := plan_family("hamming", 8, bits=64, bands=20, rows=5, num_hashes=100)).shape == "20 bands of 5 rows"
    assert made.probability(8) == pytest.approx(1 - (1 - 0.875**5) ** 20)
    assert plan_family("hamming", 8, bits=64, rows=5).rows == 5
    assert plan_family("hamming", 8, bits=64, bands=10).bands == 10


def test_the_facts_are_plain() -> None:
    facts = json.loads(json.dumps(la.plan(measure="hamming", distance=8, bits=64).as_dict()))
    assert facts["one_hash"] == [8.0, 16.0, 0.875, 0.75]
    assert facts["measure"] == "hamming"
    assert [round(d) for d, _, _ in la.plan(measure="cosine", distance=30).table(4)] == [0, 45, 90, 135, 180]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "give a threshold, or a measure and a distance"),
        ({"measure": "cosine"}, "give a threshold alone, or a measure and a distance together."),
        ({"threshold": 0.8, "measure": "cosine", "distance": 3}, "give a threshold alone"),
        (
            {"threshold": 0.8, "bits": 64},
            "give a threshold, or a measure and a distance; bits, width and sample go with",
        ),
        ({"measure": "cosin", "distance": 30}, "measure 'cosin' is unknown. Nearest: 'cosine'."),
        ({"measure": "cosine", "distance": 180}, "distance is 180; expected a cosine distance above 0 and below 180."),
        ({"measure": "euclidean", "distance": 0}, "distance is 0; expected a euclidean distance above 0."),
        ({"measure": "hamming", "distance": 3}, "hamming needs the length of a code: give bits, for example 64."),
        ({"measure": "cosine", "distance": 3, "bits": 64}, "bits go with hamming; the measure is cosine."),
        ({"measure": "cosine", "distance": 3, "width": 1.0}, "width goes with euclidean; the measure is cosine."),
        (
            {"measure": "euclidean", "distance": 3, "width": -1.0},
            "width is -1.0; expected the width of a bucket, above 0.",
        ),
        (
            {"measure": "cosine", "distance": 3, "bands": 20, "rows": 20},
            "bands x rows is 20 x 20 = 400, num_hashes is 128",
        ),
        ({"measure": "cosine", "distance": 3, "rows": 200}, "rows is 200, num_hashes is 128; take fewer bands or rows"),
        ({"measure": "cosine", "distance": 3, "recall": 1.0}, "recall is 1.0; expected a number above 0 and below 1."),
        ({"measure": "cosine", "distance": math.nan}, "distance is nan; expected a cosine distance above 0"),
    ],
)
def test_what_cannot_be_planned(options: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        la.plan(**options)
    assert line in str(caught.value)


def test_numbers_of_numpy() -> None:
    assert plan_family("cosine", np.float32(30), num_hashes=np.int64(128)).bands == 15  # type: ignore[arg-type]
