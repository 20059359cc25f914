"""Very common elements leave the sets, exactly those."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.kinds.documents.common_shingles import drop_common
from oracles import without_common
from strategies import families, make_sets


@pytest.mark.promise(
    "docs/how-to/clean-a-training-corpus.md",
    "`--max-share 0.1` drops shingles that occur in more than a tenth of the documents",
)
@given(sets=families, percent=st.integers(1, 100))
@settings(max_examples=200, deadline=None)
@example(sets=[{1}, {1}, {1, 65537}, set()], percent=50)  # 65537 shares the counter of 1
def test_against_the_twin(sets: list[set[int]], percent: int) -> None:
    kept, dropped = drop_common(make_sets(sets), percent / 100)
    expected = without_common(sets, Fraction(percent, 100))
    assert [set(kept[i].tolist()) for i in range(len(kept))] == expected
    assert kept.sizes.tolist() == [len(s) for s in expected]
    assert dropped == len(set().union(*sets) - set().union(*expected))


@pytest.mark.parametrize("percent", range(1, 101))
def test_an_element_of_exactly_the_share_stays(percent: int) -> None:
    """0.29 x 100 is 28.999999999999996 in floats: the limit must not be 28."""
    sets = make_sets([{7, 1000 + i} if i < percent else {1000 + i} for i in range(100)])
    assert drop_common(sets, percent / 100)[1] == 0
    if percent > 1:
        assert drop_common(sets, (percent - 1) / 100)[1] == 1


def test_order_within_the_sets_stays() -> None:
    kept, dropped = drop_common(make_sets([[9, 1, 5], [1, 4, 3]]), 0.5)
    assert dropped == 1
    assert kept.elements.tolist() == [9, 5, 4, 3]
    assert kept.offsets.tolist() == [0, 2, 4]


def test_nothing_in_nothing_out() -> None:
    kept, dropped = drop_common(make_sets([[], []]), 0.1)
    assert (len(kept), dropped, len(kept.elements)) == (2, 0, 0)
