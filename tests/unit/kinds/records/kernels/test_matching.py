"""Margins over rivals and the best assignment, against slow and obvious twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.kinds.records.assignment import one_to_one
from lookalike.kinds.records.threshold import PairTable

PAIRS = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(5, 9)), st.integers(1, 20).map(lambda n: n / 20), min_size=1, max_size=14
)


def arrays(pairs: dict[tuple[int, int], float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    left, right = (np.array([pair[side] for pair in pairs], np.uint32) for side in (0, 1))
    return left, right, np.array(list(pairs.values()), np.float32)


def best_sum(pairs: list[tuple[tuple[int, int], float]], taken: frozenset[int] = frozenset()) -> float:
    """The highest sum, by trying everything."""
    if not pairs:
        return 0.0
    ((a, b), score), rest = pairs[0], pairs[1:]
    without = best_sum(rest, taken)
    return without if {a, b} & taken else max(without, score + best_sum(rest, taken | {a, b}))


@pytest.mark.promise(
    "docs/how-to/records.md", "it takes the assignment with the highest sum in which no record occurs twice"
)
@settings(deadline=None)
@given(PAIRS)
def test_the_assignment_is_the_best(pairs: dict[tuple[int, int], float]) -> None:
    left, right, score = arrays(pairs)
    keep = one_to_one(left, right, score, np.ones(len(left), np.bool_))
    used = np.concatenate([left[keep], right[keep]])
    assert len(set(used.tolist())) == len(used)
    assert np.isclose(score[keep].sum(), best_sum(list(pairs.items())))


@settings(deadline=None)
@given(PAIRS, st.tuples(st.booleans(), st.booleans()))
def test_margins(pairs: dict[tuple[int, int], float], sides: tuple[bool, bool]) -> None:
    left, right, score = arrays(pairs)
    table = PairTable(left, right, [], score, 10, 5)
    for (a, b), s, margin in zip(pairs, score, table.margins(score, sides), strict=True):
        others = [(c, d, t) for (c, d), t in pairs.items() if (c, d) != (a, b)]
        rivals = [t for c, d, t in others if (sides[0] and c == a) or (sides[1] and d == b)]
        assert np.isclose(margin, s - max(rivals, default=0.0))


@settings(deadline=None)
@given(PAIRS)
def test_one_side_takes_the_best_of_each_of_its_records(pairs: dict[tuple[int, int], float]) -> None:
    left, right, score = arrays(pairs)
    table = PairTable(left, right, [], score, 10, 5)
    keep = table.greedy(score, sides=(False, True))
    best = {d: max(t for (_, e), t in pairs.items() if e == d) for _, d in pairs}
    assert sorted(right[keep].tolist()) == sorted(best)
    assert all(np.isclose(s, best[d]) for d, s in zip(right[keep].tolist(), score[keep], strict=True))
    margins = table.settled_margins(score, keep, sides=(False, True))
    assert np.allclose(margins[keep], table.margins(score, (False, True))[keep])


def test_ineligible_pairs_are_left_out() -> None:
    left, right, score = arrays({(0, 5): 0.9, (1, 6): 0.8})
    assert one_to_one(left, right, score, np.array([False, True])).tolist() == [False, True]
