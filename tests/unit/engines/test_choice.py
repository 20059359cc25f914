"""Which way auto takes, and that it says why."""

from __future__ import annotations

import numpy as np

import lookalike as la
from lookalike.data import Recipe
from lookalike.engines.choice import SAMPLE, choose
from lookalike.engines.pool import Pool
from lookalike.measures import bar, set_measure
from lookalike.plan import plan
from lookalike.stages.candidates import Items

JACCARD = set_measure("jaccard")


def random_items(count: int, size: int, universe: int) -> Items:
    rng = np.random.default_rng(3)
    elements = rng.integers(1, universe, count * size).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return Items(elements, np.arange(count) * size, np.full(count, size), np.full(count, 3, np.uint8))


def test_few_items_are_joined_exactly() -> None:
    with Pool(1) as pool:
        made = choose(random_items(10, 5, 100), plan(0.8), Recipe(), bar(JACCARD, 0.8), pool)
    assert (made.method, made.why) == ("exact", "10 items are few enough to miss none")


def test_a_measure_without_a_bound_is_joined_exactly() -> None:
    with Pool(1) as pool:
        made = choose(random_items(10, 5, 100), None, Recipe(), bar(set_measure("containment"), 0.8), pool)
    assert made.why == "no banding keeps a promise of recall for this measure"


def test_long_lists_of_postings_speak_for_banding() -> None:
    """Few different elements, all of them common: the exact join must look at nearly every pair."""
    crowded = random_items(20 * SAMPLE, 12, 60)
    with Pool(2) as pool:
        made = choose(crowded, plan(0.9), Recipe(), bar(JACCARD, 0.9), pool)
    assert made.method == "lsh"
    assert made.seconds["exact"] > made.seconds["lsh"]
    assert "times cheaper than the exact join" in made.why


def test_rare_elements_speak_for_the_exact_join() -> None:
    with Pool(2) as pool:
        made = choose(random_items(3 * SAMPLE, 30, 1 << 60), plan(0.8), Recipe(), bar(JACCARD, 0.8), pool)
    assert made.method == "exact"
    assert made.seconds["exact"] <= 1.25 * made.seconds["lsh"]


def test_the_receipt_says_what_was_chosen() -> None:
    receipt = la.pairs(["one two three"] * 3).receipt
    assert receipt["choice"] == {
        "method": "exact",
        "predicted_seconds": {},
        "why": "1 items are few enough to miss none",
    }
    assert receipt["recall_at_threshold"] == 1.0
    assert la.pairs(["one two three"] * 3, method="dcm").receipt["choice"]["method"] == "dcm"
