"""Groups of an index that respect verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lookalike as la

ROWS = [["a", "b", "c", "d"], ["b", "c", "d", "e"], ["c", "d", "e", "f"], ["x", "y"], ["q", "r"], ["q", "r"]]


@pytest.mark.promise("docs/how-to/review.md", "In an index, `index.groups(verdicts=FILE)`")
@pytest.mark.parametrize("ids", [[10, 11, 12, 13, 14, 15], list("uvwxyz")])
def test_the_groups_respect_verdicts_and_are_those_of_a_run(tmp_path: Path, ids: list[object]) -> None:
    judged = [
        {"left": ids[0], "right": ids[2], "verdict": "different"}, {"left": ids[3], "right": str(ids[0]), "verdict": "same"},
        {"left": "gone", "right": ids[1], "verdict": "same"}, {"left": ids[4], "right": ids[5], "verdict": "different"},
    ]  # fmt: skip
    with la.Index.create(tmp_path / "seen", kind="sets", threshold=0.5, bands=40, rows=2) as index:
        index.add(ROWS, ids=ids)
        before = index.groups()
        assert before["size"].to_pylist() == [3, 3, 3, 2, 2]
        made = index.groups(verdicts=judged)
        groups = {
            frozenset(row["id"] for row in made.to_pylist() if row["group"] == one)
            for one in set(made["group"].to_pylist())
        }
        assert {ids[0], ids[3]} <= next(group for group in groups if ids[0] in group)
        assert not any({ids[0], ids[2]} <= group or {ids[4], ids[5]} <= group for group in groups)
        assert index.groups() == before
        assert index.groups(verdicts=[]) == before


def test_the_command_lists_the_groups_after_verdicts(tmp_path: Path, lookalike: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with la.Index.create("seen", kind="sets", threshold=0.5, bands=40, rows=2) as index:
        index.add(ROWS, ids=list("uvwxyz"))
        plain = index.groups()
    la.Verdicts("v.jsonl").add("y", "z", "different")
    done = lookalike("index", "groups", "seen")
    assert [line.split("\t") for line in done.out.splitlines()[1:]] == [
        list(map(str, row.values())) for row in plain.to_pylist()
    ]
    assert done.err == "Found    5 items in 2 groups\n"
    assert lookalike("index", "groups", "seen", "--verdicts", "v.jsonl", "-o", "g.csv", "-q").code == 0
    assert Path("g.csv").read_text().split()[1:] == ['"u",0,3', '"v",0,3', '"w",0,3']
    assert lookalike("index", "groups", "seen", "-o", "g.csv").code == 1  # it exists
    assert lookalike("index", "groups", "seen", "--verdicts", "none.jsonl").code == 1
