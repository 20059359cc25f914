"""Records on Spark: the pairs, scores and recall of the local engine, to the last bit."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import ColumnNotFound, InputError, TooManyPairs, UsageError
from lookalike.kinds.records import audit as local_audit
from lookalike.kinds.records import search
from lookalike.kinds.records.rules import FieldRule, RecordRules
from lookalike.kinds.records.spark import audit as record_audit
from lookalike.kinds.records.spark import competitors, scoring
from lookalike.kinds.records.spark import run as record_run
from lookalike.runtime.spark import lineage

pytestmark = pytest.mark.xdist_group("spark")
GIVEN = ("ann", "bob", "cy", "dora", "eve", "fay", "gus", "hal", "ida", "jon", "kay", "leo", "mia", "ned", "ola")
FAMILY = ("lee", "ray", "stone", "wood", "hill", "brook", "field", "marsh", "ford", "banks")
RULES = RecordRules(
    fields=(
        FieldRule(column="name", weight=2.0, keys=("value", "words", "joined", "sounds")),
        FieldRule(column="phone", compare="code", weight=1.5),
        FieldRule(column="born", compare="date", weight=1.0),
        FieldRule(column="pay", compare="number", weight=0.5, keys=()),
        FieldRule(column="town", weight=0.7),
        FieldRule(column="(codes)", compare="codes", weight=0.5, keys=("words",), sources=("name", "phone")),
    ),
    whole=0.4,
    rivals=False,
    threshold=0.6,
)


def people(count: int = 140, seed: int = 1) -> pa.Table:
    """Persons, many of them twice with a slip, some as they were, one empty."""
    draw = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for _ in range(count):
        fresh = {
            "name": f"{draw.choice(GIVEN)} {draw.choice(GIVEN)} {draw.choice(FAMILY)}".title(),
            "phone": f"555-{draw.randrange(10_000):04}",
            "born": f"19{draw.randrange(40, 99)}-0{draw.randrange(1, 9)}-1{draw.randrange(9)}",
            "pay": draw.choice([None, float(draw.randrange(1000, 9000)), 1500.5]),
            "town": draw.choice(["York", "York", "Leeds", "Hull", None]),
        }
        old = dict(draw.choice(rows)) if rows else fresh
        name = list(old["name"])
        name[draw.randrange(len(name))] = draw.choice("aeiou")
        slip = {**old, "name": "".join(name), draw.choice(["phone", "born", "town"]): None}
        rows.append(draw.choice([fresh, fresh, slip, slip, old]))
    rows[7] = dict.fromkeys(rows[7])
    return pa.Table.from_pylist([{"rec_id": f"r{n:03}", **row} for n, row in enumerate(rows)])


def rows(table: Any) -> list[Any]:
    """Of an Arrow table or of a DataFrame, in any order."""
    found = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    return sorted((list(row.items()) for row in found), key=repr)


def in_two(source: pa.Table) -> tuple[pa.Table, dict[str, Any]]:
    """A table, and the options that compare it with the rest."""
    return source.slice(0, 80), {"against": source.slice(80)}


CASES: dict[str, tuple[bool, dict[str, Any]]] = {
    "one table": (False, {"settings": RULES, "neighbours": 2}),
    "rivals": (True, {"settings": replace(RULES, rivals=True)}),
    "one to one": (True, {"settings": replace(RULES, rivals=True), "one_to_one": True, "audit": 0}),
    "evidence": (False, {"weights": "em", "audit": 0}),
}


@pytest.mark.promise("docs/how-to/spark-kinds.md", "and the audit are those of one machine")
@pytest.mark.parametrize("case", CASES)
def test_pairs_scores_and_what_each_field_adds(spark: Any, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "FREQUENT", 0.1)  # some words travel with the score, others with the records
    several, asked = CASES[case]
    source, other = in_two(people()) if several else (people(), {})
    here = la.records.pairs(source, **other, **asked)
    there = la.records.pairs(source, engine="spark", **other, **asked)
    assert len(here.pairs) > 15
    assert len(here.pairs["similarity"].unique()) > 8
    assert rows(there.pairs) == rows(here.pairs)
    assert there.pairs.columns == here.pairs.column_names
    assert there.job.rules == here.job.rules
    assert there.audit == here.found.audit


def test_crowded_keys_are_crossed_and_recall_is_measured_among_those_near(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (record_run, search):
        monkeypatch.setattr(module, "MAX_BLOCK_SIZE", 6)
    monkeypatch.setattr(local_audit, "MAX_AUDITED_PAIRS", 1500)
    for audit in (local_audit, record_audit):
        monkeypatch.setattr(audit, "AUDITED_NEIGHBOURS", 5)
    asked: Any = {"settings": RULES, "neighbours": 1}
    here, there = la.records.pairs(people(), **asked), la.records.pairs(people(), engine="spark", **asked)
    assert here.receipt["counts"]["crowded_buckets"] > 3
    assert rows(there.pairs) == rows(here.pairs)
    reported = here.receipt["recall_measured"]
    assert 0 < reported["recall"] < 1
    assert reported["among"].startswith("the ")
    assert there.receipt["recall_measured"] == reported
    assert there.receipt["counts"]["candidates"] == here.receipt["counts"]["candidates"]


def test_records_that_hang_together_in_their_thousands(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(competitors, "MOST_TIED", 2)
    pairs = spark.createDataFrame([(0, 1, 0.9), (0, 3, 0.8), (2, 3, 0.7)], "one long, two long, similarity double")
    with pytest.raises(TooManyPairs, match=r"3 matching pairs hang together, more than the 2 .* Raise the threshold"):
        competitors.assigned(pairs, 0.5, lineage.LineageCutter())


def test_learned_rules_and_rows_that_go(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    rules = la.records.pairs(path, audit=0).job.rules
    here = la.records.dedup(path, keep="longest", audit=0)
    there = la.records.dedup(path, keep="longest", engine="spark", audit=0)
    assert there.job.rules == rules
    assert len(here.removed) > 20
    assert rows(there.removed) == rows(here.removed)
    assert rows(there.kept) == rows(here.kept)
    receipt = there.receipt
    assert receipt["choice"]["method"] == "keys"
    assert receipt["recall_at_threshold"] is receipt["recall_measured"] is None
    assert receipt["counts"]["records"] == receipt["counts"]["sampled"] == 140
    assert receipt["counts"]["empty"] == 1
    assert receipt["inputs"] == here.receipt["inputs"]


def test_values_that_are_not_utf_8(spark: Any, tmp_path: Path) -> None:
    table = people(40)
    town = pa.array([None if v is None else v.encode() + b"\xff" for v in table["town"].to_pylist()], pa.binary())
    source = table.set_column(table.column_names.index("town"), "town", town)
    with pytest.raises(Exception, match=r"column 'town': text is not valid UTF-8"):
        la.records.pairs(source, engine="spark", settings=RULES, audit=0).pairs.collect()
    here = la.records.pairs(source, settings=RULES, audit=0, on_bad_text="skip")
    there = la.records.pairs(source, engine="spark", settings=RULES, audit=0, on_bad_text="skip")
    assert rows(there.pairs) == rows(here.pairs)
    assert set(here.pairs["town"].to_pylist()) == {None}
    wide = tmp_path / "wide.csv"
    wide.write_bytes("id,name\n1,Ann\n".encode("utf-16"))
    with pytest.raises(InputError, match=r"is in UTF-16; expected UTF-8\. Convert the file"):
        la.records.pairs(str(wide), engine="spark")


def test_the_sample_is_bounded_and_does_not_depend_on_parts(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_run, "SAMPLED_RECORDS", 60)
    frame = spark.createDataFrame(people())
    one = la.records.groups(frame, engine="spark")
    other = la.records.groups(frame.repartition(5, "phone"), engine="spark")
    assert one.run.trace.counts["sampled"] == 60
    assert one.job.rules == other.job.rules


def test_what_spark_does_not_take(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InputError, match=r"empty\.csv is empty; expected a header line\.$"):
        la.records.pairs(tmp_path / "empty.csv", engine="spark")
    source = people(20)
    with pytest.raises(UsageError, match="one-to-one is between two tables; give the other one with `against`"):
        la.records.pairs(source, one_to_one=True, engine="spark")
    with pytest.raises(UsageError, match="threads is for one machine"):
        la.records.pairs(source, threads=2, engine="spark")
    with pytest.raises(UsageError, match="threshold is 7"):
        la.records.pairs(source, threshold=7, engine="spark")
    with pytest.raises(ColumnNotFound, match="'nam'"):
        la.records.pairs(source, fields=["nam"], engine="spark")
    nameless = spark.createDataFrame(pa.table({"name": ["a", "b"], "of": [["x"], ["y"]]}))
    with pytest.raises(UsageError, match=r"the DataFrame has no column of ids, .* give `id=COLUMN`"):
        la.records.pairs(nameless, engine="spark")
    with pytest.raises(InputError, match=r"column 'of' in the DataFrame is list<.*>; expected text, numbers or dates"):
        la.records.pairs(nameless, id="name", fields=["of"], engine="spark")
    with pytest.raises(InputError, match="the tables have no column in common"):
        la.records.pairs(nameless, against=nameless, id="name", engine="spark")
