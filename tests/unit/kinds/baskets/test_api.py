"""Baskets against brute force, both ways; through groups; suggestions against ten obvious lines."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import InputError, UsageError
from lookalike.kinds.documents import planner
from oracles import MEASURES, join, similarity, stars_of_sets

families = st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=10)


def found(result: la.Result) -> dict[tuple[object, object], float]:
    rows = result.pairs.to_pylist()
    out = {(row["left"], row["right"]): row["similarity"] for row in rows}
    assert len(out) == len(rows)
    return out


def transposed(lists: list[list[int]]) -> dict[int, list[int]]:
    return {item: [i for i, one in enumerate(lists) for x in one if x == item] for one in lists for item in one}


def occurrences(items: list[int]) -> set[tuple[int, int]]:
    """A bag as a set: the i-th copy of an item is its own element."""
    return {(item, i) for item, times in Counter(items).items() for i in range(times)}


@pytest.mark.promise("docs/how-to/baskets.md", "products are similar if the same customers have them")
@pytest.mark.parametrize("bag", [False, True])
@given(lists=families, percent=st.integers(5, 100))
@settings(max_examples=60, deadline=None)
def test_pairs_are_brute_force_both_ways(bag: bool, lists: list[list[int]], percent: int) -> None:
    sets = [occurrences(one) if bag else set(one) for one in lists]
    threshold = Fraction(percent, 100)
    assert found(la.baskets.pairs(lists, threshold=percent / 100, bag=bag)) == join(sets, "jaccard", threshold)
    items = transposed(lists)
    names, dual = list(items), [occurrences(one) if bag else set(one) for one in items.values()]
    expected = {(names[i], names[j]): s for (i, j), s in join(dual, "jaccard", threshold).items()}
    assert found(la.baskets.pairs(lists, threshold=percent / 100, bag=bag, dual=True)) == expected


def zipf(count: int, seed: int) -> list[list[int]]:
    draw = random.Random(seed)
    weights = [1 / (i + 1) for i in range(60)]
    return [list(dict.fromkeys(draw.choices(range(60), weights, k=draw.randint(1, 9)))) for _ in range(count)]


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_and_way(measure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "SMALL_JOIN", 0.0)
    lists = zipf(300, seed=2)
    threshold = 2 if measure == "overlap" else 0.3
    expected = join([set(one) for one in lists], measure, Fraction(str(threshold)))
    made = la.baskets.pairs(lists, measure=measure, threshold=threshold)
    assert made.receipt["choice"]["way"] == "counting"
    assert found(made) == expected
    assert found(la.baskets.pairs(lists, measure=measure, threshold=threshold, method="dcm")) == expected


def test_shared_items_instead_of_a_threshold() -> None:
    lists = zipf(100, seed=3)
    assert found(la.baskets.pairs(lists, min_shared=3)) == join([set(one) for one in lists], "overlap", Fraction(3))


def test_two_collections() -> None:
    left, right = {"a": ["x", "y"], "b": ["z"]}, {"c": ["y", "x"], "d": ["w"]}
    assert found(la.baskets.pairs(left, against=right)) == {("a", "c"): 1.0}
    assert found(la.baskets.pairs(left, against=right, dual=True)) == {}
    kept = la.baskets.dedup(left, against=right)
    assert kept.kept.to_pylist() == [{"basket": "b", "items": ["z"]}]


def test_banding_measures_its_recall() -> None:
    lists = [[i, i + 1, i + 2, i + 3] for i in range(50) for _ in range(2)] + [[1000 + i] for i in range(20)]
    receipt = la.baskets.pairs(lists, threshold=0.5, method="lsh").receipt
    assert receipt["recall_measured"]["sampled"] > 0
    assert receipt["items"] == "baskets"


def test_the_receipt_speaks_of_baskets() -> None:
    table = pa.table({"customer": ["a", "a", "b"], "product": ["x", "y", "x"]})
    made = la.baskets.pairs(table)
    assert made.receipt["counts"]["baskets"] == 2
    assert made.receipt["counts"]["entries"] == 3
    reported = made.receipt["inputs"][0]
    assert reported.pop("rule")["dual"] is False
    assert reported == {
        "name": "the table", "form": "two columns", "set": "customer", "item": "product", "rows": 2, "origin": None,
    }  # fmt: skip
    assert made.receipt["compared"] == "jaccard at least 0.2 on sets of 'product'"
    assert la.baskets.pairs(table, dual=True).receipt["counts"]["items"] == 2


def test_groups_and_dedup() -> None:
    lists = [["a", "b"], ["a", "b", "c"], ["b", "c"], ["z"]]
    assert la.baskets.groups(lists, threshold=0.6).groups["id"].to_pylist() == [0, 1, 2]
    made = la.baskets.dedup(lists, threshold=0.6, keep="longest")
    assert made.removed["id"].to_pylist() == [0, 2]
    assert made.kept["basket"].to_pylist() == [1, 3]


def test_dedup_keeps_all_rows_of_a_basket() -> None:
    table = pa.table({"who": list("aabbc"), "what": list("xyxyz"), "when": [1, 2, 3, 4, 5]})
    kept = la.baskets.dedup(table, set="who", item="what", threshold=0.9).kept
    assert kept.to_pylist() == [row for row in table.to_pylist() if row["who"] != "b"]


def test_keep_by_a_column_where_a_row_is_a_basket() -> None:
    table = pa.table({"id": ["a", "b"], "items": [[1, 2], [1, 2]], "spent": [5, 9]})
    assert la.baskets.dedup(table, keep="max:spent").kept["id"].to_pylist() == ["b"]
    long = pa.table({"who": ["a"], "what": ["x"], "spent": [5]})
    with pytest.raises(UsageError, match=r"^keep by the column 'spent' needs one row for each basket;"):
        la.baskets.dedup(long, set="who", item="what", keep="max:spent")


def test_groups_of_items_find_likeness_without_a_shared_item() -> None:
    """Pepsi and cola are bought by the same people; ann and bob share nothing but the kind of drink."""
    lists = {f"x{i}": ["pepsi", "cola", f"other{i}"] for i in range(4)} | {"ann": ["pepsi"], "bob": ["cola"]}
    assert ("ann", "bob") not in found(la.baskets.pairs(lists, threshold=0.5))
    made = la.baskets.pairs(lists, threshold=0.5, via_groups=True)
    assert found(made)[("ann", "bob")] == 1.0
    assert made.receipt["counts"]["items"] == 6
    assert made.receipt["counts"]["item_groups"] == 5
    assert made.receipt["compared"] == "jaccard at least 0.5 on sets of 'items', grouped at 0.5"
    apart = la.baskets.pairs(lists, threshold=0.5, via_groups=True, group_threshold=0.9)
    assert ("ann", "bob") not in found(apart)


@pytest.mark.promise("docs/how-to/baskets.md", "then compares customers by the groups they bought from")
@given(lists=families, tenths=st.integers(1, 10), near=st.integers(1, 10))
@settings(max_examples=40, deadline=None)
def test_through_groups_is_brute_force(lists: list[list[int]], tenths: int, near: int) -> None:
    items = transposed(lists)
    names, sets = list(items), [set(one) for one in items.values()]
    # The most common items are kept first; copies of a set stay together.
    order = sorted(range(len(names)), key=lambda i: (-len(items[names[i]]), i))
    to = stars_of_sets(sets, join(sets, "jaccard", Fraction(near, 10)), order)
    group = {names[i]: names[to[i][0]] for i in range(len(names))}
    expected = join([{group[item] for item in one} for one in lists], "jaccard", Fraction(tenths, 10))
    made = la.baskets.pairs(lists, threshold=tenths / 10, via_groups=True, group_threshold=near / 10)
    assert found(made) == expected


@pytest.mark.promise("docs/how-to/baskets.md", "customers match who bought from at least that many of the same groups")
@given(lists=families, shared=st.integers(1, 3), near=st.integers(1, 10))
@settings(max_examples=40, deadline=None)
def test_shared_groups_are_counted(lists: list[list[int]], shared: int, near: int) -> None:
    items = transposed(lists)
    names, sets = list(items), [set(owners) for owners in items.values()]
    order = sorted(range(len(names)), key=lambda i: (-len(items[names[i]]), i))
    to = stars_of_sets(sets, join(sets, "jaccard", Fraction(near, 10)), order)
    group = {names[i]: names[to[i][0]] for i in range(len(names))}
    expected = join([{group[item] for item in basket} for basket in lists], "overlap", Fraction(shared))
    made = la.baskets.pairs(lists, min_shared=shared, via_groups=True, group_threshold=near / 10)
    assert found(made) == expected
    assert made.receipt["compared"] == f"at least {shared} shared groups of 'items', grouped at {near / 10:g}"


def test_groups_for_a_count_have_a_usual_threshold() -> None:
    lists = {"ann": ["pepsi", "tea"], "bob": ["cola", "tea"], "cy": ["pepsi", "cola"]}
    made = la.baskets.pairs(lists, min_shared=2, via_groups=True)
    assert made.receipt["compared"] == "at least 2 shared groups of 'items', grouped at 0.2"


def test_cliques_are_groups_of_mutually_similar_items() -> None:
    """The hub y is similar to x and to z, which have nothing in common."""
    lists = {"x": [1, 2], "y": [1, 2, 3, 4], "z": [3, 4]}
    chained = la.baskets.groups(lists, threshold=0.5).groups
    assert chained["id"].to_pylist() == ["x", "y", "z"]
    mutual = la.baskets.groups(lists, threshold=0.5, grouping="cliques")
    assert mutual.groups.select(["id", "representative"]).to_pylist() == [
        {"id": "x", "representative": "x"},
        {"id": "y", "representative": "x"},
    ]
    assert mutual.receipt["grouping"] == "cliques"


def suggested(
    lists: list[list[int]], who: int, measure: str, most: int, least: float
) -> list[tuple[int, float, list[int]]]:
    mine = set(lists[who])
    near = []
    for i, one in enumerate(lists):
        shared = len(mine & set(one))
        if i != who and shared:
            near.append((-similarity(measure, shared, len(mine), len(set(one))), i))
    near = [(s, i) for s, i in sorted(near)[:most] if -s >= least]
    scores: dict[int, float] = {}
    by: dict[int, list[int]] = {}
    for s, i in near:
        for item in set(lists[i]) - mine:
            scores[item] = scores.get(item, 0.0) - s
            by.setdefault(item, []).append(i)
    total = -sum(s for s, _ in near) or 1.0
    return sorted(
        ((item, round(score / total, 9), by[item]) for item, score in scores.items()), key=lambda r: (-r[1], -len(r[2]))
    )


@given(lists=families.filter(bool), data=st.data())
@settings(max_examples=60, deadline=None)
def test_suggestions_are_what_they_say(lists: list[list[int]], data: st.DataObject) -> None:
    who, most = data.draw(st.integers(0, len(lists) - 1)), data.draw(st.integers(1, 5))
    measure, least = (
        data.draw(st.sampled_from(["jaccard", "containment", "cosine"])),
        data.draw(st.sampled_from([0.0, 0.5])),
    )
    made = la.baskets.suggest(lists, who, top=100, neighbours=most, measure=measure, threshold=least)
    rows = [(row["item"], round(row["score"], 9), row["by"]) for row in made.items.to_pylist()]
    expected = suggested(lists, who, measure, most, least)
    assert sorted(rows) == sorted(expected)
    assert [row[1] for row in rows] == [row[1] for row in expected]
    assert made.items["count"].to_pylist() == [len(row[2]) for row in rows]


def test_suggestions_in_bags_and_through_groups() -> None:
    lists = {"a": ["x", "x", "x", "y"], "b": ["x", "x", "x", "z"], "c": ["x", "w", "w", "w"]}
    near = la.baskets.suggest(lists, "a", bag=True).neighbours
    assert near["id"].to_pylist() == ["b", "c"]
    assert near["similarity"].to_pylist() == [3 / 5, 1 / 7]
    drinks = {f"x{i}": ["pepsi", "cola", f"other{i}"] for i in range(4)} | {"ann": ["pepsi"], "bob": ["cola"]}
    assert la.baskets.suggest(drinks, "ann", neighbours=1, threshold=0.5).items.num_rows == 0
    through = la.baskets.suggest(drinks, "ann", via_groups=True, neighbours=1, threshold=0.5, group_threshold=0.5)
    assert through.items["item"].to_pylist() == ["cola"]
    assert repr(through) == "<Suggestions for ann: 1 item from 1 neighbour>"


def test_whom_nobody_knows() -> None:
    with pytest.raises(InputError, match=r"^no basket 'an' in the dict\. Nearest: 'ann'\.$"):
        la.baskets.suggest({"ann": ["x"]}, "an")
    with pytest.raises(UsageError, match=r"^top is 0 and neighbours 20; expected at least 1 of each\.$"):
        la.baskets.suggest({"ann": ["x"]}, "ann", top=0)
    assert la.baskets.suggest({"ann": ["x"], "bob": ["y"]}, "ann").items.num_rows == 0


def test_a_number_may_be_given_as_text() -> None:
    assert la.baskets.suggest([[1, 2], [1, 2, 3]], "0").items["item"].to_pylist() == [3]
