"""Formats of pictures, animations and pages, and files that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import lookalike as la
from lookalike.io import pictures

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("imagehash")


def waves(seed: int, size: tuple[int, int] = (160, 120)):  # type: ignore[no-untyped-def]
    pixels = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), np.uint8)
    return Image.fromarray(pixels).resize(size, 3)


def pairs(folder: Path, **options) -> dict[tuple[str, str], str]:  # type: ignore[no-untyped-def]
    rows = la.images.pairs(folder, **{"parts": False, "orientations": True, "crops": False} | options).pairs.to_pylist()
    return {(row["left"], row["right"]): row["evidence"] for row in rows}


def broken(folder: Path) -> dict[str, str]:
    receipt = la.images.pairs(folder, parts=False).receipt
    return {one["file"]: one["reason"] for one in receipt["inputs"][0]["broken"]}


@pytest.mark.promise("docs/how-to/images.md", "What counts is the content of a file, not its ending")
def test_every_format_is_the_same_picture(tmp_path: Path) -> None:
    formats = ["jpg", "png", "webp", "tif", "gif", "bmp", "ppm"]
    if "avif" in pictures.pillow().registered_extensions().get(".avif", "").lower():
        formats.append("avif")
    for ending in formats:
        waves(0).save(tmp_path / f"a.{ending}")
    waves(0).save(tmp_path / "really-a-png.jpg", "png")
    groups = la.images.groups(tmp_path, parts=False).groups
    assert groups["size"].to_pylist() == [len(formats) + 1] * (len(formats) + 1)


@pytest.mark.promise("docs/how-to/images.md", "HEIC needs the extra")
def test_heic_needs_its_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    waves(0).save(tmp_path / "a.heic", quality=90)
    waves(0).save(tmp_path / "b.png")
    assert list(pairs(tmp_path)) == [("a.heic", "b.png")]
    (tmp_path / "a.heic").write_bytes(b"\0" * 99)
    assert broken(tmp_path) == {"a.heic": "not a picture that Pillow knows"}
    monkeypatch.setattr(pictures, "find_spec", lambda name: None)
    assert broken(tmp_path) == {"a.heic": 'HEIC files need: pip install "lookalike[heic]"'}


@pytest.mark.promise("docs/how-to/images.md", "at least half of the frames match")
def test_animations_match_by_their_frames(tmp_path: Path) -> None:
    scenes = [waves(seed) for seed in range(9)]
    scenes[0].save(tmp_path / "pages.tif", save_all=True, append_images=scenes[1:])
    scenes[0].save(tmp_path / "a.gif", save_all=True, append_images=scenes[1:])
    small = [scene.resize((80, 60)) for scene in scenes]
    small[0].save(tmp_path / "b.webp", save_all=True, append_images=small[1:], lossless=True)
    other = [scenes[0], *(waves(seed) for seed in range(50, 58))]
    other[0].save(tmp_path / "c.png", save_all=True, append_images=other[1:])
    scenes[8].save(tmp_path / "last.png")
    assert pairs(tmp_path) == {
        ("a.gif", "b.webp"): "hash", ("a.gif", "pages.tif"): "hash", ("b.webp", "pages.tif"): "hash",
        ("a.gif", "last.png"): "frame", ("b.webp", "last.png"): "frame", ("last.png", "pages.tif"): "frame",
    }  # fmt: skip
    assert la.images.dedup(tmp_path, parts=False, crops=False).kept.num_rows == 2


@pytest.mark.promise("docs/how-to/images.md", "5 evenly spaced frames of the first 200")
def test_a_burst_of_frames_is_bounded_and_a_cut_animation_is_read_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes = [waves(seed) for seed in range(30)]
    scenes[0].save(tmp_path / "a.gif", save_all=True, append_images=scenes[1:])
    assert len(pictures.load_frames(tmp_path / "a.gif", "a")) == 5
    whole = (tmp_path / "a.gif").read_bytes()
    (tmp_path / "cut.gif").write_bytes(whole[: len(whole) // 2])
    assert len(pictures.load_frames(tmp_path / "cut.gif", "a")) == 5
    monkeypatch.setattr(pictures, "MAX_FRAMES", 3)
    assert len(pictures.load_frames(tmp_path / "a.gif", "a")) == 3
    monkeypatch.setattr(pictures, "MAX_FRAME_PIXELS", 160 * 120)
    assert len(pictures.load_frames(tmp_path / "a.gif", "a")) == 1


@pytest.mark.promise("docs/how-to/images.md", "They never stop a run")
def test_no_bad_file_stops_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waves(0).save(tmp_path / "good.png")
    data = (tmp_path / "good.png").read_bytes()
    random = np.random.default_rng(5)
    for number in range(12):  # damaged anywhere
        bad = bytearray(data)
        for at in random.integers(8, len(data), 20):
            bad[at] = random.integers(0, 256)
        (tmp_path / f"damaged{number}.png").write_bytes(bad)
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) // 2])
    (tmp_path / "empty.gif").write_bytes(b"")
    (tmp_path / "text.webp").write_text("no picture")
    (tmp_path / "gone.png").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    listed = broken(tmp_path)
    assert {"cut.jpg", "empty.gif", "text.webp", "gone.png", "pipe.png"} <= listed.keys()
    assert listed["pipe.png"] == "not a regular file"
    assert "good.png" not in listed

    def fail(*_: object) -> None:
        raise KeyError("a tag")

    monkeypatch.setattr(pictures, "_grey", fail)
    (tmp_path / "new.png").write_bytes(data + b"different")
    assert broken(tmp_path)["new.png"] == "'a tag'"


def test_white_drawings_on_nothing_are_told_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    for number in range(3):
        alpha = Image.fromarray(rng.integers(0, 2, (6, 8), np.uint8) * 255).resize((640, 480), Image.Resampling.BICUBIC)
        picture = Image.new("RGBA", alpha.size, "white")
        picture.putalpha(alpha)
        picture.save(tmp_path / f"{number}.png")
        picture.resize((320, 240)).save(tmp_path / f"{number}-small.png")
    found = la.images.pairs(tmp_path, cache="none").pairs
    assert set(zip(found["left"].to_pylist(), found["right"].to_pylist(), strict=True)) == {
        (f"{number}-small.png", f"{number}.png") for number in range(3)
    }
