"""Weighted sets: joins and nearest sets against slow twins and against scikit-learn."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import lookalike as la
from lookalike.errors import InputError, TooManyPairs, UsageError
from lookalike.kinds.documents.weighted_banding import dart_signatures
from lookalike.kinds.documents.weights import WeighedElements
from lookalike.runtime.local.pool import Pool

SOME = settings(max_examples=60, deadline=None)
MEASURES = ["jaccard", "containment", "dice", "cosine"]
Weights = dict[int, float]


def vectors(items: list[list[int]], others: list[list[int]], bag: bool, idf: bool, own: Weights) -> list[Weights]:
    """Return the weights of the elements of each item, from the definition."""
    everything = items + others
    documents = Counter(x for item in everything for x in set(item))

    def weight(x: int) -> float:
        return own.get(x, 1.0) * (math.log((1 + len(everything)) / (1 + documents[x])) + 1 if idf else 1.0)

    return [{x: weight(x) * (times if bag else 1) for x, times in Counter(item).items()} for item in everything]


def score(measure: str, x: Weights, y: Weights) -> float:
    if measure == "cosine":
        shared = sum(x[e] * y[e] for e in x.keys() & y.keys())
        return shared / math.sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values())) if shared else 0.0
    shared, a, b = sum(min(x[e], y[e]) for e in x.keys() & y.keys()), sum(x.values()), sum(y.values())
    if not shared:
        return 0.0
    return shared / {"jaccard": a + b - shared, "containment": min(a, b), "dice": (a + b) / 2}[measure]


ITEMS = st.lists(st.lists(st.integers(0, 14), max_size=9), max_size=16)
OWN = st.none() | st.dictionaries(st.integers(0, 14), st.floats(0.01, 50), min_size=1, max_size=8)


@pytest.mark.promise("docs/how-to/documents.md", "The search with weights is exact")
@SOME
@given(ITEMS, st.none() | ITEMS, st.sampled_from(MEASURES), st.booleans(), st.booleans(), OWN,
       st.sampled_from([0.05, 0.3, 0.7, 1.0]))  # fmt: skip
def test_pairs(
    items: list[list[int]], others: list[list[int]] | None, measure: Any, bag: bool, idf: bool, own: Weights | None,
    threshold: float,
) -> None:  # fmt: skip
    if own is None and not idf:
        own = {3: 2.0}
    given: Any = {"measure": measure, "bag": bag, "weight": "idf" if idf else "none", "weights": own}
    found = la.pairs(items, against=others, threshold=threshold, **given).pairs.to_pylist()
    rows = vectors(items, others or [], bag, idf, own or {})
    every = combinations(range(len(items)), 2)
    if others is not None:
        every = ((i, len(items) + j) for i in range(len(items)) for j in range(len(others)))  # type: ignore[assignment]
    scores = {pair: score(measure, rows[pair[0]], rows[pair[1]]) for pair in every}
    shift = 0 if others is None else len(items)
    mine = {(row["left"], row["right"] + shift): row["similarity"] for row in found}
    near = 1e-9  # either answer is right next to the threshold
    assert {pair for pair, s in scores.items() if s >= threshold + near} <= mine.keys()
    assert mine.keys() <= {pair for pair, s in scores.items() if s >= threshold - near}
    assert all(mine[pair] == pytest.approx(scores[pair]) for pair in mine)


@pytest.mark.promise("docs/how-to/nearest.md", "With weights the result is exact, too")
@SOME
@given(ITEMS, st.none() | ITEMS, st.sampled_from(MEASURES), st.booleans(), OWN, st.integers(1, 6),
       st.sampled_from([None, 0.3]))  # fmt: skip
def test_nearest(
    items: list[list[int]], others: list[list[int]] | None, measure: Any, bag: bool, own: Weights | None, top: int,
    at_least: float | None,
) -> None:  # fmt: skip
    result = la.nearest(
        items, against=others, measure=measure, bag=bag, weight="idf", weights=own, top=top, at_least=at_least
    )
    rows = vectors(items, others or [], bag, True, own or {})
    searched = rows if others is None else rows[len(items) :]
    found = result.nearest.to_pylist()
    for i in range(len(items)):
        wanted = [score(measure, rows[i], y) for j, y in enumerate(searched) if others is not None or j != i]
        wanted = sorted((s for s in wanted if s > 0 and s >= (at_least or 0) - 1e-9), reverse=True)[:top]
        here = [row for row in found if row["left"] == i]
        assert [row["rank"] for row in here] == list(range(1, len(here) + 1))
        scores = [row["similarity"] for row in here]
        assert scores == pytest.approx([score(measure, rows[i], searched[row["right"]]) for row in here])
        sure = [s for s in wanted if at_least is None or s >= at_least + 1e-9]
        assert len(sure) <= len(here) <= len(wanted)
        assert scores == pytest.approx(wanted[: len(scores)])
        tied = [(-row["similarity"], row["right"]) for row in here]
        assert tied == sorted(tied)  # ties by the order of the input


def zipf(random: np.random.Generator, count: int, size: int) -> list[list[int]]:
    """Items with a few common elements and many rare ones."""
    return [np.minimum(random.zipf(1.3, random.integers(1, size)), 500).tolist() for _ in range(count)]


@pytest.mark.promise("docs/how-to/nearest.md", "common elements are left unread with weights, too")
@pytest.mark.parametrize("chunk", [7, 64, 1 << 15])
@pytest.mark.parametrize("measure", ["jaccard", "cosine", "containment"])
def test_long_lists_and_small_chunks(chunk: int, measure: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of any size give the same neighbours and pairs, and lists are left early."""
    monkeypatch.setattr("lookalike.kinds.documents.weighted_join.CHUNK", chunk)
    items = zipf(np.random.default_rng(3), 400, 30)
    items[300:330] = items[:30]  # copies
    result = la.nearest(items, weight="idf", measure=measure, top=3, threads=2)
    rows = vectors(items, [], False, True, {})
    dense = np.array([[score(measure, x, y) for y in rows] for x in rows])
    np.fill_diagonal(dense, -1.0)
    for i in range(0, 400, 7):
        got = [row["similarity"] for row in result.nearest.to_pylist() if row["left"] == i]
        assert got == pytest.approx(sorted(dense[i], reverse=True)[:3])
    shared = sum(len(x.keys() & y.keys()) for x, y in combinations(rows, 2)) * 2
    assert result.receipt["counts"]["postings_read"] < shared or measure == "containment"
    pairs = la.pairs(items, weight="idf", measure=measure, threshold=0.6)
    wanted = {(i, j) for i, j in combinations(range(400), 2) if dense[i, j] >= 0.6}
    assert {(row["left"], row["right"]) for row in pairs.pairs.to_pylist()} == wanted


