"""Groups under verdicts: those of the kernels where none applies, and never two items that were judged different."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core import judged_groups as judged
from lookalike.core.arrays import Pairs
from lookalike.core.clusters import MAKERS
from lookalike.core.judged_groups import Links, judged_groups

N = 9
ALL = list(combinations(range(N), 2))


def pairs_of(scores: dict[tuple[int, int], float]) -> Pairs:
    left, right = np.array(sorted(scores), np.int64).reshape(-1, 2).T
    return Pairs(left.copy(), right.copy(), np.array([scores[pair] for pair in sorted(scores)], np.float64))


def links_of(same: set[tuple[int, int]], different: set[tuple[int, int]]) -> Links:
    sides = [np.array(sorted(pairs), np.int64).reshape(-1, 2) for pairs in (same, different)]
    return Links((sides[0][:, 0], sides[0][:, 1]), (sides[1][:, 0], sides[1][:, 1]))


some_pairs = st.dictionaries(st.sampled_from(ALL), st.sampled_from([0.5, 0.6, 0.7, 0.9]), max_size=20)
some = st.sets(st.sampled_from(ALL), max_size=5)


@pytest.mark.promise(
    "docs/how-to/review.md", "A pair judged different is not reported, and its items are never in one group"
)
@pytest.mark.promise(
    "docs/how-to/review.md", "A pair judged the same is reported, and its items are in one group, at every threshold"
)
@pytest.mark.promise(
    "docs/how-to/review.md",
    "`dedup` removes an item only for one that it is similar to, or that it was judged to be the same as",
)
@pytest.mark.parametrize("grouping", ["components", "stars", "cliques"])
@given(scores=some_pairs, order=st.permutations(range(N)), same=some, different=some)
@settings(max_examples=120)
def test_verdicts_hold_in_every_grouping(
    grouping: str, scores: dict[tuple[int, int], float], order: list[int], same: set[tuple[int, int]],
    different: set[tuple[int, int]],
) -> None:  # fmt: skip
    different -= same
    judged_same = {pair: np.inf for pair in same if pair not in scores}
    left = {pair: score for pair, score in (scores | judged_same).items() if pair not in different}
    groups, cuts = judged_groups(grouping, pairs_of(left), np.array(order), links_of(same, different))
    of = groups.representative
    assert all(of[one] != of[other] for one, other in different)
    if not cuts.contradicted:
        assert all(of[one] == of[other] for one, other in same)
    for item in range(N):
        assert of[of[item]] == of[item]
        if grouping == "stars" and of[item] != item and not same:
            pair = (min(item, of[item]), max(item, of[item]))
            assert groups.similarity[item] == left[pair]
    rank = {item: at for at, item in enumerate(order)}
    if grouping == "components":
        assert all(rank[of[item]] <= rank[item] for item in range(N))


@pytest.mark.parametrize("grouping", ["stars", "cliques"])
@given(scores=some_pairs, order=st.permutations(range(N)))
@settings(max_examples=120)
def test_the_plain_loops_agree_with_the_kernels(
    grouping: str, scores: dict[tuple[int, int], float], order: list[int]
) -> None:
    pairs, rank = pairs_of(scores), np.argsort(order)
    walk = judged._stars if grouping == "stars" else judged._cliques
    made = walk(judged._Joined(range(N), {}), order, pairs, rank)
    expected = MAKERS[grouping](pairs, np.array(order))
    assert [made[item][0] for item in range(N)] == expected.representative.tolist()
    assert [made[item][1] for item in range(N)] == pytest.approx(expected.similarity.tolist())


def test_a_chain_is_cut_at_its_weakest_pair() -> None:
    chain = pairs_of({(0, 1): 0.9, (1, 2): 0.6, (2, 3): 0.9})
    groups, cuts = judged_groups("components", chain, np.arange(4), links_of(set(), {(0, 3)}))
    assert groups.representative.tolist() == [0, 0, 2, 2]
    assert cuts.pairs == [(1, 2)]


def test_large_components_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    ends = np.sort(random.integers(0, 300, (4000, 2)), axis=1)
    keys = {(int(a), int(b)): float(random.random()) for a, b in ends if a != b}
    pairs, links = pairs_of(keys), links_of(set(), {(0, 299), (5, 200), (17, 44)} - set(keys))
    whole = judged_groups("components", pairs, np.arange(300), links)[0].representative
    monkeypatch.setattr(judged, "EDGES_AT_ONCE", 50)
    assert judged_groups("components", pairs, np.arange(300), links)[0].representative.tolist() == whole.tolist()
