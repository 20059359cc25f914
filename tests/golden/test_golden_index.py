"""Indexes that were made once, when their kind was new, are read as they were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import lookalike as la
from golden.make_index import FOLDERS, answers, from_json
from index_kinds import SAMPLES

PLACES = {kind.name: kind for folder in FOLDERS for kind in folder.iterdir() if kind.is_dir()}
REPORTED = {
    kind: reported for folder in FOLDERS for kind, reported in json.loads((folder / "answers.json").read_text()).items()
}


@pytest.mark.promise("docs/reference/index-format.md", "An index of version 1 is read as before")
@pytest.mark.promise("docs/reference/index-format.md", "one for each kind of item, are read back by every version")
@pytest.mark.parametrize("kind", sorted(REPORTED))
def test_a_golden_index_is_read_back(kind: str, tmp_path: Path) -> None:
    shutil.copytree(PLACES[kind], tmp_path / "index")
    reported = dict(REPORTED[kind])
    queries = [from_json(query) for query in reported.pop("queries")]
    assert any(reported["matches"])
    with la.Index.open(tmp_path / "index", read_only=True) as index:
        assert json.loads(json.dumps(answers(index, queries))) == reported
    with la.Index.open(tmp_path / "index") as index:
        before = len(index)
        index.add(SAMPLES[kind].items(3, 78), ids=["x", "y", "z"])
        index.compact()
        assert len(index) == before + 3


def test_every_kind_has_one() -> None:
    assert set(REPORTED) == set(SAMPLES)
