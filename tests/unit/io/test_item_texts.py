"""Texts next to ids: for each kind that has texts, with ids of every type, and with a second collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lookalike as la
from lookalike.cli.main import app
from lookalike.errors import UsageError

LONG = "the quick brown fox jumps over the lazy dog and then runs away into the dark wood until nobody can see it between the trees any more"


@pytest.mark.parametrize("ids", [["x", "y"], [7, 5], pa.array([2**64 - 1, 3], pa.uint64()), None])
def test_pairs_groups_and_removed_rows_have_the_texts_of_their_ids(ids: Any) -> None:
    columns = {"text": [LONG, LONG.upper()]} | ({} if ids is None else {"id": ids})
    table = pa.table(columns)
    pairs = la.pairs(table).with_text()
    assert pairs.column_names == ["left", "left_text", "right", "right_text", "similarity"]
    assert pairs["left_text"].to_pylist() == [LONG[:120] + "..."]
    assert pairs["right_text"].to_pylist() == [LONG.upper()[:120] + "..."]
    groups = la.groups(table).with_text(whole=True)
    assert groups["text"].to_pylist() == [LONG, LONG.upper()]
    assert groups["representative_text"].to_pylist() == [LONG, LONG]
    removed = la.dedup(table).with_text(whole=True).to_pylist()
    assert [(row["text"], row["kept_text"]) for row in removed] == [(LONG.upper(), LONG)]


def test_the_right_text_is_that_of_the_other_collection() -> None:
    here, there = (
        pa.table({"id": ["a"], "text": [LONG]}),
        pa.table({"id": ["z", "a"], "text": ["other words", LONG + "!"]}),
    )
    result = la.pairs(here, against=there)
    assert result.with_text(whole=True).to_pylist() == [
        {"left": "a", "left_text": LONG, "right": "a", "right_text": LONG + "!", "similarity": 1.0}
    ]
    assert la.dedup(here, against=there).with_text(whole=True)["kept_text"].to_pylist() == [LONG + "!"]


def test_baskets_show_their_items_and_records_their_values() -> None:
    sales = pa.table({"customer": ["a", "a", "b", "b"], "product": ["tea", "jam", "tea", "jam"]})
    baskets = la.baskets.pairs(sales, set="customer", item="product", threshold=0.5)
    assert set(baskets.with_text()["left_text"][0].as_py().split(", ")) == {"tea", "jam"}
    people = pa.table(
        {"id": ["p", "q", "r"], "name": ["Ann Lee", "Ann Lee", "Bob Ray"], "town": ["York", None, "Hull"]}
    )
    rows = la.records.pairs(people, threshold=0.01).with_text().to_pylist()
    assert [(row["left_text"], row["right_text"]) for row in rows] == [("Ann Lee · York", "Ann Lee")]


def test_items_without_text_are_refused() -> None:
    with pytest.raises(UsageError, match="has no texts"):
        la.vectors.pairs([[1.0, 0.0], [1.0, 0.0]], max_angle=1).with_text()


def test_the_command_writes_them_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("".join(json.dumps({"id": n, "text": LONG}) + "\n" for n in "ab"))
    run = CliRunner().invoke
    for out in ("p.csv", "p.jsonl", "p.parquet"):
        assert run(app, ["pairs", "a.jsonl", "-o", out, "--with-text", "all"]).exit_code == 0
        assert la.evaluate(out, [("a", "b")]) is not None  # a table with texts is still a table of pairs
    assert json.loads(Path("p.jsonl").read_text())["right_text"] == LONG
    done = run(app, ["dedup", "a.jsonl", "-o", "kept.jsonl", "--removed", "gone.csv", "--with-text", "beginning"])
    assert done.exit_code == 0, done.output
    assert Path("kept.jsonl").read_text() == Path("a.jsonl").read_text().splitlines(keepends=True)[0]
    assert Path("gone.csv").read_text().splitlines()[0] == '"id","text","kept","kept_text","similarity"'
    assert "result folder" in str(run(app, ["pairs", "a.jsonl", "-o", "folder", "--with-text", "all"]).exception)
