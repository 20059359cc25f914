"""Blocking by equal values compares every pair that shares one, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import ColumnNotFound, TooManyPairs, UsageError
from lookalike.kinds.records.rules import FieldRule, RecordRules

COLUMNS = ("name", "address", "phone")
RULES = RecordRules(
    fields=tuple(FieldRule(column=name, compare="exact", weight=1.0) for name in COLUMNS),
    whole=0.0,
    rivals=False,
    threshold=0.2,
)
values = st.sampled_from(["ann", "ann lee", "4 mill st", "555", None])
rows = st.lists(st.tuples(values, values, values), min_size=1, max_size=14)


def table(given: Sequence[Sequence[str | None]]) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in given], pa.string()) for i, name in enumerate(COLUMNS)})


def share(left: Sequence[Any], right: Sequence[Any], wanted: Sequence[int]) -> bool:
    return any(left[i] is not None and left[i] == right[i] for i in wanted)


def found(result: la.Result) -> set[tuple[int, int]]:
    return set(zip(result.pairs["left"].to_pylist(), result.pairs["right"].to_pylist(), strict=True))


@pytest.mark.promise(
    "docs/how-to/records.md", "compares every pair of records that share a value of one of these columns"
)
@given(given=rows, wanted=st.lists(st.sampled_from(range(3)), min_size=1, unique=True))
@settings(max_examples=60, deadline=None)
def test_pairs_that_share_a_value_are_compared(given: list[Any], wanted: list[int]) -> None:
    """The score of a pair is the share of its known fields that agree, so that all candidates are in the answer."""
    options: Any = {"settings": RULES, "blocking": "exact:" + ",".join(COLUMNS[i] for i in wanted), "audit": 0}
    made = la.records.pairs(table(given), **options)
    assert found(made) == {(i, j) for i, j in combinations(range(len(given)), 2) if share(given[i], given[j], wanted)}
    cut = len(given) // 2
    if cut:
        cross = la.records.pairs(table(given[:cut]), against=table(given[cut:]), **options)
        between = product(range(cut), range(len(given) - cut))
        assert found(cross) == {(i, j) for i, j in between if share(given[i], given[cut + j], wanted)}


@pytest.mark.promise("docs/how-to/records.md", "in which all pairs of records are compared")
def test_full_blocks_and_neighbours_drop_nothing() -> None:
    """500 records with one of two names: keys would propose a few of the 62,250 pairs, blocking compares all."""
    given = [(f"name{i % 2}", f"{i} street", None) for i in range(500)]
    made = la.records.pairs(table(given), settings=RULES, blocking="exact:name", audit=0)
    assert made.receipt["counts"]["candidates"] == 2 * (250 * 249 // 2)
    assert made.pairs.num_rows == 2 * (250 * 249 // 2)
    assert made.receipt["choice"]["why"] == "every pair of records that share a value of name is compared"


def test_too_many_pairs_are_refused_before_the_work() -> None:
    given = [("ann" if i else "bob", f"{i} street", None) for i in range(101)]
    with pytest.raises(TooManyPairs, match=r"compares 4,950 pairs, .* The largest block, name 'ann', has 100 records"):
        la.records.pairs(table(given), blocking="exact:name,address", max_pairs=1000, fields=["name", "address"])


def test_bad_blocking() -> None:
    people = table([("ann", "4 mill st", "555"), ("bob", "5 mill st", "556")])
    with pytest.raises(ColumnNotFound, match=r"no column 'nam' in .*\. Nearest: 'name'\."):
        la.records.pairs(people, blocking="exact:nam")
    constant = people.set_column(0, "name", [["ann", "ann"]])
    with pytest.raises(ColumnNotFound, match=r"by default without columns that are .* always the same; `fields` names"):
        la.records.pairs(constant, blocking="exact:name")
    for text in ("name", "exact:", "exact:name,,phone"):
        with pytest.raises(UsageError, match="expected exact: and columns, such as exact:name,phone"):
            la.records.pairs(people, blocking=text)
    with pytest.raises(UsageError, match="blocking by exact values runs on one machine"):
        la.records.pairs(people, blocking="exact:name", engine="spark")
