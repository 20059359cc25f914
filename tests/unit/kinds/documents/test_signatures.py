"""Signatures and band keys, against integers of any size; what a signature refuses."""

from __future__ import annotations

import re
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import Recipe, ShingleRule, Signatures
from lookalike.errors import RecipeMismatch, UsageError
from lookalike.kinds.documents.signatures import band_keys, sketch, sketch_by_permutations, universal_functions
from oracles import NOTHING, P61, band_key, fast_similarity_sketch, minhash
from strategies import make_sets

words = st.integers(0, 2**64 - 1) | st.sampled_from([1, P61 - 1, P61, P61 + 1, 2**63, 2**64 - 1])
families = st.lists(st.sets(words, max_size=30), min_size=1, max_size=4)


@given(sets=families, length=st.integers(1, 40), seed=words)
@settings(max_examples=150, deadline=None)
def test_fast_similarity_sketches_against_the_twin(sets: list[set[int]], length: int, seed: int) -> None:
    got = sketch(make_sets(sets), Recipe(length=length, seed=seed))
    assert got.values.tolist() == [fast_similarity_sketch(s, length, seed) for s in sets]


@given(sets=families, length=st.integers(1, 12), seed=words)
@settings(max_examples=150, deadline=None)
def test_minhash_against_the_twin(sets: list[set[int]], length: int, seed: int) -> None:
    got = sketch(make_sets(sets), Recipe(scheme="minhash-1", length=length, seed=seed))
    assert got.values.tolist() == [minhash(s, length, seed) for s in sets]


@given(
    sets=st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=5),
    permutations=st.lists(st.permutations(range(10)), min_size=1, max_size=4),
)
@settings(max_examples=100, deadline=None)
def test_permutations_against_the_twin(sets: list[set[int]], permutations: list[list[int]]) -> None:
    got = sketch_by_permutations(make_sets(sets), np.array(permutations, np.uint32)).values.tolist()
    assert got == [[min((order[row] for row in s), default=NOTHING) for order in permutations] for s in sets]


@pytest.mark.parametrize("size", [1, 2, 63, 64, 65, 5000])
def test_sets_much_smaller_and_larger_than_the_signature(size: int) -> None:
    """One element reaches few bins in the first rounds, the second half must fill the others; many fill all in one."""
    elements = {x * 0x9E3779B97F4A7C15 % 2**64 for x in range(1, size + 1)}
    got = sketch(make_sets([elements]), Recipe(length=64, seed=5)).values[0].tolist()
    assert got == fast_similarity_sketch(elements, 64, 5)
    assert NOTHING not in got


@pytest.mark.parametrize("scheme", ["fss-1", "minhash-1"])
def test_the_order_of_elements_does_not_matter(scheme: Any) -> None:
    elements = np.random.default_rng(3).integers(1, 2**64, 500, np.uint64).tolist()
    values = sketch(make_sets([elements, elements[::-1], sorted(elements)]), Recipe(scheme=scheme)).values
    assert (values == values[0]).all()


def test_universal_functions_are_within_their_ranges() -> None:
    a, b = universal_functions(9, 5000)
    assert a.min() >= 1
    assert a.max() < P61
    assert b.max() < P61
    assert len(set(a.tolist())) == len(set(b.tolist())) == 5000


# bands


@pytest.mark.promise("docs/reference/words.md", "A 64-bit number; items with the same key are in one bucket")
@given(
    values=st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=12, max_size=12), min_size=1, max_size=4),
    shape=st.sampled_from([(1, 1), (1, 12), (12, 1), (3, 4), (4, 3), (2, 5)]),
)
@settings(max_examples=100, deadline=None)
def test_band_keys_against_the_twin(values: list[list[int]], shape: tuple[int, int]) -> None:
    bands, rows = shape
    got = band_keys(Signatures(np.array(values, np.uint32), Recipe(length=12)), bands, rows)
    assert got.tolist() == [[band_key(row[j * rows : (j + 1) * rows]) for j in range(bands)] for row in values]


