"""The law of agreeing slots against enumeration, and its lower bound against other laws with the same mean."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.planning.banding import Plan
from lookalike.planning.small_sets import binomial, least_recall, missed_by_agreement, reported


def missed_by_enumeration(slots: int, rows: int, bands: int, agreeing: int) -> float:
    """The share of all choices of agreeing slots that fill no band."""
    starts = [set(range(band * rows, (band + 1) * rows)) for band in range(bands)]
    choices = [set(chosen) for chosen in combinations(range(slots), agreeing)]
    return sum(not any(band <= chosen for band in starts) for chosen in choices) / len(choices)


@pytest.mark.parametrize(("slots", "rows", "bands"), [(8, 2, 4), (9, 3, 2), (7, 1, 3), (10, 10, 1), (6, 2, 1)])
@pytest.mark.parametrize("p", [0.2, 0.5, 0.9])
def test_missed_bands_by_enumeration(slots: int, rows: int, bands: int, p: float) -> None:
    expected = [missed_by_enumeration(slots, rows, bands, agreeing) for agreeing in range(slots + 1)]
    assert missed_by_agreement(slots, rows, bands, p) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("rows", "bands"), [(6, 16), (21, 6), (1, 128), (128, 1), (3, 40)])
@pytest.mark.parametrize("p", [0.3, 0.8, 0.95])
def test_independent_slots_give_the_s_curve(rows: int, bands: int, p: float) -> None:
    missed = missed_by_agreement(128, rows, bands, p)
    assert reported(128, p, missed, 0) == pytest.approx(1 - (1 - p**rows) ** bands, abs=1e-9)


@given(st.integers(0, 2**32), st.sampled_from([(2, 4), (4, 3), (3, 5), (6, 2)]), st.floats(0.1, 0.95))
def test_the_bound_holds_for_independent_slots_of_unequal_probabilities(
    seed: int, shape: tuple[int, int], p: float
) -> None:
    """Every sum of 16 independent Bernoulli variables with the same mean, by its exact law."""
    rows, bands = shape
    draw = np.random.default_rng(seed)
    chances = draw.beta(p * 2, (1 - p) * 2, 16)
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    missed = missed_by_agreement(16, rows, bands, float(chances.mean()))
    least = least_recall(16, rows, bands, float(chances.mean()), 0)
    assert 1 - law @ missed >= min(least, reported(16, float(chances.mean()), missed, 0)) - 2e-4  # of the grid


def test_the_binomial_law_by_its_definition() -> None:
    first, law = binomial(5, 0.25)
    assert first == 0
    assert law == pytest.approx([0.2373046875, 0.3955078125, 0.263671875, 0.087890625, 0.0146484375, 0.0009765625])
    assert (binomial(4, 0.0), binomial(4, 1.0)) == ((0, [1.0]), (4, [1.0]))
    first, law = binomial(10**6, 0.5)
    assert sum(law) == pytest.approx(1)
    assert len(law) < 20_000


def test_estimates_are_cut_at_the_threshold() -> None:
    """Signatures must agree in a share of at least the threshold: 103 of 128 at 0.8, 64 at 0.5."""
    plans = [Plan(threshold=t, recall=0.99, num_hashes=128, bands=16, rows=6, estimated=True) for t in (0.8, 0.5)]
    assert [one.cut for one in plans] == [103, 64]
    assert 0.3 < plans[0].recall_at_threshold < plans[0].probability(0.8) < 0.5
    assert plans[0].probability(0.9) > 0.99
    assert plans[0].probability(0.7) < 0.01
