"""Divide-Compute-Merge, step by step, against dicts and counters."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.measures import Bar, bar, set_measure
from lookalike.kernels import bounds
from lookalike.kernels.hashing import mix
from lookalike.kinds.documents.kernels import inverted_lists
from oracles import MEASURES
from strategies import elements, families, make_items

FIRST = 1 << 31
inverted = st.lists(st.sets(st.integers(0, 15), min_size=2).map(sorted), max_size=8)  # lists of 16 items
sixteen_sides = st.lists(st.sampled_from([1, 2, 3]), min_size=16, max_size=16)
sixteen_sizes = st.lists(st.integers(1, 12), min_size=16, max_size=16).map(sorted)


def laid_out(lists: list[list[int]]) -> Any:
    return np.array([item + FIRST * (place == 0) for items in lists for place, item in enumerate(items)], np.uint32)


def read(postings: Any) -> list[list[int]]:
    out: list[list[int]] = []
    for word in postings.tolist():
        if word >= FIRST:
            out.append([])
        out[-1].append(word % FIRST)
    return out


def wanted(lists: list[list[int]], sides: list[int], reach: Any) -> Counter[tuple[int, int]]:
    """How often each pair (larger, smaller) meets in a list, if it is wanted."""
    return Counter(
        (x, y)
        for items in lists
        for place, x in enumerate(items)
        for y in items[:place]
        if y >= reach[x] and sides[x] | sides[y] == 3
    )


def packed(pairs: Any) -> Any:
    return np.array([x << 32 | y for x, y in pairs], np.uint64)


@given(sets=families, known=st.integers(1, 6))
@settings(deadline=None)
def test_postings_go_to_the_bucket_of_their_mixed_shingle(sets: list[set[int]], known: int) -> None:
    items, shift = make_items(sets), np.uint64(64 - known)
    counts = np.zeros(1 << known, np.int64)
    inverted_lists.count_buckets(items.elements, items.starts, items.sizes, shift, counts)
    ends = np.cumsum(counts)
    shingles, owners = np.empty(ends[-1], np.uint64), np.empty(ends[-1], np.uint32)
    places = ends - counts
    inverted_lists.scatter(items.elements, items.starts, items.sizes, 7, shift, places, shingles, owners)
    expected: dict[int, list[tuple[int, int]]] = {}
    for number, one in enumerate(sets, 7):
        for e in one:
            shingle = int(mix(np.uint64(e)))
            expected.setdefault(shingle >> (64 - known), []).append((shingle, number))
    assert places.tolist() == ends.tolist()
    for bucket, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        got = [*zip(shingles[begin:end].tolist(), owners[begin:end].tolist(), strict=True)]
        assert sorted(got) == sorted(expected.get(bucket, []))
        assert [owner for _, owner in got] == sorted(owner for _, owner in got)


@given(sets=st.lists(st.sets(elements, max_size=10), max_size=12), kept=st.sampled_from([1, 3, 57]))
@settings(deadline=None)
def test_lists_of_shingles_that_agree_in_all_that_is_packed(sets: list[set[int]], kept: int) -> None:
    """However few bits of a shingle are packed, lists are of one shingle each, and in the order of the items."""
    known, bits = 1, 64 - kept  # the high bit of all of them is 0
    postings = [(e, number) for number, one in enumerate(sets) for e in sorted(one)]
    shingles = np.array([e for e, _ in postings], np.uint64)
    owners = np.array([number for _, number in postings], np.uint32)
    words, out = np.empty(len(postings), np.uint64), np.empty(len(postings), np.uint32)
    inverted_lists.pack(shingles, known, bits, words)
    assert [int(w) % (1 << bits) for w in words] == list(range(len(postings)))
    words.sort()
    used, longest = inverted_lists.shared_lists(words, bits, shingles, owners, out)
    expected = [[n for n, one in enumerate(sets) if e in one] for e in set().union(*sets)]
    assert max(longest, 1) == max(map(len, expected), default=1)
    assert sorted(read(out[:used])) == sorted(items for items in expected if len(items) > 1)


def test_what_is_packed_of_a_shingle() -> None:
    out = np.empty(2, np.uint64)
    inverted_lists.pack(np.array([0xF123456789ABCDEF, 0xF923456789ABCDEF], np.uint64), 4, 8, out)
    assert [hex(word) for word in out.tolist()] == ["0x123456789abcde00", "0x923456789abcde01"]


@pytest.mark.parametrize("measure", MEASURES)
@given(sizes=sixteen_sizes, percent=st.integers(5, 100))
@settings(deadline=None)
def test_reach_and_least_overlap(measure: str, sizes: list[int], percent: int) -> None:
    """Out of reach means that not even all of the smaller set would do; the least overlap is needed by all in reach."""
    code, num, den = bar(set_measure(measure), max(1, percent // 10) if measure == "overlap" else percent / 100)
    reach, least = np.empty(16, np.uint32), np.empty(16, np.uint32)
    inverted_lists.reaches(np.array(sizes), code, num, den, reach)
    inverted_lists.least_overlaps(np.array(sizes), reach, code, num, den, least)
    for x, a in enumerate(sizes):
        for y, b in enumerate(sizes[:x]):
            need = bounds.required(code, a, b, num, den)
            if y < reach[x]:
                assert need > b
            else:
                assert need >= least[x]
        if reach[x] < x:
            assert least[x] == bounds.required(code, a, sizes[reach[x]], num, den)


@given(lists=inverted, sides=sixteen_sides, sizes=sixteen_sizes, room=st.integers(1, 9))
@settings(deadline=None)
def test_triples(lists: list[list[int]], sides: list[int], sizes: list[int], room: int) -> None:
    """Counted without being made; made a few at a time; of each item after those of the items before it."""
    postings, reach, on = laid_out(lists), np.empty(16, np.uint32), np.array(sides, np.uint8)
    inverted_lists.reaches(np.array(sizes), bounds.JACCARD, 1, 2, reach)
    expected = wanted(lists, sides, reach)
    totals = np.zeros(16, np.int64)
    inverted_lists.count_triples(postings, reach, on, totals)
    assert totals.tolist() == [sum(count for (x, _), count in expected.items() if x == item) for item in range(16)]

    counts = np.zeros(16, np.int64)
    inverted_lists.count_followers(postings, counts)
    assert counts.tolist() == [sum(item in items[1:] for items in lists) for item in range(16)]
    ends = np.cumsum(counts)
    places, cursors = np.empty(ends[-1], np.uint32), ends - counts
    for low, high in ((0, 5), (5, 16)):
        inverted_lists.place_followers(postings, low, high, cursors, places)
    assert [postings[place] for place in places] == np.repeat(np.arange(16), counts).tolist()

    made: list[int] = []
    at, q = 0, -1
    while at < len(places):
        out = np.empty(room, np.uint64)
        at, q, used = inverted_lists.emit(postings, places, at, len(places), q, reach, on, out)
        assert used == room or at == len(places)
        made += out[:used].tolist()
    assert Counter((word >> 32, word % (1 << 32)) for word in made) == expected
    assert [word >> 32 for word in made] == sorted(word >> 32 for word in made)


pairs = st.tuples(st.integers(0, 5), st.integers(0, 5))


@given(triples=st.lists(pairs).map(sorted), least=st.lists(st.integers(1, 4), min_size=6, max_size=6))
@settings(deadline=None)
def test_triples_add_up(triples: list[tuple[int, int]], least: list[int]) -> None:
    words, overlaps = packed(triples), np.empty(len(triples), np.uint32)
    kept, seen = inverted_lists.add_up(words, np.array(least, np.uint32), overlaps)
    expected = sorted((pair, count) for pair, count in Counter(triples).items() if count >= least[pair[0]])
    assert seen == len(set(triples))
    assert words[:kept].tolist() == packed(pair for pair, _ in expected).tolist()
    assert overlaps[:kept].tolist() == [count for _, count in expected]


@given(a=st.dictionaries(pairs, st.integers(1, 9)), b=st.dictionaries(pairs, st.integers(1, 9)))
@settings(deadline=None)
def test_runs_of_counted_pairs_merge(a: dict[tuple[int, int], int], b: dict[tuple[int, int], int]) -> None:
    runs = [
        x for run in (a, b) for x in (packed(sorted(run)), np.array([run[pair] for pair in sorted(run)], np.uint32))
    ]
    out, counts = np.empty(len(a) + len(b), np.uint64), np.empty(len(a) + len(b), np.uint32)
    used = inverted_lists.merge_counted(*runs, out, counts)
    expected = Counter(a) + Counter(b)
    assert out[:used].tolist() == packed(sorted(expected)).tolist()
    assert counts[:used].tolist() == [expected[pair] for pair in sorted(expected)]


def test_matches_are_kept_in_order() -> None:
    sizes = np.array([4, 5, 5, 9])
    found = packed([(1, 0), (2, 0), (2, 1), (3, 1)])
    overlaps = np.array([4, 3, 5, 5], np.uint32)
    bar = Bar(bounds.JACCARD, 4, 5)
    assert inverted_lists.keep_matches(found, overlaps, sizes, *bar) == 2  # 4/5, a tie, and 5/5; not 3/6, not 5/9
    assert found[:2].tolist() == packed([(1, 0), (2, 1)]).tolist()
    assert overlaps[:2].tolist() == [4, 5]
