"""Cascades of ANDs and ORs: their curves and what they leave as it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import UsageError
from lookalike.planning.amplification import Cascade, Sensitive, amplify, and_of, fixed_point, or_of


@settings(deadline=None)
@given(st.floats(0, 1), st.integers(1, 20), st.integers(1, 20))
def test_and_then_or_is_a_band_plan(p: float, rows: int, bands: int) -> None:
    assert Cascade.of(f"and{rows} or{bands}")(p) == amplify(p, rows, bands)


def test_the_textbook_cascade() -> None:
    """A 4-way AND-OR of a 4-way OR-AND, of a (0.2, 0.8, 0.8, 0.2)-sensitive family."""
    steps = Cascade.of("or4, and4 and4 or4")
    assert (steps.hashes, str(steps)) == (256, "or4 and4 and4 or4")
    made = steps.amplified(Sensitive(0.2, 0.8, 0.8, 0.2))
    assert made.p1 == pytest.approx(0.9999996, abs=1e-7)
    assert made.p2 == pytest.approx(0.0008715, abs=1e-7)


@pytest.mark.promise("docs/explanation/curves.md", "An AND followed by an OR has a fixed point")
@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["and", "or"]), st.integers(2, 6)), min_size=1, max_size=4))
def test_fixed_points_stay_and_others_move(steps: list[tuple[str, int]]) -> None:
    made = Cascade(tuple(steps))  # type: ignore[arg-type]
    points = made.fixed_points()
    for p in points:
        assert made(p) == pytest.approx(p, abs=1e-9)
    kinds = {kind for kind, _ in steps}
    assert bool(points) == (len(kinds) == 2) or not points


def test_the_fixed_point_of_bands_and_rows() -> None:
    assert Cascade.of("and4 or4").fixed_points() == [pytest.approx(fixed_point(4, 4))]
    assert Cascade.of("and4").fixed_points() == []


@pytest.mark.parametrize("words", ["", "and", "xor4", "and0", "and4or4", "4"])
def test_steps_that_are_none(words: str) -> None:
    with pytest.raises(UsageError, match="a cascade has no step"):
        Cascade.of(words)


@pytest.mark.promise("docs/explanation/curves.md", "they push every probability up")
@pytest.mark.promise("docs/explanation/curves.md", "it pushes every probability down")
@given(st.floats(0.001, 0.999), st.integers(2, 20))
def test_and_and_or_push_probabilities_down_and_up(p: float, count: int) -> None:
    assert and_of(p, count) < p
    assert or_of(p, count) > p
