"""Every approximate run measures its recall, says so where it cannot, and warns where the promise was not kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike as la
from lookalike.cli.summary import lines
from lookalike.stages.audit import OVER_GROUPS, OVER_KEPT

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
    "faces": lambda: la.faces.pairs(10 * POINTS, tolerance=3, share=0.5, method="lsh"),
    "records": lambda: la.records.pairs(RECORDS, fields=["name", "street"]),
}


def summary(result: Any) -> str:
    return dict(lines(result.receipt, []))["Recall"]


@pytest.mark.promise(
    "docs/explanation/curves.md", "Every approximate run, with the exceptions below, takes a sample of items"
)
@pytest.mark.promise("docs/how-to/evaluate.md", "Every approximate run measures its own recall")
@pytest.mark.promise("docs/index.md", "every approximate run measures the recall it had")
@pytest.mark.promise("README.md", "and every approximate run measures the recall it had")
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
    from lookalike.engines.bands import BandedJoin

    monkeypatch.setattr(BandedJoin, "_units", lambda self, report, limit, verify: iter(()))
    result = la.pairs(OTHERS, threshold=0.7, method="lsh")
    [warning] = result.receipt["warnings"]
    assert warning == (
        "the measured recall is 0.0000, at most 0.0000, and 0.99 was promised. "
        "Ask for --method exact, or for a higher --recall."
    )


def test_probes_unlike_the_gallery_are_a_warning() -> None:
    """The plan is made from the gallery, and probes lie elsewhere: the run finds far less than it promises."""
    rng = np.random.default_rng(1)
    gallery = rng.normal(128, 30, (2000, 40))
    probes = rng.uniform(0, 255, (1000, 40))
    probes = np.where(np.abs(probes - gallery[:1000]) <= 11, gallery[:1000] + 60, probes)
    for item in range(1000):
        places = rng.permutation(40)[:12]
        probes[item, places] = gallery[item, places] + rng.uniform(-9.99, 9.99, 12)
    _, result = la.faces.query(
        probes.astype(np.float32), gallery.astype(np.float32), tolerance=10.0, share=0.3, method="lsh", audit=1000
    )
    low, high = result.receipt["recall_measured"]["interval_95"]
    assert 0.5 < low < high < 0.9 < result.job.recall <= result.receipt["recall_at_threshold"]
    [warning] = [warning for warning in result.receipt["warnings"] if warning.startswith("the measured recall is")]
    assert f"at most {high:.4f}, and 0.95 was promised. Ask for --method exact" in warning
