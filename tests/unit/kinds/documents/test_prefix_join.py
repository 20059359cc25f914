"""The exact join against brute force: every measure, every threshold, ties included."""

from __future__ import annotations

import random
from fractions import Fraction
from math import isqrt

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.core import candidates
from lookalike.core.measures import bar, set_measure
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.kernels import bounds
from lookalike.kinds.documents import prefix_join
from lookalike.kinds.documents.prefix_join import exact_pairs
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace
from oracles import MEASURES, join
from strategies import as_dict, families, make_items

PLENTY = 1 << 40


def exact(
    sets: list[set[int]], measure: str, threshold: Fraction, sides: list[int] | None = None, threads: int = 1,
    memory: int = PLENTY,
) -> dict[tuple[int, int], float]:  # fmt: skip
    with Pool(threads) as pool:
        target = bar(set_measure(measure), float(threshold))
        return as_dict(
            *exact_pairs(make_items(sets, sides), target, pool, Trace(), Workspace(MemoryBudget(memory)), 10**9)
        )


def shares_that_occur(sets: list[set[int]], measure: str) -> list[Fraction]:
    """Similarities of these very sets that are fractions: a threshold there is a tie."""
    found = set()
    for one in sets:
        for other in sets:
            c, a, b = len(one & other), len(one), len(other)
            root = isqrt(a * b) if isqrt(a * b) ** 2 == a * b else 0  # a cosine is a fraction only over a whole root
            twice = {"jaccard": 2 * (a + b - c), "containment": 2 * min(a, b), "dice": a + b, "overlap": 2}
            size = twice.get(measure, 2 * root)
            if c and size and Fraction(2 * c, size) >= Fraction(1, 20):
                found.add(Fraction(2 * c, size))
    return sorted(found)


@pytest.mark.parametrize("measure", MEASURES)
@given(sets=families, data=st.data())
@settings(max_examples=120, deadline=None)
@example(sets=[{1, 2, 3, 4}, {1, 2, 3, 4, 5}], data=None)
def test_exact_join_is_brute_force(measure: str, sets: list[set[int]], data: st.DataObject | None) -> None:
    any_share = st.integers(5, 100).map(lambda percent: Fraction(percent, 100))
    if measure == "overlap":
        any_share = st.integers(1, 12).map(Fraction)
    ties = shares_that_occur(sets, measure)
    for threshold in [Fraction(4, 5)] if data is None and measure != "overlap" else ties[:1] + ties[-1:]:
        assert exact(sets, measure, threshold) == join(sets, measure, threshold)
    if data is not None:
        threshold = data.draw(st.sampled_from(ties) | any_share if ties else any_share)
        assert exact(sets, measure, threshold) == join(sets, measure, threshold)


