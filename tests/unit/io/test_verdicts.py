"""Files of verdicts: what is in force, unfinished lines, several people, tables."""

from __future__ import annotations

import csv
import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from lookalike.errors import InputError, UsageError
from lookalike.io.verdicts import Verdicts, read_verdicts, write_verdicts
from lookalike.io.write import write_table


def said(path: Path) -> dict[tuple[Any, Any], str]:
    return {(one.left, one.right): one.verdict for one in read_verdicts(path).pairs}


def test_the_latest_verdict_of_a_person_counts_in_either_direction(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v.jsonl")
    assert verdicts.read().pairs == ()
    verdicts.add(1, 2, "same", by="ann")
    verdicts.add(2, 1, "different", by="ann", note="another edition")
    verdicts.add(3, 4, "same", by="ann")
    verdicts.withdraw(3, 4, by="ann")
    assert said(verdicts.path) == {(2, 1): "different"}
    assert verdicts.read().pairs[0].note == "another edition"


@pytest.mark.promise(
    "docs/how-to/review.md", "Where as many say same as different the pair is contested and nothing is changed"
)
@pytest.mark.parametrize(
    ("votes", "verdict"),
    [("s", "same"), ("sd", "contested"), ("sdd", "different"), ("su", "same"), ("uu", "unsure"), ("sdu", "contested")],
)
def test_of_several_people_the_majority_decides(tmp_path: Path, votes: str, verdict: str) -> None:
    files = []
    for number, vote in enumerate(votes):
        one = Verdicts(tmp_path / f"{number}.jsonl")
        one.add("a", "b", {"s": "same", "d": "different", "u": "unsure"}[vote], by=f"person {number}")
        files.append(one.path)
    merged = read_verdicts(files)
    assert merged.pairs[0].verdict == verdict
    assert len(merged.pairs[0].votes) == len(votes)
    write_verdicts(merged, tmp_path / "all.jsonl")
    assert read_verdicts(tmp_path / "all.jsonl").pairs[0].votes == merged.pairs[0].votes


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_that_was_not_finished_is_dropped(tmp_path: Path, cut: int) -> None:
    verdicts = Verdicts(tmp_path / "v.jsonl")
    verdicts.add(1, 2, "same", by="ann")
    verdicts.add(3, 4, "same", by="ann")
    whole = verdicts.path.read_bytes()
    verdicts.path.write_bytes(whole[:-cut])
    there = said(verdicts.path)
    assert there == {(1, 2): "same"} | ({(3, 4): "same"} if cut == 1 else {})
    verdicts.add(5, 6, "different", by="ann")
    assert said(verdicts.path) == there | {(5, 6): "different"}


def _many(path: Path, first: int) -> None:
    for number in range(20):
        Verdicts(path).add(first + number, "x", "same", by=str(first))


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    path, spawn = tmp_path / "v.jsonl", multiprocessing.get_context("fork")
    both = [spawn.Process(target=_many, args=(path, first)) for first in (0, 100)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(read_verdicts(path).pairs) == 40
    assert sum(json.loads(line).get("format") is not None for line in path.read_text().splitlines()) == 1


def test_sets_of_items(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v.jsonl")
    verdicts.add(["a", "b"], ["c", "d"], "different", by="")
    verdicts.add(["a", "b", "e"], None, "same", by="")
    assert said(verdicts.path) == {
        ("a", "c"): "different", ("a", "d"): "different", ("b", "c"): "different", ("b", "d"): "different",
        ("a", "b"): "same", ("a", "e"): "same",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["v.csv", "v.parquet", "v.tsv"])
def test_tables_and_back(tmp_path: Path, name: str) -> None:
    verdicts = Verdicts(tmp_path / "v.jsonl")
    verdicts.add("7", "007", "same", by="ann", note="a, b", drawn=True)
    write_table(verdicts.read().to_arrow(), tmp_path / name)
    [back] = read_verdicts(tmp_path / name).pairs
    assert (back.left, back.right, back.verdict, back.note, back.drawn) == ("7", "007", "same", "a, b", True)


def test_representatives(tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "v.jsonl")
    verdicts.represent("a")
    verdicts.represent("b")
    verdicts.withdraw("a")
    assert verdicts.read().representatives == (("b", None),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"left": 1, "right": 2, "verdict": "maybe"}\n', "line 1 has the verdict 'maybe'; expected same, different, unsure"),
        ('{"left": 1, "verdict": "same"}\n', "line 1 has left 1 and right None; expected two ids, or two lists of ids"),
        ('{"left": true, "right": 2, "verdict": "same"}\n', "has left True and right 2"),
        ("[]\n", "line 1 is no JSON object"), ("x\n{}\n", "line 1 is not JSON"),
        ('{"format": "other", "version": 1}\n', "is 'other 1'; expected 'lookalike verdicts' of version 1"),
    ],
)  # fmt: skip
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_verdicts(path)


def test_bad_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected one that ends in \.jsonl"):
        Verdicts(tmp_path / "v.txt")
    (tmp_path / "v.xlsx").write_text("")
    with pytest.raises(InputError, match=r"is no file of verdicts; expected \.jsonl"):
        read_verdicts(tmp_path / "v.xlsx")


def test_ids_that_a_spreadsheet_would_run_survive_a_table_of_safe_cells(tmp_path: Path, lookalike: Any) -> None:
    ids = ["=1+1", " @x", "-5", "'tis", "plain", "＋1"]
    Verdicts(tmp_path / "v.jsonl").append(
        {"verdict": "same", "left": one, "right": "other", "by": "=cmd", "note": "+note"} for one in ids
    )
    table = tmp_path / "v.csv"
    assert lookalike("verdicts", "merge", tmp_path / "v.jsonl", "-o", table, "--safe-cells").code == 0
    cells = [row["left"] for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())]
    assert sorted(cells) == sorted(["'=1+1", "' @x", "'-5", "'tis", "plain", "'＋1"])
    again = read_verdicts([table])
    assert {one.left for one in again.pairs} == set(ids)
    assert {(by, one.note) for one in again.pairs for by in one.votes} == {("=cmd", "+note")}