@pytest.mark.promise("docs/how-to/documents.md", "These are the vectors of scikit-learn's `TfidfVectorizer`")
@pytest.mark.promise(
    "docs/how-to/documents.md", "ln((1 + n) / (1 + d)) + 1 for a shingle that d of all n documents have"
)
def test_the_weights_are_those_of_scikit_learn() -> None:
    texts = ["the cat sat on the mat", "the cat sat on a mat", "the dog lay on the rug", "the the the end"]
    for bag in (False, True):
        matrix = TfidfVectorizer(binary=not bag, token_pattern=r"\w+").fit_transform(texts)
        dense = (matrix @ matrix.T).toarray()
        found = la.pairs(texts, k=1, bag=bag, weight="idf", measure="cosine", threshold=1e-9).pairs.to_pylist()
        assert len(found) == 6
        assert all(row["similarity"] == pytest.approx(dense[row["left"], row["right"]]) for row in found)


@pytest.mark.parametrize("measure", MEASURES)
def test_copies_are_exactly_one(measure: Any) -> None:
    items = [[1, 2, 3, 4, 7], [7, 4, 3, 2, 1], [1, 2], [9]]
    own = {1: 0.1, 2: 0.2, 3: 0.7, 4: 1 / 3}
    assert la.nearest(items, weights=own, measure=measure, top=1).nearest["similarity"][0].as_py() == 1.0
    assert la.pairs(items, weights=own, measure=measure, threshold=1.0).pairs.slice(0, 1)["similarity"][0].as_py() == 1