@pytest.mark.parametrize("measure", MEASURES)
@given(sets=families, percent=st.integers(5, 100), data=st.data())
@settings(max_examples=60, deadline=None)
def test_exact_join_of_two_collections(measure: str, sets: list[set[int]], percent: int, data: st.DataObject) -> None:
    """Sides: 1 left, 2 right, 3 both (a class with members in each); a pair needs one of each."""
    sides = data.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=len(sets), max_size=len(sets)))
    threshold = Fraction(1 + percent // 10) if measure == "overlap" else Fraction(percent, 100)
    expected = join(sets, measure, threshold, lambda i, j: sides[i] | sides[j] == 3)
    assert exact(sets, measure, threshold, sides) == expected


@pytest.mark.parametrize("measure", MEASURES)
@given(sets=families, percent=st.integers(5, 100), room=st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_a_join_in_parts_is_the_join(measure: str, sets: list[set[int]], percent: int, room: int) -> None:
    """Room for a few postings at a time: the items are parted by size, and the parts joined one with the other."""
    threshold = Fraction(1 + percent // 10) if measure == "overlap" else Fraction(percent, 100)
    memory = int(room * prefix_join.POSTING / prefix_join.POSTINGS_BUDGET_SHARE) + 1
    assert exact(sets, measure, threshold, memory=memory) == join(sets, measure, threshold)


def test_parts_fit_the_memory_two_at_a_time() -> None:
    items = make_items(sorted(zipf_sets(300, seed=5), key=len))
    target = bar(set_measure("jaccard"), 0.5)
    with Pool(1) as pool:
        rarest = prefix_join.take_prefixes(items, target, pool, Workspace(MemoryBudget(PLENTY)))
    room = 500
    parts = rarest.parts(int(room * prefix_join.POSTING / prefix_join.POSTINGS_BUDGET_SHARE))
    assert len(parts) > 3
    assert parts[0][0] == 0
    assert [low for low, _ in parts[1:]] == [high for _, high in parts[:-1]]
    assert all(len(rarest.index_of(part, part).packed) <= room / 2 for part in parts)
    assert len(prefix_join.part_pairs(parts, items, target)) < len(parts) * (len(parts) + 1) / 2, "sizes rule some out"


def zipf_sets(count: int, seed: int) -> list[set[int]]:
    """Small sets, with copies, near-copies and one element in nearly all of them: its counter goes past 255."""
    draw = random.Random(seed)
    universe = [draw.getrandbits(64) | 1 for _ in range(400)]
    weights = [1 / (i + 1) for i in range(400)]
    sets = [{universe[0], *draw.choices(universe, weights, k=draw.randint(1, 25))} for _ in range(count)]
    for i in range(0, count, 4):
        sets[i] = set(sets[i + 1])
        sets[i + 2] = sets[i + 1] ^ {universe[draw.randrange(400)]} or {1}
    return sets


@pytest.mark.parametrize("measure", MEASURES)
def test_many_sets_in_many_blocks(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "PIECE", 64)
    monkeypatch.setattr(prefix_join, "ITEMS_PER_TASK", 100)
    sets = zipf_sets(400, seed=5)
    for threshold in map(Fraction, ["3", "8"] if measure == "overlap" else ["0.2", "0.8", "1"]):
        expected = join(sets, measure, threshold)
        assert len(expected) > 20
        for threads in (1, 3):
            assert exact(sets, measure, threshold, threads=threads) == expected


FILLER = [{1000 * i + j for j in range(3)} for i in range(1, 301)] * 2  # the number of a posting takes 10 bits or more


@given(data=st.data(), tenths=st.integers(2, 9))
@settings(max_examples=150, deadline=None)
def test_hashes_that_meet_in_their_low_bits(data: st.DataObject, tenths: int) -> None:
    """Elements are distinguished by all 64 bits, though counters, the order and the postings look at fewer."""
    shift = data.draw(st.sampled_from([16, 32, 54, 56]))
    alike = st.builds(lambda low, high: low + (high << shift), st.integers(1, 7), st.integers(0, 3))
    sets = data.draw(st.lists(st.sets(alike, min_size=1, max_size=12), min_size=2, max_size=8))
    got = exact(sets + FILLER, "jaccard", Fraction(tenths, 10))
    assert {pair: s for pair, s in got.items() if pair[1] < len(sets)} == join(sets, "jaccard", Fraction(tenths, 10))


def test_too_many_pairs_stop_the_search() -> None:
    sets = [{1, 2, 3, 100 + i} for i in range(100)]
    with Pool(1) as pool, pytest.raises(TooManyPairs) as caught:
        exact_pairs(
            make_items(sets), bar(set_measure("jaccard"), 0.5), pool, Trace(), Workspace(MemoryBudget(PLENTY)), 50
        )
    assert str(caught.value) == (
        "more than 50 pairs (`max_pairs`) are within the threshold, and the search has not ended. "
        "Raise the threshold, drop boilerplate with `max_share`, or raise `max_pairs`."
    )


def test_nothing_to_join() -> None:
    assert exact([], "jaccard", Fraction(1, 2)) == {}
    assert exact([set(), set()], "jaccard", Fraction(1, 2)) == {}


@pytest.mark.parametrize("measure", MEASURES)
@given(sets=families, percent=st.integers(5, 100))
@settings(max_examples=40, deadline=None)
def test_visits_are_the_postings_between_two_sizes(measure: str, sets: list[set[int]], percent: int) -> None:
    """An anchor looks at smaller sets that have an element of its prefix, unless they are too small to match, or so
    large that what comes after this place is not enough."""
    target = bar(set_measure(measure), 1 + percent // 10 if measure == "overlap" else percent / 100)
    items = make_items(sorted((one for one in sets if one), key=len))
    with Pool(1) as pool:
        whole = (0, len(items))
        postings = prefix_join.take_prefixes(items, target, pool, Workspace(MemoryBudget(PLENTY))).index_of(
            whole, whole
        )
    starts = [0, *postings.ends.tolist()]
    key_of = {word % (1 << postings.bits): word >> postings.bits for word in postings.packed.tolist()}
    visits = 0
    for x, nx in enumerate(items.sizes.tolist()):
        for place, i in enumerate(range(starts[x], starts[x + 1])):
            for y in range(x + 1):  # also x: elements with equal low bits are one element here
                ny = int(items.sizes[y])
                fits = ny >= bounds.least_size(target.code, nx, target.num, target.den)
                enough = nx - place >= bounds.required(target.code, nx, ny, target.num, target.den)
                same = [j for j in range(starts[y], starts[y + 1]) if j < i and key_of[j] == key_of[i]]
                visits += len(same) if fits and enough else 0
    assert postings.visits() == visits
