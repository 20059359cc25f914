"""Every approximate run measures its recall, says so where it cannot, and warns where the promise was not kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.cli import index_recall
from lookalike.cli.summary import lines
from lookalike.core.recall_audit import OVER_GROUPS, OVER_KEPT

RNG = np.random.default_rng(1)
CROWD = [[f"b{word}" for word in range(30)] + [f"m{member}x{word}" for word in range(3)] for member in range(400)]
OTHERS = [
    [f"g{group}b{word}" for word in range(20)] + [f"g{group}m{member}"] for group in range(50) for member in (0, 1)
]
LISTS = CROWD + OTHERS
POINTS = np.repeat(RNG.standard_normal((60, 16)), 3, axis=0).astype(np.float32)
POINTS += np.float32(0.05) * RNG.standard_normal(POINTS.shape).astype(np.float32)
CODES = np.repeat(RNG.integers(0, 1 << 63, 60, dtype=np.uint64), 2) ^ np.tile(np.array([0, 7], np.uint64), 60)
BASKETS = pa.table(
    {
        "basket": [n for n, words in enumerate(OTHERS) for _ in words],
        "item": [word for words in OTHERS for word in words],
    }
)
NAMES = ["anna berg", "bela nagy", "carl voss", "dora klein", "emil roth", "fred stone", "gina rossi", "hans weber"]
RECORDS = pa.table(
    {
        "name": [f"{NAMES[n % 8]} {NAMES[n // 8 % 8]}{'s' * (n // 64)}" for n in range(128)],
        "street": [f"{n % 64} long street of {NAMES[(n % 64) * 5 % 8]}" for n in range(128)],
    }
)


RUNS: dict[str, Callable[[], Any]] = {
    "pairs": lambda: la.pairs(OTHERS, threshold=0.7, method="lsh"),
    "pairs against": lambda: la.pairs(OTHERS[::2], against=OTHERS[1::2], threshold=0.7, method="lsh"),
    "estimates": lambda: la.pairs(OTHERS, threshold=0.7, verify=False),
    "groups": lambda: la.groups(OTHERS, threshold=0.7, method="lsh"),
    "dedup": lambda: la.dedup(OTHERS, threshold=0.7, method="lsh"),
    "crowded groups": lambda: la.groups(LISTS, threshold=0.5, method="lsh"),
    "crowded dedup": lambda: la.dedup(LISTS, threshold=0.5, method="lsh"),
    "baskets": lambda: la.baskets.pairs(BASKETS, threshold=0.7, method="lsh"),
    "vectors": lambda: la.vectors.pairs(POINTS, max_angle=20, method="lsh"),
    "bits": lambda: la.bits.pairs(CODES, max_bits=4, method="lsh"),
    "faces": lambda: la.faces.pairs(10 * POINTS, tolerance=3, threshold=0.5, method="lsh"),
    "records": lambda: la.records.pairs(RECORDS, fields=["name", "street"]),
}


def summary(result: Any) -> str:
    return dict(lines(result.receipt, []))["Recall"]


@pytest.mark.promise(
    "docs/explanation/curves.md", "Every approximate run, with the exceptions below, takes a sample of items"
)
@pytest.mark.promise("docs/how-to/evaluate.md", "every approximate run measures its own recall")
@pytest.mark.promise("docs/index.md", "every approximate run measures the recall it achieved")
@pytest.mark.promise("README.md", "and every approximate run measures the recall it achieved")
@pytest.mark.parametrize("kind", RUNS)
def test_every_approximate_run_measures_its_recall(kind: str) -> None:
    result = RUNS[kind]()
    measured = result.receipt["recall_measured"]
    low, high = measured["interval_95"]
    assert result.receipt["plan"] or result.receipt["choice"]["method"] == "keys"
    assert measured["true_pairs"] >= 30
    assert 0.5 < low <= measured["recall"] <= high <= 1
    assert f"measured {measured['recall']:.4f} ({low:.4f} to {high:.4f})" in summary(result)
    assert measured["probably_missed"] <= measured["probably_missed_at_most"]


def test_groups_without_a_list_of_pairs_say_what_counts() -> None:
    groups, dedup = RUNS["crowded groups"](), RUNS["crowded dedup"]()
    assert not groups.receipt["pairs_complete"]
    assert groups.receipt["recall_measured"]["over"] == OVER_GROUPS
    assert dedup.receipt["recall_measured"]["over"] == OVER_KEPT
    assert "found where both are in one group" in summary(groups)
    assert "found unless both are kept" in summary(dedup)


def test_crowded_groups_that_fall_apart_are_seen() -> None:
    """One band of many rows: many near-copies share no bucket."""
    result = la.groups(LISTS, threshold=0.5, bands=1, rows=5, num_hashes=5)
    assert not result.receipt["pairs_complete"]
    group = {row["id"]: row["group"] for row in result.groups.to_pylist()}
    exact = la.pairs(LISTS, threshold=0.5, method="exact").pairs
    together = [
        group.get(left, -1 - left) == group.get(right, -2 - right)
        for left, right in zip(exact["left"].to_pylist(), exact["right"].to_pylist(), strict=True)
    ]
    low, high = result.receipt["recall_measured"]["interval_95"]
    assert 0.2 < np.mean(together) < 0.8
    assert low <= np.mean(together) <= high < low + 0.2


def test_a_sample_without_pairs_says_what_would_help() -> None:
    alone = [[f"{item}w{word}" for word in range(20)] for item in range(3000)]
    result = la.pairs(alone, threshold=0.7, method="lsh")
    measured = result.receipt["recall_measured"]
    assert measured["recall"] is measured["interval_95"] is None
    assert 0 < measured["probably_missed_at_most"] < 10
    assert summary(result).endswith(
        "not measured: no pairs were found, and none are among 2,000 sampled items · at most "
        f"{measured['probably_missed_at_most']} missed · --audit 8000 looks at more items"
    )


@pytest.mark.promise("docs/explanation/curves.md", "so that the audit stays cheap, unless `--audit` is above 2000")
def test_long_items_are_sampled_where_their_pairs_are() -> None:
    """Of 1,210 long items 20 have a partner, and less than a third of all are sampled."""
    rng = np.random.default_rng(2)
    sets = [rng.integers(0, 1 << 40, 1700) for _ in range(1200)]
    sets += [np.append(sets[item][:-20], rng.integers(0, 1 << 40, 20)) for item in range(10)]
    result = la.pairs([words.tolist() for words in sets], threshold=0.7, method="lsh")
    measured = result.receipt["recall_measured"]
    assert measured["sampled"] < 400
    assert measured["true_pairs"] == 10
    more = la.pairs([words.tolist() for words in sets], threshold=0.7, method="lsh", audit=2001)
    assert more.receipt["recall_measured"]["sampled"] == len(sets)


def test_no_audit_is_said() -> None:
    result = la.pairs(OTHERS, threshold=0.7, method="lsh", audit=0)
    assert result.receipt["recall_measured"] is None
    assert summary(result).endswith("at the threshold · not measured; --audit 2000 measures it")


@pytest.mark.promise("docs/explanation/curves.md", "that lies below the promised recall is a warning")
def test_a_recall_below_the_promise_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    from lookalike.kinds.documents.banding import BandedJoin

    monkeypatch.setattr(BandedJoin, "_units", lambda self, report, limit, verify: iter(()))
    result = la.pairs(OTHERS, threshold=0.7, method="lsh")
    [warning] = result.receipt["warnings"]
    assert warning == (
        "the measured recall is 0.0000, at most 0.0000, and 0.99 was promised. "
        "Ask for `method='exact'`, or for a higher `recall`."
    )


def unlike_probes() -> tuple[np.ndarray, np.ndarray]:
    """Probes that are spread otherwise than the gallery; each agrees with one of its items in just 12 of 40."""
    rng = np.random.default_rng(1)
    gallery = rng.normal(128, 30, (2000, 40))
    probes = rng.uniform(0, 255, (1000, 40))
    probes = np.where(np.abs(probes - gallery[:1000]) <= 11, gallery[:1000] + 60, probes)
    for item in range(1000):
        places = rng.permutation(40)[:12]
        probes[item, places] = gallery[item, places] + rng.uniform(-9.99, 9.99, 12)
    return probes.astype(np.float32), gallery.astype(np.float32)


def test_faces_are_planned_for_probes_unlike_the_gallery() -> None:
    probes, gallery = unlike_probes()
    table, result = la.faces.query(probes, gallery, tolerance=10.0, threshold=0.3, method="lsh")
    found = set(zip(table["probe"].to_pylist(), table["match"].to_pylist(), strict=True))
    assert np.mean([(item, item) in found for item in range(1000)]) > 0.95 - 5 * (0.95 * 0.05 / 1000) ** 0.5
    assert result.receipt["recall_at_threshold"] >= 0.95
    assert "planned 0.95" in summary(result)
    assert "on average over sampled pairs at the threshold" in summary(result)


def test_faces_below_the_promise_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan made from the gallery alone, as it would be if the probes were like it."""
    from lookalike.kinds.faces import local as faces

    def of_gallery(rows: Any, random: np.random.Generator) -> Any:
        chosen = rows.firsts[np.flatnonzero(rows.sides & 2)[:300]]
        return tuple(side.ravel() for side in np.meshgrid(chosen[:150], chosen[150:], indexing="ij"))

    monkeypatch.setattr(faces, "_sampled_pairs", of_gallery)
    probes, gallery = unlike_probes()
    _, result = la.faces.query(probes, gallery, tolerance=10.0, threshold=0.3, method="lsh")
    _, high = result.receipt["recall_measured"]["interval_95"]
    [warning] = [warning for warning in result.receipt["warnings"] if warning.startswith("the measured recall is")]
    assert f"at most {high:.4f}, and 0.95 was promised. Ask for `method='exact'`" in warning


