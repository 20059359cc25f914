"""The nearest items of each item: against slow twins that compare all, with ties, copies, empties and small inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.errors import TooManyPairs, UsageError
from lookalike.kinds.documents import top_k

Rows = list[tuple[int, int, int, float]]
SOME = settings(max_examples=40, deadline=None)


def slow(
    items: Sequence[Any], searched: Sequence[Any] | None, top: int, score: Callable[[Any, Any], float | None], sign: int,
    lowest: float = -math.inf,
) -> Rows:  # fmt: skip
    """Compare all: higher is nearer if sign is 1; None is no neighbour."""
    rows: Rows = []
    for left, x in enumerate(items):
        found = []
        for right, y in enumerate(items if searched is None else searched):
            near = None if searched is None and left == right else score(x, y)
            if near is not None and sign * near >= lowest:
                found.append((-sign * near, right, near))
        rows += [(left, right, rank, near) for rank, (_, right, near) in enumerate(sorted(found)[:top], 1)]
    return rows


def rows_of(result: Any) -> Rows:
    return [tuple(row.values()) for row in result.nearest.to_pylist()]


def similarity(measure: str, x: list[int], y: list[int]) -> float | None:
    a, b, common = len(set(x)), len(set(y)), len(set(x) & set(y))
    if not common:
        return None
    whole = {"jaccard": a + b - common, "containment": min(a, b), "dice": (a + b) / 2, "overlap": 1}
    return common / (math.sqrt(a * b) if measure == "cosine" else whole[measure])


SETS = st.lists(st.lists(st.integers(0, 12), max_size=8), max_size=14)


@pytest.mark.promise("docs/how-to/nearest.md", "The result is exact")
@pytest.mark.promise(
    "docs/how-to/nearest.md",
    "Documents without a common shingle, and baskets without a common item, are not neighbours",
)
@SOME
@given(
    SETS, st.none() | SETS, st.integers(1, 16),
    st.sampled_from(["jaccard", "containment", "dice", "cosine", "overlap"]), st.sampled_from([None, 0.2, 0.5, 1.0]),
)  # fmt: skip
def test_sets(
    items: list[list[int]], searched: list[list[int]] | None, top: int, measure: Any, at_least: float | None
) -> None:
    found = la.nearest(items, against=searched, top=top, measure=measure, at_least=at_least)
    wanted = slow(items, searched, top, lambda x, y: similarity(measure, x, y), 1, at_least or -math.inf)
    if measure == "cosine":  # the same overlaps, but another order of rounding
        assert [row[3] for row in rows_of(found)] == pytest.approx([row[3] for row in wanted])
    else:
        assert rows_of(found) == wanted


@pytest.mark.promise("docs/how-to/nearest.md", "the lists of common elements are left unread")
@pytest.mark.parametrize("seed", range(6))
def test_sets_with_common_and_rare_elements(seed: int) -> None:
    """Long lists of common elements are not read once the best are known; the result is the same."""
    random = np.random.default_rng(seed)
    items = [
        [*random.choice(6, random.integers(0, 7), replace=False).tolist(), *random.integers(100, 180, 4).tolist()]
        for _ in range(300)
    ]
    items[200:230] = items[:30]  # copies
    found = la.nearest(items, top=3, threads=2)
    assert rows_of(found) == slow(items, None, 3, lambda x, y: similarity("jaccard", x, y), 1)
    assert found.receipt["counts"]["postings_read"] < sum(
        sum(len(set(x) & set(y)) for y in items) for x in items
    )  # a part of the lists was not read


def test_baskets_and_products() -> None:
    bought = {"ann": ["milk", "bread", "tea"], "bob": ["milk", "bread"], "cy": ["soap", "tea"], "di": []}
    rows = la.baskets.nearest(bought, top=2).nearest.to_pylist()
    assert [(row["left"], row["right"], row["rank"]) for row in rows] == [
        ("ann", "bob", 1), ("ann", "cy", 2), ("bob", "ann", 1), ("cy", "ann", 1)
    ]  # fmt: skip
    products = la.baskets.nearest(bought, dual=True, top=1).nearest.to_pylist()
    assert products[0] == {"left": "milk", "right": "bread", "rank": 1, "similarity": 1.0}
    others = la.baskets.nearest({"x": ["soap"]}, against=bought, top=5).nearest.to_pylist()
    assert others == [{"left": "x", "right": "cy", "rank": 1, "similarity": 0.5}]


CODES = st.lists(st.integers(0, 255) | st.none(), max_size=16)


@SOME
@given(CODES, st.none() | CODES, st.integers(1, 20), st.sampled_from([None, 0, 2, 64]))
def test_bits(items: list[int | None], searched: list[int | None] | None, top: int, at_most: int | None) -> None:
    def apart(x: int | None, y: int | None) -> float | None:
        return None if x is None or y is None else float((x ^ y).bit_count())

    def column(values: list[int | None]) -> pa.Table:
        return pa.table({"code": pa.array(values, pa.int64())})

    found = la.bits.nearest(
        column(items), against=None if searched is None else column(searched), top=top, at_most=at_most
    )
    assert rows_of(found) == slow(items, searched, top, apart, -1, -math.inf if at_most is None else -at_most)


def test_long_codes() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 1 << 63, (700, 3), dtype=np.uint64)
    codes[600:] = codes[:100]
    bits = np.unpackbits(codes.view(np.uint8), axis=1).astype(np.int64)
    apart = bits @ (1 - bits.T) + (1 - bits) @ bits.T
    found = la.bits.nearest(codes, top=4, threads=2).nearest
    np.fill_diagonal(apart, 10**6)
    wanted = np.argsort(apart, axis=1, kind="stable")[:, :4]
    assert found["right"].to_pylist() == wanted.ravel().tolist()
    assert found["distance"].to_pylist() == np.take_along_axis(apart, wanted, 1).ravel().tolist()


def edits(x: str, y: str, swap: int) -> int:
    row = list(range(len(y) + 1))
    for i, letter in enumerate(x, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(y, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (0 if letter == other else swap))
    return row[-1]


STRINGS = st.lists(
    st.text("abé", max_size=6) | st.text("abc", min_size=60, max_size=70), max_size=10
)  # around the length of a machine word


@settings(max_examples=50, deadline=None)
@given(
    STRINGS, st.none() | STRINGS, st.integers(1, 12), st.sampled_from(["levenshtein", "indel"]), st.booleans(),
    st.booleans(),
)  # fmt: skip
def test_strings(
    items: list[str], searched: list[str] | None, top: int, measure: Any, by_similarity: bool, bounded: bool
) -> None:
    def score(x: str, y: str) -> float | None:
        if not x or not y:
            return None
        apart = edits(x, y, 2 if measure == "indel" else 1)
        whole = len(x) + len(y) if measure == "indel" else max(len(x), len(y))
        return float(Fraction(whole - apart, whole)) if by_similarity else float(apart)

    bound: dict[str, Any] = {"at_least": 0.5} if by_similarity else {"at_most": 3}
    found = la.strings.nearest(
        pa.table({"text": pa.array(items, pa.string())}),
        against=None if searched is None else pa.table({"text": pa.array(searched, pa.string())}),
        top=top, measure=measure, by_similarity=by_similarity, **(bound if bounded else {}),
    )  # fmt: skip
    lowest = -math.inf if not bounded else 0.5 if by_similarity else -3.0
    assert rows_of(found) == slow(items, searched, top, score, 1 if by_similarity else -1, lowest)


@pytest.mark.promise("docs/how-to/nearest.md", "Neighbours with equal scores are ordered by their place in the input")
@pytest.mark.parametrize(("measure", "swap"), [("levenshtein", 1), ("indel", 2)])
def test_many_short_strings(measure: Any, swap: int) -> None:
    """Many strings at equal distances, and few letters: the bounds by lengths and letters leave out no neighbour."""
    random = np.random.default_rng(3)
    items = ["".join(random.choice(list("abcde"), random.integers(1, 9))) for _ in range(130)]
    items[90:] = [item[:4] + random.choice(list("abc")) + item[4:] for item in items[:40]]  # one pair turns into two
    found = la.strings.nearest(items, top=3, measure=measure, threads=2)
    assert rows_of(found) == slow(items, None, 3, lambda x, y: float(edits(x, y, swap)), -1)


@pytest.mark.parametrize("metric", ["euclidean", "angle", "cosine"])
def test_the_estimator(metric: str) -> None:
    rows = np.random.default_rng(4).normal(size=(60, 3)).astype(np.float32)
    near = la.vectors.NearestNeighbors(4, metric=metric).fit(rows)
    distances, indices = near.kneighbors()
    measure: Any = {"euclidean": "distance"}.get(metric, metric)
    table = la.vectors.nearest(rows, top=4, measure=measure).nearest
    assert indices.ravel().tolist() == table["right"].to_pylist()
    scores = np.array(table[measure].to_pylist())
    assert distances.ravel().tolist() == (1.0 - scores if metric == "cosine" else scores).tolist()
    _, first = near.kneighbors(rows[:5], n_neighbors=1)
    assert first.ravel().tolist() == [0, 1, 2, 3, 4]
    graph = near.kneighbors_graph(mode="distance")
    assert graph.shape == (60, 60)
    assert graph[0, indices[0, 3]] == distances[0, 3]
    assert near.kneighbors_graph(rows[:2]).sum() == 8


def test_the_estimator_as_scikit_learn_has_it() -> None:
    sklearn = pytest.importorskip("sklearn.neighbors")
    rows = np.random.default_rng(5).normal(size=(80, 4)).astype(np.float32)
    theirs = sklearn.NearestNeighbors(n_neighbors=3).fit(rows).kneighbors()
    ours = la.vectors.NearestNeighbors(3).fit(rows).kneighbors()
    assert np.array_equal(ours[1], theirs[1])
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4)


@pytest.mark.promise("docs/how-to/nearest.md", "Both pass the checks that scikit-learn has for all estimators")
@pytest.mark.filterwarnings("ignore")  # it would rather have a subclass of its base class
@pytest.mark.parametrize("estimator", [la.vectors.NearestNeighbors, la.vectors.RadiusNeighbors])
def test_the_checks_of_scikit_learn(estimator: type) -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    rows = checks.check_estimator(estimator(), on_fail=None, on_skip=None)
    assert len(rows) > 35
    assert [(row["check_name"], row["exception"]) for row in rows if row["status"] == "failed"] == []


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, float("nan")]], "row 0 has NaN or an infinite number"),
        ([[1.0], [float("inf")]], "row 1 has NaN or an infinite number"),
        ([[1j]], "Complex data not supported"),
        (np.empty((0, 3)), "0 sample\\(s\\) while a minimum of 1 is required"),
        ([1.0, 2.0], "expected two dimensions"),
    ],
)
def test_the_estimator_refuses_rows(rows: Any, message: str) -> None:
    for estimator in (la.vectors.NearestNeighbors, la.vectors.RadiusNeighbors):
        with pytest.raises(UsageError, match=message):
            estimator().fit(rows)


def test_the_estimator_refuses_what_it_cannot_find() -> None:
    near = la.vectors.NearestNeighbors(3)
    with pytest.raises(UsageError, match=r"has not been fitted: call fit\(X\) before kneighbors\.$"):
        near.kneighbors()
    with pytest.raises(
        UsageError, match=r"^n_neighbors is 3; expected at most 2, the number of rows to choose from\.$"
    ):
        near.fit([[1.0], [2.0], [3.0]]).kneighbors()
    with pytest.raises(UsageError, match=r"^n_neighbors is 0; expected a whole number of neighbours, 1 or more\.$"):
        near.kneighbors(n_neighbors=0)


@pytest.mark.parametrize("measure", ["angle", "cosine", "distance"])
@pytest.mark.parametrize("shape", ["random", "copies", "far from the origin", "rising"])
def test_vectors(measure: Any, shape: str) -> None:
    """The same neighbours as of all pairs with their exact scores; ties by the order of the input."""
    random = np.random.default_rng(1)
    values = random.normal(size=(240, 5)).astype(np.float32)
    if shape == "copies":
        values = values[random.integers(0, 40, 240)]
    if shape == "far from the origin":
        values = values * np.float32(1e-3) + np.float32(1000)
    if shape == "rising":  # each item is nearer than the ones before
        values = np.linspace(1, 0, 240, dtype=np.float32)[:, None] * values[:1] + values[1:2]
    bound: dict[str, Any] = {
        "angle": {"max_angle": 180},
        "cosine": {"min_cosine": -1},
        "distance": {"max_distance": 1e4},
    }[measure]
    pairs = la.vectors.pairs(values, method="exact", **bound).pairs.to_pylist()
    score = {(row["left"], row["right"]): row[measure] for row in pairs}
    score |= {(right, left): near for (left, right), near in score.items()}
    sign = 1 if measure == "cosine" else -1
    rows = range(len(values))
    wanted = slow(rows, None, 7, lambda x, y: score[x, y], sign)
    assert rows_of(la.vectors.nearest(values, top=7, measure=measure, threads=2)) == wanted
    middle = wanted[len(wanted) // 2][3]
    limit: dict[str, Any] = {"at_least": middle} if sign > 0 else {"at_most": middle}
    some = la.vectors.nearest(values[:50], against=values[50:], top=7, measure=measure, **limit)
    right = [row - 50 for row in rows[50:]]
    assert rows_of(some) == slow(rows[:50], right, 7, lambda x, y: score[x, y + 50], sign, sign * middle)


def test_skipped_vectors_are_no_neighbours() -> None:
    rows = np.array([[1.0, 0.0], [np.nan, 1.0], [1.0, 0.1], [0.0, 0.0]])
    found = la.vectors.nearest(rows, top=3, on_bad="skip")
    assert [row[:3] for row in rows_of(found)] == [(0, 2, 1), (2, 0, 1)]


def test_more_than_a_tile_of_vectors() -> None:
    random = np.random.default_rng(2)
    rows = random.normal(size=(4200, 3)).astype(np.float32)
    found = la.vectors.nearest(rows[:40], against=rows, top=2, measure="distance").nearest
    assert found["right"].to_pylist()[::2] == list(range(40))
    apart = np.linalg.norm(rows[:40, None].astype(np.float64) - rows[None], axis=2)
    assert found["right"].to_pylist()[1::2] == np.argsort(apart, axis=1)[:, 1].tolist()


@pytest.mark.parametrize("top", [0, -3, 2.5])
@pytest.mark.parametrize("kind", [la, la.bits, la.strings, la.vectors, la.baskets])
def test_top_is_a_number_of_neighbours(kind: Any, top: Any) -> None:
    with pytest.raises(UsageError, match=rf"^top is {top}; expected a whole number of neighbours, 1 or more\.$"):
        kind.nearest(["a"], top=top)


def test_top_may_be_larger_than_the_collection() -> None:
    found = la.bits.nearest([1, 2, 3], top=10)
    assert len(found) == 6
    assert found.receipt["warnings"] == ["top is 10, but there are only 2 other items: no item has more neighbours."]
    assert len(la.strings.nearest(["a"], top=1)) == 0
    assert len(la.strings.nearest([], top=1)) == len(la.strings.nearest(["a"], against=[])) == 0
    assert len(la.vectors.nearest(np.empty((0, 3)))) == 0


@pytest.mark.promise("docs/how-to/nearest.md", "A run that may have more does not start.")
def test_a_result_that_is_too_large_does_not_start() -> None:
    with pytest.raises(TooManyPairs, match=r"^3 items with 2 neighbours each are 6 rows, more than `max_pairs=5`\."):
        la.bits.nearest([1, 2, 3], max_pairs=5)


def test_the_bound_that_fits_the_score() -> None:
    with pytest.raises(
        UsageError, match=r"^`at_least` is given, but the score is a distance \(angle\); give `at_most`\.$"
    ):
        la.vectors.nearest([[1.0]], at_least=0.5)
    with pytest.raises(
        UsageError, match=r"^`at_most` is given, but the score is a similarity \(cosine\); give `at_least`\.$"
    ):
        la.vectors.nearest([[1.0]], at_most=3, measure="cosine")
    with pytest.raises(
        UsageError, match=r"^at_least is 50; expected a number from 0 to 1 for the measure 'jaccard'\.$"
    ):
        la.nearest(["a"], at_least=50)
    with pytest.raises(UsageError, match=r"^`nearest` runs on one machine only\. Leave the engine out\.$"):
        la.nearest(["a"], engine="spark")  # type: ignore[typeddict-item]


@pytest.mark.promise("docs/explanation/limits.md", "A warning says so, and `--max-share` leaves such")
def test_shingles_that_most_documents_share_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"own{number} other{number} all share this footer" for number in range(40)]
    assert not la.nearest(texts, k=1, top=1).receipt["warnings"]
    monkeypatch.setattr(top_k, "READS_TO_WARN", 40 * 40 * 4 - 1)  # four words of the footer
    (warning,) = la.nearest(texts, k=1, top=1).receipt["warnings"]
    assert warning.startswith("4 elements are in more than half of all 40 sets")
    assert "`max_share=0.5` leaves such elements out" in warning
    assert not la.nearest(texts, k=1, top=1, max_share=0.5).receipt["warnings"]


def test_a_forecast_of_folding_is_refused_in_one_line(lookalike: Any, tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,a b c\n2,a b c\n")
    done = lookalike("plan", tmp_path / "a.csv", "--method", "folding")
    assert done.err.endswith(
        "the cost of method folding cannot be predicted; ask for auto, lsh, exact or dcm, or run it.\n"
    )
