"""What overlap a match needs, in integers, against fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.core.measures import SET_MEASURES, bar, set_measure
from lookalike.kernels.bounds import least_size, required, score
from oracles import MEASURES, reaches, similarity

shares = st.integers(1, 100).map(lambda percent: Fraction(percent, 100)) | st.fractions(
    Fraction(1, 20), 1, max_denominator=60
)
sizes = st.integers(1, 60) | st.sampled_from([1000, 249_999, 250_000, 1_000_000])


def threshold_of(measure: str, share: Fraction) -> Fraction:
    return Fraction(max(1, round(share * 20))) if measure == "overlap" else share


@pytest.mark.parametrize("measure", MEASURES)
@given(a=sizes, b=sizes, share=shares)
@settings(max_examples=150, deadline=None)
@example(a=5, b=4, share=Fraction(4, 5))
@example(a=1_000_000, b=1_000_000, share=Fraction(4, 5))
def test_the_overlap_that_a_match_needs(measure: str, a: int, b: int, share: Fraction) -> None:
    threshold = threshold_of(measure, share)
    code, num, den = bar(set_measure(measure), float(threshold))
    need = required(code, a, b, num, den)
    assert need >= 1
    assert reaches(measure, need, a, b, threshold)
    assert not reaches(measure, need - 1, a, b, threshold)


@pytest.mark.parametrize("measure", MEASURES)
@given(a=st.integers(1, 60), share=shares)
@settings(max_examples=150, deadline=None)
def test_the_smallest_partner(measure: str, a: int, share: Fraction) -> None:
    """The exact join never looks below it: a smaller set cannot match, even if it lies wholly within."""
    threshold = threshold_of(measure, share)
    code, num, den = bar(set_measure(measure), float(threshold))
    can = [b for b in range(1, a + 1) if reaches(measure, b, a, b, threshold)]
    least = least_size(code, a, num, den)
    assert all(b >= least for b in can)
    assert least in can or not can


@pytest.mark.promise("docs/reference/formats.md", "Similarities are exact fractions, rounded once to float64")
@pytest.mark.parametrize("measure", MEASURES)
@given(a=sizes, b=sizes, share=st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_scores(measure: str, a: int, b: int, share: float) -> None:
    shared = int(share * min(a, b))
    assert score(SET_MEASURES[measure].code, shared, a, b) == pytest.approx(
        similarity(measure, shared, a, b), rel=1e-15
    )
    assert score(SET_MEASURES[measure].code, a, a, a) == (a if measure == "overlap" else 1.0)


@given(a=st.integers(1, 300), b=st.integers(1, 300), shared=st.integers(1, 300))
@settings(max_examples=200, deadline=None)
def test_a_score_compared_as_a_float_says_the_same(a: int, b: int, shared: int) -> None:
    """A similarity that is exactly a fraction is at least that fraction as a float: ties survive `Pairs.at_least`."""
    shared = min(shared, a, b)
    for measure, exact in (
        ("jaccard", Fraction(shared, a + b - shared)),
        ("containment", Fraction(shared, min(a, b))),
        ("dice", Fraction(2 * shared, a + b)),
    ):
        assert score(SET_MEASURES[measure].code, shared, a, b) == float(exact)


@pytest.mark.parametrize("measure", ["jaccard", "containment", "dice", "cosine"])
@given(share=st.fractions(Fraction(1, 100), 1, max_denominator=300))
@settings(max_examples=100, deadline=None)
def test_a_threshold_is_the_fraction_that_was_meant(measure: str, share: Fraction) -> None:
    assert Fraction(*bar(set_measure(measure), float(share))[1:]) == share


@pytest.mark.parametrize("measure", ["jaccard", "containment", "dice", "cosine"])
def test_four_decimals_are_kept(measure: str) -> None:
    for threshold in ("0.9999", "0.1234", "0.7071"):
        assert Fraction(*bar(set_measure(measure), float(threshold))[1:]) == Fraction(threshold)
