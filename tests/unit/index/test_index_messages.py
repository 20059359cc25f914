"""What cannot work is said in one line."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.errors import DamagedIndex, InputError, LookalikeError, OutputError, RecallWarning, UsageError
from lookalike.index import manifest
from lookalike.index import settings as about
from lookalike.index.kinds import KINDS, kind_class
from lookalike.index.stable_random import normal, order, words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "texts"}, "kind 'texts' is unknown. Nearest: 'sets'. Choices: documents, sets, baskets, vectors"),
        ({"treshold": 0.5}, "has no option 'treshold'. Nearest: 'threshold'. Options: threshold, recall"),
        ({"threshold": 1.5}, "threshold is 1.5; expected a number above 0 and at most 1"),
        ({"measure": "overlap", "threshold": 3}, "cannot promise a recall for overlap"),
        ({"unit": "token"}, "unit 'token' does not fit an index of documents"),
        ({"kind": "vectors"}, r"needs to know how long they are: give `dimensions=384`"),
        ({"kind": "vectors", "dimensions": 0}, "dimensions is 0; expected how many numbers"),
        ({"kind": "vectors", "dimensions": 8, "threshold": 170}, "no number of tables promises a recall of 0.99"),
        ({"kind": "bits"}, "needs to know the length of the codes: give `bits=64`"),
        ({"kind": "bits", "bits": 0}, "bits is 0; expected the length of the codes"),
        ({"kind": "strings", "threshold": 1.5}, "max_edits is 1.5; expected a whole number"),
        ({"kind": "records"}, "needs rules with weights and a threshold: give settings, a sample table"),
    ],
)
def test_creation_refuses(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        la.Index.create(tmp_path / "index", **options)
    assert not list(tmp_path.iterdir())


def test_places(tmp_path: Path) -> None:
    la.Index.create(tmp_path / "index").close()
    with pytest.raises(OutputError, match=r"index exists\. Add to it, or use another name"):
        la.Index.create(tmp_path / "index")
    with pytest.raises(OutputError, match=r"no such folder: .*no. Create it first"):
        la.Index.create(tmp_path / "no" / "index")
    with pytest.raises(InputError, match=r"no such index: .*nowhere has no index.json. Make one with"):
        la.Index.open(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match=r"no index: .*other has no index.json"):
        la.Index.open(tmp_path / "other")
    with pytest.raises(UsageError, match="ftp:// is not a place for an index"):
        la.Index.open("ftp://somewhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, "is an index of format 3; this version of lookalike reads formats 1 and 2. Use the version"),
        (
            {"scheme": "fss-9"},
            "an index of documents by the scheme fss-9, which this version of lookalike does not know",
        ),
    ],
)
def test_an_index_of_another_version(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    la.Index.create(tmp_path / "index").close()
    path = tmp_path / "index" / "index.json"
    about.write(tmp_path / "index", about.read(tmp_path / "index") | change)
    with pytest.raises(InputError, match=message):
        la.Index.open(tmp_path / "index")
    path.write_text("{")
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError, match=r"^no index: .*a\.jsonl has no index\.json\. Make one with"):
        la.Index.open(tmp_path / "a.jsonl")
    with pytest.raises(DamagedIndex, match=r"index\.json is damaged: it is not JSON .*Restore the index from a backup"):
        la.Index.open(tmp_path / "index")


def test_a_manifest_that_is_none(tmp_path: Path) -> None:
    la.Index.create(tmp_path / "index").close()
    (tmp_path / "index" / "manifest.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(InputError, match=r"manifest\.sqlite is damaged: file is not a database\. Restore"):
        la.Index.open(tmp_path / "index")


@pytest.mark.parametrize(
    ("kind", "options", "items", "message"),
    [
        ("documents", {}, "one text", "got one str; expected several items: a list of texts"),
        ("documents", {}, [1, 2], "items of type int came; expected texts"),
        ("documents", {}, ["a", "\ud800"], "not valid Unicode"),
        ("documents", {}, pa.array([1.5]), "of the Arrow type double; expected texts"),
        ("sets", {}, ["a text"], "an item is of type str; expected lists of strings or whole numbers"),
        ("sets", {}, [[1.5]], "of the Arrow type list<.*>; expected lists of strings or whole numbers"),
        ("sets", {}, {"a"}, "an item is of type str"),
        ("vectors", {"dimensions": 3}, ["text"], "items came that are no vectors of one length"),
        ("vectors", {"dimensions": 3}, [[1.0, 2.0]], "these vectors have 2 numbers; this index is of vectors of 3"),
        ("vectors", {"dimensions": 3}, [[0.0, 0.0, 0.0]], "vector 0 of a batch has no direction"),
        ("vectors", {"dimensions": 3}, [[1.0, np.nan, 0.0]], "vector 0 of a batch has no direction"),
        ("vectors", {"dimensions": 3}, 7, "got int; expected vectors"),
        ("vectors", {"dimensions": 3}, [1.0, 2.0], "an array of 1 dimensions came; expected rows"),
        ("bits", {"bits": 64}, ["ff"], "these codes have 8 bits; this index is of codes of 64"),
        ("bits", {"bits": 64}, 7, "got one int; expected several items"),
        ("strings", {}, [1], "items of type int came; expected texts"),
        ("records", {"sample": pa.table({"a": ["x y", "z w"], "b": ["1", "2"]})}, ["text"], "an item is of type str"),
        ("records", {"sample": pa.table({"a": ["x y", "z w"], "b": ["1", "2"]})}, {"a": "x"}, "got one dict; expected"),
        ("records", {"sample": pa.table({"a": ["x y", "z w"], "b": ["1", "2"]})}, [{"c": "x"}], "no column 'a'"),
    ],
)
def test_items_of_another_kind(kind: str, options: Any, items: Any, message: str, tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index", kind=kind, **options) as index:
        for call in (index.add, index.query, index.add_if_new):
            with pytest.raises(LookalikeError, match=message):
                call(items)
        assert len(index) == 0


def test_ids(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index") as index:
        with pytest.raises(UsageError, match="ids is of type str; expected one id for each item"):
            index.add(["a"], ids="a")
        with pytest.raises(UsageError, match="2 ids came for 1 item; expected one for each"):
            index.add(["a"], ids=["a", "b"])
        with pytest.raises(UsageError, match="1 id came for 2 items; expected one for each"):
            index.add(["a", "b"], ids=["a"])
        with pytest.raises(UsageError, match="ids is of type int; expected a list of ids"):
            index.remove(3)
        index.add(["a"], ids=[3])
        assert index.parse_id("3") == 3
        assert [index.parse_id(text) for text in ("0", "-3", str(2**63 - 1), str(-(2**63)))] == [
            0,
            -3,
            2**63 - 1,
            -(2**63),
        ]
        for text in ("x", "1_0", "+7", "-0", "007", " 3", "3\n", "\u0663", "", str(2**63), "9" * 5000):
            with pytest.raises(
                UsageError, match=r"the id '.* came; the ids of this index are whole numbers of 64 bits"
            ):
                index.parse_id(text)


def test_what_cannot_be_merged(tmp_path: Path) -> None:
    la.Index.create(tmp_path / "bare", store_items=False).close()
    with (
        la.Index.create(tmp_path / "index") as index,
        pytest.raises(UsageError, match="keeps its items; expected both"),
    ):
        index.merge(tmp_path / "bare")


def test_a_recall_that_is_not_reached_is_told_once(tmp_path: Path) -> None:
    with pytest.warns(RecallWarning, match="recall at threshold 0.1"):
        la.Index.create(tmp_path / "index", threshold=0.1, num_hashes=16).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with la.Index.open(tmp_path / "index") as index:
            assert index.info()["plan"]["recall_at_threshold"] < 0.99


def test_without_items(tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index", k=2, store_items=False) as index:
        index.add(["a b c"], ids=["x"])
        assert (index.item("x").item, index.query(["a b c"])[0][0].id) == (None, "x")
        index.compact()
        index.export(tmp_path / "all.csv")
    assert (tmp_path / "all.csv").read_text().splitlines()[1].split(",") == ['"x"', "", "0"]


def test_draws_never_change() -> None:
    assert words(42, 0, 2).tolist() == WORDS
    assert order(42, 5, 6).tolist() == ORDER
    assert np.allclose(normal(42, 0, 4), NORMAL)
    many = normal(1, 0, 100_000).astype(np.float64)
    assert abs(many.mean()) < 0.02
    assert abs(many.std() - 1) < 0.02


WORDS = [9792687988600016338, 18093609639057882785]
ORDER = [5, 4, 0, 2, 1, 3]
NORMAL = [-0.64946383, -0.62711287, -1.04494798, 2.74195528]


def test_a_full_disk_at_the_creation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "MANIFEST_SQL", "PRAGMA max_page_count = 1;" + manifest.MANIFEST_SQL)
    with pytest.raises(OutputError, match=r"^no index could be made: database or disk is full\.$"):
        la.Index.create(tmp_path / "seen")
    assert list(tmp_path.iterdir()) == []


def test_the_signature_shows_the_options_of_all_kinds() -> None:
    shown = inspect.signature(la.Index.create).parameters
    known = {option for name in KINDS for option in kind_class(name).options()}
    assert shown.keys() == {"place", "kind", "store_items"} | known
    assert all(shown[option].default is None for option in known)
