"""One contract for every way to join, every measure, within one collection and between two."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import lookalike as la
from lookalike.core.arrays import ShingleRule
from lookalike.errors import TooManyPairs, UsageError
from lookalike.kinds.documents import local
from oracles import MEASURES, components, join, shingles, stars_of_sets

METHODS = ("lsh", "exact", "dcm", "folding")
THRESHOLDS = {"jaccard": "0.6", "containment": "0.75", "dice": "0.75", "cosine": "0.75", "overlap": "9"}
LEAST_RECALL = {"lsh": 0.97, "folding": 1}  # of sets of 1 to 25 elements, which folding joins exactly
# banding and folding have no promise for containment and overlap, and say so
PROMISED = ("jaccard", "dice", "cosine")
WAYS = [(way, measure) for way in METHODS for measure in MEASURES if way not in LEAST_RECALL or measure in PROMISED]


def documents(seed: int, count: int = 60) -> pa.Table:
    """Token lists with copies, near-copies, repeated tokens and empty ones, under ids that are not row numbers."""
    draw = random.Random(seed)
    lists: list[list[int]] = []
    for i in range(count):
        fresh = [draw.randint(1, 50) for _ in range(draw.randint(1, 25))]
        old = draw.choice(lists) if lists else fresh
        near = [*old[1:], draw.randint(1, 50)]
        lists.append([] if i % 20 == 7 else draw.choice([fresh, near, near, list(old)]))
    ids = [f"d{seed}-{number:03}" for number in draw.sample(range(1000), count)]
    return pa.table({"id": ids, "text": lists})


def two_collections() -> tuple[pa.Table, pa.Table]:
    """With near-copies and copies across; slices, as a reader may hand them out."""
    whole = documents(2, count=120)
    return whole.slice(0, 60), whole.slice(60)


def as_sets(table: pa.Table, *, bag: bool = False) -> list[set[Any]]:
    rule = ShingleRule(unit="token", k=1, bag=bag)
    return [shingles(tokens, rule) for tokens in table["text"].to_pylist()]


def truth(table: pa.Table, measure: str, other: pa.Table | None = None, *, bag: bool = False) -> dict[Any, float]:
    """{(left id, right id): similarity} by brute force."""
    sets, ids, split = as_sets(table, bag=bag), table["id"].to_pylist(), table.num_rows
    if other is not None:
        sets, ids = sets + as_sets(other, bag=bag), ids + other["id"].to_pylist()
    pairs = join(sets, measure, Fraction(THRESHOLDS[measure]), lambda i, j: other is None or i < split <= j)
    return {(ids[i], ids[j]): similarity for (i, j), similarity in pairs.items()}


def run(table: pa.Table, way: Any, measure: str, other: pa.Table | None = None, **options: Any) -> dict[Any, float]:
    found = la.pairs(
        table, against=other, method=way, measure=measure, threshold=float(THRESHOLDS[measure]), audit=0, **options
    ).pairs
    rows = found.to_pylist()
    assert len({(row["left"], row["right"]) for row in rows}) == len(rows)
    return {(row["left"], row["right"]): row["similarity"] for row in rows}


def unordered(pairs: dict[Any, float]) -> dict[Any, float]:
    return {tuple(sorted(pair)): similarity for pair, similarity in pairs.items()}


def check(found: dict[Any, float], expected: dict[Any, float], way: str) -> None:
    """None is below the threshold and every score is exact; none is missing, save the few that an approximate method may miss."""
    assert len(expected) > 20
    assert {pair: expected.get(pair) for pair in found} == found
    assert len(found) >= LEAST_RECALL.get(way, 1) * len(expected)


@pytest.fixture(params=["self", "against"])
def tables(request: pytest.FixtureRequest) -> tuple[pa.Table, pa.Table | None]:
    return two_collections() if request.param == "against" else (documents(1), None)


Tables = tuple[pa.Table, pa.Table | None]


@pytest.mark.promise("docs/tutorial/first-steps.md", "pairs of similarity 0.6 and more are reported")
@pytest.mark.promise("docs/how-to/decontaminate-a-test-set.md", "Every pair is verified on the texts")
@pytest.mark.promise("docs/reference/words.md", "It is 1 wherever pairs are verified, which is the default")
@pytest.mark.promise("docs/explanation/curves.md", "because every candidate is scored exactly")
@pytest.mark.promise("docs/explanation/cost.md", "All of them score every candidate exactly")
@pytest.mark.promise("docs/design.md", "every candidate is scored exactly")
@pytest.mark.promise("docs/index.md", "Every pair it reports is scored exactly")
@pytest.mark.promise("README.md", "every pair is scored exactly")
@pytest.mark.parametrize(("way", "measure"), WAYS)
def test_pairs_are_the_true_ones(way: str, measure: str, tables: Tables) -> None:
    check(run(tables[0], way, measure, tables[1]), truth(tables[0], measure, tables[1]), way)


@pytest.mark.parametrize("way", METHODS)
@pytest.mark.parametrize("measure", ["jaccard", "cosine"])
def test_bags_count_every_occurrence(way: str, measure: str, tables: Tables) -> None:
    expected = truth(tables[0], measure, tables[1], bag=True)
    assert expected != truth(tables[0], measure, tables[1])
    check(run(tables[0], way, measure, tables[1], bag=True), expected, way)


@pytest.mark.parametrize(("way", "measure"), WAYS)
def test_threads_do_not_matter(way: str, measure: str, tables: Tables) -> None:
    one, two, five = (list(run(tables[0], way, measure, tables[1], threads=n).items()) for n in (1, 2, 5))
    assert one == two == five


@pytest.mark.parametrize(("way", "measure"), WAYS)
def test_the_order_of_the_input_does_not_matter(way: str, measure: str, tables: Tables) -> None:
    plain = unordered(run(tables[0], way, measure, tables[1]))
    for seed in range(3):
        order = random.Random(seed).sample(range(tables[0].num_rows), tables[0].num_rows)
        assert unordered(run(tables[0].take(order), way, measure, tables[1])) == plain


@pytest.mark.parametrize(("way", "measure"), [way for way in WAYS if way[1] != "overlap"])
def test_a_collection_against_itself(way: str, measure: str) -> None:
    """Every pair comes in both directions, and every document that is not empty meets itself."""
    table = documents(3)
    within, between = run(table, way, measure), run(table, way, measure, table)
    own = {(i, i): 1.0 for i, s in zip(table["id"].to_pylist(), as_sets(table), strict=True) if s}
    assert between == {**within, **{(j, i): s for (i, j), s in within.items()}, **own}


@pytest.mark.parametrize("measure", ["containment", "overlap"])
def test_approximate_methods_refuse_what_they_cannot_promise(measure: str) -> None:
    for way, name in (("lsh", "banding"), ("folding", "folding")):
        with pytest.raises(UsageError, match=f"{name} cannot promise a recall for {measure}"):
            run(documents(1), way, measure)


@pytest.mark.promise("docs/choosing.md", "an empty one never matches anything")
@pytest.mark.parametrize("way", ["auto", *METHODS])
@pytest.mark.parametrize("texts", [[], [""], ["", " ", "..."]])
def test_empty_documents_match_nothing(way: Any, texts: list[str]) -> None:
    assert la.pairs(texts, method=way).pairs.num_rows == 0
    assert la.pairs(texts, against=texts, method=way).pairs.num_rows == 0
    assert la.groups(texts, method=way).groups.num_rows == 0
    done = la.dedup(texts, method=way)
    assert (done.kept.num_rows, done.removed.num_rows) == (len(texts), 0)
    assert done.receipt["counts"]["empty"] == len(texts)


# groups and clean data sets


def jaccard_groups(table: pa.Table) -> tuple[list[str], dict[tuple[int, int], float]]:
    return table["id"].to_pylist(), join(as_sets(table), "jaccard", Fraction(THRESHOLDS["jaccard"]))


@pytest.mark.parametrize("way", ["exact", "dcm"])
def test_components_are_those_of_all_pairs(way: Any) -> None:
    ids, pairs = jaccard_groups(documents(4))
    rows = la.groups(documents(4), method=way, threshold=0.6).groups.to_pylist()
    first = components(pairs, list(range(len(ids))))
    expected = {ids[i]: (ids[f], first.count(f)) for i, f in enumerate(first) if first.count(f) > 1}
    assert {row["id"]: (row["representative"], row["size"]) for row in rows} == expected
    number = {ids[f]: place for place, f in enumerate(sorted({f for f in first if first.count(f) > 1}))}
    assert all(row["group"] == number[row["representative"]] for row in rows)
    assert [row["group"] for row in rows] == sorted(row["group"] for row in rows)


@pytest.mark.promise("docs/tutorial/first-steps.md", "each removed text is itself similar to the one that is kept")
@pytest.mark.promise("README.md", "each removed item is itself similar to the one that is kept")
@pytest.mark.parametrize("way", METHODS)
@pytest.mark.parametrize("keep", ["first", "last", "longest", "shortest"])
def test_dedup_keeps_its_promise(way: Any, keep: str) -> None:
    """An item that is removed is similar to the one that stays instead, exactly as stated; the rest stays in the old order."""
    table = documents(5)
    ids, pairs = jaccard_groups(table)
    done = la.dedup(table, method=way, threshold=0.6, keep=keep)
    known = unordered({(ids[i], ids[j]): s for (i, j), s in pairs.items()})
    kept, removed = done.kept["id"].to_pylist(), done.removed.to_pylist()
    gone = [row["id"] for row in removed]
    assert [i for i in ids if i not in set(gone)] == kept
    assert done.kept.equals(table.filter(pa.array([i in kept for i in ids])))
    for row in removed:
        assert row["kept"] in kept
        assert known[tuple(sorted([row["id"], row["kept"]]))] == row["similarity"]
    if way not in LEAST_RECALL:
        lengths = [len(tokens) for tokens in table["text"].to_pylist()]
        key = {"first": lambda i: i, "last": lambda i: -i, "longest": lambda i: (-lengths[i], i)}
        order = sorted(range(len(ids)), key=key.get(keep, lambda i: (lengths[i], i)))
        expected = stars_of_sets(as_sets(table), pairs, order)
        assert {row["id"]: (row["kept"], row["similarity"]) for row in removed} == {
            ids[i]: (ids[whom], how) for i, (whom, how) in expected.items() if whom != i
        }


@pytest.mark.parametrize("way", METHODS)
def test_dedup_against_removes_what_is_there(way: Any) -> None:
    table, other = two_collections()
    expected = truth(table, "jaccard", other)
    done = la.dedup(table, against=other, method=way, threshold=0.6)
    removed = done.removed.to_pylist()
    assert {(row["id"], row["kept"]): row["similarity"] for row in removed}.items() <= expected.items()
    assert {row["id"] for row in removed} == {left for left, _ in run(table, way, "jaccard", other)}
    if way not in LEAST_RECALL:
        best = {row["id"]: max(s for (left, _), s in expected.items() if left == row["id"]) for row in removed}
        assert {row["id"]: row["similarity"] for row in removed} == best


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("measure", ["jaccard", "dice", "cosine"])
@pytest.mark.parametrize("grouping", ["components", "stars"])
def test_crowded_buckets_give_the_same_groups(
    seed: int, measure: str, grouping: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups made straight from the buckets are those of the verified pairs, which are never written down."""
    keep = ["first", "last", "longest"][seed % 3]
    options: Any = {"method": "lsh", "measure": measure, "threshold": 0.5, "keep": keep}
    table = documents(seed, count=150)
    answers = []
    for crowded in (10**9, -1):
        monkeypatch.setattr(local, "MAX_PAIRS_PER_ITEM", crowded)
        made = la.groups(table, grouping=grouping, **options)
        assert made.receipt["pairs_complete"] == (crowded > 0)
        answers.append(made.groups.to_pylist())
        if grouping == "stars":
            answers[-1].append(la.dedup(table, **options).removed.to_pylist())
    assert answers[0] == answers[1]
    assert len(answers[0]) > 20


