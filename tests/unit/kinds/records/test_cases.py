"""Generated tables with known answers: each difficulty has a floor of F1, with the defaults and without labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.kinds.records.column_selection import column_bits, telling_fields
from lookalike.kinds.records.fields import make_field
from lookalike.kinds.records.rules import FieldRule
from lookalike.result import Result
from record_cases import CASES, Case


def run(case: Case, **options: object) -> Result:
    against = case.tables[1] if len(case.tables) == 2 else None
    return la.records.pairs(case.tables[0], against=against, id="none", audit=0, **options)  # type: ignore[arg-type]


FLOORS = {
    "units": 0.95,
    "wide": 0.94,
    "households": 0.85,
    "few_fields": 0.96,
    "model_numbers": 0.98,
    "lists": 0.96,
    "swapped": 0.95,
    "versions": 0.95,
    "unequal": 0.97,
    "model_elsewhere": 0.92,
    "one_name": 0.6,
    "phones": 0.98,
    "firms": 0.98,
    "transliterated": 0.98,
}


@pytest.mark.promise("docs/how-to/records.md", "meets the\nsame number in the column of the other shop")
@pytest.mark.parametrize(("name", "floor"), FLOORS.items())
def test_a_table_of_this_kind_is_matched(name: str, floor: float) -> None:
    for seed in (1, 2):
        case = CASES[name](np.random.default_rng(seed))
        found = run(case)
        assert case.f1(found.pairs) >= floor, (name, seed)


@pytest.mark.promise("docs/how-to/records.md", "what is learned is learned\nfrom the same candidates")
@pytest.mark.parametrize("name", ["households", "versions", "model_numbers", "applicants"])
@given(more=st.integers(11, 60))
@settings(max_examples=3, deadline=None)
def test_more_candidates_never_lose_a_match(name: str, more: int) -> None:
    """Nothing that is learned depends on further candidates, so they can only add pairs."""
    case = CASES[name](np.random.default_rng(3))
    case = Case([table.slice(0, 500) for table in case.tables], case.who)
    few, many = (run(case, neighbours=k) for k in (10, more))
    assert many.job.threshold == few.job.threshold
    assert many.job.rules == few.job.rules  # type: ignore[attr-defined]
    sets = [set(zip(*(one.pairs[side].to_pylist() for side in ("left", "right")), strict=True)) for one in (few, many)]
    assert sets[0] <= sets[1]


@pytest.mark.promise("docs/how-to/records.md", "those with less than\n0.1 bits per record")
def test_columns_are_selected_by_what_they_tell() -> None:
    n = 1000
    columns = {
        "name": [f"name {i // 2}" for i in range(n)],
        "flag": ["yes" if i % 20 == 0 else "no" for i in range(n)],
        "constant": ["x" if i == 7 else "N/A" for i in range(n)],
        "rare": [f"value {i}" if i in (3, 5) else None for i in range(n)],
        "sparse": [f"value {i}" if i % 20 == 0 else None for i in range(n)],
    }
    fields = [
        make_field(pa.chunked_array([pa.array(values)]), FieldRule(column=name)) for name, values in columns.items()
    ]
    kept, left_out = telling_fields(fields, -1)
    assert [field.rule.column for field in kept] == ["name", "flag", "sparse"]
    assert left_out == ["constant", "rare"]
    assert column_bits(fields[0], -1) == pytest.approx(np.log2(n - 1), abs=0.01)
    table = pa.table(columns)
    made = la.records.pairs(table, audit=0, threshold=0.5)
    assert made.receipt["counts"]["uninformative_columns"] == ["constant", "rare"]
    assert (
        la.records.pairs(table, audit=0, threshold=0.5, fields=["constant", "name"]).pairs.column_names[3] == "constant"
    )


def test_a_column_that_one_table_never_fills_tells_nothing() -> None:
    values = pa.chunked_array([pa.array(["a", "b", "c", None, None, None])])
    assert column_bits(make_field(values, FieldRule(column="x")), 3) == 0.0


@pytest.mark.promise("docs/how-to/records.md", "chooses one for each table")
@pytest.mark.promise("docs/how-to/records.md", "where three or more columns have values that many rows share")
def test_the_model_is_chosen_by_evidence() -> None:
    """Fields whose values many records share show how they depend on each other; free text of two shops does not."""
    people, shops = (CASES[name](np.random.default_rng(1)) for name in ("households", "model_numbers"))
    assert run(people).job.rules.basis == "measured"  # type: ignore[attr-defined]
    assert run(shops).job.rules.prior is None  # type: ignore[attr-defined]
    assert run(people, threshold=0.7).job.rules.prior is None  # type: ignore[attr-defined]
