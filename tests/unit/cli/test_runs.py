"""lookalike runs, and lookalike plan INPUTS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lookalike as la
from lookalike.runtime.local.work_folder import CheckpointFolder


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("x.txt").write_text("a rose is a rose is a rose\n" * 3)
    la.pairs(Path("x.txt"), work_dir="work")
    return tmp_path / "work"


def test_work_folders_are_listed_and_removed(work: Path, lookalike) -> None:
    listed = lookalike("runs")
    assert listed.code == 0
    assert "work  1.8 kB  just now\n    sets of x.txt: all 3 documents · word 5-shingles\n" in listed.out
    assert json.loads(lookalike("runs", "list", "--json").out)[0]["path"] == "work"
    (work / "notes.txt").write_text("mine")
    assert lookalike("runs", "clean").out.startswith("Removed  work (1.8 kB)")
    assert [path.name for path in work.iterdir()] == ["notes.txt"], "what is not ours stays"
    assert lookalike("runs").out.startswith("No work folders here.")


@pytest.mark.promise("docs/how-to/large.md", "removes those that are not in use")
def test_a_folder_in_use_stays(work: Path, lookalike) -> None:
    place = next(work.glob("sets-*"))
    held = CheckpointFolder(place, {})
    assert "in use" in lookalike("runs").out
    assert lookalike("runs", "clean", work).out == f"Left     {work}: it is in use\n"
    held.close()
    assert place.exists()


def test_no_such_folder(tmp_path: Path, lookalike) -> None:
    done = lookalike("runs", "clean", tmp_path / "nothing")
    assert (done.code, done.err) == (1, f"InputError: no such folder: {tmp_path / 'nothing'}.\n")


def test_plan_looks_at_inputs(work: Path, lookalike) -> None:
    done = lookalike("plan", "x.txt", "-t", "0.7")
    assert done.code == 0
    assert done.out.startswith(
        "Documents   3 (81 B of text); all read\nCopies      66.7% are exact copies of another\nPairs       3\n"
    )
    assert "no work folder, no disk\n" in done.out
    assert json.loads(lookalike("plan", "x.txt", "--json").out)["pairs"] == 3
    assert lookalike("plan", "x.txt", "--text", "body").code == 1
    asked = json.loads(lookalike("plan", "x.txt", "--json", "--method", "lsh").out)
    assert (asked["method"], asked["why"]) == ("lsh", "asked for")
    assert json.loads(lookalike("plan", "x.txt", "--json", "--max-share", "0.5").out)["pairs"] == 0