@pytest.mark.promise("docs/how-to/documents.md", "a footer that every page has counts for little")
def test_boilerplate_counts_for_little() -> None:
    footer = "all rights reserved terms of use privacy policy contact us"
    pages = [f"{subject} {footer}" for subject in ("wolves hunt elk", "wolves hunt elk deer", "prices of copper")]
    pages += [f"page{i} about{i} {footer}" for i in range(60)]
    assert len(la.pairs(pages, k=1, threshold=0.7)) > 1000
    found = la.pairs(pages, k=1, threshold=0.7, weight="idf").pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in found] == [(0, 1)]


def test_groups_and_dedup() -> None:
    texts = ["red green blue", "red green blue", "red green", "blue"]
    assert la.groups(texts, k=1, weight="idf", threshold=0.6).groups["group"].to_pylist() == [0, 0, 0]
    assert [row["id"] for row in la.dedup(texts, k=1, weight="idf", threshold=0.6).removed.to_pylist()] == [1, 2]


def test_receipt_and_words() -> None:
    result = la.pairs(["a b", "a c"], k=1, threshold=0.1, weight="idf", weights={"a": 3})
    assert result.receipt["compared"] == "jaccard at least 0.1 on word 1-shingles, weighted by idf and own weights"
    assert result.receipt["job"]["weights"]["count"] == 1
    assert result.receipt["counts"]["unlisted_elements"] == 2


@pytest.mark.promise("docs/how-to/documents.md", "what is not listed weighs 1")
def test_weights_from_a_table(tmp_path: Path) -> None:
    table = tmp_path / "weights.csv"
    table.write_text("item,weight\nmilk,0.1\nTruffles,9\n")
    sets = [["milk", "Truffles"], ["milk"], ["Truffles", "bread"]]
    assert la.nearest(sets, weights=table, top=1).nearest["right"].to_pylist() == [2, 0, 0]
    arrow = pa.table({"item": ["milk", "Truffles"], "weight": [0.1, 9.0]})
    assert la.nearest(sets, weights=arrow, top=1).nearest["right"].to_pylist() == [2, 0, 0]
    words = la.nearest(["milk truffles", "MILK", "truffles bread"], k=1, weights=table, top=1)
    assert words.nearest["right"].to_pylist() == [2, 0, 0]  # folded as the texts are


