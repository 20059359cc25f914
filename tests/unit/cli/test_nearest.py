"""The command nearest: tables, files, streams, and one line for what cannot be."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import lookalike as la

NAMES = "id,name\nc1,Acme Holdings\nc2,ACME Holding\nc3,Borealis Foods\n"
HEADER = "left\tright\trank\tdistance\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.csv").write_text(NAMES)
    (tmp_path / "typed.csv").write_text("name\nAcme Holdngs\nBoreal Foods\n")
    return tmp_path


def test_another_collection(folder: Path, lookalike: Any) -> None:
    code, out, err = lookalike("strings", "nearest", "typed.csv", "--in", "names.csv", "--top", "1")
    assert (code, out) == (0, HEADER + "0\tc1\t1\t1\n1\tc3\t1\t2\n")
    assert "Found    2 neighbours" in err
    bound = ("--at-most", "1", "-q")
    assert lookalike("strings", "nearest", "typed.csv", "--against", "names.csv", *bound)[1] == HEADER + "0\tc1\t1\t1\n"


def test_files_folders_and_receipts(folder: Path, lookalike: Any) -> None:
    assert lookalike("nearest", "names.csv", "--text", "name", "-k", "1", "-o", "out.csv", "-q").code == 0
    assert (folder / "out.csv").read_text().startswith('"left","right","rank","similarity"\n"c1","c2",1,0.33')
    assert json.loads((folder / "out.csv.receipt.json").read_text())["asked"] == "nearest"
    assert lookalike("strings", "nearest", "names.csv", "-o", "all", "-q").code == 0
    assert la.load(folder / "all").nearest["right"].to_pylist() == ["c2", "c3", "c1", "c3", "c1", "c2"]
    receipt = json.loads(lookalike("strings", "nearest", "names.csv", "--json", "-q").out)
    assert receipt["counts"]["neighbours"] == 6


def test_streams(folder: Path, lookalike: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(NAMES.encode())))
    words = ("strings", "nearest", "typed.csv", "--in", "-", "--format", "csv", "--top", "1", "-q")
    assert lookalike(*words).out == HEADER + "0\tc1\t1\t1\n1\tc3\t1\t2\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--top", "0"], "UsageError: top is 0; expected a whole number of neighbours, 1 or more."),
        (["--text", "nme"], "ColumnNotFound: no column 'nme' in names.csv. Nearest: 'name'. Columns: id, name."),
        (["--in", "empty.csv"], "InputError: empty.csv is empty (0 bytes); expected a header line."),
        (
            ["--at-least", "0.5"],
            "UsageError: --at-least is given, but the score is a distance (edits; --by-similarity orders by similarity); give --at-most.",
        ),
        (["-o", "-", "--json"], "UsageError: -o - and --json both write to standard output"),
    ],
)
def test_one_line_for_what_cannot_be(folder: Path, lookalike: Any, words: list[str], message: str) -> None:
    (folder / "empty.csv").touch()
    code, out, err = lookalike("strings", "nearest", "names.csv", "-q", *words)
    assert code > 0
    assert out == ""
    assert err.startswith(message), err
    assert err.count("\n") == 1
    assert sorted(one.name for one in folder.iterdir()) == ["empty.csv", "names.csv", "typed.csv"]