TEXTS = [
    " ".join(f"w{(item // 2 * 53 + word * 17) % 1009}" for word in range(60)) + (" another ending" if item % 2 else "")
    for item in range(120)
]


@pytest.mark.promise(
    "docs/how-to/group-the-same-story.md", "The receipt states the planned and the measured recall of the shingles"
)
def test_stories_state_the_recall_of_their_shingles(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = la.stories(TEXTS)
    assert (exact.receipt["plan"], exact.receipt["recall_at_threshold"]) == (None, 1.0)
    assert "Recall" not in dict(lines(exact.receipt, []))
    monkeypatch.setattr("lookalike.kinds.passages.stories.METHOD", "lsh")
    banded = la.stories(TEXTS)
    measured = banded.receipt["recall_measured"]
    assert 0.99 <= banded.receipt["recall_at_threshold"] < 1
    assert measured["true_pairs"] >= 60
    assert summary(banded).startswith("of pairs by shingles planned 0.99")
    assert f"measured {measured['recall']:.4f}" in summary(banded)
    assert "winnowed fingerprints, and " in dict(lines(banded.receipt, []))["Compared"]
    assert banded.stories.equals(exact.stories)


LSH: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "documents": (la, OTHERS, {"threshold": 0.7, "method": "lsh"}),
    "baskets": (la.baskets, BASKETS, {"threshold": 0.7, "method": "lsh"}),
    "folding": (la, OTHERS, {"threshold": 0.7, "method": "folding"}),
    "vectors": (la.vectors, POINTS, {"max_angle": 20, "method": "lsh"}),
    "bits": (la.bits, CODES, {"max_bits": 4, "method": "lsh"}),
    "faces": (la.faces, 10 * POINTS, {"tolerance": 3, "method": "lsh"}),
    "records": (la.records, RECORDS, {"fields": ["name", "street"]}),
    "strings": (la.strings, [" ".join(words) for words in OTHERS], {"max_edits": 2}),
}


