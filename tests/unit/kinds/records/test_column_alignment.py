"""Columns of different names in two tables are aligned by their content, shown, and merged into one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest

import lookalike as la
from lookalike.errors import ColumnNotFound
from lookalike.kinds.records.column_alignment import aligned_columns
from lookalike.kinds.records.source import open_records
from record_cases import Row, people, slips

NAMES = {
    "first": "given",
    "last": "family_name",
    "street": "road",
    "town": "city",
    "phone": "telephone",
    "born": "birthday",
}


def registers(rows: int = 300) -> tuple[pa.Table, pa.Table]:
    """Two registers of people with other column names; the second writes dates by day, month and year."""
    rng = np.random.default_rng(4)
    everyone = people(rng, rows)
    shared = rows // 3
    copies = [slips(rng, row, 0.1) for row in everyone[2 * shared - shared // 2 :]]

    def other(row: Row) -> Row:
        born = str(row["born"]).split("-")
        made = {NAMES[name]: value for name, value in row.items()}
        return {**made, "birthday": ".".join(reversed(born)), "remark": "ok" if rng.random() < 0.5 else "no"}

    one = [{"id": str(number), **row} for number, row in enumerate(everyone[: 2 * shared])]
    two = [{"id": str(number + 2 * shared - shared // 2), **other(row)} for number, row in enumerate(copies)]
    return pa.Table.from_pylist(one), pa.Table.from_pylist(two)


@pytest.mark.promise("docs/how-to/records.md", "each is the most similar one of the other")
def test_people_are_matched_across_other_column_names() -> None:
    one, two = registers()
    found = la.records.pairs(one, against=two, audit=0)
    assert found.receipt["counts"]["aligned_columns"] == NAMES
    pairs = list(zip(found.pairs["left"].to_pylist(), found.pairs["right"].to_pylist(), strict=True))
    assert len(pairs) >= 48
    assert sum(a == b for a, b in pairs) >= 0.98 * len(pairs)
    again = la.records.pairs(one, against=two, audit=0, settings=found.job.rules)  # type: ignore[attr-defined]
    assert again.pairs.equals(found.pairs)


def test_columns_of_other_content_are_not_aligned() -> None:
    rng = np.random.default_rng(1)
    one = pa.table(
        {
            "town": ["York", "Bath", "Hull"] * 20,
            "amount": [f"{n}.50" for n in range(60)],
            "name": ["Ann Lee", "Bo Ray"] * 30,
        }
    )
    two = pa.table({"colour": ["red", "blue", "green"] * 20, "ref": [f"X-{n}" for n in rng.integers(0, 99999, 60)], "name": ["Ann Lee", "Di Poe"] * 30})  # fmt: skip
    assert aligned_columns(open_records(one, id="none"), open_records(two, id="none"), None) == {}
    with pytest.raises(ColumnNotFound, match="town"):
        la.records.pairs(one, against=two, fields=["town", "name"])


def test_a_column_has_one_counterpart() -> None:
    """Two columns of town names, of which one is nearer; the other stays alone."""
    towns = ["York", "Bath", "Hull", "Leeds"]
    one = pa.table({"town": towns * 10, "birthplace": [*towns[:2], "Rome", "Oslo"] * 10})
    two = pa.table({"city": towns * 10})
    assert aligned_columns(open_records(one, id="none"), open_records(two, id="none"), None) == {"town": "city"}


@pytest.mark.promise("docs/how-to/merge-customer-tables.md", "are one column of the merged table")
def test_aligned_columns_are_merged_into_one() -> None:
    one, two = registers()
    made = la.records.merge({"shop": one, "club": two}, unique="all", audit=0)
    assert set(NAMES).issubset(made.golden.column_names)
    assert not set(NAMES.values()).intersection(made.golden.column_names)
    assert made.golden["last"].null_count == 0


def test_what_is_aligned_is_shown(lookalike: Any, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.csv", "two.csv")]
    for path, table in zip(files, registers(120), strict=True):
        pc.write_csv(table, path)
    done = lookalike("records", "preview", files[0], "--against", files[1])
    assert done.code == 0, done.err
    assert "aligned first with given" in " ".join(done.out.split())
    done = lookalike("records", "pairs", files[0], "--against", files[1], "--audit", 0)
    assert "last with family_name" in done.err
