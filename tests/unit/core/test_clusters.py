"""Components, stars, cliques and best matches, against the slow twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core import clusters
from lookalike.core.arrays import Pairs
from lookalike.core.exact_duplicates import collapse, fingerprints
from oracles import cliques, components, join, stars, stars_of_sets
from strategies import make_pairs, make_sets

scored = st.dictionaries(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1]),
    st.sampled_from([0.5, 0.75, 1.0]),  # few values: ties are common
    max_size=16,
)
orders = st.permutations(range(10))


@given(pairs=scored, order=orders)
@settings(max_examples=200, deadline=None)
def test_components_against_the_twin(pairs: dict[tuple[int, int], float], order: list[int]) -> None:
    made = clusters.components(make_pairs(pairs), np.array(order))
    assert made.representative.tolist() == components(pairs, order)
    known = made.representative == np.arange(10)
    assert np.isnan(made.similarity).tolist() == (~known).tolist()


@given(pairs=scored, order=orders, turned=st.booleans())
@settings(max_examples=200, deadline=None)
def test_stars_against_the_twin(pairs: dict[tuple[int, int], float], order: list[int], turned: bool) -> None:
    given = {(j, i): s for (i, j), s in reversed(pairs.items())} if turned else pairs
    made = clusters.stars(make_pairs(given), np.array(order))
    expected = stars(pairs, order)
    assert made.representative.tolist() == [expected[item][0] for item in range(10)]
    assert made.similarity.tolist() == [expected[item][1] for item in range(10)]


@pytest.mark.promise("docs/reference/words.md", "Stars: every member is itself a pair with the representative")
@given(pairs=scored, order=orders)
@settings(max_examples=100, deadline=None)
def test_stars_keep_their_promise(pairs: dict[tuple[int, int], float], order: list[int]) -> None:
    """No chaining: an item that is removed is similar to one who stays and is preferred; no two who stay are similar."""
    stays = clusters.stars(make_pairs(pairs), np.array(order)).representative.tolist()
    for item, kept in enumerate(stays):
        assert stays[kept] == kept
        assert kept == item or (min(item, kept), max(item, kept)) in pairs
        assert order.index(kept) <= order.index(item)
    assert not any(stays[i] == i and stays[j] == j for i, j in pairs)


@pytest.mark.promise("docs/how-to/baskets.md", "each joins the group whose least similar member is nearest")
@given(pairs=scored, order=orders, turned=st.booleans())
@settings(max_examples=200, deadline=None)
def test_cliques_against_the_twin(pairs: dict[tuple[int, int], float], order: list[int], turned: bool) -> None:
    given = {(j, i): s for (i, j), s in reversed(pairs.items())} if turned else pairs
    made = clusters.cliques(make_pairs(given), np.array(order))
    expected = cliques(pairs, order)
    assert made.representative.tolist() == [expected[item][0] for item in range(10)]
    assert made.similarity.tolist() == [expected[item][1] for item in range(10)]


@pytest.mark.promise("docs/how-to/baskets.md", "every two members of a clique are similar")
@pytest.mark.promise("docs/how-to/baskets.md", "no two cliques could be merged")
@given(pairs=scored, order=orders)
@settings(max_examples=200, deadline=None)
def test_members_of_a_clique_are_mutually_similar(pairs: dict[tuple[int, int], float], order: list[int]) -> None:
    group = clusters.cliques(make_pairs(pairs), np.array(order)).representative.tolist()
    members = {first: [item for item in range(10) if group[item] == first] for first in set(group)}
    similar = {frozenset(pair) for pair in pairs}
    for first, items in members.items():
        assert first == min(items, key=order.index)
        assert all(frozenset(pair) in similar for pair in combinations(items, 2))
    for one, other in combinations(members.values(), 2):
        assert any(frozenset(pair) not in similar for pair in product(one, other))


@given(pairs=scored, order=orders, cuts=st.sets(st.integers(0, 16)))
@settings(max_examples=200, deadline=None)
def test_pairs_that_come_in_pieces_give_the_same_groups(
    pairs: dict[tuple[int, int], float], order: list[int], cuts: set[int]
) -> None:
    whole, preference = make_pairs(pairs), np.array(order)

    def pieces(pairs: Pairs, cuts: set[int]) -> list[Pairs]:
        edges = [0, *sorted(cut for cut in cuts if cut < len(pairs)), len(pairs)]
        return [
            Pairs(pairs.left[low:high], pairs.right[low:high], pairs.similarity[low:high])
            for low, high in pairwise(edges)
        ]

    apart = clusters.connected(pieces(whole, cuts), preference)
    assert apart.representative.tolist() == clusters.components(whole, preference).representative.tolist()
    ranked = clusters.by_rank(whole, preference)
    by_item = np.argsort(ranked.left, kind="stable")
    ranked = Pairs(ranked.left[by_item], ranked.right[by_item], ranked.similarity[by_item])
    ends = {int(at) for at in np.flatnonzero(np.diff(ranked.left)) + 1}
    for grouping in ("stars", "cliques"):
        found = clusters.greedy(pieces(ranked, cuts & ends), preference, grouping)
        expected = clusters.MAKERS[grouping](whole, preference)
        assert found.representative.tolist() == expected.representative.tolist()
        assert found.similarity.tolist() == expected.similarity.tolist()


def test_no_items() -> None:
    for make in clusters.MAKERS.values():
        assert make(make_pairs({}), np.empty(0, np.int64)).representative.tolist() == []


families = st.lists(st.sets(st.integers(1, 4), max_size=3), max_size=10)


@given(sets=families, data=st.data())
@settings(max_examples=100, deadline=None)
def test_groups_of_items_are_those_of_all_pairs(sets: list[set[int]], data: st.DataObject) -> None:
    """Made from classes of equal sets and put back, groups are what they would be from every pair of items."""
    order = list(data.draw(st.permutations(range(len(sets)))))
    arrays = make_sets(sets)
    classes = collapse(arrays, fingerprints(arrays), np.array(order, np.int64))
    firsts = classes.firsts.tolist()
    among = make_pairs(join([sets[item] for item in firsts], "jaccard", Fraction(1, 2)))
    best = np.array(sorted(range(len(firsts)), key=lambda c: order.index(firsts[c])), np.int64)
    whole = join(sets, "jaccard", Fraction(1, 2))
    made = clusters.of_items(clusters.components(among, best), classes, len(sets), np.ones(len(classes)))
    assert made.representative.tolist() == components(whole, order)
    made = clusters.of_items(clusters.stars(among, best), classes, len(sets), np.ones(len(classes)))
    expected = stars_of_sets(sets, whole, order)
    assert made.representative.tolist() == [expected[item][0] for item in range(len(sets))]
    assert made.similarity.tolist() == [expected[item][1] for item in range(len(sets))]


@given(sets=families, data=st.data())
@settings(max_examples=150, deadline=None)
def test_best_matches_against_the_twin(sets: list[set[int]], data: st.DataObject) -> None:
    split = data.draw(st.integers(0, len(sets)))
    arrays = make_sets(sets)
    classes = collapse(arrays, fingerprints(arrays))
    among = join([sets[item] for item in classes.firsts], "jaccard", Fraction(1, 3))
    cut = data.draw(st.integers(0, len(among)))
    pieces = [make_pairs(dict(some)) for some in (list(among.items())[:cut], list(among.items())[cut:])]
    made = clusters.best_matches(pieces, classes, split, np.ones(len(classes)))
    whole = join(sets, "jaccard", Fraction(1, 3))
    for item in range(split):
        partners = {other: whole[item, other] for other in range(split, len(sets)) if (item, other) in whole}
        best = max(partners, key=lambda other: (partners[other], -other), default=item)
        assert made.representative[item] == best
        assert made.similarity[item] == partners.get(best, 1.0)
    assert len(made.representative) == split
