"""What items hold is found again from what a receipt says, or the reason why not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import InputError
from lookalike.io.contents import contents_of
from lookalike.io.read import open_collection
from lookalike.web.reopen_sources import reopen

TEXTS = [f"document number {i} says something unique, {i * i}" for i in range(40)]


def described(result: Any) -> dict[str, Any]:
    """What the receipt says of the first input, after a trip through JSON."""
    return json.loads(json.dumps(result.receipt["inputs"][0], default=str))


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.csv", "a.arrow", "a.jsonl.gz"])
def test_documents_are_found_by_row(tmp_path: Path, name: str) -> None:
    from lookalike.io.write import write_table

    write_table(pa.table({"key": [f"k{i}" for i in range(40)], "body": TEXTS}), tmp_path / name)
    contents = reopen(described(la.pairs(tmp_path / name, text="body", id="key")))
    assert contents.ids().to_pylist() == [f"k{i}" for i in range(40)]
    assert contents.take([39, 3]) == {3: {"text": TEXTS[3]}, 39: {"text": TEXTS[39]}}
    assert contents.take([40]) == {}


def test_rows_far_apart_are_found_in_row_groups_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lookalike.io.collection.FAR_AHEAD_ROWS", 3)
    for part in range(2):
        pq.write_table(pa.table({"text": TEXTS[20 * part :][:20]}), tmp_path / f"{part}.parquet", row_group_size=4)
    collection = open_collection(tmp_path)
    assert collection.picked([0, 19, 20, 39, 7]) == {i: TEXTS[i] for i in (0, 7, 19, 20, 39)}


def test_files_of_several_folders_keep_the_names_they_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.md").write_text(f"the words of {folder}")
    monkeypatch.chdir(tmp_path)
    reported = described(la.pairs([Path("a"), Path("b")]))
    monkeypatch.chdir("/")
    contents = reopen(reported)
    assert contents.ids().to_pylist() == ["a/x.md", "b/x.md"]
    assert contents.take([1]) == {1: {"text": "the words of b"}}


@pytest.mark.parametrize("names", [["a/x.md", "y.txt"], ["y.txt"]])
def test_named_text_files_keep_the_names_they_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/x.md", "y.txt"):
        (tmp_path / name).write_text(f"the words\nof {name}")
    monkeypatch.chdir(tmp_path)
    described_input = described(la.pairs([Path(name) for name in names], against=Path("a")))
    monkeypatch.chdir("/")
    contents = reopen(described_input)
    assert contents.ids().to_pylist() == names
    assert contents.take([0]) == {0: {"text": f"the words\nof {names[0]}"}}


def test_ids_of_text_files_are_known_without_reading_them(tmp_path: Path) -> None:
    for name in ("x.md", "y.md"):
        (tmp_path / name).write_text("some words")
    contents = reopen(described(la.pairs(tmp_path)))
    (tmp_path / "x.md").unlink()
    assert contents.ids().to_pylist() == ["x.md", "y.md"]


def test_every_kind_of_item_has_contents(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("id,name,town\n1,Ann Lee,York\n2,Lee Ann,York\n3,Bob Ray,Leeds\n")
    assert reopen(described(la.records.pairs(people, threshold=0.6))).take([2]) == {
        2: {"fields": {"id": "3", "name": "Bob Ray", "town": "Leeds"}}
    }
    sales = tmp_path / "sales.csv"
    sales.write_text("who,what\nann,milk\nann,tea\nbob,tea\n")
    baskets = reopen(described(la.baskets.pairs(sales, set="who", item="what")))
    assert (baskets.ids().to_pylist(), baskets.take([0])) == (["ann", "bob"], {0: {"items": ["milk", "tea"]}})
    codes = tmp_path / "codes.csv"
    codes.write_text("id,hash\na,ff00\nb,ff01\n")
    assert reopen(described(la.bits.pairs(codes, max_bits=2))).take([1]) == {1: {"text": "ff01"}}
    np.save(tmp_path / "v.npy", np.array([[1, 0], [0, 1]], np.float32))
    vectors = reopen(described(la.vectors.pairs(tmp_path / "v.npy", max_angle=20)))
    assert (vectors.ids(), vectors.take([1])) == (None, {1: {"numbers": [0.0, 1.0]}})
    names = tmp_path / "names.txt"
    names.write_text("Ann\nAnne\n")
    assert reopen(described(la.strings.pairs(names))).take([1]) == {1: {"text": "Anne"}}
    assert contents_of(open_collection([["a", "b"], ["c"]])).take([0]) == {0: {"items": ["a", "b"]}}
    assert contents_of("something else") is None


def test_pictures_and_faces_are_their_files(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for name in ("a.png", "b.png"):
        image.new("L", (32, 32), 99).save(tmp_path / name)
    contents = reopen(described(la.images.pairs(tmp_path)))
    assert contents.ids().to_pylist() == ["a.png", "b.png"]
    assert contents.take([1, 5]) == {1: {"picture": tmp_path / "b.png"}}
    faces = reopen(described(la.faces.pairs(tmp_path, threshold=0.5, grid="4x4")))
    assert faces.take([0]) == {0: {"picture": tmp_path / "a.png"}}


def test_an_input_that_is_not_what_it_was_is_not_shown(tmp_path: Path) -> None:
    source = tmp_path / "x.txt"
    source.write_text("\n".join(TEXTS))
    reported = described(la.pairs(source))
    os.utime(source, ns=(1, 1))
    with pytest.raises(InputError, match=r"x\.txt has changed since the run \(it was written to since\)"):
        reopen(reported)
    source.write_text("shorter")
    with pytest.raises(InputError, match=r"it had [\d,]+ bytes, now 7"):
        reopen(reported)
    assert reopen(reported, paths=[str(source)]).take([0]) == {0: {"text": "shorter"}}
    source.unlink()
    with pytest.raises(InputError, match=r"x\.txt is not there any more"):
        reopen(reported)
    with pytest.raises(InputError, match=r"the list was given from memory"):
        reopen(described(la.pairs(TEXTS)))
    (tmp_path / "x.csv").write_text("other\n1\n")
    with pytest.raises(InputError, match=r"cannot be opened again: no column 'text'"):
        reopen(reported, paths=[str(tmp_path / "x.csv")])
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "one.md").write_text("a")
    reported = described(la.pairs(folder))
    (folder / "two.md").write_text("b")
    with pytest.raises(InputError, match="it had 1 file, now 2"):
        reopen(reported)
