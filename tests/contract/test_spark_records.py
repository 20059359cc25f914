"""Records on Spark: the scores of the local engine to the last bit, of all records that share a key."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.engines import record_search
from lookalike.engines.pool import Pool
from lookalike.engines.records import searched
from lookalike.engines.spark import record_run, records
from lookalike.engines.trace import Trace
from lookalike.errors import ColumnNotFound, InputError, UsageError
from lookalike.io.records import open_records
from lookalike.measures.fields import FieldRule, RecordRules
from lookalike.stages.record_keys import index_keys

pytestmark = pytest.mark.xdist_group("spark")
Scores = dict[tuple[Any, Any], float]
GIVEN = ("ann", "bob", "cy", "dora", "eve", "fay", "gus", "hal", "ida", "jon", "kay", "leo", "mia", "ned", "ola")
FAMILY = ("lee", "ray", "stone", "wood", "hill", "brook", "field", "marsh", "ford", "banks")
RULES = RecordRules(
    fields=(
        FieldRule(column="name", weight=2.0, keys=("value", "words", "joined", "sounds")),
        FieldRule(column="phone", compare="code", weight=1.5),
        FieldRule(column="born", compare="date", weight=1.0),
        FieldRule(column="pay", compare="number", weight=0.5, keys=()),
        FieldRule(column="town", weight=0.7),
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


def scores(table: Any) -> Scores:
    """Of the pairs of an Arrow table or of a DataFrame."""
    found = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    return {(row["left"], row["right"]): row["similarity"] for row in found}


def rows(table: Any) -> list[Any]:
    """Of an Arrow table or of a DataFrame, in any order."""
    found = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    return sorted((list(row.items()) for row in found), key=repr)


@pytest.mark.parametrize("several", [False, True], ids=["one table", "two tables"])
def test_every_pair_and_score_is_that_of_one_machine(
    spark: Any, several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "FREQUENT", 0.1)  # some words travel with the score, others with the records
    source = people()
    asked: Any = {"settings": RULES}
    if several:
        source, asked["against"] = source.slice(0, 80), source.slice(80)
    here = scores(la.records.pairs(source, neighbours=1000, **asked).pairs)
    there = scores(la.records.pairs(source, engine="spark", **asked).pairs)
    assert len(here) > 50
    assert len(set(here.values())) > 20
    assert there == here


def sharing(source: pa.Table, crowd: int) -> Scores:
    """Every two records that share a key, or two crowded ones, compared by the local engine: those that match."""
    options = {"audit": 0}
    made = searched([open_records(source)], options, Trace(), rules=RULES)
    with Pool(1) as pool:
        index, crowded, _ = index_keys(made.search.fields, -1, pool.map, crowd=crowd)
    assert crowded
    met = set()
    for end, size in zip(index.ends.tolist(), index.sizes.tolist(), strict=True):
        met |= set(combinations(sorted(index.postings[end - size : end].tolist()), 2))
    left, right = (np.array(side, np.uint32) for side in zip(*sorted(met), strict=True))
    _, rated = made.search.rate(RULES, left, right)
    ids = source["rec_id"].to_pylist()
    classes = made.classes
    members = np.split(classes.members, classes.ends[:-1])
    out = {}
    for a, b, score in zip(left.tolist(), right.tolist(), rated.tolist(), strict=True):
        if np.float32(score) >= np.float32(RULES.threshold or 0):
            for one in members[a].tolist():
                for other in members[b].tolist():
                    out[ids[min(one, other)], ids[max(one, other)]] = score
    for group in members:
        out |= {(ids[a], ids[b]): 1.0 for a, b in combinations(sorted(group.tolist()), 2)}
    return out


def test_crowded_keys_are_crossed(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one machine only those pairs are not found that no key brings together: partners of a common partner."""
    crowd = 6
    for module in (record_run, record_search):
        monkeypatch.setattr(module, "CROWD", crowd)
    source = people()
    here = scores(la.records.pairs(source, settings=RULES, neighbours=1000).pairs)
    there = scores(la.records.pairs(source, engine="spark", settings=RULES).pairs)
    assert there == sharing(source, crowd)
    assert there.items() < here.items()
    joined = {one for pair in there for one in pair}
    assert all({left, right} <= joined for left, right in here.keys() - there.keys())


def test_learned_rules_and_rows_that_go(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    rules = la.records.pairs(path, audit=0).job.rules
    here = la.records.dedup(path, keep="longest", settings=rules, neighbours=1000, audit=0)
    there = la.records.dedup(path, keep="longest", engine="spark")
    assert there.job.rules == rules
    assert len(here.removed) > 20
    assert rows(there.removed) == rows(here.removed)
    assert rows(there.kept) == rows(here.kept)
    receipt = there.receipt
    assert receipt["choice"]["method"] == "keys"
    assert receipt["recall_at_threshold"] is receipt["recall_measured"] is None
    assert receipt["counts"]["records"] == receipt["counts"]["sampled"] == 140
    assert receipt["counts"]["empty"] == 1
    assert receipt["inputs"] == [{"name": str(path), "id": "rec_id", "rows": 140}]


def test_the_sample_is_bounded_and_does_not_depend_on_parts(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_run, "SAMPLE", 60)
    frame = spark.createDataFrame(people())
    one = la.records.groups(frame, engine="spark")
    other = la.records.groups(frame.repartition(5, "phone"), engine="spark")
    assert one.run.trace.counts["sampled"] == 60
    assert one.job.rules == other.job.rules


def test_what_spark_does_not_take(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    with pytest.raises(InputError, match=r"empty\.csv has no columns; expected a table with rows\.$"):
        la.records.pairs(tmp_path / "empty.csv", engine="spark")
    source, rivals = people(20), RecordRules(fields=RULES.fields, threshold=0.5)
    with pytest.raises(UsageError, match=r"one_to_one \(--one-to-one\) runs on one machine; leave it out"):
        la.records.pairs(source, against=source, one_to_one=True, engine="spark")
    with pytest.raises(UsageError, match=r"neighbours .* is for one machine; on Spark all records that share a key"):
        la.records.pairs(source, neighbours=3, engine="spark")
    with pytest.raises(UsageError, match="rivals between two tables are looked at on one machine; on Spark set rivals"):
        la.records.pairs(source, against=source, settings=rivals, engine="spark")
    with pytest.raises(UsageError, match="threads is for one machine"):
        la.records.pairs(source, threads=2, engine="spark")
    with pytest.raises(UsageError, match="threshold is 7"):
        la.records.pairs(source, threshold=7, engine="spark")
    with pytest.raises(ColumnNotFound, match="'nam'"):
        la.records.pairs(source, fields=["nam"], engine="spark")
    nameless = spark.createDataFrame(pa.table({"name": ["a", "b"], "of": [["x"], ["y"]]}))
    with pytest.raises(UsageError, match=r"the DataFrame has no column of ids, .* give id=COLUMN \(--id\)"):
        la.records.pairs(nameless, engine="spark")
    with pytest.raises(InputError, match=r"column 'of' in the DataFrame is list<.*>; expected text, numbers or dates"):
        la.records.pairs(nameless, id="name", fields=["of"], engine="spark")
    with pytest.raises(InputError, match="the tables have no column in common"):
        la.records.pairs(nameless, against=nameless, id="name", engine="spark")
