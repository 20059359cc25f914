"""Which of several look-alikes is kept."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.keep_policy import preference, preferred_column
from lookalike.errors import UsageError


def ranked(policy: str, values: list[Any] | pa.Array, lengths: list[int] | None = None) -> list[int]:
    column = pa.chunked_array([values if isinstance(values, pa.Array) else pa.array(values)])
    return [int(item) for item in preference(policy, np.array(lengths or [1] * len(column)), {"c": column})]


@pytest.mark.promise("docs/tutorial/first-steps.md", "Ties are broken by input order")
@given(lengths=st.lists(st.integers(0, 4), max_size=8))
@settings(max_examples=60, deadline=None)
def test_policies_without_a_column(lengths: list[int]) -> None:
    places, array = range(len(lengths)), np.array(lengths, np.int64)
    assert preference("first", array, {}).tolist() == list(places)
    assert preference("last", array, {}).tolist() == list(reversed(places))
    assert preference("longest", array, {}).tolist() == sorted(places, key=lambda i: (-lengths[i], i))
    assert preference("shortest", array, {}).tolist() == sorted(places, key=lambda i: (lengths[i], i))


@given(values=st.lists(st.none() | st.integers(-3, 3), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_policies_with_a_number(values: list[int | None]) -> None:
    column = pa.array(values, pa.int64())
    expected = sorted(range(len(values)), key=lambda i: (values[i] is None, -(values[i] or 0), i))
    assert ranked("max:c", column) == expected
    expected = sorted(range(len(values)), key=lambda i: (values[i] is None, values[i] or 0, i))
    assert ranked("min:c", column) == expected


@given(values=st.lists(st.none() | st.sampled_from(["a", "b", "x", "y"]), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_priority(values: list[str | None]) -> None:
    order = ["b", "a"]
    place = [order.index(value) if value in order else 2 for value in values]
    assert ranked("priority:c=b,a", pa.array(values, pa.string())) == sorted(range(len(values)), key=lambda i: place[i])


def test_priority_of_numbers_and_orders_of_strings_and_dates() -> None:
    assert ranked("priority:c=3,1", [1, 2, 3]) == [2, 0, 1]
    assert ranked("min:c", ["pear", "apple", None]) == [1, 0, 2]
    assert ranked("max:c", pa.array([1, 3, 2], pa.timestamp("s"))) == [1, 2, 0]


def test_the_column_that_a_policy_looks_at() -> None:
    assert [preferred_column(policy) for policy in ("first", "last", "longest", "shortest")] == [None] * 4
    assert [preferred_column(policy) for policy in ("max:a", "min:b c", "priority:d=x,y")] == ["a", "b c", "d"]


@pytest.mark.parametrize(
    "policy", ["newest", "first:c", "max", "max:", "max:c=1", "priority:c", "priority:c=", "lngest"]
)
def test_policies_that_are_none(policy: str) -> None:
    hint = " Nearest: 'longest'." if policy == "lngest" else ""
    with pytest.raises(UsageError, match=re.escape(f"keep {policy!r} is unknown.{hint}")) as caught:
        preferred_column(policy)
    assert str(caught.value).endswith(
        "Choices: first, last, longest, shortest, max:COLUMN, min:COLUMN, priority:COLUMN=a,b,c."
    )


def test_a_column_without_an_order() -> None:
    with pytest.raises(
        UsageError, match=re.escape("keep 'max:c': column 'c' holds list<item: int64>, which has no order.")
    ):
        ranked("max:c", [[1], [2]])
