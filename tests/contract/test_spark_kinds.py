"""Other kinds of items on Spark: the answer of the local engine, to the last bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookalike as la
from lookalike.errors import InputError, UsageError

pytestmark = pytest.mark.xdist_group("spark")
Rows = list[tuple[Any, ...]]


def rows(table: Any) -> Rows:
    """Of an Arrow table or of a DataFrame, in any order, with their names."""
    found = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
    return sorted(tuple(row.items()) for row in found)


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two columns: who bought what; some baskets are alike, some equal, the ids begin with 0."""
    draw = random.Random(5)
    baskets: list[list[str]] = []
    for _ in range(50):
        fresh = [f"{draw.randrange(40):03}" for _ in range(draw.randint(1, 9))]
        old = draw.choice(baskets) if baskets else fresh
        baskets.append(draw.choice([fresh, [*old[1:], f"{draw.randrange(40):03}"], list(old)]))
    lines = [(f"{number:02}", item, draw.randint(1, 5)) for number, basket in enumerate(baskets) for item in basket]
    draw.shuffle(lines)
    path = tmp_path_factory.mktemp("sales") / "sales.csv"
    path.write_text("customer,product,stars\n" + "".join(f"{who},{what},{stars}\n" for who, what, stars in lines))
    return path


BASKETS: list[dict[str, Any]] = [
    {"min_shared": 3, "min_rating": 2, "rating": "stars"},
    {"threshold": 0.3, "dual": True},
]


@pytest.mark.parametrize("options", BASKETS, ids=["customers", "products"])
def test_baskets_of_two_columns(spark: Any, sales: Path, options: dict[str, Any]) -> None:
    asked = {"set": "customer", "item": "product", **options}
    here = la.baskets.pairs(sales, **asked).pairs
    assert len(here) > 5
    assert rows(la.baskets.pairs(sales, engine="spark", **asked).pairs) == rows(here)


def test_rows_of_baskets_that_go(spark: Any, sales: Path) -> None:
    asked: Any = {"set": "customer", "item": "product", "threshold": 0.5}
    here, there = la.baskets.dedup(sales, **asked), la.baskets.dedup(sales, engine="spark", **asked)
    assert rows(there.removed) == rows(here.removed)
    assert rows(there.kept) == rows(pa.table({n: here.kept[n].cast(pa.string()) for n in here.kept.column_names}))
    assert there.receipt["counts"]["baskets"] == here.receipt["counts"]["baskets"]


def test_baskets_of_lists_from_a_frame(spark: Any) -> None:
    lists = [["tea", "milk"], ["milk", "tea", "soap"], ["soap"], ["soap"], []]
    frame = spark.createDataFrame([(f"b{n}", items) for n, items in enumerate(lists)], "id string, items array<string>")
    here = la.baskets.pairs(dict(zip([f"b{n}" for n in range(5)], lists, strict=True)), threshold=0.5).pairs
    assert rows(la.baskets.pairs(frame, engine="spark", threshold=0.5).pairs) == rows(here)


def test_baskets_that_spark_does_not_take(spark: Any, sales: Path) -> None:
    with pytest.raises(UsageError, match=r"via_groups .* runs on one machine"):
        la.baskets.pairs(sales, engine="spark", via_groups=True)
    with pytest.raises(UsageError, match="ratings as multiplicity run on one machine"):
        la.baskets.pairs(sales, engine="spark", bag=True, rating="stars")
    frame = spark.createDataFrame([("a", "tea"), ("a", None)], "customer string, product string")
    with pytest.raises(InputError, match="column 'product' in the DataFrame has a row without a value"):
        la.baskets.pairs(frame, engine="spark").pairs.collect()
    with pytest.raises(UsageError, match=r"master goes with engine='spark' \(--engine spark\)"):
        la.baskets.pairs(sales, master="local")


@pytest.mark.xfail(strict=True, reason="items are hashed by name on Spark, by number here: other signatures, same law")
def test_banded_baskets_meet_in_the_same_bands(spark: Any) -> None:
    draw = random.Random(1)
    start = [[draw.randrange(10_000) for _ in range(40)] for _ in range(150)]
    lists = [
        [*basket[:cut], *(draw.randrange(10_000) for _ in range(40 - cut))] for basket in start for cut in (40, 33)
    ]
    options: Any = {"method": "lsh", "threshold": 0.7, "recall": 0.5, "num_hashes": 16, "audit": 0}
    assert rows(la.baskets.pairs(lists, engine="spark", **options).pairs) == rows(
        la.baskets.pairs(lists, **options).pairs
    )


