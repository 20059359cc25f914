"""The relations of pictures are recognised, and no picture is removed that shows more than the one that is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import UsageError
from lookalike.io.pictures import capture_time
from lookalike.kinds.images import contact_sheet

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("cv2")


def street(seed: int):  # type: ignore[no-untyped-def]
    """A picture with corners: rectangles of random grey on a slope."""
    random = np.random.default_rng(seed)
    pixels = np.linspace(*random.uniform(40, 200, 2), 480)[None, :] + np.zeros((320, 1))
    for _ in range(60):
        x, y = random.integers(0, 480), random.integers(0, 320)
        w, h = random.integers(8, 90, 2)
        pixels[y : y + h, x : x + w] = random.uniform(0, 255)
    return Image.fromarray(pixels.astype(np.uint8))


def taken(at: str, digits: str = ""):  # type: ignore[no-untyped-def]
    exif = Image.Exif()
    details = exif.get_ifd(0x8769)
    details[0x9003] = at
    if digits:
        details[0x9291] = digits
    return exif


ALL = ("copy", "part", "frame", "burst")


def relations(folder: Path, **options) -> dict[tuple[str, str], str]:  # type: ignore[no-untyped-def]
    rows = la.images.pairs(folder, **{"relations": ALL} | options).pairs.to_pylist()
    return {tuple(sorted((row["left"], row["right"]))): row["relation"] for row in rows}


@pytest.mark.promise("docs/how-to/images.md", "Photos of a burst are left out")
def test_photos_of_two_moments_are_a_burst_and_not_copies(tmp_path: Path) -> None:
    one = street(0)
    one.save(tmp_path / "a.jpg", exif=taken("2024:05:01 10:00:00", "12"))
    one.resize((240, 160)).save(tmp_path / "copy.jpg", exif=taken("2024:05:01 10:00:00", "120"))
    one.save(tmp_path / "later.jpg", exif=taken("2024:05:01 10:00:01"))
    one.save(tmp_path / "next.jpg", exif=taken("2024:05:01 10:00:00", "62"))
    one.save(tmp_path / "plain.jpg", quality=60)
    found = relations(tmp_path)
    assert len(found) == 10
    bursts = {pair for pair, relation in found.items() if relation == "burst"}
    assert bursts == {
        ("a.jpg", "later.jpg"), ("a.jpg", "next.jpg"), ("copy.jpg", "later.jpg"), ("copy.jpg", "next.jpg"),
        ("later.jpg", "next.jpg"),
    }  # fmt: skip
    result = la.images.pairs(tmp_path)
    assert result.pairs.num_rows == 5
    assert result.receipt["counts"]["other_relations"] == 5
    assert set(relations(tmp_path, relations=["burst"])) == bursts


def test_odd_times_are_no_times(tmp_path: Path) -> None:
    for number, time in enumerate(["0000:00:00 00:00:00", "    :  :     :  :  ", ""]):
        street(0).save(tmp_path / f"{number}.jpg", exif=taken(time))
        assert capture_time(tmp_path / f"{number}.jpg") is None
    (tmp_path / "x.jpg").write_bytes(b"?")
    assert capture_time(tmp_path / "x.jpg") is None


@pytest.mark.promise("docs/how-to/images.md", "at least 90 % of both pictures")
def test_copies_and_parts_are_told_apart(tmp_path: Path) -> None:
    one = street(1)
    one.save(tmp_path / "a.png")
    one.rotate(2).save(tmp_path / "b-tilted.png")
    one.crop((0, 0, 240, 320)).save(tmp_path / "c-half.png")
    one.crop((60, 40, 420, 290)).save(tmp_path / "d-part.png")
    found = relations(tmp_path)
    assert found["a.png", "b-tilted.png"] == "copy"
    assert found["a.png", "c-half.png"] == found["a.png", "d-part.png"] == "part"
    rows = la.images.pairs(tmp_path, parts=False).pairs.to_pylist()
    (half,) = [row for row in rows if {row["left"], row["right"]} == {"a.png", "c-half.png"}]
    parts = {half["left"]: half["left_part"], half["right"]: half["right_part"]}
    assert parts == {"a.png": "0 0 50 100", "c-half.png": "0 0 100 100"}


@pytest.mark.promise("docs/how-to/find-look-alike-images.md", "is never removed in favour of its crop")
def test_a_whole_picture_is_not_removed_for_its_crop_nor_an_animation_for_its_frame(
    tmp_path: Path, lookalike, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "in"
    folder.mkdir()
    street(2).crop((60, 40, 420, 290)).save(folder / "a-crop.png")
    street(2).save(folder / "b-whole.png")
    street(3).save(folder / "c-still.png")
    scenes = [street(seed) for seed in (3, 4, 5)]
    scenes[0].save(folder / "d-moving.gif", save_all=True, append_images=scenes[1:])
    street(6).save(folder / "e.png")
    street(6).save(folder / "f-copy.png")
    done = lookalike("images", "dedup", "in", "--apply", "delete", "--yes")
    assert "2 files: it shows more than the file that is kept" in done.err
    assert sorted(path.name for path in folder.iterdir()) == [
        "a-crop.png", "b-whole.png", "c-still.png", "d-moving.gif", "e.png",
    ]  # fmt: skip
    lookalike("images", "dedup", "in", "--apply", "delete", "--yes", "--keep", "longest", "--journal", "two")
    assert "a-crop.png" not in {path.name for path in folder.iterdir()}


def test_unknown_relations_are_refused(tmp_path: Path) -> None:
    street(0).save(tmp_path / "a.png")
    with pytest.raises(UsageError, match=r"relation 'brust' is unknown\. Nearest: 'burst'"):
        la.images.pairs(tmp_path, relations=["brust"])


def test_the_page_may_run_its_own_script_only() -> None:
    page = contact_sheet.SHEET_TEMPLATE
    assert "default-src 'none'" in page
    assert "script-src 'sha256-{digest}'" in page


@pytest.mark.promise("docs/how-to/images.md", "one over the other, aligned")
@pytest.mark.parametrize("turned", range(8))
def test_compared_pictures_are_aligned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turned: int) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    whole = street(2).convert("RGB")
    other = whole.transpose(turned - 1) if turned else whole.crop((60, 40, 420, 290))
    whole.save(folder / ("a.png" if turned % 2 else "z.png"))
    other.save(folder / "k.png")
    shown = []
    monkeypatch.setattr(contact_sheet, "_data_url", lambda image: shown.append(np.asarray(image, np.float64)) or "")
    la.images.groups(folder, orientations=True, sheet=tmp_path / "sheet.html")
    *_, below, above = shown
    assert below.shape == above.shape
    assert np.corrcoef(below.ravel(), above.ravel())[0, 1] > 0.9


def test_what_differs_is_said_in_numbers() -> None:
    kept = contact_sheet.Shown(Path("a"), "a", 400, 300, 1000, True)
    small = contact_sheet.Shown(Path("b"), "b", 200, 150, 500, False, contact_sheet.Alignment("copy · 2 bits"))
    assert contact_sheet.difference(small, kept) == "copy · 2 bits · 25% of the pixels · 50% of the bytes"
    assert contact_sheet.difference(kept, kept) == ""
