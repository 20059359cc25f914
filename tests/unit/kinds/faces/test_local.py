"""Measurements: matches are counted exactly, measurements that agree always meet, the plan keeps its promise."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import InputError, UsageError
from lookalike.kinds.faces.kernels import measurements
from lookalike.kinds.faces.spec import FaceJob, found

RANDOM = np.random.default_rng(5)


def people(count: int = 60, each: int = 4, width: int = 80) -> np.ndarray:
    """Each person has measurements from 0 to 255; each picture of one moves them a little, a third of them far."""
    mean = RANDOM.uniform(0, 255, (count, 1, width))
    moved = mean + RANDOM.normal(0, 5, (count, each, width))
    far = RANDOM.random((count, each, width)) < 0.3
    return np.where(far, RANDOM.uniform(0, 255, moved.shape), moved).reshape(-1, width).astype(np.float32)


DATA = people()


def as_dict(result: la.Result) -> dict[tuple[int, int], float]:
    table = result.pairs
    return dict(zip(zip(table[0].to_pylist(), table[1].to_pylist(), strict=True), table[2].to_pylist(), strict=True))


def brute(x: np.ndarray, y: np.ndarray, tolerance: float, share: float) -> dict[tuple[int, int], float]:
    out = {}
    for i, one in enumerate(x.astype(np.float64)):
        agree = (np.abs(y.astype(np.float64) - one) <= tolerance).sum(axis=1)
        need = Fraction(str(share)) * x.shape[1]
        out |= {(i, int(j)): agree[j] / x.shape[1] for j in np.flatnonzero(agree >= need)}
    return out


@pytest.mark.promise("docs/how-to/faces.md", "`--method exact` misses none")
def test_exact_and_tables() -> None:
    wanted = {(i, j): s for (i, j), s in brute(DATA, DATA, 10, 0.4).items() if i < j}
    assert len(wanted) > 200
    assert as_dict(la.faces.pairs(DATA, tolerance=10, threshold=0.4, method="exact")) == wanted
    result = la.faces.pairs(DATA, tolerance=10, threshold=0.4, method="lsh", recall=0.95, audit=240)
    got = as_dict(result)
    assert got.items() <= wanted.items()
    assert len(got) > 0.88 * len(wanted)
    counts = result.receipt["counts"]
    assert counts["candidates"] < counts["all_pairs"] == 240 * 239 // 2
    assert result.receipt["recall_measured"]["true_pairs"] == len(wanted)


def test_max_scored_keeps_the_share_small() -> None:
    result = la.faces.pairs(DATA, threshold=0.4, method="lsh", recall=0.8, max_scored=0.3)
    counts = result.receipt["counts"]
    assert counts["candidates"] < 0.4 * counts["all_pairs"]


def test_probes_find_their_person_in_the_gallery() -> None:
    probes, gallery = DATA[::4], np.delete(DATA, np.arange(0, len(DATA), 4), axis=0)
    table, result = la.faces.query(probes, gallery, threshold=0.35, method="lsh", recall=0.99, top=1)
    wanted = brute(probes, gallery, 10, 0.35)
    assert (
        dict(
            zip(
                zip(*(table[c].to_pylist() for c in ("probe", "match")), strict=True),
                table["agreement"].to_pylist(),
                strict=True,
            )
        ).items()
        <= wanted.items()
    )
    right = sum(
        match // 3 == probe for probe, match in zip(table["probe"].to_pylist(), table["match"].to_pylist(), strict=True)
    )
    assert right >= 57
    every = la.faces.query(probes, gallery, threshold=0.35, method="exact")[0]
    assert every.num_rows == len(wanted)
    first = every.group_by("probe", use_threads=False).aggregate([("agreement", "first"), ("agreement", "max")])
    assert first["agreement_first"] == first["agreement_max"]
    assert result.receipt["counts"]["all_pairs"] == 60 * 180


def test_the_same_items_as_probes_and_gallery() -> None:
    table = la.faces.pairs(DATA[:8], against=DATA[:8], threshold=0.4, method="lsh", recall=0.99).pairs
    own = [(a, b) for a, b in zip(table["left"].to_pylist(), table["right"].to_pylist(), strict=True) if a == b]
    assert own == [(i, i) for i in range(8)]
    assert set(as_dict(la.faces.pairs(DATA[:8], against=DATA[:8], threshold=0.4))) == set(
        brute(DATA[:8], DATA[:8], 10, 0.4)
    )


@pytest.mark.promise("docs/how-to/faces.md", "measurements that agree always meet")
def test_measurements_within_the_tolerance_always_meet() -> None:
    random = np.random.default_rng(6)
    x = random.uniform(0, 100, (1, 4000)).astype(np.float32)
    y = (x + random.uniform(-7, 7, x.shape)).astype(np.float32)
    for width in (14.0, 20.0, 50.0):
        agree, meet = np.empty(1), np.empty(1)
        both = np.concatenate([x, y])
        offsets = random.uniform(0, width, 4000)
        measurements.meet_shares(both, np.array([0]), np.array([1]), offsets, width, 7.001, agree, meet)
        assert agree[0] == meet[0] == 1.0


@pytest.mark.promise("docs/how-to/faces.md", "*average over such pairs*, not a promise for each pair")
def test_the_law_of_the_tables() -> None:
    three_of_five = (5 * 4 * 3) / (10 * 9 * 8)  # the chance that 3 of 10 measurements are all among the 5 that meet
    assert found(np.array([0.5]), 3, 4, 10)[0] == pytest.approx(1 - (1 - three_of_five) ** 4)
    assert found(np.array([1.0]), 9, 1, 20)[0] == 1.0


@pytest.mark.promise("docs/how-to/faces.md", "state the recall of that hardest pair, too")
def test_the_hardest_pairs_are_found_as_often_as_stated() -> None:
    """Half of the pairs agree in just enough measurements and are far apart in all others, where ranges never collide."""
    random = np.random.default_rng(8)
    gallery = random.uniform(0, 255, (2400, 40)).astype(np.float32)
    places = np.argsort(random.random((2400, 40)), axis=1)
    probes = np.repeat(10_000 * (1 + np.arange(2400, dtype=np.float32)), 40).reshape(-1, 40)
    probes[1200:] = gallery[1200:] + random.choice(np.float32([-12, 12]), (1200, 40))
    for place in range(16):
        rows = np.arange(2400)
        probes[rows, places[:, place]] = gallery[rows, places[:, place]]
    table, result = la.faces.query(probes, gallery, tolerance=10, threshold=0.4, tables=6, rows=3, audit=0)
    pairs = zip(table["probe"].to_pylist(), table["match"].to_pylist(), strict=True)
    own = {probe for probe, match in pairs if probe == match}
    stated = result.receipt["plan"]["recall_of_any_pair"]
    hardest = sum(probe < 1200 for probe in own) / 1200
    assert 0.05 < stated < 0.8
    assert abs(hardest - stated) < 5 * (stated * (1 - stated) / 1200) ** 0.5
    assert (len(own) - 1200 * hardest) / 1200 > hardest
    assert f"at least {int(1000 * stated) / 1000:.3f} for any pair" in result.receipt["plan"]["recall_is"]


def test_groups_and_dedup() -> None:
    groups = la.faces.groups(DATA, threshold=0.4).groups
    assert all(
        len({i // 4 for i in rows}) == 1
        for rows in groups.group_by("group").aggregate([("id", "list")])["id_list"].to_pylist()
    )
    assert la.faces.dedup(DATA, threshold=0.4).kept_count < len(DATA) / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0}, "tolerance is 0; expected a number above 0"),
        ({"threshold": 1.5}, "threshold is 1.5; expected a number above 0 and at most 1."),
        ({"rows": 40}, "rows is 40; expected at most 16"),
        ({"tables": 0}, "tables is 0; expected at least 1."),
        ({"max_scored": 2}, "max_scored is 2"),
        ({"grid": "big"}, "grid is 'big'; expected COLUMNSxROWS"),
    ],
)
def test_bad_wishes(options: dict[str, object], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.pgm").write_bytes(b"P5 1 1 255 x")
    with pytest.raises(UsageError, match=message):
        la.faces.pairs(tmp_path if "grid" in options else DATA, **options)


def test_need_is_the_share_as_written() -> None:
    assert FaceJob(tolerance=1, threshold=0.7).need(10) == 7
    assert FaceJob(tolerance=1, threshold=0.71).need(10) == 8


@pytest.mark.promise("docs/how-to/faces.md", "(brightness 0 to 255)")
def test_pictures_become_averages_of_blocks(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = RANDOM.integers(0, 256, (56, 48)).astype(np.uint8)
    image.fromarray(pixels).save(tmp_path / "one.png")
    image.fromarray(np.clip(pixels.astype(int) + 3, 0, 255).astype(np.uint8)).save(tmp_path / "two.png")
    image.fromarray(255 - pixels).save(tmp_path / "other.pgm")
    found = la.faces.pairs(tmp_path, tolerance=5, threshold=0.9).pairs.to_pylist()
    assert found == [{"left": "one.png", "right": "two.png", "agreement": 1.0}]
    (tmp_path / "bad.png").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"bad\.png in .* cannot be read as a picture"):
        la.faces.pairs(tmp_path)
    assert la.faces.pairs(tmp_path, threshold=0.9, on_bad="skip").receipt["counts"]["skipped"] == 1