def vectors() -> np.ndarray[Any, Any]:
    """Directions with near-copies, copies, and multiples of one another."""
    draw = np.random.default_rng(1)
    base = draw.standard_normal((80, 12)).astype(np.float32)
    near = base[:40] + np.float32(0.15) * draw.standard_normal((40, 12)).astype(np.float32)
    whole = np.concatenate([base, near, base[:5], 2 * base[30:35]])
    return whole[draw.permutation(len(whole))]


WAYS: list[dict[str, Any]] = [
    {"max_angle": 20},
    {"max_angle": 20, "method": "lsh"},
    {"max_distance": 1, "method": "lsh"},
]


@pytest.mark.parametrize("options", WAYS, ids=["all pairs", "tables", "buckets"])
def test_vectors(spark: Any, options: dict[str, Any]) -> None:
    values = vectors()
    here, there = la.vectors.pairs(values, **options), la.vectors.pairs(values, engine="spark", **options)
    assert len(here.pairs) > 20
    assert rows(there.pairs) == rows(here.pairs)
    if "method" in options:
        assert there.receipt["plan"] == here.receipt["plan"]
        assert there.receipt["recall_measured"] == here.receipt["recall_measured"]


def test_vectors_between_two_tables(spark: Any, tmp_path: Path) -> None:
    values = vectors()
    for name, part in (("a", values[:70]), ("b", values[70:])):
        pq.write_table(
            pa.table({"id": [f"{name}{n}" for n in range(len(part))], "emb": part.tolist()}),
            tmp_path / f"{name}.parquet",
        )
    asked: Any = {"against": tmp_path / "b.parquet", "min_cosine": 0.9}
    here = la.vectors.dedup(tmp_path / "a.parquet", **asked)
    there = la.vectors.dedup(tmp_path / "a.parquet", engine="spark", **asked)
    assert len(here.removed) > 3
    assert rows(there.removed) == rows(here.removed)


def test_vectors_that_cannot_be_compared(spark: Any) -> None:
    values = vectors()
    values[7, 3] = np.nan
    with pytest.raises(InputError, match="row 7: a number is missing or not finite, or all are zeros"):
        la.vectors.pairs(values, engine="spark", max_angle=10).pairs.collect()
    skipped = la.vectors.pairs(values, engine="spark", max_angle=20, on_bad="skip")
    assert rows(skipped.pairs) == rows(la.vectors.pairs(values, max_angle=20, on_bad="skip").pairs)
    with pytest.raises(UsageError, match="keep 'longest' means nothing for vectors"):
        la.vectors.dedup(values, engine="spark", max_angle=10, keep="longest")


def quoting() -> list[str]:
    """Texts that quote one another, some twice, one with nothing in it."""
    draw = random.Random(3)
    sources = [[f"w{draw.randrange(500)}" for _ in range(80)] for _ in range(6)]
    texts = [" ".join(words) for words in sources]
    for _ in range(8):
        one, other = draw.sample(sources, 2)
        at, to = draw.randrange(60), draw.randrange(60)
        texts.append(
            " ".join([*one[at : at + 20], "and", "then:", *other[to : to + 15], *one[at : at + 14]]).capitalize()
        )
    return [*texts, "", texts[0]]


@pytest.mark.parametrize("references", [False, True], ids=["one", "two"])
def test_passages(spark: Any, references: bool) -> None:
    texts = quoting()
    source, options = (texts[6:], {"references": texts[:6]}) if references else (texts, {})
    here = la.passages(source, **options)
    there = la.passages(source, engine="spark", **options)
    assert len(here.passages) > 10
    assert rows(there.passages) == rows(here.passages)
    if references:
        assert rows(there.pairs) == rows(here.pairs)


def test_passages_that_spark_does_not_take(spark: Any) -> None:
    for options in ({"template": "to be"}, {"max_share": 0.1}, {"language": "python"}):
        with pytest.raises(UsageError, match=rf"{next(iter(options))} .* is for one machine; on Spark leave it out"):
            la.passages(["to be or not to be"], engine="spark", **options)
