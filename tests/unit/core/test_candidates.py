"""Who may match, by bands; and the exact check of those."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core import candidates
from lookalike.core.arrays import Recipe, Signatures
from lookalike.core.candidates import Band, Candidates, item_bits
from lookalike.core.measures import bar, set_measure
from lookalike.core.verification import verified
from lookalike.kinds.documents.signatures import band_keys, sketch
from oracles import MEASURES, join, reaches
from strategies import as_dict, families, make_items, make_sets


def may_match(keys: list[list[int]], dropped: int, i: int, j: int) -> bool:
    """Packing drops the lowest bits of a key to make room for the number of the item."""
    return any(one >> dropped == other >> dropped for one, other in zip(keys[i], keys[j], strict=True))


@given(sets=families.filter(bool), data=st.data())
@settings(max_examples=150, deadline=None)
def test_bands_against_the_twin(sets: list[set[int]], data: st.DataObject) -> None:
    """Each pair that shares a bucket of any band comes once, if sizes, sides and agreeing slots allow a match."""
    bands, rows, cut = data.draw(st.sampled_from([(4, 1, 0), (4, 2, 3), (2, 3, 2)]))
    sides = data.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=len(sets), max_size=len(sets)))
    threshold = Fraction(data.draw(st.integers(1, 10)), 10)
    items = make_items(sets, sides)
    signatures = sketch(make_sets(sets), Recipe(length=8))
    keys = band_keys(signatures, bands, rows)
    got: dict[tuple[int, int], float] = {}
    for number in range(bands):
        band = Band.sort(keys, number)
        for block in band.blocks(3):
            for piece in band.candidates(
                block, items, keys, signatures.values, cut, bar(set_measure("jaccard"), float(threshold))
            ):
                left = np.repeat(piece.anchors, np.diff(piece.ends, prepend=0))
                new = as_dict(left, piece.partners, [0.0] * len(piece))
                assert not new.keys() & got.keys()
                got |= new
    agree = [[sum(a == b for a, b in zip(x, y, strict=True)) for y in signatures.values] for x in signatures.values]
    assert set(got) == {
        (i, j)
        for i, j in combinations(range(len(sets)), 2)
        if may_match(keys.tolist(), item_bits(len(sets)), i, j)
        and sides[i] | sides[j] == 3
        and agree[i][j] >= cut
        and reaches_at_best(len(sets[i]), len(sets[j]), threshold)
    }


def reaches_at_best(a: int, b: int, threshold: Fraction) -> bool:
    return a == b == 0 or reaches("jaccard", min(a, b), a, b, threshold)


@pytest.mark.parametrize("measure", MEASURES)
@given(sets=families.filter(lambda sets: len(sets) > 1), percent=st.integers(1, 100))
@settings(max_examples=80, deadline=None)
def test_verified_against_the_twin(measure: str, sets: list[set[int]], percent: int) -> None:
    """Every candidate at or above the bar comes back with its similarity; no other does."""
    threshold = Fraction(1 + percent // 20) if measure == "overlap" else Fraction(percent, 100)
    pairs = list(combinations(range(len(sets)), 2))
    anchors = np.arange(len(sets) - 1, dtype=np.uint32)
    ends = np.cumsum([len(sets) - 1 - i for i in range(len(sets) - 1)]).astype(np.int64)
    every = Candidates(anchors, ends, np.array([j for _, j in pairs], np.uint32))
    got = as_dict(*verified(make_items(sets), every, bar(set_measure(measure), float(threshold))))
    assert got == join(sets, measure, threshold)


def test_a_full_piece_is_handed_out_and_the_rest_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 equal items are 780 candidates, in pieces of about 40."""
    monkeypatch.setattr(candidates, "PIECE", 1)
    items = make_items([{1, 2, 3}] * 40)
    signatures = sketch(make_sets([{1, 2, 3}] * 40), Recipe(length=4))
    keys = band_keys(signatures, 1, 4)
    band = Band.sort(keys, 0)
    assert band.bucket_pairs()[:2] == (780, 40)
    pieces = list(band.candidates((0, 40), items, keys, signatures.values, 0, bar(set_measure("jaccard"), 0.8)))
    assert len(pieces) > 10
    left = np.concatenate([np.repeat(piece.anchors, np.diff(piece.ends, prepend=0)) for piece in pieces])
    right = np.concatenate([piece.partners for piece in pieces])
    assert set(as_dict(left, right, [0.0] * 780)) == set(combinations(range(40), 2))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 1024, 1025])
def test_item_numbers_fit_their_bits(n: int) -> None:
    assert max(n - 1, 0) < 2 ** item_bits(n) <= max(2, 2 * n)


def test_no_items() -> None:
    nothing: Any = Signatures(np.empty((0, 4), np.uint32), Recipe(length=4))
    band = Band.sort(band_keys(nothing, 2, 2), 1)
    assert (band.blocks(8), band.bucket_pairs()[:2]) == ([], (0, 0))