def test_crowded_buckets_of_two_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    table, other = two_collections()
    expected = la.dedup(table, against=other, method="lsh", threshold=0.6).removed
    assert expected.num_rows > 5
    monkeypatch.setattr(local, "MAX_PAIRS_PER_ITEM", -1)
    assert la.dedup(table, against=other, method="lsh", threshold=0.6).removed.equals(expected)


# very many copies


@pytest.mark.parametrize("way", ["auto", "lsh", "exact"])
def test_twenty_thousand_copies(way: Any) -> None:
    texts = ["The same sentence is here again and again.", "Another one that is not like it at all."]
    many = [texts[0]] * 20_000 + [texts[1]]
    done = la.dedup(many, method=way)
    assert done.kept["text"].to_pylist() == texts
    assert done.removed.num_rows == 19_999
    assert set(done.removed["similarity"].to_pylist()) == {1.0}
    made = la.groups(many, method=way).groups
    assert (made.num_rows, made["size"].unique().to_pylist()) == (20_000, [20_000])
    with pytest.raises(
        TooManyPairs, match="the answer has at least 199,990,000 pairs, more than `max_pairs=100,000,000`"
    ):
        la.pairs(many, method=way)
    with pytest.raises(TooManyPairs, match="the answer has at least 40,000 pairs, more than `max_pairs=39,999`"):
        la.pairs(many[:2], against=many[:20_000], method=way, max_pairs=39_999)


