"""Bands, the S-curve, and what families promise, with the numbers of the lectures."""

from __future__ import annotations

import warnings

import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.planning.banding import Sensitive, amplify, and_of, or_of
from lookalike.planning.families import HYPERPLANES, MINHASH, lines, projections, sampled_bits

book = la.textbook


def given(bands: int, rows: int = 5, threshold: float = 0.8) -> la.Plan:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return la.plan(threshold, num_hashes=100, bands=bands, rows=rows)


@pytest.mark.promise("docs/tutorial/textbook.md", "with 1 − (1 − sʳ)ᵇ")
def test_twenty_bands_of_five_rows() -> None:
    plan = given(20)
    printed = [".006", ".047", ".186", ".470", ".802", ".975", ".9996"]
    table = {round(s, 1): p for s, p in plan.table()}
    for similarity, digits in zip((0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), printed, strict=True):
        assert f"{table[similarity]:.{len(digits) - 1}f}"[1:] == digits
    assert round(plan.turning_point, 3) == 0.549


@pytest.mark.promise("docs/tutorial/textbook.md", "for pairs that are 80 % similar")
def test_columns_that_are_eighty_percent_similar() -> None:
    assert round(and_of(0.8, 5), 3) == 0.328
    missed = 1 - or_of(and_of(0.8, 5), 20)
    assert round(missed, 5) == 0.00036  # the lectures cut to .00035, from .672^20
    assert int(round(1 - 0.328, 3) ** 20 * 1e5) / 1e5 == 0.00035
    assert given(20).probability(0.8) == pytest.approx(1 - missed)


def test_columns_that_are_thirty_or_forty_percent_similar() -> None:
    assert round(given(20).probability(0.3), 4) == 0.0475  # the lectures cut to .0474
    assert int(given(20).probability(0.3) * 1e4) / 1e4 == 0.0474
    assert round(and_of(0.4, 5), 2) == 0.01
    assert given(20).probability(0.4) <= 20 * 0.01 == 0.2


@pytest.mark.promise("docs/tutorial/textbook.md", "With 15 bands instead of 20")
def test_fifteen_bands_miss_more_and_find_less_in_vain() -> None:
    few, many = given(15), given(20)
    assert few.false_negative_area > many.false_negative_area
    assert few.false_positive_area < many.false_positive_area
    for plan in (few, many):  # the areas are the integrals of the curve: a sum over narrow strips gives the same
        strips = [(i + 0.5) / 20_000 for i in range(20_000)]
        below = sum(plan.probability(s) for s in strips if s < 0.8) / 20_000
        above = sum(1 - plan.probability(s) for s in strips if s > 0.8) / 20_000
        assert plan.false_positive_area == pytest.approx(below, abs=1e-6)
        assert plan.false_negative_area == pytest.approx(above, abs=1e-6)
    assert all(few.probability(s) < many.probability(s) for s in (0.1, 0.3, 0.5, 0.7, 0.9))


@pytest.mark.promise("docs/tutorial/first-steps.md", "6 texts make 15 pairs")
@pytest.mark.promise("docs/tutorial/textbook.md", "a million columns make 5·10¹¹")
def test_comparisons_of_a_million_columns() -> None:
    assert book.comparisons(6) == 15
    assert book.comparisons(10**6) == 499_999_500_000
    assert f"{book.comparisons(10**6):.0e}" == "5e+11"


def test_edit_distance_by_the_longest_common_subsequence() -> None:
    assert len(book.longest_common_subsequence("abcde", "acfdeg")) == 4
    assert book.edit_distance("abcde", "acfdeg") == 5 + 6 - 2 * 4 == 3
    assert book.edit_distance("", "abc") == 3


def test_hamming_distance() -> None:
    assert book.hamming("10101", "11110") == 3
    with pytest.raises(UsageError, match=r"^the vectors have 1 and 2 components; expected as many\.$"):
        book.hamming("1", "10")


def test_the_angle() -> None:
    assert book.angle([1, 2, -1], [2, 1, 1]) == pytest.approx(60.0)
    assert book.angle([1, 0], [0, 3]) == pytest.approx(90.0)
    with pytest.raises(UsageError, match=r"^a vector of length 0 has no direction;"):
        book.angle([0, 0], [1, 0])


def test_what_each_family_promises() -> None:
    """(d1, d2, p1, p2) of minhash, sampled bits, hyperplanes and projections."""
    assert book.sensitive(MINHASH, 0.2, 0.6) == Sensitive(0.2, 0.6, 0.8, 0.4)
    assert book.sensitive(sampled_bits(100), 20, 60) == Sensitive(20, 60, 1 - 20 / 100, 1 - 60 / 100)
    assert book.sensitive(HYPERPLANES, 60, 120) == Sensitive(60, 120, 1 - 60 / 180, 1 - 120 / 180)
    for width in (1.0, 4.0):  # (a/2, 2a, 1/2, 1/3) in buckets of width a: in the plane, and in any dimension
        claim = Sensitive(width / 2, 2 * width, 1 / 2, 1 / 3)
        assert lines(width).is_sensitive(claim)
        assert projections(width).is_sensitive(claim)
        assert not lines(width).is_sensitive(Sensitive(width / 2, 2 * width, 0.7, 1 / 3))


def test_and_then_or_and_or_then_and() -> None:
    """A (.2, .6, .8, .4)-sensitive family becomes (.2, .6, .8785, .0985) by 4 and 4; the other way round the chances of
    disagreeing take the place of those of agreeing."""
    made = book.sensitive(MINHASH, 0.2, 0.6).amplified(rows=4, bands=4)
    assert (round(made.p1, 4), round(made.p2, 4)) == (0.8785, 0.0985)
    other_way = [1 - amplify(1 - p, rows=4, bands=4) for p in (0.8, 0.4)]
    assert [round(p, 4) for p in other_way] == [0.9936, 0.5740]
