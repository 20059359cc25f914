"""The model of a run on paper: its arithmetic, its units, and that more of anything never costs less."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lookalike as la
from lookalike.cost_model.costs import Costs
from lookalike.cost_model.scale import (
    KEY_ROW,
    PRINT_ROW,
    SET_ROW,
    Cluster,
    Load,
    Machine,
    Shuffle,
    banding,
    candidates,
    estimate,
    reading,
    shuffled,
)
from lookalike.errors import UsageError
from lookalike.planning.banding import plan

ONES = Costs(**dict.fromkeys(Costs().as_dict(), 1.0))  # a nanosecond for everything, and a second to start
SMALL = Load(items=1000, mean_bytes=800, copies=0.0, partners=1.0, background=0.1)


def test_reading_is_linear_in_bytes_items_and_elements() -> None:
    """1000 documents of 800 bytes are 800,000 bytes and, of 8 bytes each, 100,000 shingles."""
    made = reading(SMALL, ONES)
    assert made["read"] == pytest.approx(800_000e-9)
    assert made["shingle"] == pytest.approx((800_000 + 1000 + 100_000 + 8 * 100_000) * 1e-9)
    assert made["collapse"] == pytest.approx(1000e-9)


def test_banding_counts_slots_keys_and_pairs() -> None:
    planned = plan(0.8)
    met = candidates(SMALL, planned)
    made = banding(SMALL, planned, met, ONES)
    assert made["sketch"] == pytest.approx((100_000 + 1000 * 128 + 1000 * (4 * 128 + 8 * 16)) * 1e-9)
    assert made["buckets"] == pytest.approx((1000 * 16 * math.log2(1000) + met.met) * 1e-9)
    assert made["verify"] == pytest.approx(met.checked * 200e-9)
    assert made["audit"] == pytest.approx(100_000e-9)
    assert banding(SMALL, planned, met, ONES, audit=False)["audit"] == 0


def test_candidates_follow_the_curve() -> None:
    """One partner each above 0.8 are 500 pairs in [0.8, 1]: 2500 for each unit of similarity, below as above."""
    planned = plan(0.8)
    met = candidates(SMALL, planned)
    assert met.matches == pytest.approx(500)
    steps = 20_000
    curve = [planned.probability((step + 0.5) / steps) / steps for step in range(steps)]
    assert met.related == pytest.approx(2500 * sum(curve), rel=1e-4)
    assert met.found == pytest.approx(2500 * sum(curve[int(0.8 * steps) :]), rel=1e-4)
    assert met.unrelated == pytest.approx(1000 * 999 / 2 * planned.probability(0.1))
    # a pair of similarity s meets in b * s^r bands; its mean over [0, 1] is b / (r + 1)
    assert met.met == pytest.approx(2500 * 16 / 7 + 1000 * 999 / 2 * 16 * 0.1**6)
    assert met.found < met.checked < met.related


def test_what_travels() -> None:
    """No set where nobody has a partner; both of a pair; all of them, where the pairs are many."""
    alone = Load(items=1000, mean_bytes=800, copies=0.5, partners=0.0, background=0.0)
    travels = shuffled(alone, plan(0.8), candidates(alone, plan(0.8)))
    assert travels["candidates"].rows == travels["components"].bytes == 0
    assert travels["equal items"] == Shuffle(1000, 1000 * PRINT_ROW)
    assert travels["keys"] == Shuffle(500 * 16, 500 * 16 * KEY_ROW)
    assert travels["sets"] == Shuffle(0, 0)
    met = candidates(SMALL, plan(0.8))
    few = shuffled(SMALL, plan(0.8), met)["sets"]
    assert few == Shuffle(2 * met.total, 2 * met.total * (SET_ROW + 8 * 100))
    large = replace(SMALL, items=1e8, background=0.0)
    met = candidates(large, plan(0.8))
    assert shuffled(large, plan(0.8), met)["sets"].rows == 2 * met.total + 1e8


def test_a_cluster_shares_the_work() -> None:
    few = estimate(Load(items=1e9, mean_bytes=2000), Costs(), Cluster(executors=100))
    many = estimate(Load(items=1e9, mean_bytes=2000), Costs(), Cluster(executors=200))
    assert many.cpu_hours == few.cpu_hours
    assert many.shuffle_bytes == few.shuffle_bytes
    assert many.seconds == pytest.approx(few.seconds / 2)
    assert many.disk == pytest.approx(few.disk / 2)
    assert many.memory == few.memory
    assert many.cores == 800


def test_one_machine_shuffles_nothing_and_stays_within_its_memory() -> None:
    load = Load(items=1e7, mean_bytes=2000)
    made = estimate(load, Costs(), Machine(threads=2, memory=8e9))
    assert (made.shuffle, made.memory, made.cores) == ({}, 8e9, 2)
    assert made.disk == 1e7 * (8 * 250 + 4 * 128 + 8 * 16)
    assert made.cpu["files"] == pytest.approx((made.disk + 9.5e6 * 8 * 16 * 16) * Costs().byte_kept / 1e9)
    assert estimate(Load(items=1000, mean_bytes=2000), Costs()).disk == 0
    assert made.seconds == pytest.approx(Costs().start + (made.cpu_hours * 3600 - Costs().start) / 2)


@given(
    items=st.floats(1e3, 1e11), nbytes=st.floats(50, 1e5), partners=st.floats(0, 10), background=st.floats(0, 0.1),
    which=st.sampled_from(["items", "mean_bytes", "partners", "background"]), more=st.floats(1.01, 10),
)  # fmt: skip
@settings(max_examples=30)
def test_more_of_anything_never_costs_less(
    items: float, nbytes: float, partners: float, background: float, which: str, more: float
) -> None:
    given = {"items": items, "mean_bytes": nbytes, "partners": partners, "background": background}
    for where in (Machine(), Cluster(executors=10)):
        less = estimate(Load(**given), Costs(), where)
        costs = estimate(
            Load(**{**given, which: min(0.9, given[which] * more) if which == "background" else given[which] * more}),
            Costs(),
            where,
        )
        for value in ("cpu_hours", "seconds", "shuffle_bytes", "memory", "disk", "tasks"):
            assert getattr(costs, value) >= getattr(less, value) * (1 - 1e-9), value


@pytest.mark.promise("docs/explanation/scale.md", "49 pairs of unlike documents for each document would share a bucket")
def test_a_flood_of_unlike_pairs_is_told_with_what_would_help() -> None:
    load = Load(items=1e11, mean_bytes=2000)
    said = estimate(load, Costs(), Cluster(executors=2000)).warnings
    assert said == [
        "49 pairs of unlike items for each item share a bucket (background 0.02, 16 bands of 6 rows); "
        "`num_hashes=256` (26 bands of 8 rows) would leave few."
    ]
    assert estimate(load, Costs(), Cluster(executors=2000), num_hashes=256).warnings == []
    hopeless = Load(items=1e11, mean_bytes=2000, background=0.5)
    assert estimate(hopeless, Costs()).warnings[0].endswith("raise the threshold, or take longer shingles.")


def test_a_recall_out_of_reach_is_told() -> None:
    assert "not the requested 0.99" in estimate(SMALL, Costs(), threshold=0.3, num_hashes=2).warnings[0]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"items": 0.0}, "items is 0; expected a number from 1 on, for example 1e9."),
        ({"items": math.nan}, "items is nan; expected a number from 1 on, for example 1e9."),
        ({"mean_bytes": -1.0}, "mean_bytes is -1; expected a number from 1 on, for example 1e9."),
        ({"copies": 1.0}, "copies is 1; expected a share from 0 on and below 1."),
        ({"background": -0.1}, "background is -0.1; expected a share from 0 on and below 1."),
        ({"partners": -1.0}, "partners is -1; expected a number from 0 on."),
    ],
)
def test_loads_that_cannot_be(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Load(**{"items": 10.0, "mean_bytes": 10.0, **wrong})
    assert str(caught.value) == message


def test_clusters_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="executors is 0; expected at least 1"):
        Cluster(executors=0)
    with pytest.raises(UsageError, match="bandwidth is 0; expected bytes a second"):
        Cluster(executors=1, bandwidth=0.0)


def test_the_public_function_takes_plain_numbers() -> None:
    made = la.estimate(1e6, mean_bytes=300, unit="char", num_hashes=64)
    assert made.load.elements == 300
    assert made.plan.num_hashes == 64
    with pytest.raises(UsageError, match="unit"):
        la.estimate(1e6, mean_bytes=300, unit="token")