def test_more_bands_than_hashes() -> None:
    with pytest.raises(UsageError, match="5 bands of 3 rows need 15 hashes; the signatures have 12"):
        band_keys(Signatures(np.zeros((1, 12), np.uint32), Recipe(length=12)), 5, 3)


# cut to few bits


@pytest.mark.parametrize("bits", [1, 2, 7, 8, 9, 16])
def test_a_cut_keeps_the_lowest_bits(bits: int) -> None:
    sets = make_sets([{1, 2, 3}, set(), {4}])
    whole = sketch(sets, Recipe(length=32))
    cut = whole.cut(bits)
    assert cut.values.tolist() == [[value % 2**bits for value in row] for row in whole.values.tolist()]
    assert cut.values.itemsize == (1 if bits <= 8 else 2)
    assert cut.recipe == replace(whole.recipe, bits=bits)
    made = sketch(sets, Recipe(length=32, bits=bits))
    assert made.values.tolist() == cut.values.tolist()
    assert made.recipe == cut.recipe


@pytest.mark.parametrize("bits", [1, 4, 16, 32])
@pytest.mark.parametrize("agree", [0, 40, 64, 80, 100, 128])
def test_the_estimate_corrects_for_chance(bits: int, agree: int) -> None:
    """(m/k - 2^-b) / (1 - 2^-b), which may be below 0, with the standard error of a share of k slots."""
    values = np.zeros((2, 128), np.uint32)
    values[1, agree:] = 1
    chance = 0 if bits == 32 else 2**-bits
    estimate, error = Signatures(values, Recipe(bits=bits)).similarity(0, 1)
    expected = (agree / 128 - chance) / (1 - chance)
    within = min(1, max(0, expected))
    share = within + (1 - within) * chance
    assert estimate == pytest.approx(expected)
    assert error == pytest.approx(sqrt(share * (1 - share) / 128) / (1 - chance))


# what is refused


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scheme": "minhash-1"},
            "signatures differ in scheme: 'fss-1' and 'minhash-1'; make both with the same recipe.",
        ),
        ({"seed": 7}, "signatures differ in seed: 42 and 7; make both with the same recipe."),
        ({"length": 64}, "signatures differ in length: 128 and 64; make both with the same recipe."),
        ({"bits": 8}, "signatures differ in bits: 32 and 8; make both with the same recipe."),
        ({"shingles": ShingleRule(k=4)}, "signatures differ in shingles: None and {'unit': 'word', 'k': 4, "),
    ],
)
def test_signatures_of_other_recipes(change: dict[str, Any], message: str) -> None:
    recipe = Recipe()
    one, other = (sketch(make_sets([{1, 2}]), some) for some in (recipe, replace(recipe, **change)))
    assert one.similarity(0, 0, sketch(make_sets([{1, 2}]), recipe))[0] == 1.0
    with pytest.raises(RecipeMismatch, match=re.escape(message)):
        one.similarity(0, 0, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "fss"}, "scheme 'fss' is unknown. Nearest: 'fss-1'."),
        ({"length": 0}, "the signature length is 0; expected at least 1."),
        ({"bits": 0}, "bits is 0; expected 1 to 16, or 32 for whole values."),
        ({"bits": 17}, "bits is 17; expected 1 to 16, or 32 for whole values."),
    ],
)
def test_recipes_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Recipe(**options)


def test_other_messages() -> None:
    sets = make_sets([{1, 2}])
    with pytest.raises(UsageError, match="scheme 'permutation-1' needs its permutations: use sketch_by_permutations"):
        sketch(sets, Recipe(scheme="permutation-1"))
    with pytest.raises(UsageError, match="an element is 2; the permutations are of 0 to 1 only"):
        sketch_by_permutations(sets, np.array([[0, 1]], np.uint32))
    with pytest.raises(UsageError, match="cannot cut 4-bit signatures to 8 bits"):
        sketch(sets, Recipe(bits=4)).cut(8)