def halves(source: Any) -> tuple[Any, Any]:
    if isinstance(source, pa.Table):
        middle = source.num_rows // 2
        return source.slice(0, middle), source.slice(middle)
    return source[::2], source[1::2]


@pytest.mark.parametrize("audit", [None, 0])
@pytest.mark.parametrize("command", ["pairs", "groups", "dedup", "against"])
@pytest.mark.parametrize("kind", LSH)
def test_every_answer_says_what_it_may_miss(kind: str, command: str, audit: int | None) -> None:
    """An answer misses none, or has a measured recall with an interval, or says that it has none and what would help."""
    module, source, options = LSH[kind]
    options = options if audit is None or kind == "strings" else options | {"audit": audit}
    if command == "against":
        new, old = halves(source)
        result = module.pairs(new, against=old, **options)
    else:
        result = getattr(module, command)(source, **options)
    said = dict(lines(result.receipt, []))
    if result.receipt["recall_at_threshold"] == 1:
        assert "Recall" not in said
        assert "none missed" in said["Compared"]
    elif audit == 0:
        assert "not measured; --audit " in said["Recall"]
    elif result.receipt["recall_measured"]["recall"] is None:
        assert "not measured: no pairs were found" in said["Recall"]
    else:
        low, high = result.receipt["recall_measured"]["interval_95"]
        assert f"({low:.4f} to {high:.4f})" in said["Recall"]


def test_an_index_says_what_it_may_miss() -> None:
    for planned in (None, 0.992):
        assert (said := index_recall.line(planned, None, index_recall.MEASURE_QUERIES)) is not None
        assert said.endswith("not measured: --audit 300 compares 300 of the queries with all items")
    assert index_recall.line(1.0, None, index_recall.MEASURE_QUERIES) is None