@pytest.mark.promise("docs/how-to/large.md", "which never materialize the pairs of a crowd")
@pytest.mark.promise("docs/explanation/cost.md", "`groups` and `dedup` never materialize such pairs")
@pytest.mark.promise("README.md", "a million near-copies cost a million comparisons")
def test_thousands_of_near_copies() -> None:
    """All pairs match, none are equal: groups and dedup never write the pairs down."""
    lists = [[*range(1, 31), 1000 + i] for i in range(20_000)]
    done = la.dedup(lists, threshold=0.9, method="lsh")
    assert (done.kept.num_rows, done.removed.num_rows) == (1, 19_999)
    assert done.removed["similarity"].unique().to_pylist() == [30 / 32]
    made = la.groups(lists, threshold=0.9, method="lsh")
    assert made.groups["size"].unique().to_pylist() == [20_000]
    assert not made.receipt["pairs_complete"]
    with pytest.raises(UsageError, match="there were too many pairs to materialise"):
        _ = made.pairs


@pytest.mark.promise("docs/explanation/scale.md", "pairs would be (qn)²/2, and are refused before the work")
@pytest.mark.promise("docs/how-to/large.md", "Above `--max-pairs` (100 million) it stops before the search")
@pytest.mark.parametrize("way", ["lsh", "exact"])
def test_more_pairs_than_allowed(way: Any) -> None:
    lists = [[*range(1, 31), 1000 + i] for i in range(500)]
    with pytest.raises(
        TooManyPairs, match=r"more than 1,000 pairs are within the threshold, more than `max_pairs=1,000`\."
    ):
        la.pairs(lists, threshold=0.9, max_pairs=1_000, method=way)


