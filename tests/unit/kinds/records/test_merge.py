"""One row per entity: survivorship, the origin of values, entities of several sources, ids across runs."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.core.arrays import Pairs
from lookalike.errors import DuplicateIds, InputError, UsageError
from lookalike.kinds.records.entities import entity_ids, limited_pairs
from lookalike.kinds.records.survivorship import Rows, survivors

VALUES = st.sampled_from(["", " ", None, "a", "bb", "cc", "ddd", "7", "12"])
RULES = ("most_frequent", "longest", "shortest", "first", "last", "max", "min", "newest:day", "oldest:day",
         "priority:y,x", "fullest")  # fmt: skip


def expected(rows: list[dict[str, Any]], chain: tuple[str, ...]) -> str | None:
    """The surviving value of the column `v` for the rows of one entity, the slow and obvious way."""
    filled = [row for row in rows if row["v"] is not None and row["v"].strip()]
    if not filled:
        return None
    counts = Counter(row["v"] for row in filled)

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        keys: list[Any] = []
        for rule in chain:
            if rule == "most_frequent":
                keys.append(-counts[row["v"]])
            elif rule in ("longest", "shortest"):
                keys.append(len(row["v"]) * (-1 if rule == "longest" else 1))
            elif rule in ("first", "last"):
                keys.append(row["row"] * (-1 if rule == "last" else 1))
            elif rule in ("max", "min"):
                keys.append(row["rank"] * (-1 if rule == "max" else 1))
            elif rule.endswith(":day"):
                sign = -1 if rule.startswith("newest") else 1
                keys.append((row["day"] is None, sign * (row["day"] or 0)))
            elif rule == "fullest":
                keys.append(-sum(value is not None and str(value).strip() != "" for value in (row["v"], row["day"])))
            else:
                keys.append("yx".index(row["source"]) if row["source"] in "yx" else 2)
        return (*keys, row["row"])

    return str(min(filled, key=key)["v"])


@pytest.mark.promise(
    "docs/how-to/merge-customer-tables.md", "A missing or blank value never survives where another row has one."
)
@pytest.mark.promise("docs/how-to/merge-customer-tables.md", "The rule `*` is for all other columns")
@given(
    st.lists(st.tuples(VALUES, st.integers(0, 3), st.sampled_from([None, 1, 2, 3]), st.integers(0, 2)), min_size=1,
             max_size=12),
    st.lists(st.sampled_from(RULES), min_size=1, max_size=3),
)  # fmt: skip
def test_survivors_are_those_of_the_obvious_way(drawn: list[tuple[Any, ...]], chain: list[str]) -> None:
    values = [value for value, *_ in drawn]
    numbers = sorted({entity for _, entity, *_ in drawn})
    entity = np.array([numbers.index(row[1]) for row in drawn])
    table = pa.table({"v": pa.array(values, pa.string()), "day": pa.array([row[2] for row in drawn], pa.int64())})
    texts = [value if value and value.strip() else None for value in values]
    as_numbers = all(text is None or text.isdigit() for text in texts)  # then 12 comes after 7
    order = sorted({t for t in texts if t is not None}, key=(lambda t: int(t)) if as_numbers else (lambda t: t))
    rows = [
        {"row": i, "v": v, "day": day, "source": "xyz"[source], "rank": order.index(v) if v in order else 0}
        for i, (v, _, day, source) in enumerate(drawn)
    ]
    made = survivors(Rows(table, entity, np.array([row[3] for row in drawn]), ("x", "y", "z")), {"v": chain})["v"]
    for number in range(len(numbers)):
        mine = [row for row in rows if entity[row["row"]] == number]
        wanted = expected(mine, tuple(chain))
        assert made.values[number].as_py() == wanted
        kept = {row["row"] for row in mine if made.kept[row["row"]]}
        assert kept == {row["row"] for row in mine if wanted is not None and row["v"] == wanted}


@pytest.mark.promise("docs/how-to/merge-customer-tables.md", "their rows are never merged with each other")
@given(st.data())
def test_a_unique_source_has_at_most_one_record_of_an_entity(data: st.DataObject) -> None:
    records, sources = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    source = np.array(data.draw(st.lists(st.integers(0, sources - 1), min_size=records, max_size=records)))
    limited = data.draw(st.lists(st.booleans(), min_size=sources, max_size=sources))
    ends = st.tuples(st.integers(0, records - 1), st.integers(0, records - 1)).filter(lambda two: two[0] < two[1])
    drawn = sorted(data.draw(st.sets(ends, max_size=20))) if records > 1 else []
    scores = np.array(data.draw(st.lists(st.sampled_from([0.5, 0.7, 0.9]), min_size=len(drawn), max_size=len(drawn))))
    pairs = Pairs(np.array([a for a, _ in drawn], np.int64), np.array([b for _, b in drawn], np.int64), scores)
    kept = limited_pairs(pairs, source, limited, records)
    group = {i: {i} for i in range(records)}  # the slow way: sets, joined from the best pair down
    for p in sorted(range(len(drawn)), key=lambda p: (-scores[p], drawn[p])):
        one, other = group[drawn[p][0]], group[drawn[p][1]]
        seen = Counter(int(source[i]) for i in one | other if limited[source[i]])
        if one is not other and max(seen.values(), default=0) <= 1:
            one |= other
            group.update(dict.fromkeys(other, one))
    assert list(zip(kept.left.tolist(), kept.right.tolist(), strict=True)) == [
        two for two in drawn if group[two[0]] is group[two[1]]
    ]


PEOPLE = pa.table(
    {
        "id": ["1", "2", "3", "4", "5"],
        "name": ["Ann Lee", "Ann M. Lee", "Bob Ray", "Ann Lee", "Eve Ray"],
        "street": ["1 High St", "9 Low Rd", "3 Mill Ln", None, None],
        "post": ["YO1", None, "LS1", "YO1", ""],
        "updated": ["2024-01-05", "19 Feb 2025", "2024-01-05", "2023-12-31", None],
    }
)
SAME = pa.table({"left": ["1", "1"], "right": ["2", "4"]})


def test_a_golden_row_has_the_best_value_of_every_column_and_cells_say_why() -> None:
    survive = {"name": "all", "street": "newest:updated", "post": "with:street"}
    merged = la.records.merge(PEOPLE, pairs=SAME, survive=survive)
    first = merged.golden.to_pylist()[0]
    assert first == {
        "entity": first["entity"], "records": 3, "id": "1", "name": "Ann Lee | Ann M. Lee", "street": "9 Low Rd",
        "post": None, "updated": "19 Feb 2025",  # post goes with the street, even where that has none
    }  # fmt: skip
    assert merged.golden.num_rows == 3
    cells = merged.cells.to_pylist()
    streets = [(c["id"], c["value"], c["survived"]) for c in cells if c["column"] == "street"]
    assert streets == [("1", "1 High St", False), ("2", "9 Low Rd", True), ("3", "3 Mill Ln", True)]
    assert [c["survived"] for c in cells if c["column"] == "post" and c["id"] in "14"] == [False, False]
    golden = {row["entity"]: row for row in merged.golden.to_pylist()}
    for cell in cells:  # every value of the golden table is one of its cells
        if cell["survived"]:
            assert cell["value"] in golden[cell["entity"]][cell["column"]].split(" | ")


def test_a_function_decides() -> None:
    assert la.records.merge(PEOPLE, pairs=SAME, survive={"name": max}).golden["name"].to_pylist()[0] == "Ann M. Lee"
    with pytest.raises(UsageError, match="returned 'Zoe'; expected one of"):
        la.records.merge(PEOPLE, pairs=SAME, survive={"name": lambda values: "Zoe"})


@pytest.mark.parametrize(
    ("survive", "words"),
    [
        ({"name": "longst"}, "rule 'longst' is unknown. Nearest: 'longest'"),
        ({"nam": "longest"}, "no column 'nam' in the input"),
        ({"name": "newest:updatd"}, "no column 'updatd' in the input, for the survivorship rule"),
        ({"name": "priority:crm"}, "names the source 'crm'"),
        ({"name": "with:street", "street": "with:name"}, "refer to one another"),
        ({"name": ["all", "longest"]}, "cannot be combined"),
    ],
)
def test_a_wrong_rule_is_one_line(survive: dict[str, Any], words: str) -> None:
    stages: list[str] = []
    with pytest.raises((UsageError, InputError)) as failed:
        la.records.merge(PEOPLE, survive=survive, progress=lambda stage, done, total: stages.append(stage))
    assert not stages or "refer to one another" in words, "a wrong rule is found before the search"
    assert words in str(failed.value)
    assert "\n" not in str(failed.value)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_ids_of_entities_are_distinct_and_survive(runs: list[tuple[int, int]]) -> None:
    keys = [f"k{i}" for i in range(len(runs))]

    def numbered(groups: list[int]) -> np.ndarray:
        return np.array([list(dict.fromkeys(groups)).index(g) for g in groups])

    one, other = (numbered([run[i] for run in runs]) for i in (0, 1))
    first, _ = entity_ids(one, keys, [None] * len(keys))
    again, changes = entity_ids(one, keys, [first[g] for g in one])
    assert again == first
    assert changes.num_rows == 0
    second, changes = entity_ids(other, keys, [first[g] for g in one])
    assert len(set(second)) == len(second)
    moved = sum(first[a] != second[b] for a, b in zip(one, other, strict=True))
    assert sum(changes["records"].to_pylist()) == moved
    for group in set(other.tolist()):  # an id goes to no entity that has none of its records
        before = {first[one[i]] for i in range(len(runs)) if other[i] == group}
        assert second[group] in before or second[group] not in first


def test_ids_survive_new_rows_and_another_order() -> None:
    before = la.records.merge(PEOPLE, pairs=SAME)
    after = la.records.merge(PEOPLE.take([4, 2, 1, 3, 0]), pairs=SAME, previous=before.members)
    assert dict(zip(after.members["id"].to_pylist(), after.members["entity"].to_pylist(), strict=True)) == dict(
        zip(before.members["id"].to_pylist(), before.members["entity"].to_pylist(), strict=True)
    )
    twice = pa.concat_tables([before.members, before.members])
    with pytest.raises(DuplicateIds, match="more than once"):
        la.records.merge(PEOPLE, previous=twice, pairs=SAME)
    with pytest.raises(UsageError, match="no column of ids"):
        la.records.merge(PEOPLE, previous=before.members, pairs=SAME, id="none")


SHOP = (
    "id,name,phone,town\ns1,Ann Lee,01904 555010,York\ns2,Ann  Lee,01904 555010,York\ns3,Bob Stone,0113 555019,Leeds\n"
)
CLUB = 'id,name,phone,town\nc1,"Lee, Ann",01904 555010,York\nc2,"Lee, Ann",01904 555010,York\nc3,Bob Stones,0113 555019,Leeds\n'
POST = "id,name,phone,postcode\np1,Ann Lee,01904 555010,YO1\np2,Cy Twombly,01225 555014,BA1\n"


@pytest.mark.promise("docs/how-to/merge-customer-tables.md", "but never two rows of the club")
@pytest.mark.promise("docs/how-to/merge-customer-tables.md", "all inputs are one table")
def test_sources_are_linked_each_deduplicated_or_not(lookalike, tmp_path: Path) -> None:
    for name, text in (("shop", SHOP), ("club", CLUB), ("post", POST)):
        (tmp_path / f"{name}.csv").write_text(text)
    tables = [tmp_path / f"{name}.csv" for name in ("shop", "club", "post")]
    done = lookalike("records", "merge", *tables, "--link", "--unique", "club", "-t", 0.5, "-o", tmp_path / "golden.csv",
                     "--survive", "name=priority:post,club", "--audit", 0)  # fmt: skip
    assert done.code == 0, done.err
    with open(tmp_path / "golden.members.csv", newline="") as file:
        members = list(csv.DictReader(file))
    entity = {row["id"]: row["entity"] for row in members}
    assert entity["s1"] == entity["s2"] == entity["p1"]  # within the shop, and across
    assert entity["s3"] == entity["c3"]
    assert entity["c1"] != entity["c2"]  # never within the club
    assert entity["s1"] in (entity["c1"], entity["c2"])
    with open(tmp_path / "golden.csv", newline="") as file:
        golden = {row["entity"]: row for row in csv.DictReader(file)}
    assert golden[entity["p1"]]["name"] == "Ann Lee"
    assert golden[entity["p1"]]["postcode"] == "YO1"
    assert (tmp_path / "golden.cells.csv").exists()
    again = lookalike("records", "merge", *tables, "--link", "-t", 0.5, "-o", tmp_path / "again", "--audit", 0,
                      "--previous", tmp_path / "golden.members.csv")  # fmt: skip
    assert again.code == 0, again.err
    assert "Changed  1 record with another entity" in again.err
    assert {path.name for path in (tmp_path / "again").iterdir()} == {
        "golden.parquet", "members.parquet", "cells.parquet", "changes.parquet", "receipt.json",
    }  # fmt: skip


def test_wrong_uses_write_nothing(lookalike, tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text(SHOP)
    (tmp_path / "empty.csv").write_text("id,name\n")
    shop, out = tmp_path / "shop.csv", tmp_path / "out.csv"
    for given_, words in (
        ((shop,), "give -o OUT"),
        ((shop, "-o", out, "--survive", "phone"), "expected COL=RULE"),
        ((shop, "-o", out, "--unique", "shop"), "It needs several tables"),
        ((shop, "-o", out, "--link"), "--link needs two or more inputs"),
        ((shop, "-o", out, "--engine", "spark"), "No such option: --engine"),
    ):
        done = lookalike("records", "merge", *given_)
        assert done.code == 2
        assert words in done.err
        assert "Traceback" not in done.err
        assert not out.exists()
    done = lookalike("records", "merge", tmp_path / "empty.csv", "-o", out)
    assert done.code == 0, done.err
    assert out.read_text().startswith('"entity","records","id","name"')


def test_rules_of_survivorship_from_the_settings(tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('[survive]\n"*" = "last"\nname = ["longest", "first"]\n')
    merged = la.records.merge(PEOPLE, pairs=SAME, settings=tmp_path / "rules.toml")
    assert merged.golden.select(["name", "updated"]).to_pylist()[0] == {"name": "Ann M. Lee", "updated": "2023-12-31"}
    (tmp_path / "rules.toml").write_text("[survive]\nname = 3\n")
    with pytest.raises(InputError, match="names a rule or a list of rules"):
        la.records.merge(PEOPLE, pairs=SAME, settings=tmp_path / "rules.toml")


def test_given_pairs_are_scored_and_grouped(lookalike, tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text(SHOP)
    (tmp_path / "club.csv").write_text(CLUB)
    (tmp_path / "pairs.csv").write_text("mine,theirs\ns3,c1\ns3,c3\n")
    done = lookalike("records", "score", tmp_path / "pairs.csv", tmp_path / "shop.csv", "--against",
                     tmp_path / "club.csv", "-t", 0.5)  # fmt: skip
    assert done.code == 0, done.err
    rows = list(csv.DictReader(done.out.splitlines(), delimiter="\t"))
    assert [(row["left"], row["right"], row["match"]) for row in rows] == [("s3", "c1", "False"), ("s3", "c3", "True")]
    (tmp_path / "own.csv").write_text("left,right,similarity\ns1,s2,0.9\ns2,s3,0.4\n")
    done = lookalike("records", "groups", tmp_path / "shop.csv", "--pairs", tmp_path / "own.csv", "-t", 0.5)
    assert [line.split("\t")[0] for line in done.out.splitlines()] == ["id", "s1", "s2"]
    (tmp_path / "own.csv").write_text("left,right\ns1,s9\n")
    done = lookalike("records", "groups", tmp_path / "shop.csv", "--pairs", tmp_path / "own.csv")
    assert done.code == 1
    assert "the pairs name 's9', which is no id of the records" in done.err


def test_explain_and_score_agree() -> None:
    people = PEOPLE.select(["id", "name", "post"])
    scored = la.records.score(people, pa.table({"l": ["1", "3"], "r": ["4", "5"]}), threshold=0.5)
    why = la.records.explain(people, "3", "5", threshold=0.5)
    assert scored["similarity"].to_pylist()[1] == pytest.approx(why.similarity)
    assert scored["name"].to_pylist()[1] == pytest.approx(why.rows[0][3])


def test_a_table_as_people_have_it(lookalike, tmp_path: Path) -> None:
    """Semicolons, a byte order mark, repeated and empty column names, an empty column, dates and phones of all kinds."""
    (tmp_path / "kunden.csv").write_text(
        "\ufeffKundennr;Name;Telefon;Telefon;;Geboren;Bemerkung\n"
        "1;Müller, Jörg;+49 30 1234567;;x;19.02.1980;\n"
        "2;Joerg Mueller;030 1234567;;;1980-02-19;\n"
        '3;"Schmidt; Eva";0221/998877;;;03.05.1975;\n'
        "4;Eva Schmidt;0221 998877;;;3 May 1975;\n"
        "5;Ali Demir;040 555111;;;11.11.1990;\n",
        encoding="utf-8",
    )
    done = lookalike("records", "merge", tmp_path / "kunden.csv", "--id", "Kundennr", "-t", 0.4, "-o",
                     tmp_path / "golden.csv", "--survive", "Geboren=longest")  # fmt: skip
    assert done.code == 0, done.err
    with open(tmp_path / "golden.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header[:4] == ["entity", "records", "Kundennr", "Name"]
    assert len(set(header)) == len(header)
    assert [row[1:3] for row in rows] == [["2", "1"], ["2", "3"], ["1", "5"]]
    done = lookalike("records", "pairs", tmp_path / "kunden.csv", "--field", "Telefonn")
    assert done.code == 1
    assert "no column 'Telefonn'" in done.err
    assert done.err.count("\n") == 1
