"""One contract of an index, over every store and every kind of item.

A store is a function that names a fresh place; `STORES` has them all.
"""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from index_kinds import SAMPLES, Sample, connected, scores
from index_kinds import score as score_of
from lookalike.errors import LookalikeError, RecipeMismatch, UsageError
from lookalike.index import compaction, folder, writer
from lookalike.index.items import ids_of

Place = Callable[[], str]
NONE_MISSED = ("bits", "strings", "images", "passages")  # kinds whose keys find everything within the threshold


def in_folders(request: pytest.FixtureRequest) -> Place:
    base, number = request.getfixturevalue("tmp_path"), itertools.count()
    return lambda: str(base / f"index{next(number)}")


def in_postgres(request: pytest.FixtureRequest) -> Place:
    url, new = request.getfixturevalue("postgres"), request.getfixturevalue("new_schema")
    return lambda: f"{url}&schema={new()}"


STORES: dict[str, Callable[[pytest.FixtureRequest], Place]] = {"folder": in_folders, "postgres": in_postgres}


@pytest.fixture(params=sorted(STORES))
def place(request: pytest.FixtureRequest) -> Place:
    return STORES[request.param](request)


@pytest.fixture(params=sorted(SAMPLES))
def sample(request: pytest.FixtureRequest) -> Sample:
    """A sample of one kind; pictures in a database without crops, which have a thousand keys for each picture."""
    some = SAMPLES[request.param]
    few_keys = request.param == "images" and request.node.callspec.params.get("place") == "postgres"
    return replace(some, options={**some.options, "crops": False}) if few_keys else some


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of a few items become segments, so that a small index has many, and they are compacted."""
    for name, value in {"MAX_RECENT_ITEMS": 12, "FLUSHED": 20}.items():
        monkeypatch.setattr(folder, name, value)
    monkeypatch.setattr(writer, "SEGMENT_BYTES", 4000)
    monkeypatch.setattr(compaction, "BIG", 1 << 40)


def made(place: str, sample: Sample, **options: Any) -> la.Index:
    return la.Index.create(place, kind=sample.kind, **(sample.options | options))


def truth(index: la.Index, queries: list[Any], items: list[Any]) -> list[list[tuple[int, float]]]:
    """What scoring says of every query and item, nearest first."""
    sign = index.kind.scale.sign
    out = []
    for query in queries:
        near = [(number, score) for number, score in enumerate(scores(index, query, items)) if score is not None]
        out.append(sorted(near, key=lambda one: (-sign * one[1], one[0])))
    return out


@pytest.mark.promise("docs/how-to/index.md", "Codes of bits and strings: none is missed")
@pytest.mark.promise("docs/how-to/index.md", "Images: none is missed")
@pytest.mark.promise(
    "docs/how-to/index.md", "An item of the index exactly at the threshold is found with the recall that `info` states"
)
@pytest.mark.usefixtures("small_parts")
def test_answers_are_exact_sorted_and_nearly_all(place: Place, sample: Sample) -> None:
    items, queries = sample.items(120, 1), sample.items(140, 1)[90:]
    with made(place(), sample) as index:
        for low in range(0, 120, 30):
            index.add(items[low : low + 30])
        expected, found = truth(index, queries, items), index.query(queries)
        assert all(set(map(tuple, got)) <= set(want) for got, want in zip(found, expected, strict=True))
        for got, want in zip(found, expected, strict=True):
            ids = [match.id for match in got]
            assert ids == [number for number, _ in want if number in ids]
        share = sum(map(len, found)) / sum(map(len, expected))
        assert share == 1 if sample.kind in NONE_MISSED else share > 0.95
        assert [query[:2] for query in found] == index.query(queries, k=2)


@pytest.mark.promise("docs/comparison.md", "keeps everything on disk and scores every match")
@pytest.mark.promise("docs/how-to/postgres.md", "the same suite of tests runs over both")
@pytest.mark.promise("docs/how-to/index.md", "Every match is scored exactly, using the same score as `la.pairs`")
@pytest.mark.parametrize("kind", ["documents", "sets", "bits", "strings", "vectors", "faces"])
def test_the_same_as_batch(place: Place, kind: str) -> None:
    sample = SAMPLES[kind]
    items, queries = sample.items(150, 2), sample.items(190, 2)[110:]
    with made(place(), sample) as index:
        index.add(items)
        table = index.query_table(queries)
        plan = index.kind.plan()
    options: dict[str, Any] = {"audit": 0}
    if kind in ("documents", "sets"):
        shape = {"bands": int(plan["shape"].split()[0]), "rows": int(plan["shape"].split()[3])}
        options |= {"method": "lsh", "threshold": 0.6, **shape} | ({"k": 2} if kind == "documents" else {})
        run = la.pairs
    elif kind == "bits":
        options, run = {"max_bits": 6, "method": "exact"}, la.bits.pairs
    elif kind == "strings":
        options, run = {"max_edits": 2}, la.strings.pairs
    elif kind == "faces":
        options, run = {"threshold": 0.6, "method": "exact"}, la.faces.pairs
    else:
        options, run = {"max_angle": 12.0, "exact": True}, la.vectors.pairs
    if kind in ("vectors", "faces"):
        items, queries = np.array(items, np.float32), np.array(queries, np.float32)
    batch = run(queries, against=items, **options).pairs
    want = {(row["left"], row["right"]): row[batch.column_names[2]] for row in batch.to_pylist()}
    got = {(row["query"], row["id"]): row[table.column_names[2]] for row in table.to_pylist()}
    assert table.column_names[2] == batch.column_names[2]
    if kind in ("vectors", "faces"):  # other tables, so other misses
        assert got.items() <= want.items()
        assert len(got) > 0.97 * len(want)
    else:
        assert got == want


@pytest.mark.promise("docs/how-to/images.md", "the same answers as `images pairs --against --no-parts`")
@pytest.mark.parametrize("options", [{}, {"hashes": ["phash", "dhash"], "max_bits": 14, "crops": False}])
def test_pictures_as_in_batch(place: Place, tmp_path: Path, options: dict[str, Any]) -> None:
    """Copies, crops in both directions and strangers; exactly the pairs of the batch engine."""
    from PIL import Image

    gallery, probes = tmp_path / "gallery", tmp_path / "probes"
    gallery.mkdir()
    probes.mkdir()
    for number, data in enumerate(SAMPLES["images"].items(24, 2)):
        small = Image.open(io.BytesIO(data))
        wide = small.resize((96, 64), Image.Resampling.BICUBIC)
        wide.save(gallery / f"{number}.png")
        for name, made in {"small": wide.resize((48, 32)), "crop": wide.crop((0, 0, 48, 64)), "near": small}.items():
            if number % 3 == 0:
                made.save(probes / f"{number}-{name}.png")
    wide.crop((16, 0, 80, 64)).save(gallery / "crop.png")
    batch = la.images.pairs(probes, against=gallery, parts=False, **options).pairs
    want = {(row["left"], row["right"]): row["bits"] for row in batch.to_pylist()}
    own = {name: value for name, value in options.items() if name != "max_bits"}
    with la.Index.create(place(), kind="images", threshold=options.get("max_bits"), **own) as index:
        assert index.add_from(gallery) == index_added(25, 0)
        files = sorted(probes.iterdir())
        table = index.query_table(files).to_pylist()
        assert {(files[row["query"]].name, row["id"]): row["bits"] for row in table} == want
        assert len({left for left, _ in want}) > 10
        assert any("crop" in right for _, right in want) == bool(not options)
        assert index.item("crop.png").item == str(gallery / "crop.png")


@pytest.mark.promise("docs/how-to/index.md", "accepts new items at any time")
@pytest.mark.usefixtures("small_parts")
def test_updates_and_removals(place: Place, sample: Sample) -> None:
    items = sample.items(60, 3)
    where = place()
    with made(where, sample) as index:
        ids = [f"i{number}" for number in range(50)]
        assert index.add(items[:50], ids=ids) == index_added(50, 0)
        assert index.add(items[50:], ids=ids[:10]) == index_added(10, 10)
        assert (len(index), "i3" in index, "i99" in index) == (50, True, False)
        assert index.remove(["i40", "i41", "i40", "i99"]) == 2
        assert index.remove([]) == 0
        assert (len(index), "i40" in index) == (48, False)
        assert sorted(index) == sorted(set(ids) - {"i40", "i41"})
        assert list(index) == [*ids[10:40], *ids[42:], *ids[:10]]
        page = index.ids(limit=30)
        assert page + index.ids(after=page[-1], limit=30) == list(index)
        assert all("i40" not in [match.id for match in found] for found in index.query(items[35:45]))
        if sample.kind not in ("vectors", "bits", "images", "faces"):
            assert index.item("i3").item == items[53]
        with pytest.raises(KeyError):
            index.item("i40")
        before = index.query(items)
    with la.Index.open(where) as again:
        assert again.query(items) == before
        assert len(again) == 48


def index_added(count: int, replaced: int) -> Any:
    from lookalike.index.index import Added

    return Added(count, replaced)


@pytest.mark.promise("docs/how-to/index.md", "With `--if-new` only items that match nothing are added")
@pytest.mark.usefixtures("small_parts")
def test_only_what_is_new(place: Place, sample: Sample) -> None:
    items = sample.items(80, 4)
    with made(place(), sample) as index:
        index.add(items[:20])
        out = [match for low in range(20, 80, 15) for match in index.add_if_new(items[low : low + 15])]
        kept = {number: items[number] for number in range(20)}
        sign = index.kind.scale.sign
        for number, match in zip(range(20, 80), out, strict=True):
            found = scores(index, items[number], list(kept.values()))
            near = {i: score for i, score in zip(kept, found, strict=True) if score is not None}
            if match is None:
                assert sample.kind not in NONE_MISSED or not near
                kept[number] = items[number]
            else:
                assert near[match.id] == match.similarity
                if sample.kind in NONE_MISSED:
                    assert match.similarity == sign * max(sign * score for score in near.values())
        assert sorted(index) == sorted(kept)


def test_an_item_is_no_copy_of_its_older_self(place: Place) -> None:
    with la.Index.create(place(), k=2) as index:
        index.add(["a rose is a rose"], ids=["r"])
        assert index.add_if_new(["a rose is a rose, a"], ids=["r"]) == [None], "near it, and not the same"
        assert (len(index), index.item("r").item) == (1, "a rose is a rose, a")
        again = index.add_if_new(["one two three", "one two three"], ids=["a", "b"])
        assert (again[0], again[1].id) == (None, "a")  # type: ignore[union-attr]


def edges_of(index: la.Index, items: list[Any]) -> list[tuple[int, int]]:
    return [(match.id, i) for i, found in enumerate(index.query(items)) for match in found if match.id < i]


@pytest.mark.promise("docs/how-to/index.md", "adding items never renames a group")
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("asked", ["at the end", "after each"])
def test_groups_are_components_and_keep_their_names(place: Place, sample: Sample, asked: str) -> None:
    items = sample.items(70, 5)
    with made(place(), sample) as index:
        named: dict[Any, int] = {}
        merged: dict[int, int] = {}
        for low in range(0, 70, 7):
            index.add(items[low : low + 7])
            if asked == "after each":
                merged = dict(zip(*(index.merges()[name].to_pylist() for name in ("merged", "into")), strict=True))
                for item, group in named.items():  # a name goes only where a merge says so
                    while group in merged:
                        group = merged[group]
                    assert index.group_of(item) == group
                named = {item: index.group_of(item) for item in range(low + 7)}
        want = connected(edges_of(index, items), 70)
        assert [index.group_of(number) for number in range(70)] == want
        table = index.groups()
        sizes = {group: want.count(group) for group in want}
        assert {row["id"]: (row["group"], row["size"]) for row in table.to_pylist()} == {
            number: (group, sizes[group]) for number, group in enumerate(want) if sizes[group] > 1
        }
        assert table["size"].to_pylist() == sorted(table["size"].to_pylist(), reverse=True)
        merges = index.merges()
        assert all(
            into < gone for gone, into in zip(merges["merged"].to_pylist(), merges["into"].to_pylist(), strict=True)
        )
        gone = set(merges["merged"].to_pylist())
        assert not gone & set(want)


@pytest.mark.promise("docs/how-to/index.md", "what it had connected stays connected, under the same number")
def test_a_merge_is_recorded_and_a_removal_splits_nothing(place: Place) -> None:
    left, right = "a b c d e f", "f g h i j k"
    between = "a b c d e f g h i j k"
    where = place()
    with la.Index.create(where, k=1, threshold=0.5) as index:
        index.add([left, right, "x y"], ids=["left", "right", "other"])
        assert index.group_of("left") != index.group_of("right")
        old = index.group_of("right")
        index.add([between], ids=["between"])
        assert index.group_of("right") == index.group_of("left") == index.group_of("between")
        assert [(row["merged"], row["into"]) for row in index.merges().to_pylist()] == [(old, index.group_of("left"))]
        index.remove(["between"])
        assert index.group_of("right") == index.group_of("left")
        assert index.groups()["size"].to_pylist() == [2, 2]
        index.remove(["left"])
        index.add([left], ids=["again"])
        assert index.groups().num_rows == 0  # the group of "left" is that of "right" alone
    with la.Index.open(where, read_only=True) as index:
        assert index.group_of("again") != index.group_of("right")


def test_what_is_there_under_its_own_id_is_not_new(place: Place, sample: Sample) -> None:
    items = sample.items(20, 5)
    ids = [f"item {number}" for number in range(20)]
    with made(place(), sample) as index:
        index.add(items, ids=ids)
        before = index.store.numbers(ids_of(ids)).tolist()
        assert None not in index.add_if_new(items, ids=ids)
        assert index.store.numbers(ids_of(ids)).tolist() == before, "nothing was put in again"
    with la.Index.create(place(), k=1) as index:
        index.add(["a b c", "x y z"], ids=["one", "two"])
        found = index.add_if_new(["a b c", "p q", "a b c"], ids=["one", "two", "three"])
        assert found == [("one", 1.0), None, ("one", 1.0)]
        assert index.item("two").item == "p q", "what has changed takes the place of its older self"


def test_any_two_items_can_be_compared(place: Place, sample: Sample) -> None:
    items = sample.items(40, 3)
    with made(place(), sample) as index:
        both = [(score_of(index, items[0], other), index.compare(items[0], other)) for other in items]
        assert all(far is not None for _, far in both)
        assert [near for near, _ in both if near is not None] == [far for near, far in both if near is not None]
        sign, threshold = index.kind.scale.sign, index.kind.threshold
        beyond = {far for near, far in both if near is None}
        assert len(beyond) > 1 or sample.kind in ("documents", "sets", "passages"), "scores, not one word for all"
        assert all(sign * far <= sign * threshold for far in beyond)


def test_scores_below_the_threshold(place: Place) -> None:
    with la.Index.create(place(), k=1) as index:
        assert index.compare("a b c", "c d e") == 0.2
        assert index.compare("a b c", "d e") == index.compare("", "") == 0
    with la.Index.create(place(), kind="strings", threshold=1) as index:
        assert (index.compare("abc", "xyz!"), index.compare("", "abc")) == (4, None)
        long = "ab" * 20_000
        assert (index.compare(long, long + "c"), index.compare(long, "c" * len(long))) == (1, None)
    with la.Index.create(place(), kind="vectors", dimensions=2, threshold=10) as index:
        assert index.compare([1, 0], [0, 1]) == pytest.approx(90)


def test_groups_are_counted(place: Place) -> None:
    where = place()
    with la.Index.create(where, k=1) as index:
        index.add(["a b c", "a b c", "d", "e", "e"])
        assert (index.info()["groups"], index.info()["ungrouped"]) == (0, 5)
        index.groups()
        assert (index.info()["groups"], index.info()["ungrouped"]) == (2, 0)
        index.remove([4])
        index.add(["f"])
        assert (index.info()["groups"], index.info()["ungrouped"]) == (1, 1)


@pytest.mark.usefixtures("small_parts")
def test_many_copies_are_one_group(place: Place) -> None:
    """Each is looked for once, also where the copies come in several batches, and empty ones stay alone."""
    with la.Index.create(place(), k=1) as index:
        index.add(["a b c d e f", "", ""] * 3000)
        assert set(index.groups()["size"].to_pylist()) == {3000}
        index.add(["a b c d e f"] * 10)
        assert index.groups()["group"].to_pylist() == [0] * 3010


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_what_goes_before_anybody_asked_has_connected_others(place: Place, how: str) -> None:
    with la.Index.create(place(), k=1, threshold=0.5) as index:
        index.add(["a b c d e f", "f g h i j k", "a b c d e f g h i j k"], ids=["left", "right", "between"])
        if how == "removed":
            index.remove(["between"])
        else:
            index.add(["something else"], ids=["between"])
        assert index.group_of("left") == index.group_of("right")
        assert sorted(index.groups()["id"].to_pylist()) == ["left", "right"]


@pytest.mark.usefixtures("small_parts")
def test_groups_do_not_depend_on_when_they_are_asked_for(place: Place) -> None:
    sample = SAMPLES["documents"]
    items = sample.items(80, 8)
    tables = []
    for eager in (False, True):
        draw = random.Random(8)
        with made(place(), sample) as index:
            for low in range(0, 80, 8):
                index.add(items[low : low + 8], ids=[f"n{number}" for number in range(low, low + 8)])
                index.remove([f"n{draw.randrange(low + 8)}"])
                index.add([items[low]], ids=[f"n{draw.randrange(low + 8)}"])
                if eager:
                    index.groups()
            tables.append((index.groups(), index.merges().drop_columns("when")))
    assert tables[0] == tables[1]


@pytest.mark.promise("docs/how-to/index.md", "`compact` does all of that now")
@pytest.mark.usefixtures("small_parts")
def test_compaction_changes_no_answer(place: Place, sample: Sample) -> None:
    items = sample.items(90, 6)
    with made(place(), sample) as index:
        for low in range(0, 90, 15):
            index.add(items[low : low + 15])
        index.remove(list(range(0, 90, 7)))
        before = index.query(items), index.groups(), list(index), [index.item(number) for number in (1, 50, 89)]
        index.compact()
        assert (index.query(items), index.groups(), list(index), [index.item(n) for n in (1, 50, 89)]) == before
        index.add(items[:7], ids=[number + 1000 for number in range(7)])
        assert 1000 in [match.id for match in index.query(items[:1])[0]]


@pytest.mark.usefixtures("small_parts")
def test_merge_and_export(place: Place, sample: Sample, tmp_path: Path) -> None:
    items = sample.items(60, 7)
    other_place = place()
    with made(place(), sample) as index, made(other_place, sample) as other, made(place(), sample) as whole:
        index.add(items[:40], ids=[f"i{number}" for number in range(40)])
        other.add(items[20:], ids=[f"i{number}" for number in range(20, 60)])
        whole.add(items, ids=[f"i{number}" for number in range(60)])
        assert index.merge(other_place) == index_added(40, 20)
        assert sorted(index) == sorted(whole)
        assert index.query(items) == [sorted_like(index, found) for found in whole.query(items)]
        index.export(tmp_path / "all.parquet")
        table = pq.read_table(tmp_path / "all.parquet")
        assert table["id"].to_pylist() == list(index)
        assert table["group"].to_pylist() == [index.group_of(one) for one in index]
        shown = [index.item(one).item for one in table["id"].to_pylist()]
        if sample.kind in ("documents", "strings", "bits"):
            assert table["item"].to_pylist() == shown
        with pytest.raises(UsageError, match="cannot be merged with itself"):
            other.merge(other_place)


def sorted_like(index: la.Index, found: list[Any]) -> list[Any]:
    """Among equals, in the order in which this index has them."""
    order = {one: number for number, one in enumerate(index)}
    sign = index.kind.scale.sign
    return sorted(found, key=lambda match: (-sign * match.similarity, order[match.id]))


def test_merge_refuses_another_recipe(place: Place) -> None:
    other = place()
    la.Index.create(other, k=3).close()
    with la.Index.create(place(), k=2) as index:
        with pytest.raises(RecipeMismatch, match="created with another k: 3 there, 2 here"):
            index.merge(other)
        third = place()
        la.Index.create(third, kind="strings").close()
        with pytest.raises(RecipeMismatch, match="an index of strings, this one of documents"):
            index.merge(third)


@pytest.mark.promise("docs/how-to/postgres.md", "and see each commit at once")
def test_a_commit_is_seen_by_others_at_once(place: Place, sample: Sample) -> None:
    items, where = sample.items(40, 9), place()
    with made(where, sample) as index, la.Index.open(where, read_only=True) as reader:
        for low in range(0, 40, 10):
            index.add(items[low : low + 10])
            assert reader.query(items) == index.query(items)
            assert len(reader) == low + 10
        index.remove([0, 39])
        assert reader.query(items) == index.query(items)
        assert reader.groups() == index.groups()


def test_an_error_changes_nothing(place: Place, sample: Sample) -> None:
    items = sample.items(30, 10)
    with made(place(), sample) as index:
        index.add(items[:10])
        for bad in ({"items": items, "ids": [1, 2]}, {"items": items[:2], "ids": ["a", "b"]}):
            with pytest.raises(UsageError):
                index.add(**bad)
        with pytest.raises(LookalikeError):
            index.add(sample.wrong)
        assert (len(index), list(index)) == (10, list(range(10)))
        assert index.add(items[10:12]) == index_added(2, 0)
        assert list(index)[-2:] == [10, 11] or len(set(index)) == 12


def test_wrong_questions_say_what_to_do(place: Place, sample: Sample) -> None:
    with made(place(), sample) as index:
        farther = index.kind.threshold - index.kind.scale.sign * (1 if index.kind.scale.sign < 0 else 0.1)
        farther = 0.0 if sample.kind == "passages" else farther  # it answers any share above 0
        with pytest.raises(UsageError, match="threshold is"):
            index.query(sample.items(1, 1), threshold=farther)
        with pytest.raises(UsageError, match="k is 0; expected at least 1"):
            index.query(sample.items(1, 1), k=0)
        with pytest.raises(LookalikeError):
            index.query(sample.wrong)
        assert index.query([]) == []
        assert index.query(sample.items(2, 1)) == [[], []]
        assert index.query_table(sample.items(2, 1)).num_rows == 0


def test_nothing_matches_an_empty_document(place: Place) -> None:
    with la.Index.create(place()) as index:
        index.add(["", "", "a b c d e f"])
        assert index.query(["", "a b c d e f"]) == [[], [(2, 1.0)]]
        assert index.add_if_new([""]) == [None]
        assert index.groups().num_rows == 0


def test_nearer_ones_only(place: Place) -> None:
    with la.Index.create(place(), kind="sets", threshold=0.5) as index:
        index.add([[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 8, 9]], ids=["same", "near", "far"])
        assert [match.id for match in index.query([[1, 2, 3, 4]])[0]] == ["same", "near"]
        assert [match.id for match in index.query([[1, 2, 3, 4]], threshold=0.7)[0]] == ["same"]
        # three of five elements, exactly at the threshold, as a fraction
        assert [match.id for match in index.query([[1, 2, 3, 4]], threshold=0.6)[0]] == ["same", "near"]


def test_ids_are_of_one_type(place: Place) -> None:
    with la.Index.create(place()) as index:
        index.add(["one text"], ids=["a"])
        with pytest.raises(UsageError, match="the ids of this index are strings; these are whole numbers"):
            index.add(["another"], ids=[1])
        assert index.remove([1]) == 0
        assert 1 not in index
    with la.Index.create(place()) as index:
        index.add(["one text"], ids=[41])
        index.add(["one more"])
        assert list(index) == [41, 42]


@pytest.mark.promise("docs/how-to/postgres.md", "Ids given by the index never repeat")
def test_large_ids_leave_automatic_ids_alone(place: Place) -> None:
    with la.Index.create(place()) as index:
        index.add(["one text", "another"], ids=[9223372036854775000, 2**63 - 1])
        index.add([f"text {number}" for number in range(900)])
        assert list(index)[2:] == list(range(900))
        index.add(["near the limit"], ids=[2**62 - 3])
        index.add(["a", "b"])
        assert list(index)[-2:] == [2**62 - 2, 2**62 - 1]
        with pytest.raises(UsageError, match=r"no automatic ids are left for 1 item: .*\. Give ids\."):
            index.add(["c"])
        index.add(["c"], ids=[-1])
        assert len(index) == 906


def test_arrow_and_iterables(place: Place) -> None:
    texts = SAMPLES["documents"].items(30, 11)
    with la.Index.create(place()) as index:
        index.add(pa.chunked_array([texts[:10], texts[10:15]]), ids=pa.array(range(15), pa.int32()))
        index.add((text for text in texts[15:]), ids=iter(range(15, 30)))
        assert [found[0].id for found in index.query(texts)] == [texts.index(text) for text in texts]


@pytest.mark.usefixtures("small_parts")
def test_against_a_plain_model(place: Place) -> None:
    """Many random changes, each checked against a dictionary."""
    sample, draw = SAMPLES["strings"], random.Random(12)
    pool = sample.items(150, 12)
    where = place()
    index, model = made(where, sample), {}
    for step in range(60):
        some = [draw.randrange(60) for _ in range(draw.choice([1, 3, 25]))]
        if draw.random() < 0.7:
            items = [draw.choice(pool) for _ in some]
            index.add(items, ids=some)
            for one, item in zip(some, items, strict=True):
                model.pop(one, None)
                model[one] = item
        else:
            assert index.remove(some) == len(set(some) & set(model))
            for one in some:
                model.pop(one, None)
        if draw.random() < 0.1:
            index.close()
            index = la.Index.open(where)
        if draw.random() < 0.1:
            index.compact()
        assert (len(index), list(index)) == (len(model), list(model)), step
        query = draw.choice(pool)
        want = {one: score for one, item in model.items() if (score := score_of(index, query, item)) is not None}
        assert dict(index.query([query])[0]) == want
    index.close()
