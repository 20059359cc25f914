"""What can be asked of a result: bounded answers, for any kind and size."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import InputError, UsageError
from lookalike.web.result_loader import open_result
from lookalike.web.view import MAX_PAGE_ROWS, ResultView
from shown import families, save_families, save_many


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ResultView:
    return ResultView(open_result(save_families(tmp_path_factory.mktemp("families"))))


def test_the_overview_counts_what_the_result_has(view: ResultView) -> None:
    reported = json.loads(json.dumps(view.overview()))
    table = view.opened.tables["pairs"]
    assert (reported["items"], reported["column"], reported["sign"], reported["threshold"]) == (
        "documents",
        "similarity",
        1,
        0.3,
    )
    assert reported["pairs"][0] == table.num_rows
    assert (reported["groups"][0], reported["grouped"][0], reported["largest"][0]) == (11, 52, 5)
    at = reported["cuts"].index(0.8)
    assert reported["pairs"][at] == sum(score >= 0.8 for score in table["similarity"].to_pylist())
    assert [step["name"] for step in reported["funnel"]] == [
        "documents read", "different documents", "candidate pairs", "pairs", "groups"
    ]  # fmt: skip
    assert reported["funnel"][0]["count"] == 53
    assert reported["curve"]["points"][0] == [0, 0]
    assert reported["curve"]["points"][-1] == [1, 1]
    assert sum(part["true_pairs"] for part in reported["curve"]["measured"]["parts"]) == table.num_rows
    assert sum(reported["buckets"].values()) > 53  # every document has a bucket in every band
    assert reported["notes"] == []


def test_groups_that_the_run_did_not_make_are_called_so(view: ResultView) -> None:
    assert not view.overview()["chained"]
    clean = ResultView(open_result(la.dedup(families(), threshold=0.3)))
    reported = clean.overview()
    kept, removed = (clean.receipt["counts"][name] for name in ("kept", "removed"))
    assert reported["chained"]
    assert dict(reported["facts"])["Kept"] == f"{kept:,}; {removed:,} removed, each like one kept"
    assert "in chains too" in dict(reported["facts"])["Groups"]


def test_groups_come_largest_first_and_in_pages(view: ResultView) -> None:
    first = view.groups(0, 0, 4)
    assert (first["total"], [row["size"] for row in first["rows"]]) == (11, [5, 5, 5, 5])
    every = [row["item"] for offset in range(0, 12, 4) for row in view.groups(0, offset, 4)["rows"]]
    assert len(set(every)) == 11
    strict = view.groups(len(view.graph.cuts) - 1)
    assert strict["total"] == 0
    group = view.group(every[0])
    assert group["size"] == 5
    assert {row["name"].split("/")[0] for row in group["rows"]} == {group["rows"][0]["name"].split("/")[0]}
    assert all(row["excerpt"].startswith("word") for row in group["rows"])
    assert len(group["links"]) == 10


def test_pairs_in_three_orders(view: ResultView) -> None:
    cut = view.graph.cuts.nearest(0.7)
    near, high, low = (view.pairs(cut, order, 0, MAX_PAGE_ROWS) for order in ("near", "high", "low"))
    assert near["total"] == high["total"] < low["total"] == len(view.graph.left)
    scores = [row["score"] for row in near["rows"]]
    assert scores == sorted(scores)
    assert min(scores) >= 0.7
    assert [row["score"] for row in high["rows"]] == scores[::-1]
    assert low["rows"][0]["score"] == min(view.graph.shown)
    mine = view.pairs(0, "high", 0, MAX_PAGE_ROWS, item=0)
    assert mine["total"] == 4
    assert all(0 in (row["left"]["item"], row["right"]["item"]) for row in mine["rows"])


def test_a_pair_side_by_side_is_marked_as_compare_marks_it(view: ResultView) -> None:
    item = {view.name(i): i for i in range(len(view.graph))}
    pair = view.pair(item["family3/member1"], item["family3/member0"])
    assert {pair["left"]["name"], pair["right"]["name"]} == {"family3/member0", "family3/member1"}
    sides = {pair[side]["name"]: pair["view"][side] for side in ("left", "right")}
    texts = dict(zip(families()["id"].to_pylist(), families()["text"].to_pylist(), strict=True))
    for name, pieces in sides.items():
        assert "".join(text for text, _ in pieces) == texts[name]
    assert [both for _, both in sides["family3/member1"]] == [1, 0, 1]
    assert "changed3at0" in sides["family3/member1"][1][0]
    other = view.pair(item["family3/member0"], item["family4/member0"])
    assert other["score"] is None
    assert {both for side in ("left", "right") for _, both in other["view"][side]} == {0}


def test_search_by_id_and_by_text(view: ResultView) -> None:
    assert [row["name"] for row in view.search("FAMILY7/member")["rows"]] == [f"family7/member{m}" for m in range(5)]
    assert view.search("evil")["rows"][0]["name"] == "evil twin"
    assert view.search("nobody")["total"] == 0
    text = " ".join(families()["text"][12].as_py().split()[20:40])
    found = view.find(text)
    assert {row["name"].split("/")[0] for row in found["rows"]} == {"family2"}
    assert found["rows"][0]["score"] == 1.0
    alone = view.find(families()["text"][52].as_py())
    assert alone["rows"] == [{"item": None, "name": "alone", "score": 1.0}]
    with pytest.raises(UsageError, match="the text is empty"):
        view.find("  ")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda view: view.groups(-1), "no cut -1; expected a number from 0 to"),
        (lambda view: view.group(10**6), "no item 1000000; expected a number from 0 to 51"),
        (lambda view: view.pairs(0, "sideways"), "order is 'sideways'; expected one of near, high, low"),
        (lambda view: view.pair(0, -3), "no item -3"),
    ],
)
def test_wrong_questions_are_refused_in_one_line(view: ResultView, ask: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask(view)


def test_a_changed_input_is_told_and_names_are_shown(tmp_path: Path) -> None:
    folder = save_families(tmp_path)
    (tmp_path / "families.parquet").write_bytes(b"nonsense")
    view = ResultView(open_result(folder))
    assert "families.parquet has changed since the run (it had 1 file, now 0)" in view.overview()["notes"][0]
    assert not view.overview()["paste"]
    assert view.pair(0, 1)["view"] == {"kind": "none"}
    with pytest.raises(UsageError, match="can be looked for where the run compared texts"):
        view.find("words")
    moved = tmp_path / "elsewhere.parquet"
    shutil.copy(_texts(tmp_path), moved)
    assert ResultView(open_result(folder, inputs=[moved])).pair(0, 1)["view"]["kind"] == "text"
    with pytest.raises(UsageError, match="2 `inputs` given; the run had 1"):
        open_result(folder, inputs=[moved, moved])


def _texts(folder: Path) -> Path:
    from lookalike.io.write import write_table

    write_table(families(), folder / "again.parquet")
    return folder / "again.parquet"


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere is not there\. pairs, groups and dedup write one with -o FOLDER"):
        open_result(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"no result: it has no receipt\.json"):
        open_result(tmp_path)
    (tmp_path / "receipt.json").write_text("{}")
    with pytest.raises(InputError, match=r"neither pairs\.parquet nor groups\.parquet"):
        open_result(tmp_path)
    pq.write_table(pa.table({"left": [1], "right": [2]}), tmp_path / "pairs.parquet")
    with pytest.raises(InputError, match=r"receipt\.json does not say 'asked'; it was not written by this version"):
        open_result(tmp_path)
    with pytest.raises(UsageError, match="cannot look at int"):
        open_result(7)


def test_two_inputs_dedup_and_groups_without_pairs(tmp_path: Path) -> None:
    table = families()
    both = ResultView(open_result(la.pairs(table.slice(0, 20), against=table, threshold=0.3)))
    row = both.pairs(0, "high")["rows"][0]
    assert (row["left"]["side"], row["right"]["side"]) == (0, 1)
    assert both.pair(row["left"]["item"], row["right"]["item"])["view"]["kind"] == "text"
    clean = ResultView(open_result(la.dedup(table, threshold=0.3)))
    members = clean.group(clean.groups()["rows"][0]["item"])["rows"]
    assert sorted(member["gone"] for member in members) == [False, True, True, True, True]
    opened = open_result(la.groups(table, threshold=0.3))
    bare = ResultView(opened.__class__(opened.receipt, {"groups": opened.tables["groups"]}, opened.contents, ()))
    assert bare.overview()["pairs"] is None
    assert (bare.groups()["total"], bare.groups()["rows"][0]["size"]) == (11, 5)
    assert bare.pairs()["total"] == 0
    assert bare.group(0)["links"] == []


def test_kinds_without_text_have_a_view_of_their_own() -> None:
    people = pa.table({"name": ["Ann Lee", "Bob Ray", "Lee, Ann"], "town": ["York", "Leeds", "York"]})
    records = ResultView(open_result(la.records.pairs(people, threshold=0.6)))
    pair = records.pair(0, 1)
    assert [field["name"] for field in pair["view"]["rows"]] == ["name", "town"]
    assert dict(pair["adds"]).keys() >= {"name", "town"}
    assert sum(value or 0 for value in dict(pair["adds"]).values()) == pytest.approx(pair["score"])
    bought = {"ann": ["milk", "bread", "tea"], "bob": ["milk", "bread", "soap"]}
    baskets = ResultView(open_result(la.baskets.pairs(bought, threshold=0.5))).pair(0, 1)
    assert baskets["view"] == {"kind": "items", "both": ["bread", "milk"], "left": ["tea"], "right": ["soap"]}
    vectors = ResultView(open_result(la.vectors.pairs(np.array([[0, 0], [0, 1], [9, 9.0]]), max_distance=2)))
    assert vectors.pair(0, 1)["view"] == {"kind": "numbers", "left": [0, 0], "right": [0, 1]}
    assert vectors.overview()["cuts"][0] == 2
    strings = ResultView(open_result(la.strings.pairs(["Jon Smith", "John Smith"]))).pair(0, 1)
    assert strings["view"]["right"] == [("Jo", 1), ("h", 0), ("n Smith", 1)]
    bits = ResultView(open_result(la.bits.pairs(["ff00", "ff01"], max_bits=2))).pair(0, 1)
    assert bits["view"]["left"] == [("ff0", 1), ("0", 0)]


def test_passages_and_stories_open_too(tmp_path: Path) -> None:
    source = tmp_path / "families.parquet"
    from lookalike.io.write import write_table

    write_table(families(), source)
    view = ResultView(open_result(la.passages(source).save(tmp_path / "passages")))
    pair = view.pairs(0, "high")["rows"][0]
    shown = view.pair(pair["left"]["item"], pair["right"]["item"])
    assert sum(len(text.split()) for text, both in shown["view"]["left"] if both) >= 12
    assert dict(shown["details"]).keys() >= {"left_in_right", "longest"}
    reported = ResultView(open_result(la.stories(source).save(tmp_path / "stories"))).overview()
    assert reported["column"] == "similarity"
    assert reported["groups"][0] == 11


def test_a_million_pairs_open_and_page(tmp_path: Path) -> None:
    view = ResultView(open_result(save_many(tmp_path, 1_000_000, 400_000)))
    reported = view.overview()
    assert reported["pairs"][0] == 1_000_000
    assert len(json.dumps(reported)) < 60_000
    page = view.pairs(50, "near", reported["pairs"][50] - 7, 50)
    assert (page["total"], len(page["rows"])) == (reported["pairs"][50], 7)
    groups = view.groups(60, reported["groups"][60] - 3, 50)
    assert (groups["total"], len(groups["rows"])) == (reported["groups"][60], 3)
    assert view.search("document-0001234")["total"] == 1
    assert view.group(int(view.graph.linkage.order[-1]), 60)["size"] >= 1


def test_pictures_stand_in_the_answers(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for name in ("a.png", "b.png"):
        image.linear_gradient("L").save(tmp_path / name)
    view = ResultView(open_result(la.images.groups(tmp_path)))
    group = view.group(0)
    assert [row["picture"][:23] for row in group["rows"]] == ["data:image/jpeg;base64,"] * 2
    shown = view.pair(0, 1)["view"]
    assert shown["kind"] == "picture"
    assert len(shown["left"]) > len(group["rows"][0]["picture"])
    (tmp_path / "b.png").write_bytes(b"no picture")
    assert ResultView(open_result(la.images.groups(tmp_path))).overview()["groups"] == [0] * 11