@pytest.mark.parametrize("bits", [32, 64])
def test_repeats_are_undone_with_either_width(bits: Any) -> None:
    items = ["x x x y", "x y y y", "x x y z"]
    rows = vectors([list(map(ord, text.split())) for text in items], [], True, True, {})
    found = la.pairs(items, k=1, bag=True, hash_bits=bits, weight="idf", threshold=0.01).pairs.to_pylist()
    assert [row["similarity"] for row in found] == pytest.approx(
        [score("jaccard", rows[i], rows[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    )


def test_baskets() -> None:
    bought = {"ann": ["milk", "caviar"], "bob": ["milk", "caviar", "tea"], "cy": ["milk"], "di": ["milk", "tea"]}
    near = la.baskets.nearest(bought, weight="idf", top=1).nearest.to_pylist()
    assert [(row["left"], row["right"]) for row in near] == [
        ("ann", "bob"),
        ("bob", "ann"),
        ("cy", "ann"),
        ("di", "bob"),
    ]
    own = la.baskets.pairs(bought, weights={"caviar": 20, "milk": 0.5}, threshold=0.8).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in own] == [("ann", "bob")]
    dual = la.baskets.nearest(bought, weights={"cy": 100}, dual=True, top=1).nearest.to_pylist()
    assert {row["left"]: row["right"] for row in dual}["caviar"] == "tea"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"milk": 0}, "the weight of 'milk' is 0; expected a number from 1e-09 to 1e\\+09"),
        ({"milk": -1}, "the weight of 'milk' is -1"),
        ({"milk": float("nan")}, "the weight of 'milk' is nan"),
        ({"milk": None}, "the weight of 'milk' is missing"),
        ({"milk": "much"}, "the weight of 'milk' is 'much'"),
        ({"milk": float("inf")}, "the weight of 'milk' is inf"),
        ({}, "no weights; expected at least one item"),
        ({"sour milk": 2}, "'sour milk' has 2 shingles; expected one"),
        ({"milk": 2, "Milk": 3}, "'Milk' and 'milk' are the same shingle and have different weights"),
        (3, "weights is int; expected a dict"),
        (pa.table({"a": [1], "b": [2], "c": [3]}), "has the columns a, b, c; expected item and weight, or two"),
        (pa.table({"item": ["milk", "milk"], "weight": [1, 2]}), "'milk' has two weights"),
        (pa.table({"item": ["milk"], "weight": ["x"]}), "is not all numbers"),
    ],
)
def test_weights_that_cannot_be_used(weights: Any, message: str) -> None:
    with pytest.raises((UsageError, InputError), match=message):
        la.pairs(["milk", "tea"], k=1, weights=weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_shared": 2}, "counts shared elements; with weights give another measure"),
        ({"method": "dcm"}, "sets with weights are joined by their rarest elements"),
        ({"verify": False}, "sets with weights are joined by their rarest elements"),
        ({"bands": 5}, "with weights these are made with method 'lsh'"),
        ({"method": "lsh", "measure": "cosine"}, "banding of weighted sets cannot promise a recall for cosine"),
        ({"weight": "tfidf"}, "weight 'tfidf' is unknown. Nearest: 'idf'"),
        ({"engine": "spark"}, "a run on Spark compares sets without weights"),
    ],
)
def test_options_that_do_not_go_with_weights(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        la.pairs(["a", "b"], **({"weight": "idf"} | options))


def test_too_many_pairs() -> None:
    texts = [f"common words of the same page {i % 40}x{i // 40}" for i in range(200)]
    with pytest.raises(TooManyPairs, match="max_pairs"):
        la.pairs(texts, k=1, weight="idf", threshold=0.1, max_pairs=50)


@pytest.mark.promise("docs/how-to/documents.md", "a limit (`--memory`) that it would exceed")
def test_memory(tmp_path: Path) -> None:
    texts = [" ".join(f"w{i}x{j}" for j in range(4000)) for i in range(500)]
    with pytest.raises(UsageError, match="a search with weights over 2,000,000 shingles needs about 400 MB of memory"):
        la.pairs(texts, k=1, weight="idf", memory="300MB", work_dir=tmp_path)


def test_no_documents_and_no_shared_elements() -> None:
    assert len(la.pairs([], weight="idf")) == 0
    assert len(la.pairs(["", " ", "one"], weight="idf")) == 0
    assert len(la.nearest(["one", "two"], k=1, weight="idf").nearest) == 0


# Signatures of darts


def signatures(sets: list[Weights], length: int, seed: int = 42) -> np.ndarray:
    """The signatures of sets with any weights: the weight is the number of occurrences of an element that weighs 1."""
    elements = sorted({x for one in sets for x in one})
    places = [elements.index(x) for one in sets for x in one]
    weighed = WeighedElements(
        np.array(elements, np.uint64), np.ones(len(elements), np.int64), np.full(len(elements), 0.25),
        np.array([len(one) for one in sets], np.int64), np.array(places, np.int64),
        np.array([4 * one[x] for one in sets for x in one], np.float64), 0,
    )  # fmt: skip
    with Pool(1) as pool:
        return dart_signatures(weighed, length, seed, pool)


SETS_OF_DARTS: list[tuple[Weights, Weights]] = [
    ({1: 1.0, 2: 1.0, 3: 1.0}, {2: 1.0, 3: 1.0, 4: 1.0}),
    ({1: 0.01, 2: 7.3}, {1: 0.5, 2: 3.1, 3: 0.2}),
    ({x: 1 + x / 7 for x in range(1, 60)}, {x: 1 + x / 5 for x in range(20, 80)}),
    ({5: 100.0, 6: 0.001}, {5: 99.0, 7: 1.0}),
    ({1: 1.0}, {2: 1.0}),
]


@pytest.mark.promise("docs/how-to/documents.md", "agree with the probability of the weighted Jaccard similarity")
@pytest.mark.parametrize("pair", SETS_OF_DARTS)
def test_slots_agree_as_often_as_the_weighted_jaccard(pair: tuple[Weights, Weights]) -> None:
    """The number of agreeing slots of 60 independent signatures of 64 slots is binomial: 5.2 deviations are 2e-7."""
    truth, draws = score("jaccard", *pair), 60 * 64
    agree = sum(int(np.equal(*signatures(list(pair), 64, seed)).sum()) for seed in range(60))
    assert abs(agree - draws * truth) <= 5.2 * math.sqrt(draws * truth * (1 - truth))


def test_slots_are_independent() -> None:
    """The variance of the number of agreeing slots is that of a binomial, from 400 signatures of 32 slots."""
    pair = SETS_OF_DARTS[2]
    truth = score("jaccard", *pair)
    counts = [int(np.equal(*signatures(list(pair), 32, seed)).sum()) for seed in range(400)]
    expected = 32 * truth * (1 - truth)
    assert abs(np.var(counts) / expected - 1) < 5.2 * math.sqrt(2 / 400) * 1.2


def test_a_signature_does_not_depend_on_other_sets() -> None:
    one, other = SETS_OF_DARTS[2]
    together = signatures([one, other, {}, {99: 1e-6}], 16)
    assert (together[0] == signatures([one], 16)[0]).all()
    assert (together[1] == signatures([other, one], 16)[0]).all()
    assert (together[2] == 0xFFFFFFFF).all()
    assert (together[3] != 0xFFFFFFFF).all()


def test_golden_darts() -> None:
    """The scheme is never edited: a signature is what it always was."""
    assert signatures([{1: 1.0, 2: 2.5, 3: 0.3}, {7: 40.0}], 4).tolist() == [
        [3243754, 3455972286, 460070981, 2100819160],
        [1284837721, 593551901, 310433426, 3560900381],
    ]


@pytest.mark.parametrize("measure", ["jaccard", "dice"])
def test_banding_finds_what_the_plan_promises(measure: Any) -> None:
    random = np.random.default_rng(8)
    items: list[list[int]] = []
    for _ in range(250):
        one = random.zipf(1.2, 60).clip(max=10**6)
        other = np.where(random.random(60) < random.uniform(0, 0.35), random.integers(10**7, 10**9, 60), one)
        items += [one.tolist(), other.tolist()]
    options: Any = {"weight": "idf", "measure": measure, "threshold": 0.6, "bag": True}
    exact = la.pairs(items, **options)
    found = la.pairs(items, method="lsh", recall=0.9, audit=100, **options)
    truth = {tuple(row.values()) for row in exact.pairs.to_pylist()}
    here = {tuple(row.values()) for row in found.pairs.to_pylist()}
    assert here <= truth
    assert len(here) >= 0.9 * len(truth)  # the plan is for pairs at the threshold; most are above it
    assert len(truth) > 60
    low, high = found.receipt["recall_measured"]["interval_95"]
    assert low <= len(here) / len(truth) <= high
