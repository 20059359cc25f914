"""Common parts and orientations: crops, frames, captions, rotations, mirror images; and pictures that only resemble."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookalike as la
from lookalike.kinds.images import geometry
from lookalike.kinds.images.kernels.features import match_codes
from lookalike.kinds.images.orientations import turn
from lookalike.runtime.local.pool import Pool

Image = pytest.importorskip("PIL.Image")
ops = pytest.importorskip("PIL.ImageOps")
pytest.importorskip("cv2")


def street(seed: int, width: int = 480, height: int = 320):  # type: ignore[no-untyped-def]
    """A picture with corners: overlapping rectangles of random grey on a random slope."""
    random = np.random.default_rng(seed)
    pixels = np.linspace(*random.uniform(40, 200, 2), width)[None, :] + np.zeros((height, 1))
    for _ in range(60):
        x, y = random.integers(0, width), random.integers(0, height)
        w, h = random.integers(8, 90, 2)
        pixels[y : y + h, x : x + w] = random.uniform(0, 255)
    return Image.fromarray(pixels.astype(np.uint8))


def save(folder: Path, **pictures) -> Path:  # type: ignore[no-untyped-def]
    folder.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        picture.save(folder / f"{name}.png")
    return folder


def found(folder: Path, **options) -> dict[tuple[str, str], dict[str, object]]:  # type: ignore[no-untyped-def]
    rows = la.images.pairs(folder, **options).pairs.to_pylist()
    return {tuple(sorted((row["left"], row["right"]))): row for row in rows}


CHANGES = {
    "crop": lambda p: p.crop((60, 40, 400, 270)),
    "frame": lambda p: ops.expand(p, 50, 0),
    "tilted": lambda p: p.rotate(5),
    "screenshot": lambda p: ops.expand(p.resize((240, 160)), (200, 90, 120, 160), 230),
    "caption": lambda p: ops.expand(p.crop((0, 0, 480, 280)), (0, 0, 0, 40), 255),
}


@pytest.mark.promise("docs/how-to/images.md", "both have in common then fulfils the same two")
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_copy_is_found_by_its_part_and_strangers_are_not(tmp_path: Path, change: str) -> None:
    folder = save(tmp_path / "in", **{f"s{seed}": street(seed) for seed in range(6)}, z=CHANGES[change](street(0)))
    rows = found(folder, crops=False)
    assert set(rows) == {("s0.png", "z.png")}
    row = rows["s0.png", "z.png"]
    assert row["bits"] <= 10
    if row["evidence"] == "part":
        assert row["features"] >= 8
        assert row["likeness"] >= 0.7
    if change == "crop":
        assert row["evidence"] == "part"
        left, top, right, bottom = map(int, row["left_part"].split())
        assert np.abs(np.array([left, top, right, bottom]) - [12, 12, 83, 84]).max() <= 2
    assert (("s0.png", "z.png") in found(folder, crops=False, parts=False)) == (row["evidence"] == "hash")


@pytest.mark.promise("docs/how-to/images.md", "rotated by 90, 180 or 270 degrees, or mirrored")
def test_rotated_and_mirrored_pictures_match_only_if_asked_for(tmp_path: Path) -> None:
    turned = {f"t{i}": street(7).transpose(i) for i in range(7)}
    folder = save(tmp_path / "in", a=street(7), b=street(8), **turned)
    expected = {("a.png", f"t{i}.png") for i in range(7)}
    assert expected <= found(folder, orientations=True, parts=False).keys()
    assert expected <= found(folder, orientations=True).keys()
    assert not any("b.png" in pair for pair in found(folder, orientations=True))
    assert found(folder, parts=False) == {}


def test_a_mirrored_crop_is_a_mirrored_part(tmp_path: Path) -> None:
    folder = save(tmp_path / "in", a=street(3), b=ops.mirror(street(3)).crop((50, 30, 420, 290)))
    row = found(folder, orientations=True, crops=False)["a.png", "b.png"]
    assert row["evidence"] == "mirrored part"
    assert found(folder, crops=False) == {}


def test_pictures_that_share_a_logo_are_not_copies(tmp_path: Path) -> None:
    logo = street(99, 120, 80)
    pictures = {f"s{seed}": street(seed) for seed in range(4)}
    for picture in pictures.values():
        picture.paste(logo, (340, 220))
    assert found(save(tmp_path / "in", **pictures)) == {}


@pytest.mark.promise("docs/how-to/images.md", "photo is always honoured")
def test_the_camera_orientation_is_honoured(tmp_path: Path) -> None:
    upright = street(5)
    inverse = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_90",
               7: "TRANSVERSE", 8: "ROTATE_270"}  # fmt: skip
    folder = save(tmp_path / "in", upright=upright)
    for orientation, name in inverse.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        upright.transpose(getattr(Image.Transpose, name)).save(folder / f"o{orientation}.png", exif=exif)
    groups = la.images.groups(folder, max_bits=0, parts=False)
    assert groups.groups["size"].to_pylist() == [8] * 8
    kept = la.images.dedup(folder, parts=False).kept.to_pylist()
    assert {(row["width"], row["height"]) for row in kept} == {(480, 320)}


@pytest.mark.promise("docs/how-to/images.md", "up to a quarter of that part may be covered")
def test_a_covered_part_is_left_out_if_enough_features_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    covered = street(0)
    covered.paste(255, (0, 250, 480, 320))
    folder = save(tmp_path / "in", a=street(0), b=covered)
    (row,) = found(folder, crops=False).values()
    assert (row["evidence"], row["likeness"] > 0.99) == ("part", True)
    monkeypatch.setattr(geometry, "MIN_INLIERS_WITH_COVERS", 10_000)
    assert found(folder, crops=False) == {}
    monkeypatch.undo()
    assert geometry.MIN_INLIERS_WITH_COVERS == 12
    covered.paste(255, (0, 130, 480, 320))  # more than half
    assert found(save(folder, b=covered), crops=False) == {}


@pytest.mark.promise("docs/how-to/images.md", "within the bound of the whole-picture hash is not missed")
def test_every_pair_within_the_bound_is_found(tmp_path: Path) -> None:
    folder = save(
        tmp_path / "in", **{f"s{i}": street(i // 2).point(lambda v, i=i: v * (1 - i % 2 * 0.3)) for i in range(20)}
    )
    expected = {(f"s{i}.png", f"s{i + 1}.png") for i in range(0, 20, 2)}
    assert found(folder, crops=False).keys() == {tuple(sorted(pair)) for pair in expected}


@pytest.mark.promise("docs/how-to/images.md", "`--min-likeness` separates them")
def test_a_higher_likeness_separates_views_of_one_scene(tmp_path: Path) -> None:
    other = Image.blend(street(0), street(1), 0.35)
    folder = save(tmp_path / "in", a=street(0), b=other, c=street(0).resize((240, 160)))
    assert len(found(folder, crops=False)) == 3
    assert found(folder, crops=False, min_likeness=0.99).keys() == {("a.png", "c.png")}


def test_flat_and_tiny_pictures_have_no_parts(tmp_path: Path) -> None:
    flat = {f"flat{value}": Image.new("L", (300, 200), value) for value in (0, 100, 255)}
    folder = save(tmp_path / "in", **flat, dot=Image.new("L", (1, 1), 7), line=Image.new("L", (400, 1), 50))
    rows = la.images.pairs(folder, orientations=True).pairs.to_pylist()
    assert not [row for row in rows if "part" in row["evidence"]]


@given(st.data())
def test_matches_are_mutual_and_unambiguous(data: st.DataObject) -> None:
    """Against a slow version: the nearest code on both sides, with a clear lead over the second nearest."""
    words = st.integers(0, 7)
    left = np.array(data.draw(st.lists(st.tuples(words, words), max_size=6)), np.uint64).reshape(-1, 2)
    right = np.array(data.draw(st.lists(st.tuples(words, words), max_size=6)), np.uint64).reshape(-1, 2)
    out = np.full(len(left), -5, np.int64)
    number = match_codes(left, right, 3, 1, out)
    distance = np.bitwise_count(left[:, None] ^ right[None]).sum(axis=2).astype(int)
    expected = []
    for row in distance:
        order = sorted(range(len(row)), key=lambda j: (row[j], j))
        clear = order and row[order[0]] <= 3 and (len(order) == 1 or row[order[1]] - row[order[0]] >= 1)
        expected.append(order[0] if clear else -1)
    for i, j in enumerate(expected):
        if j >= 0 and distance[:, j].argmin() != i:
            expected[i] = -1
    assert (out.tolist(), number) == (expected, sum(j >= 0 for j in expected))


def test_turns_are_the_eight_of_a_square() -> None:
    square = np.arange(9).reshape(3, 3)
    assert len({turn(square, orientation).tobytes() for orientation in range(8)}) == 8
    assert (turn(square, 0) == square).all()


def test_candidates_share_keys_with_a_bounded_number_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a slow version: each code meets the next codes of the same key, in the order of pictures."""
    random = np.random.default_rng(0)
    ends = np.concatenate([[0], np.cumsum(random.integers(0, 9, 40))])
    codes = random.integers(0, 1 << 63, (12, 2), np.uint64)[random.integers(0, 12, ends[-1])]
    codes[::3] ^= np.uint64(1) << np.uint64(60)
    for neighbors in (3, 32):
        monkeypatch.setattr(geometry, "NEIGHBORS_PER_KEY", neighbors)
        votes: dict[tuple[int, int], int] = {}
        for number in range(geometry.KEYS_PER_CODE):
            bits = [f"{int(a):064b}{int(b):064b}"[number * 24 : number * 24 + 24] for a, b in codes]
            owners = np.repeat(np.arange(40), np.diff(ends)).tolist()
            rows = sorted(zip(bits, owners, strict=True))
            for at, (key, owner) in enumerate(rows):
                for other_key, other in rows[at + 1 : at + neighbors]:
                    if other_key == key and other != owner:
                        votes[owner, other] = votes.get((owner, other), 0) + 1
        expected = {pair for pair, number in votes.items() if number >= geometry.MIN_VOTES}
        with Pool(2) as pool:
            assert set(geometry.candidate_pairs(codes, ends, pool)) == expected
        assert len(expected) > 20


def test_no_pictures_have_no_candidates() -> None:
    with Pool(1) as pool:
        assert list(geometry.candidate_pairs(np.empty((0, 2), np.uint64), np.zeros(1, np.int64), pool)) == []


@pytest.mark.promise("docs/explanation/curves.md", "pictures that share only a part, where the summary says so")
def test_the_summary_says_that_the_recall_of_parts_is_not_measured(tmp_path: Path, lookalike) -> None:  # type: ignore[no-untyped-def]
    folder = save(tmp_path / "in", a=street(1), z=CHANGES["frame"](street(1)))
    said = lookalike("images", "pairs", folder, "-o", tmp_path / "out.csv").err
    assert "Recall   of common parts not planned and not measured" in said
    assert "Recall" not in lookalike("images", "pairs", folder, "--no-parts", "-o", tmp_path / "out2.csv").err
    assert "their recall is not measured" in la.images.pairs(folder).receipt["choice"]["why"]