# the same on Spark, on a cluster of two workers


ON_SPARK = pytest.mark.xdist_group("spark")
SPARK_WAYS = [way for way in WAYS if way[0] == "exact"] + [("lsh", "jaccard"), ("lsh", "cosine")]


def rows_of(frame: Any) -> list[str]:
    """Rows of an Arrow table, or of a Spark DataFrame, in any order."""
    table = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.promise("docs/how-to/spark.md", "the same plan, the same pairs with the same scores, the same groups")
@ON_SPARK
@pytest.mark.parametrize(("way", "measure"), SPARK_WAYS)
def test_spark_gives_the_same_pairs(way: Any, measure: str, spark: Any) -> None:
    options: Any = {"method": way, "measure": measure, "threshold": float(THRESHOLDS[measure]), "audit": 0}
    table = documents(1)
    expected = la.pairs(table, **options).pairs
    assert expected.num_rows > 20
    assert rows_of(la.pairs(table, engine="spark", **options).pairs) == rows_of(expected)


@ON_SPARK
def test_spark_gives_the_same_estimates(spark: Any) -> None:
    """Without verification, pairs whose signatures agree in a share of at least the threshold; none below."""
    table, options = documents(1), {"threshold": 0.5, "method": "lsh", "verify": False}
    expected = la.pairs(table, **options)
    assert expected.pairs.num_rows > 20
    assert min(expected.pairs["similarity"].to_pylist()) >= 0.5
    assert rows_of(la.pairs(table, engine="spark", **options).pairs) == rows_of(expected.pairs)


@ON_SPARK
@pytest.mark.parametrize(("way", "measure", "bag"), [("lsh", "jaccard", False), ("exact", "cosine", True)])
def test_spark_gives_the_same_pairs_between_two(way: Any, measure: str, bag: bool, spark: Any) -> None:
    table, other = two_collections()
    options: Any = {"method": way, "measure": measure, "threshold": float(THRESHOLDS[measure]), "bag": bag, "audit": 0}
    expected = la.pairs(table, against=other, **options).pairs
    assert expected.num_rows > 20
    assert rows_of(la.pairs(table, against=other, engine="spark", **options).pairs) == rows_of(expected)


