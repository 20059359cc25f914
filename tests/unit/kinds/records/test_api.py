"""Records from table to answer, on planted people whose truth is known."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.errors import InputError, UsageError
from lookalike.kinds.records.rules import RIVALS, FieldRule, RecordRules

NAMES = [
    a + b
    for a in ("mar", "jon", "al", "ber", "cor", "des", "el", "fran")
    for b in ("tin", "ger", "mond", "wick", "sey")
]


def people(count: int, seed: int, *, copies: int = 1) -> pa.Table:
    """People and, for the first half of them, copies with a slip in one field each; column `person` is the truth."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(count):
        row = {
            "name": f"{NAMES[rng.integers(40)]} {NAMES[rng.integers(40)]}{NAMES[rng.integers(40)]}",
            "street": f"{rng.integers(1, 99)} {NAMES[rng.integers(40)]} road",
            "phone": f"{rng.integers(10**8, 10**9)}",
            "born": f"{rng.integers(1930, 2005)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
            "person": person,
        }
        rows.append(row)
        for copy in range(copies if person < count // 2 else 0):
            field = ("name", "street", "phone", "born")[(person + copy) % 4]
            at = int(rng.integers(len(row[field])))
            slip = row[field][:at] + row[field][at + 1 :]
            rows.append({**row, field: slip if copy % 2 == 0 else None})
    order = rng.permutation(len(rows))
    return pa.Table.from_pylist([{"id": int(n), **rows[i]} for n, i in enumerate(order)])


def f1(pairs: pa.Table, left: pa.Table, right: pa.Table) -> float:
    a, b = left["person"].to_pylist(), right["person"].to_pylist()
    found = {(x, y) for x, y in zip(pairs["left"].to_pylist(), pairs["right"].to_pylist(), strict=True)}
    correct = sum(a[x] == b[y] for x, y in found)
    if left is right:
        true = sum(n * (n - 1) // 2 for n in np.bincount(a))
    else:
        true = int((np.bincount(a, minlength=9999) * np.bincount(b, minlength=9999)).sum())
    return 2 * correct / (len(found) + true)


FIELDS = ["name", "street", "phone", "born"]


@pytest.mark.parametrize("weights", ["learned", "em"])
def test_copies_with_slips_are_found(weights: str) -> None:
    table = people(400, 1, copies=2)
    made = la.records.pairs(table, fields=FIELDS, weights=weights)
    assert f1(made.pairs, table, table) > 0.98
    audit = made.receipt["recall_measured"]
    assert audit["true_pairs"] > 100
    assert audit["recall"] > 0.98
    assert made.receipt["recall_at_threshold"] is None


def test_what_the_fields_add_is_the_similarity() -> None:
    table = people(200, 2)
    for against in (None, table):
        made = la.records.pairs(table, against=against, fields=FIELDS, weights="learned").pairs
        assert made.num_rows > 50
        parts = [np.nan_to_num(made[name].to_numpy()) for name in made.column_names[3:]]
        assert np.allclose(np.sum(parts, axis=0), made["similarity"].to_numpy(), atol=1e-5)
        assert (RIVALS in made.column_names) == (against is not None)


def test_between_two_tables() -> None:
    whole = people(300, 3)
    half = np.arange(whole.num_rows) % 2 == 0
    left, right = whole.filter(pa.array(half)), whole.filter(pa.array(~half))
    for table in (left, right):
        assert table.num_rows > 200
    plain = la.records.pairs(left.drop_columns("id"), against=right.drop_columns("id"), fields=FIELDS)
    assert f1(plain.pairs, left, right) > 0.95
    single = la.records.pairs(left.drop_columns("id"), against=right.drop_columns("id"), fields=FIELDS, one_to_one=True)
    assert f1(single.pairs, left, right) > 0.95
    for side in ("left", "right"):
        ids = single.pairs[side].to_pylist()
        assert len(set(ids)) == len(ids)


def test_groups_do_not_chain() -> None:
    words = [f"{one}{two}{one}{two}" for one, two in zip("abcdefghijklm", "nopqrstuvwxyz", strict=True)]
    chain = [" ".join(words[at : at + 7]) for at in (0, 2, 4, 6)]
    table = pa.table({"name": chain + [f"other{n} thing" for n in range(20)]})
    made = la.records.groups(table, threshold=0.4)
    pairs = {tuple(row.values())[:2] for row in made.pairs.to_pylist()}
    assert {(0, 1), (1, 2), (2, 3)} <= pairs
    assert (0, 3) not in pairs
    for row in made.groups.to_pylist():
        pair = tuple(sorted((row["id"], row["representative"])))
        assert pair[0] == pair[1] or pair in pairs
    chained = la.records.groups(table, threshold=0.4, grouping="components").groups
    assert chained["id"].to_pylist() == [0, 1, 2, 3]


def test_equal_records_are_all_found() -> None:
    rows = ["ann lee york", "bob ray leeds"] * 40 + [f"x{n} y{n}" for n in range(30)]
    made = la.records.pairs(pa.table({"name": rows}), threshold=0.9)
    assert made.pairs.num_rows == 2 * (40 * 39 // 2)
    assert la.records.dedup(pa.table({"name": rows}), threshold=0.9).kept.num_rows == 32


def test_large_groups_are_found_whole() -> None:
    """A record proposes ten others; friends of friends bring the rest."""
    table = people(120, 8, copies=24)
    made = la.records.pairs(table, fields=FIELDS, audit=0)
    assert f1(made.pairs, table, table) > 0.95


def test_two_tables_with_copies_in_them_are_not_taken_for_clean_ones() -> None:
    whole = people(300, 9, copies=5)
    half = np.arange(whole.num_rows) % 2 == 0
    left, right = (whole.filter(pa.array(side)).drop_columns("id") for side in (half, ~half))
    made = la.records.pairs(left, against=right, fields=FIELDS, audit=0)
    assert not made.job.rules.rivals
    assert f1(made.pairs, left, right) > 0.95


def test_rivals_that_the_settings_name_count_and_no_others() -> None:
    left = pa.table({"name": ["ann lee york", "bob ray hull"], "born": ["1990-01-02", "1980-05-06"]})
    right = pa.table(
        {"name": ["ann lee york", "ann lee yorke", "bob ray hull"], "born": ["1990-01-02", None, "1980-05-06"]}
    )
    rules = RecordRules(
        fields=(FieldRule(column="name", weight=1.0), FieldRule(column="born", weight=1.0)), threshold=0.3
    )
    found = {
        rivals: la.records.pairs(left, against=right, settings=replace(rules, rivals=rivals), audit=0).pairs.num_rows
        for rivals in (True, False, "left", "right")
    }
    assert found[False] == found["right"] == 3
    assert found["left"] == 2
    with pytest.raises(UsageError, match='rivals is \'top\'; expected true, false, "left", "right" or "each"'):
        replace(rules, rivals="top")


@pytest.mark.promise("docs/how-to/records.md", "the summary says so")
@pytest.mark.promise(
    "docs/how-to/records.md", "is compared with all other records as long as that is at most a million"
)
def test_large_tables_are_audited_among_the_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    from lookalike.kinds.records import audit as record_audit

    table = people(400, 1, copies=2)
    exact = la.records.pairs(table, fields=FIELDS, audit=2001).receipt["recall_measured"]
    assert "among" not in exact
    assert exact["interval_95"] == [exact["recall"], exact["recall"]]
    assert record_audit.sample_size(2001, 1000, 0) == (1000, True)
    assert record_audit.sample_size(2001, 1001, 0) == (1001, False)
    monkeypatch.setattr(record_audit, "FREE_AUDITED_PAIRS", 40_000)
    made = la.records.pairs(table, fields=FIELDS).receipt["recall_measured"]
    assert made["among"].startswith("the 100 others")
    assert made["sampled"] in range(400, 540)
    assert made["recall"] > 0.98


@pytest.mark.promise("docs/explanation/curves.md", "compares at most a tenth as many pairs as the run")
def test_the_audit_compares_a_tenth_of_the_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    from lookalike.kinds.records import audit as record_audit
    from lookalike.kinds.records.search import Search

    compared = 0

    def count(self: Search, rules: Any, left: Any, right: Any, threshold: float) -> Any:
        nonlocal compared
        compared += len(left)
        return reaches(self, rules, left, right, threshold)

    reaches = Search.reaches
    monkeypatch.setattr(Search, "reaches", count)
    monkeypatch.setattr(record_audit, "FREE_AUDITED_PAIRS", 0)
    monkeypatch.setattr(record_audit, "AUDITED_NEIGHBOURS", 10)
    result = la.records.pairs(people(1500, 1, copies=2), fields=FIELDS)
    assert result.receipt["recall_measured"]["true_pairs"] > 20
    # A third more records may be drawn from those without partners, and a few from every stratum.
    assert 100 < compared <= 1.5 * result.receipt["counts"]["candidates"] / 10


def test_pairs_that_cannot_reach_the_threshold_are_dropped_early() -> None:
    """As a comparison of all fields says, for thresholds that most pairs reach, and that few do."""
    import lookalike.kinds.records.local as local
    from lookalike.core.trace import Trace
    from lookalike.kinds.records.source import open_records

    table = people(60, 3, copies=2)
    made = local.searched([open_records(table)], {"audit": 0}, Trace(), fields=FIELDS)
    search, rules = made.search, made.job.rules
    left, right = (side.astype(np.uint32) for side in np.triu_indices(search.table.records, 1))
    _, score = search.rate(rules, left, right)
    for threshold in (0.05, 0.2, 0.5, 0.9):
        assert np.array_equal(search.reaches(rules, left, right, threshold), score >= np.float32(threshold))


def test_settings_give_the_same_answer_again(tmp_path: Path) -> None:
    from lookalike.kinds.records.rules_file import write_settings

    table = people(200, 5)
    first = la.records.pairs(table, fields=FIELDS)
    write_settings(first.job.rules, tmp_path / "rules.toml")
    again = la.records.pairs(table, settings=tmp_path / "rules.toml")
    assert again.pairs.select(["left", "right"]) == first.pairs.select(["left", "right"])


def test_explain_agrees_with_the_pairs() -> None:
    table = people(200, 6)
    made = la.records.pairs(table, fields=FIELDS)
    row = made.pairs.to_pylist()[0]
    reported = la.records.explain(table, row["left"], row["right"], fields=FIELDS)
    assert np.isclose(reported.similarity, row["similarity"], atol=1e-3)
    assert {name: adds for name, _, _, adds in reported.rows} == pytest.approx(
        {name: row[name] for name in made.pairs.column_names[3:]}, abs=1e-3
    )
    with pytest.raises(InputError, match="no record has the id 'nobody'"):
        la.records.explain(table, "nobody", 1, fields=FIELDS)


def test_rethreshold() -> None:
    table = people(200, 7)
    made = la.records.pairs(table, fields=FIELDS, threshold=0.5)
    stricter = made.rethreshold(0.8)
    assert 0 < stricter.pairs.num_rows < made.pairs.num_rows
    assert min(stricter.pairs["similarity"].to_pylist()) >= 0.8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"one_to_one": True}, "between two tables"),
        ({"threshold": 1.5}, "at most 1"),
        ({"threads": 0}, "at least 1"),
        ({"weights": "ems"}, "Nearest: 'em'"),
        ({"neighbours": 0}, "at least 1"),
        ({"fields": ["name"], "settings": RecordRules(fields=(FieldRule(column="name"),))}, "do not go together"),
    ],
)
def test_options_that_cannot_work(options: dict, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        la.records.pairs(pa.table({"name": ["a", "b"]}), **options)


def test_tables_without_anything_to_compare() -> None:
    with pytest.raises(InputError, match="no column in common"):
        la.records.pairs(pa.table({"a": ["x"]}), against=pa.table({"b": ["x"]}))
    with pytest.raises(InputError, match="always the same"):
        la.records.pairs(pa.table({"a": ["x", "x"]}))
    empty = la.records.pairs(pa.table({"name": pa.array([], pa.string())}))
    assert empty.pairs.num_rows == 0
    one = la.records.groups(
        pa.table({"name": ["a"], "town": ["b"]}), settings=RecordRules(fields=(FieldRule(column="name"),))
    )
    assert one.groups.num_rows == 0


def test_numbers_and_dates_as_columns() -> None:
    from datetime import date

    table = pa.table({
        "price": [9.5, 9.5, 12.0, 80.25] * 3,
        "day": [date(2000, 1, 1), date(2000, 1, 1), date(1999, 5, 5), date(2001, 2, 3)] * 3,
        "name": ["red lamp", "lamp, red", "blue chair", "big table"] * 3,
    })  # fmt: skip
    rules = la.records.preview(table)[0]
    assert [field.compare for field in rules.fields] == ["number", "date", "words"]
    assert (0, 1) in {tuple(row.values())[:2] for row in la.records.pairs(table, threshold=0.9).pairs.to_pylist()}


def test_numbers_with_the_same_digits_differ() -> None:
    table = pa.table({"item": ["red tin cup"] * 4, "price": ["1.5", "15", "$1.50", "15"]})
    rules = RecordRules(
        fields=(FieldRule(column="item", weight=1.0), FieldRule(column="price", compare="number", weight=1.0)),
        whole=0.0, threshold=0.1,
    )  # fmt: skip
    made = la.records.pairs(table, settings=rules, audit=0).pairs
    found = {(row["left"], row["right"]): row["similarity"] for row in made.to_pylist()}
    assert found[0, 2] == found[1, 3] == 1
    assert found[0, 1] == pytest.approx(0.55)


def test_a_column_that_no_candidate_pair_has_is_no_crash() -> None:
    """Nothing is counted in integers by NumPy, which then cannot be scaled."""
    rng = random.Random(0)
    name = [f"n{rng.randrange(80)}" for _ in range(300)]
    country = ["US" if rng.random() < 0.97 else "UK" for _ in range(300)]
    sex = ["m" if rng.random() < 0.8 else "f" for _ in range(300)]
    rare = {rng.randrange(300): "x0", rng.randrange(300): "x1"}
    table = pa.table({"name": name, "country": country, "sex": sex, "rare": [rare.get(row) for row in range(300)]})
    fields = ["name", "country", "sex", "rare"]
    assert la.records.pairs(table, audit=0, fields=fields).pairs.column_names[3:7] == fields


def test_more_columns_than_can_be_compared_are_refused() -> None:
    table = pa.table({f"c{i}": ["a", "b", "c"] for i in range(300)})
    with pytest.raises(UsageError) as caught:
        la.records.pairs(table)
    assert str(caught.value) == (
        "300 columns could be compared, more than 256; select those that distinguish the records with `fields`."
    )
    assert la.records.pairs(table, fields=["c0", "c1"], audit=0).pairs.num_rows == 0


def test_ids_of_64_bits_without_a_sign_come_back() -> None:
    top = [2**64 - 1, 2**64 - 2, 5]
    table = pa.table({"id": pa.array(top, pa.uint64()), "name": ["Ann Lee", "Ann Lee", "Bob Ray"]})
    for result in (la.records.pairs(table, threshold=0.6), la.strings.pairs(table, max_edits=1), la.pairs(table)):
        assert result.pairs.select(["left", "right"]).to_pylist() == [{"left": top[0], "right": top[1]}]
