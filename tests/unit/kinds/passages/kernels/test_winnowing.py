"""Words with places, windows and seeds, against their slow twins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import ShingleRule
from lookalike.kinds.passages.kernels import alignment, winnowing
from lookalike.kinds.passages.tokens import place_words
from lookalike.kinds.passages.winnowing import all_shingles, common_shingles, fingerprint, most_documents
from passage_oracles import bridged, placed_words, repeating, shingle_hashes, winnowed, word_hash
from strategies import texts

documents = st.lists(st.lists(st.integers(0, 4), max_size=30), max_size=5)


def arrays(tokens: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, tokens)]).astype(np.int64)
    return np.array([t for one in tokens for t in one], np.uint32), offsets


@given(st.lists(texts, max_size=4), st.booleans(), st.booleans())
@settings(max_examples=300, deadline=None)
@example(["a\u0301b か\u3099き 😀x", "İstanbul ß"], True, True)
def test_words_and_their_places(written: list[str], fold_case: bool, strip_accents: bool) -> None:
    placed = place_words(pa.array(written, pa.large_string()), fold_case=fold_case, strip_accents=strip_accents)
    rule = ShingleRule(k=1, fold_case=fold_case, strip_accents=strip_accents)
    for number, text in enumerate(written):
        first, last = placed.offsets[number : number + 2]
        expected = placed_words(text, rule)
        assert [*zip(placed.starts[first:last].tolist(), placed.ends[first:last].tolist(), strict=True)] == [
            piece[:2] for piece in expected
        ]
        assert placed[number].tolist() == [word_hash(word) for _, _, word in expected]


@given(documents, st.integers(1, 4), st.integers(1, 5), st.sets(st.integers(0, 20)))
@settings(max_examples=300, deadline=None)
def test_the_least_of_each_window_is_chosen(tokens: list[list[int]], k: int, w: int, some: set[int]) -> None:
    everything = sorted({h for one in tokens for h in shingle_hashes(one, k)})
    barred = {everything[i] for i in some if i < len(everything)}
    prints = fingerprint(*arrays(tokens), k=k, window=w, barred=np.array(sorted(barred), np.uint64))
    for number, one in enumerate(tokens):
        first, last = prints.offsets[number : number + 2]
        hashes = shingle_hashes(one, k)
        chosen, expected = prints.starts[first:last].tolist(), winnowed(hashes, w, barred)
        assert prints.hashes[first:last].tolist() == [hashes[place] for place in chosen]
        assert set(chosen) <= set(expected)
        inside = {place for a, b in repeating(one, k, w) for place in range(a + 1, b - k)}
        assert set(expected) - set(chosen) <= inside
        if barred:
            start = sum(map(len, tokens[:number]))
            covered = {i + j for i, h in enumerate(hashes) if h in barred for j in range(k)}
            assert set(np.flatnonzero(prints.covered[start : start + len(one)]).tolist()) == covered


@pytest.mark.promise("docs/how-to/passages.md", "only the first and the last repeat are compared")
def test_a_thousand_zeros_have_two_fingerprints() -> None:
    prints = fingerprint(*arrays([[0] * 1000, [0, 1, 2] * 300]), k=4, window=6)
    assert np.diff(prints.offsets).tolist() == [2, 2]


@given(documents, st.integers(1, 3), st.integers(0, 4), st.booleans())
@settings(max_examples=200, deadline=None)
def test_common_shingles_are_counted_exactly(tokens: list[list[int]], k: int, limit: int, once: bool) -> None:
    found, counts = common_shingles(*arrays(tokens), k=k, limit=limit, once=once)
    hashes = [shingle_hashes(one, k) for one in tokens]
    often = {h: sum(h in one if once else one.count(h) for one in hashes) for one in hashes for h in one}
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == {h: n for h, n in often.items() if n > limit}


def test_shares_are_counted_without_rounding_errors() -> None:
    assert most_documents(0.29, 100) == 29
    assert most_documents(1.0, 7) == 7


@given(st.lists(st.integers(0, 9), max_size=40), st.lists(st.integers(0, 9), max_size=40), st.integers(1, 6))
@settings(max_examples=400, deadline=None)
def test_edits_are_bridged_where_it_pays(x: list[int], y: list[int], gap: int) -> None:
    left, right = (np.array(one, np.uint32) for one in (x, y))
    pieces = np.empty((50, 3), np.int64)
    more_x, more_y, taken = alignment.bridge(left, right, 0, 0, 1, gap, pieces)
    expected = bridged(x, y, gap)
    assert (more_x, more_y, int((pieces[:taken, 1] - pieces[:taken, 0]).sum())) == expected
    back = alignment.bridge(left[::-1].copy(), right[::-1].copy(), len(x) - 1, len(y) - 1, -1, gap, pieces)
    assert back[:2] == (more_x, more_y)


def test_a_dear_bridge_is_crossed_where_much_follows() -> None:
    x, y = (
        [t for i in range(4) for t in (side + 3 * i, side + 3 * i + 1, side + 3 * i + 2, i, i + 50)]
        for side in (100, 200)
    )
    x, y = [*x, *range(300, 303), *range(60, 80)], [*y, *range(400, 403), *range(60, 80)]
    assert bridged(x, y, 3) == (43, 43, 28)  # four times a loss of 1, then a gain of 17
    pieces = np.empty((50, 3), np.int64)
    left, right = (np.array(one, np.uint32) for one in (x, y))
    assert alignment.bridge(left, right, 0, 0, 1, 3, pieces)[:2] == (43, 43)


def test_a_seed_of_unequal_tokens_is_no_passage() -> None:
    x, y = np.array([1, 2, 3, 4], np.uint32), np.array([5, 2, 3, 6], np.uint32)
    room = np.zeros(9, np.int64), np.empty((4, 3), np.int64), np.empty((4, 8), np.int64)
    seeds = np.array([[0, 0], [1, 1]], np.uint32)
    for k, expected in ((2, 1), (3, 0)):
        _, found, _ = alignment.passages_of_pair(x, y, np.empty(0, np.bool_), seeds, k, 0, 1, *room, 0)
        assert found == expected


def test_all_shingles_are_once_each() -> None:
    placed = place_words(pa.array(["a b a b a b", "b"], pa.large_string()))
    a, b = word_hash("a"), word_hash("b")
    assert all_shingles(placed, 2).tolist() == sorted(shingle_hashes([a, b, a], 2))


@pytest.mark.parametrize("wanted", [0, 3, 9, 10])
def test_places_in_a_sorted_list(wanted: int) -> None:
    assert winnowing.where_in(np.array([3, 9], np.uint64), np.uint64(wanted)) == {3: 0, 9: 1}.get(wanted, -1)
