"""Codes as a derived field: what counts as one, how they are compared, and that every way to read a table makes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import UsageError
from lookalike.kinds.records.codes import CODE_FIELD, codes_of, columns_of, field_values
from lookalike.kinds.records.comparisons import compare
from lookalike.kinds.records.fields import make_field
from lookalike.kinds.records.rules import FieldRule
from lookalike.kinds.records.rules_file import read_settings, write_settings
from lookalike.kinds.records.schema_inference import infer_fields
from record_cases import CASES

RULE = FieldRule(column=CODE_FIELD, compare="codes", keys=("words",), sources=("title", "model"))


@pytest.mark.promise("docs/how-to/records.md", "quantities, ordinals and e-mail addresses are none")
@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Sony WH-1000XM4 headset", ["wh1000xm4", "1000xm4"]),
        ("WH1000XM4", ["wh1000xm4"]),
        ("16GB 3.5 inch 2nd 1990s 10x15 mp3", []),
        ("ann.lee99@example.com", []),
        ("order 12345, item 123", ["12345"]),
        ("", []),
    ],
)
def test_what_is_a_code(text: str, codes: list[str]) -> None:
    assert codes_of(text) == codes


@given(
    st.lists(
        st.lists(st.sampled_from(["a1b2", "c3d4", "e5f6", "g7h8"]), unique=True, max_size=4), min_size=2, max_size=8
    )
)
def test_shared_codes_against_plain_python(rows: list[list[str]]) -> None:
    column = pa.chunked_array([pa.array([" ".join(row) or None for row in rows], pa.large_string())])
    field = make_field(column, FieldRule(column="c", compare="codes"))
    n = len(rows)
    held = {code: sum(code in row for row in rows) for row in rows for code in row}
    filled = sum(bool(row) for row in rows)
    weight = {code: np.log2((filled + 1) / count) ** 2 for code, count in held.items()}
    left, right = np.repeat(np.arange(n), n).astype(np.uint32), np.tile(np.arange(n), n).astype(np.uint32)
    for a, b, seen in zip(left.tolist(), right.tolist(), compare(field, left, right).tolist(), strict=True):
        if not rows[a] or not rows[b]:
            assert np.isnan(seen)
            continue
        total = [sum(weight[code] for code in rows[x]) for x in (a, b)]
        shared = sum(weight[code] for code in set(rows[a]) & set(rows[b]))
        assert seen == pytest.approx(shared / min(total), abs=1e-5)


def test_persons_have_no_field_of_codes_and_shops_have_one() -> None:
    people = CASES["households"](np.random.default_rng(1)).tables[0]
    assert CODE_FIELD not in [rule.column for rule in infer_fields(people, people.column_names)]
    shop = CASES["model_elsewhere"](np.random.default_rng(1)).tables[1]
    rules = infer_fields(shop, shop.column_names)
    assert [(rule.column, rule.sources) for rule in rules if rule.sources] == [(CODE_FIELD, ("title", "model"))]
    assert columns_of(rules) == ["title", "model"]


@pytest.mark.promise("docs/how-to/records.md", "zero if only one column is compared")
def test_words_of_the_whole_record_do_not_count_again_where_one_column_has_codes() -> None:
    titles = [f"{name} lamp TX-{n}00" for n, name in enumerate(("red", "blue", "green", "black", "white", "grey"), 2)]
    table = pa.table({"title": [*titles, "violet lamp"], "price": [f"{n}.50" for n in range(7)]})
    one, two = (
        la.records.pairs(table.select(names), id="none", audit=0).job.rules for names in (["title"], ["title", "price"])
    )  # type: ignore[attr-defined]
    assert [rule.column for rule in one.fields] == ["title", CODE_FIELD]
    assert (one.whole, two.whole) == (0.0, 0.5)
    assert la.records.pairs(table, fields=["title"], id="none", audit=0).job.rules.whole == 0.0  # type: ignore[attr-defined]


def test_a_column_of_that_name_is_taken_as_it_is() -> None:
    table = pa.table({"title": ["red TX200", "red TX300"], CODE_FIELD: ["x", "y"]})
    assert [rule.sources for rule in infer_fields(table, table.column_names)] == [(), ()]


def test_settings_and_index_make_the_same_codes(tmp_path: Path) -> None:
    case = CASES["model_elsewhere"](np.random.default_rng(1))
    found = la.records.pairs(*case.tables[:1], against=case.tables[1], id="none", audit=0)
    write_settings(found.job.rules, tmp_path / "rules.toml")  # type: ignore[attr-defined]
    rules = read_settings(tmp_path / "rules.toml")
    assert rules == found.job.rules  # type: ignore[attr-defined]
    again = la.records.pairs(*case.tables[:1], against=case.tables[1], id="none", audit=0, settings=rules)
    assert again.pairs.equals(found.pairs)
    shop = pa.table({"title": ["Acme lamp TX-200", "Acme lamp TX-300"], "model": [None, "TX300"]})
    made = [field_values({name: shop.column(name) for name in shop.column_names}, RULE).to_pylist()]
    assert made == [["tx200", "tx300"]]


def test_only_codes_are_made_from_other_columns() -> None:
    with pytest.raises(UsageError, match="a field of codes alone"):
        FieldRule(column="x", sources=("a",))
