"""Icons: versions of several sizes match, variants of a theme do not, and other pictures are compared as before."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import lookalike as la
from lookalike.kinds.images.icons import EQUAL_ICONS, icon_pairs, reduced_icon
from lookalike.runtime.local.pool import Pool

Image = pytest.importorskip("PIL.Image")
Draw = pytest.importorskip("PIL.ImageDraw")


def drawing(seed: int, side: int, margin: float, emblem: int | None = None) -> Image.Image:
    """Draw some coloured shapes on nothing, within a margin; emblem: draw one more in a corner."""
    rng = np.random.default_rng(seed)
    out = Image.new("RGBA", (side * 4, side * 4))
    draw = Draw.Draw(out)
    low, span = margin * side * 4, (1 - 2 * margin) * side * 4
    for corners in [np.array([0.0, 0.0, 1.0, 1.0]), *rng.random((5, 4))]:
        x0, x1 = sorted((corners[0], corners[2]))
        y0, y1 = sorted((corners[1], corners[3]))
        box = [low + span * at for at in (x0, y0, x1, y1)]
        draw.ellipse(box, fill=(*rng.integers(0, 256, 3).tolist(), 255))
    if emblem is not None:
        corner = [low + span * at for at in (0.7, 0.7, 1.0, 1.0)]
        draw.rectangle(corner, fill=(*np.random.default_rng(emblem).integers(0, 256, 3).tolist(), 255))
    return out.resize((side, side), Image.Resampling.BOX)


def partners(folder: Path, **options: object) -> set[tuple[str, str]]:
    rows = la.images.pairs(folder, cache="none", **options).pairs.to_pylist()
    assert all(row["bits"] <= options.get("max_bits", 10) for row in rows)
    assert all(row["evidence"] == "colours" for row in rows)
    return {tuple(sorted((row["left"], row["right"]))) for row in rows}


@pytest.mark.promise("docs/how-to/images.md", "matches its versions of other sizes and margins")
def test_versions_of_other_sizes_match_and_other_icons_do_not(tmp_path: Path) -> None:
    for seed in range(8):
        for side, margin in ((16, 0.0), (24, 0.1), (48, 0.05), (128, 0.2)):
            drawing(seed, side, margin).save(tmp_path / f"{seed}-{side:03}.png")
    found = partners(tmp_path)
    right = {two for two in combinations(sorted(p.name for p in tmp_path.iterdir()), 2) if two[0][0] == two[1][0]}
    assert len(found & right) >= 0.9 * len(right)
    assert not found - right
    assert partners(tmp_path, max_bits=1) < found


@pytest.mark.promise("docs/how-to/images.md", "at most three quarters of their")
def test_variants_that_are_as_near_as_everything_around_them_do_not_match(tmp_path: Path) -> None:
    for emblem in range(12):
        for side in (32, 64):
            drawing(1, side, 0.1, emblem).save(tmp_path / f"{emblem:02}-{side}.png")
    found = partners(tmp_path)
    right = {(f"{emblem:02}-32.png", f"{emblem:02}-64.png") for emblem in range(12)}
    assert found >= right
    assert len(found - right) < 0.2 * 264  # all of these correlate from 0.8


def test_many_equal_icons_all_match(tmp_path: Path) -> None:
    icon = drawing(3, 32, 0.1)
    for number in range(9):
        icon.save(tmp_path / f"{number}.png", compress_level=number)
    assert len(partners(tmp_path)) == 36


@pytest.mark.promise("docs/how-to/images.md", "at most 256 pixels high and wide and at least 2 % transparent")
def test_what_is_an_icon() -> None:
    icon = drawing(4, 64, 0.1)
    assert reduced_icon(icon).any()
    assert not reduced_icon(icon.convert("RGB")).any()
    assert not reduced_icon(None).any()  # larger than SMALL_SIDE
    full = Image.new("RGBA", (64, 64), (10, 200, 30, 255))
    assert not reduced_icon(full).any()
    full.putpixel((0, 0), (0, 0, 0, 0))
    assert not reduced_icon(full).any()
    assert not reduced_icon(Image.new("RGBA", (64, 64))).any()
    assert reduced_icon(icon.convert("P")).any() == ("transparency" in icon.convert("P").info)


@pytest.mark.promise("docs/how-to/images.md", "at most 0.02 for each of the `--max-bits`")
@pytest.mark.promise("docs/how-to/images.md", "or a fifth of")
def test_distances_equal_those_of_numpy() -> None:
    rng = np.random.default_rng(5)
    base = rng.integers(0, 256, (6, 192))
    icons = np.clip(
        np.repeat(base, 3, axis=0) + rng.integers(-40, 41, (18, 192)) * (np.arange(18) % 3 / 2)[:, None], 1, 255
    ).astype(np.uint8)
    icons[7] = 0  # another picture
    owner = np.arange(18)
    expected = 1 - np.corrcoef(icons[icons.any(axis=1)])
    np.fill_diagonal(expected, 2)
    around = np.sort(expected, axis=1)[:, 5]
    places = np.flatnonzero(icons.any(axis=1))
    limit = np.maximum(0.75 * (around[:, None] + around) / 2, EQUAL_ICONS)
    rows, columns = np.nonzero(np.triu((expected <= limit) & (expected <= 0.2), 1))
    small, large = np.full(18, 32), np.full(18, 64)
    with Pool(1) as pool:
        nearer = icon_pairs(icons, owner, large, np.full(18, 3, np.uint8), (10, 0.7), pool)
        found = icon_pairs(icons, owner, small, np.full(18, 3, np.uint8), (10, 0.7), pool)
        crossed = icon_pairs(icons, owner, small, np.repeat([1, 2], 9).astype(np.uint8), (10, 0.7), pool)
        assert not icon_pairs(icons, np.zeros(18, np.int64), small, np.full(18, 3, np.uint8), (10, 0.7), pool)
    assert list(found) == [*zip(places[rows].tolist(), places[columns].tolist(), strict=True)]
    assert len(found) > 10
    assert 0 < len(nearer) < len(found)
    assert nearer == {pair: proof for pair, proof in found.items() if 1 - proof.likeness <= 0.04}
    assert crossed.keys() == {(a, b) for a, b in found if (a < 9) != (b < 9)}
    for (left, right), proof in found.items():
        assert proof.likeness == pytest.approx(np.corrcoef(icons[left], icons[right])[0, 1], abs=1e-9)
        assert proof.bits == int(np.ceil((1 - proof.likeness) * 50 - 1e-9))
