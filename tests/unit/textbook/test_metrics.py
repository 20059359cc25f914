"""A user's own distance: axioms with counterexamples, and an exact join against brute force."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import UsageError

METRICS: list[tuple[Any, Any]] = [
    (st.integers(-50, 50), lambda x, y: abs(x - y)),
    (st.text("ab", max_size=5), la.textbook.edit_distance),
    (st.frozensets(st.integers(0, 5)), lambda x, y: 1 - len(x & y) / len(x | y) if x | y else 0),
    (st.tuples(st.floats(-9, 9), st.floats(-9, 9)), lambda x, y: abs(complex(*x) - complex(*y))),
]


@pytest.mark.promise("docs/how-to/own-distance.md", "finds all pairs that comparing every two would find")
@pytest.mark.parametrize("number", range(len(METRICS)))
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_the_join_is_brute_force(number: int, data: Any) -> None:
    values, distance = METRICS[number]
    items = data.draw(st.lists(values, max_size=25))
    radius = data.draw(st.sampled_from([0, 0.3, 1, 2.5]))
    expected = [(i, j) for i, j in combinations(range(len(items)), 2) if distance(items[i], items[j]) <= radius]
    made = la.metrics.pairs(items, distance, max_distance=radius)
    assert [(row["left"], row["right"]) for row in made.pairs.to_pylist()] == expected
    assert all(row["distance"] == distance(items[row["left"]], items[row["right"]]) for row in made.pairs.to_pylist())
    cut = len(items) // 2
    cross = la.metrics.pairs(items[:cut], distance, max_distance=radius, against=items[cut:])
    between = [(i, j) for i, j in product(range(cut), range(len(items) - cut)) if (i, cut + j) in expected]
    assert [(row["left"], row["right"]) for row in cross.pairs.to_pylist()] == between


@pytest.mark.promise("docs/how-to/own-distance.md", "`close.all_pairs` what comparing every two would take")
def test_far_items_are_not_compared() -> None:
    items = [1000 * group + offset for group in range(20) for offset in range(5)]
    made = la.metrics.pairs(items, lambda x, y: abs(x - y), max_distance=5)
    assert len(made) == 20 * 10
    assert made.calls < made.all_pairs / 2


def test_ids_name_the_items() -> None:
    made = la.metrics.pairs([1, 9, 2], lambda x, y: abs(x - y), max_distance=1, ids=["a", "b", "c"])
    assert made.pairs.to_pylist() == [{"left": "a", "right": "c", "distance": 1.0}]
    assert repr(made).startswith("<MetricPairs: 1 pair, ")


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_metric_passes(items: list[int]) -> None:
    test = la.metrics.check_axioms(items, lambda x, y: abs(x - y))
    assert test.passed
    assert test.triples == len(items) * (len(items) - 1) * (len(items) - 2)


@pytest.mark.promise("docs/how-to/own-distance.md", "d(x, y) ≥ 0; d(x, y) = 0 exactly where x = y")
@pytest.mark.parametrize(
    ("axiom", "distance", "words"),
    [
        ("non-negative", lambda x, y: -abs(x - y), "d(1, 2) = -1 is negative."),
        ("identity", lambda x, y: abs(x - y) + 1, "d(1, 1) = 1, but an item is at distance 0 from itself."),
        ("identity", lambda x, y: 0, "d(1, 2) = 0, but the two differ."),
        ("symmetric", lambda x, y: max(0, x - y) + 2 * max(0, y - x), "d(1, 2) = 2, but d(2, 1) = 1."),
        ("triangle inequality", lambda x, y: (x - y) ** 2, "d(1, 4) = 9 is more than d(1, 2) + d(2, 4) = 1 + 4."),
    ],
)
def test_each_axiom_has_a_counterexample(axiom: str, distance: Any, words: str) -> None:
    test = la.metrics.check_axioms([1, 2, 4], distance)
    assert not test.passed
    assert test.counterexamples[axiom] == words
    assert str(test).startswith("Not a metric (tested on ")


@pytest.mark.promise("docs/how-to/own-distance.md", "Up to 10,000 triples are tested")
def test_many_triples_are_sampled() -> None:
    test = la.metrics.check_axioms(range(100), lambda x, y: abs(x - y), max_triples=50)
    assert test.triples == 50
    assert str(test).startswith("All four axioms hold on ")


@pytest.mark.promise("docs/how-to/own-distance.md", "Before the join, the axioms are tested on 20 random items")
def test_what_is_no_metric_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^the distance is not a metric, so pairs could be missed; triangle ineq"):
        la.metrics.pairs([1, 2, 4], lambda x, y: (x - y) ** 2, max_distance=1)
    with pytest.raises(UsageError, match=r"^d\(1, 2\) gave 'far'; expected a number\.$"):
        la.metrics.pairs([1, 2], lambda x, y: "far" if x != y else 0, max_distance=1)  # type: ignore[arg-type,return-value]
    with pytest.raises(UsageError, match=r"^d\(1, 1\) is NaN"):
        la.metrics.check_axioms([1], lambda x, y: float("nan"))
    with pytest.raises(UsageError, match="max_distance is -1; expected 0 or more"):
        la.metrics.pairs([1, 2], lambda x, y: abs(x - y), max_distance=-1)
    with pytest.raises(UsageError, match="1 ids came for 2 items"):
        la.metrics.pairs([1, 2], lambda x, y: abs(x - y), max_distance=1, ids=["a"])
    with pytest.raises(UsageError, match="no items came"):
        la.metrics.check_axioms([], lambda x, y: 0)