def with_columns(table: pa.Table) -> pa.Table:
    """With columns that a policy may look at: numbers with ties, nulls and none, and words."""
    draw = random.Random(9)
    stars = [draw.choice([None, float("nan"), 1.0, 2.0, 2.5]) for _ in range(table.num_rows)]
    table = table.append_column("stars", pa.array(stars, pa.float64()))
    return table.append_column("from", pa.array([draw.choice(["web", "book", "mail", None]) for _ in stars]))


@ON_SPARK
@pytest.mark.parametrize(
    ("grouping", "keep", "way"),
    [
        ("components", "first", "lsh"), ("stars", "last", "exact"), ("stars", "max:stars", "lsh"),
        ("components", "priority:from=mail,web", "lsh"), ("cliques", "longest", "exact"),
    ],
)  # fmt: skip
def test_spark_gives_the_same_groups(grouping: Any, keep: str, way: Any, spark: Any) -> None:
    table = with_columns(documents(5, count=120))
    options: Any = {"grouping": grouping, "keep": keep, "method": way, "threshold": 0.6}
    expected = la.groups(table, **options).groups
    found = la.groups(table, engine="spark", **options).groups.toArrow()
    assert found.schema.equals(expected.schema)
    assert found.sort_by([("group", "ascending"), ("id", "ascending")]).equals(
        expected.sort_by([("group", "ascending"), ("id", "ascending")])
    )


@ON_SPARK
@pytest.mark.parametrize(("keep", "way"), [("longest", "lsh"), ("min:stars", "exact")])
def test_spark_keeps_the_same_rows(keep: str, way: Any, spark: Any) -> None:
    table = with_columns(documents(5, count=120))
    options: Any = {"keep": keep, "method": way, "threshold": 0.6}
    expected, done = la.dedup(table, **options), la.dedup(table, engine="spark", **options)
    assert rows_of(done.removed) == rows_of(expected.removed)
    assert rows_of(done.kept) == rows_of(expected.kept)
    assert len(rows_of(expected.removed)) > 20


@ON_SPARK
def test_spark_removes_the_same_against_another(spark: Any) -> None:
    table, other = two_collections()
    options: Any = {"against": other, "method": "lsh", "threshold": 0.6}
    expected, done = la.dedup(table, **options), la.dedup(table, engine="spark", **options)
    assert rows_of(done.removed) == rows_of(expected.removed)
    assert rows_of(done.kept) == rows_of(expected.kept)


