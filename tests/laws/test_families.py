"""Distances keep the axioms; families of hash functions collide as their curves say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import Recipe, Sets
from lookalike.kinds.bits.multi_index import MultiIndexPlan
from lookalike.kinds.documents.signatures import sketch
from lookalike.planning.amplification import Sensitive
from lookalike.planning.families import HYPERPLANES, MINHASH, Family, lines, projections, sampled_bits
from lookalike.textbook.distances import DISTANCES

numbers = st.integers(-50, 50)
vectors = st.lists(numbers, min_size=3, max_size=3)
directions = vectors.filter(any)
few_letters = st.text("abc", max_size=6)
words = st.lists(st.integers(0, 2**64 - 1), min_size=2, max_size=2)
ITEMS: dict[str, Any] = {
    "hamming": words | st.lists(st.integers(0, 3), min_size=2, max_size=2),
    "angle": directions,
    "euclidean": vectors,
    "levenshtein": few_letters,
    "indel": few_letters,
}
SLACK = 1e-5  # degrees: angles are made of square roots


def test_every_distance_has_items_here() -> None:
    assert set(ITEMS) == set(DISTANCES)


def same(name: str, a: Any, b: Any) -> bool:
    if name != "angle":
        return bool(a == b)
    crossed = np.cross(np.array(a, np.int64), np.array(b, np.int64))
    return not crossed.any() and np.dot(a, b) > 0


@pytest.mark.parametrize("name", sorted(ITEMS))
@settings(deadline=None)
@given(data=st.data())
def test_the_axioms_of_a_distance(name: str, data: st.DataObject) -> None:
    a, b, c = (data.draw(ITEMS[name]) for _ in range(3))
    d = DISTANCES[name].between
    assert d(a, b) >= 0
    assert (d(a, b) < SLACK) == same(name, a, b)
    assert d(a, b) == pytest.approx(d(b, a), abs=SLACK)
    assert d(a, c) <= d(a, b) + d(b, c) + SLACK


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_a_distance_to_oneself_is_nothing(name: str) -> None:
    item: Any = {"levenshtein": "rose", "indel": "rose"}.get(name, [3, 1, 2])
    assert DISTANCES[name].between(item, item) == 0


# the curves


FAMILIES: list[Family] = [MINHASH, HYPERPLANES, sampled_bits(64), projections(2.0), lines(2.0)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
@settings(deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_curve_falls_from_one(family: Family, a: float, b: float) -> None:
    last = min(family.furthest, 50.0)
    near, far = sorted((a * last, b * last))
    assert family.p(0.0) == pytest.approx(1.0)
    assert -1e-12 <= family.p(far) <= family.p(near) + 1e-12


@pytest.mark.promise("docs/how-to/plan-any-distance.md", "(w/2, 2w, 1/2, 1/3)-sensitive")
@pytest.mark.promise("docs/explanation/families.md", "within d1 agree with probability p1 at least")
@pytest.mark.parametrize(
    ("family", "claim"),
    [
        (MINHASH, Sensitive(0.3, 0.6, 0.7, 0.4)),
        (HYPERPLANES, Sensitive(30, 120, 0.833, 0.334)),
        (sampled_bits(64), Sensitive(8, 32, 7 / 8, 1 / 2)),
        (projections(4.0), Sensitive(2.0, 8.0, 1 / 2, 1 / 3)),
        (lines(4.0), Sensitive(2.0, 8.0, 1 / 2, 1 / 3)),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_the_textbook_families_are_sensitive(family: Family, claim: Sensitive) -> None:
    """Of Euclidean distance: (w/2, 2w, 1/2, 1/3)."""
    assert family.is_sensitive(claim)
    exact = family.sensitive(claim.d1, claim.d2)
    assert exact.p1 >= claim.p1
    assert exact.p2 <= claim.p2
    assert not family.is_sensitive(Sensitive(claim.d1, claim.d2, min(1.0, exact.p1 + 0.01), exact.p2))


def hyperplanes(draw: np.random.Generator, d: float, count: int) -> float:
    normals = draw.standard_normal((count, 5))
    angle = math.radians(d)
    one, other = np.eye(5)[0], math.cos(angle) * np.eye(5)[0] + math.sin(angle) * np.eye(5)[1]
    return float(np.mean((normals @ one > 0) == (normals @ other > 0)))


def projected(draw: np.random.Generator, d: float, count: int, *, width: float = 2.0) -> float:
    step = draw.standard_normal(count) * d  # of a normal direction, along the line between the points
    offset = draw.random(count) * width
    return float(np.mean(np.floor(offset / width) == np.floor((offset + step) / width)))


def on_lines(draw: np.random.Generator, d: float, count: int, *, width: float = 2.0) -> float:
    step = np.cos(draw.random(count) * math.pi) * d
    offset = draw.random(count) * width
    return float(np.mean(np.floor(offset / width) == np.floor((offset + step) / width)))


def minhashed(draw: np.random.Generator, d: float, count: int) -> float:
    one = round(100 * (2 - d))  # of 200 elements in all, 200 d are in one set only, half of them in each
    hashed = draw.integers(1, 1 << 63, 200, dtype=np.uint64)
    elements = np.concatenate([hashed[:one], hashed[200 - one :]])
    recipe = Recipe(scheme="minhash-1", length=count, seed=7)
    made = sketch(Sets(elements, np.array([0, one, 2 * one])), recipe)
    return float(np.mean(made.values[0] == made.values[1]))


def bits_sampled(draw: np.random.Generator, d: float, count: int) -> float:
    return float(np.mean(draw.integers(0, 64, count) >= d))


@pytest.mark.parametrize(
    ("family", "collide", "count"),
    [
        (HYPERPLANES, hyperplanes, 40_000), (projections(2.0), projected, 40_000), (lines(2.0), on_lines, 40_000),
        (MINHASH, minhashed, 8192), (sampled_bits(64), bits_sampled, 40_000),
    ],
    ids=lambda value: getattr(value, "name", ""),
)  # fmt: skip
def test_real_hash_functions_follow_the_curve(family: Family, collide: Callable[..., float], count: int) -> None:
    draw = np.random.default_rng(11)
    last = family.furthest if math.isfinite(family.furthest) else 10.0
    for share in (0.05, 0.2, 0.4, 0.6, 0.9):
        d = float(round(share * last)) if family.measure == "hamming" else share * last
        p = family.p(d)
        assert abs(collide(draw, d, count) - p) < 5.5 * math.sqrt(p * (1 - p) / count) + 2 / count


@pytest.mark.parametrize(
    ("widths", "flips", "rounds"), [((16,) * 4, (1,) * 4, 1), ((20, 12), (1, 0), 2), ((8,), (0,), 5)]
)
def test_pieces_hold_pairs_as_often_as_planned(widths: tuple[int, ...], flips: tuple[int, ...], rounds: int) -> None:
    plan = MultiIndexPlan(bits=64, threshold=8, recall=0.5, widths=widths, flips=flips, rounds=rounds)
    trials, differ = 1000, np.zeros(64, np.bool_)
    for distance in (2, 5, 8, 12):
        differ[:] = np.arange(64) < distance
        hits = sum(
            any(
                differ[piece.places.astype(np.int64)].sum() <= piece.flips
                for piece in plan.pieces(np.arange(64, dtype=np.uint64), seed)
            )
            for seed in range(trials)
        )
        p = plan.probability(distance)
        assert abs(hits - trials * p) <= 5.5 * math.sqrt(trials * p * (1 - p)) + 1e-9, distance