@ON_SPARK
@pytest.mark.parametrize("grouping", ["components", "stars"])
def test_spark_makes_the_same_groups_from_crowded_buckets(
    grouping: Any, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lookalike.kinds.documents.spark import run as spark_run

    options: Any = {"grouping": grouping, "keep": "longest", "method": "lsh", "threshold": 0.5}
    expected = la.groups(documents(4, count=150), **options)
    monkeypatch.setattr(spark_run, "MAX_PAIRS_PER_ITEM", -1)
    found = la.groups(documents(4, count=150), engine="spark", **options)
    assert rows_of(found.groups) == rows_of(expected.groups)
    if grouping == "stars":
        assert rows_of(found.removed) == rows_of(expected.removed)
    assert not found.receipt["pairs_complete"]
    with pytest.raises(UsageError, match="there were too many pairs to materialise"):
        _ = found.pairs
    if grouping == "components":  # in parts of two items after parts of about three, and where no bucket is looked at
        monkeypatch.setattr("lookalike.runtime.spark.key_join.LINKED_TOGETHER", 2)
        monkeypatch.setattr("lookalike.runtime.spark.heavy_keys.MAX_BUCKET_ROWS", 6)
        monkeypatch.setattr("lookalike.runtime.spark.heavy_keys.MIN_SAMPLED", 1)
        few = documents(4, count=50)
        assert rows_of(la.groups(few, engine="spark", **options).groups) == rows_of(la.groups(few, **options).groups)
        assert not found.receipt["warnings"]
        nothing = spark.createDataFrame([], "left long, right long")
        monkeypatch.setattr(spark_run, "linked", lambda *_: nothing)
        (warning,) = la.groups(documents(4, count=150), engine="spark", **options).receipt["warnings"]
        assert "the measured recall is" in warning
        assert "was promised" in warning


@ON_SPARK
def test_spark_drops_the_same_common_shingles(spark: Any) -> None:
    options: Any = {"method": "exact", "threshold": 0.6, "max_share": 0.2}
    expected = la.pairs(documents(1, count=120), **options).pairs
    assert rows_of(expected) != rows_of(la.pairs(documents(1, count=120), method="exact", threshold=0.6).pairs)
    assert rows_of(la.pairs(documents(1, count=120), engine="spark", **options).pairs) == rows_of(expected)


@pytest.mark.promise("docs/how-to/spark.md", "where there are more, they are counted in a shuffle")
@ON_SPARK
@pytest.mark.parametrize(
    "limit",
    [
        "runtime.spark.shuffle.HELD_BYTES",
        "runtime.spark.key_join.MAX_TASKS",
        "kinds.documents.spark.common_shingles.DRIVER_ELEMENTS",
    ],
)
def test_spark_gives_the_same_pairs_beyond_its_limits(limit: str, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grouped on disk, with fewer tasks than the data asks for, and with common shingles counted in a shuffle."""
    options: Any = {"method": "lsh", "threshold": 0.6, "max_share": 0.2 if "DRIVER" in limit else None}
    expected = la.pairs(documents(1, count=120), **options).pairs
    monkeypatch.setattr(f"lookalike.{limit}", 1 if "TASKS" in limit else 0)
    assert rows_of(la.pairs(documents(1, count=120), engine="spark", **options).pairs) == rows_of(expected)


@pytest.mark.promise(
    "docs/how-to/spark.md", "The same choice of method, pairs, scores, groups, representatives and removed rows"
)
@ON_SPARK
def test_spark_chooses_and_counts_as_the_local_engine_does(spark: Any) -> None:
    table = documents(1, count=120)
    expected, found = la.pairs(table, threshold=0.6), la.pairs(table, engine="spark", threshold=0.6)
    assert found.receipt["choice"]["method"] == expected.receipt["choice"]["method"] == "exact"
    banded = la.pairs(table, engine="spark", threshold=0.6, method="lsh").receipt
    local_one = la.pairs(table, threshold=0.6, method="lsh").receipt
    for name in ("documents", "empty", "shingles", "exact_duplicates", "pairs"):
        assert banded["counts"][name] == found.receipt["counts"][name] == local_one["counts"][name]
    assert banded["plan"] == local_one["plan"]
    for name in ("sampled", "true_pairs", "found_pairs", "recall", "interval_95"):  # all items are the sample
        assert banded["recall_measured"][name] == local_one["recall_measured"][name]
    assert banded["recall_measured"]["predicted"] == pytest.approx(local_one["recall_measured"]["predicted"], abs=1e-4)


@ON_SPARK
def test_spark_with_very_many_copies(spark: Any) -> None:
    texts = ["The same sentence is here again and again.", "Another one that is not like it at all."]
    done = la.dedup([texts[0]] * 20_000 + [texts[1]], engine="spark", method="lsh")
    assert done.kept.select("text").toArrow()["text"].to_pylist() == texts
    with pytest.raises(
        TooManyPairs, match="the answer has at least 199,990,000 pairs, more than `max_pairs=100,000,000`"
    ):
        _ = la.pairs([texts[0]] * 20_000, engine="spark", method="lsh").pairs
    lists = [[*range(1, 31), 1000 + i] for i in range(500)]
    with pytest.raises(TooManyPairs, match="far more than `max_pairs=1,000` pairs are to be expected"):
        _ = la.pairs(lists, engine="spark", threshold=0.9, max_pairs=1_000, method="exact").pairs


@ON_SPARK
def test_spark_with_thousands_of_near_copies(spark: Any) -> None:
    lists = [[*range(1, 31), 1000 + i] for i in range(3_000)]
    done = la.dedup(lists, engine="spark", threshold=0.9, method="lsh")
    assert done.removed.toArrow()["similarity"].to_pylist() == [30 / 32] * 2_999


@ON_SPARK
def test_spark_with_empty_documents(spark: Any) -> None:
    texts = ["", " ", "..."]
    assert la.pairs(texts, engine="spark", method="lsh").pairs.count() == 0
    assert la.groups(texts, engine="spark").groups.count() == 0
    assert la.dedup(texts, engine="spark", method="lsh").kept.count() == len(texts)
