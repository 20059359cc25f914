"""Pictures that are made here: copies, crops, variants, strangers, and files that are no pictures."""

from __future__ import annotations

import html.parser
import os
import struct
import threading
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import lookalike as la
from lookalike.errors import InputError, OutputError, UsageError
from lookalike.io.pictures import FILTERS
from lookalike.kinds.images.hashes import cut_windows, hash_of, own_shape, phashes, views_of
from lookalike.kinds.images.kernels.views import least_bits, likeness, near_views

Image = pytest.importorskip("PIL.Image")
imagehash = pytest.importorskip("imagehash")


def scene(seed: int, width: int = 320, height: int = 180) -> np.ndarray:
    """A smooth random picture: a few broad waves."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / height
    waves = sum(
        random.normal() * np.cos(a * x + b * y + random.uniform(0, 6)) for a, b in random.uniform(-14, 14, (12, 2))
    )
    low, high = waves.min(), waves.max()
    return ((waves - low) / (high - low) * 255).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pictures = tmp_path / "pictures"
    (pictures / "more").mkdir(parents=True)
    for seed in range(6):
        Image.fromarray(scene(seed)).save(pictures / f"scene{seed}.png")
    first = Image.fromarray(scene(0))
    first.resize((160, 90)).convert("RGB").save(pictures / "more" / "small.jpg", quality=70)
    first.point(lambda v: v * 0.5).save(pictures / "dark.png")
    first.crop((0, 0, 135, 180)).save(pictures / "left.png")  # 3:4, at the left edge
    (pictures / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (pictures / "empty.png").write_bytes(b"")
    (pictures / "notes.txt").write_text("no picture")
    return pictures


def partners(result: la.Result) -> set[frozenset[str]]:
    rows = result.pairs.to_pylist()
    return {frozenset((row["left"], row["right"])) for row in rows}


def test_copies_and_crops_are_found_and_strangers_are_not(folder: Path) -> None:
    result = la.images.pairs(folder)
    whole = [
        frozenset(two)
        for two in (("dark.png", "scene0.png"), ("more/small.jpg", "scene0.png"), ("dark.png", "more/small.jpg"))
    ]
    crops = [frozenset(("left.png", other)) for other in ("scene0.png", "dark.png", "more/small.jpg")]
    assert partners(result) == {*whole, *crops}
    assert partners(la.images.pairs(folder, crops=False)) == set(whole)
    assert all(0 <= row["bits"] <= 10 for row in result.pairs.to_pylist())


@pytest.mark.parametrize("name", ["ahash", "phash", "dhash", "whash"])
def test_every_hash_of_imagehash(folder: Path, name: str) -> None:
    image = Image.open(folder / "scene1.png")
    theirs = {
        "ahash": imagehash.average_hash,
        "phash": imagehash.phash,
        "dhash": imagehash.dhash,
        "whash": imagehash.whash,
    }
    assert f"{int(hash_of(image, name)):016x}" == str(theirs[name](image))
    found = partners(la.images.pairs(folder, hashes=[name], crops=False, max_bits=6))
    assert frozenset(("more/small.jpg", "scene0.png")) in found
    assert not any("scene4.png" in pair for pair in found)


def test_windows_have_the_phash_of_imagehash() -> None:
    pixels = scene(3, 32, 32)
    ours = phashes(cut_windows(pixels, np.array([[0.0, 0.0, 32.0, 32.0]])))
    assert f"{int(ours[0]):016x}" == str(imagehash.phash(Image.fromarray(pixels)))
    codes, thumbs, shape = views_of(Image.fromarray(scene(3)))
    assert (codes.shape, thumbs.shape, shape) == ((46,), (46, 256), own_shape(320, 180))
    own = codes[1 + shape * 5 : 6 + shape * 5]
    assert (own == codes[0]).all()


def test_likeness() -> None:
    one = scene(1, 16, 16).reshape(-1)
    assert likeness(one, one) == pytest.approx(1.0)
    assert likeness(one, 255 - one) == pytest.approx(-1.0)
    grey = np.full(256, 90, np.uint8)
    assert (likeness(grey, grey), likeness(grey, one), likeness(grey, grey + np.uint8(60))) == (1.0, 0.0, 0.0)


def test_flat_pictures_of_different_brightness_are_strangers(tmp_path: Path) -> None:
    for value in (0, 90, 255):
        Image.new("L", (64, 64), value).save(tmp_path / f"{value}.png")
    Image.new("RGBA", (64, 64), (0, 0, 0, 0)).save(tmp_path / "clear.png")  # shown on white
    assert partners(la.images.pairs(tmp_path)) == {frozenset(("255.png", "clear.png"))}


def test_broken_files_are_listed(folder: Path) -> None:
    result = la.images.groups(folder)
    listed = {one["file"]: one["reason"] for one in result.receipt["inputs"][0]["broken"]}
    assert listed.keys() == {"broken.jpg", "empty.png"}
    assert listed["empty.png"] == "not a picture that Pillow knows"
    assert result.receipt["counts"]["broken"] == 2
    assert result.receipt["warnings"][0].startswith(f"2 files of {folder} were left out: broken.jpg: ")
    assert result.groups["size"].to_pylist() == [4] * 4


def test_a_picture_that_declares_too_many_pixels_is_listed(tmp_path: Path) -> None:
    header = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    chunk = struct.pack(">I", len(header) - 4) + header + struct.pack(">I", zlib.crc32(header))
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk)
    Image.fromarray(scene(0)).save(tmp_path / "a.png")
    Image.fromarray(scene(0)).save(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.png"))
    result = la.images.pairs(tmp_path)
    assert result.pairs.select(["left", "right"]).to_pylist() == [{"left": "a.png", "right": "caf\\xe9.png"}]
    assert result.receipt["counts"]["broken"] == 1


def test_dedup_keeps_the_largest(folder: Path) -> None:
    result = la.images.dedup(folder, keep="longest", crops=False)
    assert sorted(result.removed["id"].to_pylist()) == ["more/small.jpg", "scene0.png"]
    kept = {row["file"]: row for row in result.kept.to_pylist()}
    assert (kept["dark.png"]["width"], kept["dark.png"]["height"]) == (320, 180)
    assert kept["broken.jpg"]["width"] is None
    assert la.images.dedup(folder, keep="max:bytes", crops=False).removed.num_rows == 2
    with pytest.raises(InputError, match=r"no column 'colour' for pictures. Columns: file, width, height, bytes."):
        la.images.dedup(folder, keep="max:colour")


def test_against_another_folder(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Image.fromarray(scene(2)).resize((640, 360)).save(other / "big.png")
    rows = la.images.pairs(folder, against=other).pairs.to_pylist()
    assert [(row["left"], row["right"]) for row in rows] == [("scene2.png", "big.png")]


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_sheet_shows_groups_and_escapes_names(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    evil = 'x"><script>alert(1)<'
    Image.fromarray(scene(0)).save(folder / "fine.png")
    Image.fromarray(scene(0)).save(folder / f"{evil}.png")
    (folder / "<b>.png").write_bytes(b"?")
    result = la.images.groups(folder, sheet=tmp_path / "sheet.html")
    assert result.receipt["sheet"] == str(tmp_path / "sheet.html")
    page = Tags()
    page.feed((tmp_path / "sheet.html").read_text())
    tags = [tag for tag, _ in page.seen]
    assert tags.count("script") == 1, "that of the page"
    assert "b" not in tags
    images = [attributes for tag, attributes in page.seen if tag == "img"]
    assert [one["alt"] for one in images] == ["fine.png", f"{evil}.png", "fine.png", f"{evil}.png"]
    assert all(str(one["src"]).startswith("data:image/jpeg;base64,") for one in images)
    assert evil in page.text
    assert "<b>.png: not a picture that Pillow knows" in page.text
    with pytest.raises(OutputError, match="exists"):
        la.images.groups(folder, sheet=tmp_path / "sheet.html")
    la.images.groups(folder, sheet=tmp_path / "sheet.html", force=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_bits": 70}, "max_bits is 70; expected a whole number from 0 to 64."),
        ({"max_bits": 2.5}, "max_bits is 2.5"),
        ({"hashes": ["phsh"]}, "hash 'phsh' is unknown. Nearest: 'phash'."),
        ({"hashes": []}, "no hash is given"),
        ({"min_likeness": 3}, "min_likeness is 3"),
    ],
)
def test_bad_wishes(folder: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        la.images.pairs(folder, **options)


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no pictures in"):
        la.images.pairs(tmp_path)
    with pytest.raises(InputError, match="no such file or folder"):
        la.images.pairs(tmp_path / "no")
    with pytest.raises(UsageError, match="cannot read ndarray; expected a folder of pictures"):
        la.images.pairs(np.eye(2))
    (tmp_path / "a.png").write_bytes(b"?")
    assert la.images.pairs(tmp_path).pairs.num_rows == 0


def test_decoding_in_threads_leaves_the_filters_of_warnings_alone() -> None:
    """Threads that leave in another order than they came, which would put back each other's filters."""
    before, entered, first_left = list(warnings.filters), threading.Barrier(2), threading.Event()

    def decode(number: int) -> None:
        with FILTERS.held(UnicodeWarning):
            entered.wait(10)
            if number:
                assert first_left.wait(10)
        first_left.set()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(decode, range(2)))
    assert warnings.filters == before


def test_keep_knows_age_tags_folder_and_compression(tmp_path: Path) -> None:
    (tmp_path / "in" / "albums").mkdir(parents=True)
    exif = Image.Exif()
    exif[0x010F] = "camera"
    picture = Image.fromarray(scene(0))
    picture.save(tmp_path / "in" / "tagged.png", exif=exif)
    picture.save(tmp_path / "in" / "plain.bmp")
    picture.save(tmp_path / "in" / "albums" / "old.png")
    os.utime(tmp_path / "in" / "albums" / "old.png", (1, 1))
    kept = {
        keep: la.images.dedup(tmp_path / "in", keep=keep, parts=False).kept["file"].to_pylist()
        for keep in ("max:exif", "max:bytes_per_pixel", "min:modified", "priority:folder=albums")
    }
    assert kept == {
        "max:exif": ["tagged.png"], "max:bytes_per_pixel": ["plain.bmp"], "min:modified": ["albums/old.png"],
        "priority:folder=albums": ["albums/old.png"],
    }  # fmt: skip


@pytest.mark.parametrize("hashes", [1, 2])
@pytest.mark.parametrize("crops", [True, False])
def test_the_fast_search_finds_what_comparing_two_at_a_time_finds(hashes: int, crops: bool) -> None:
    random = np.random.default_rng(hashes)
    n, places, kinds = 60, 5, 9
    shapes = np.sort(random.integers(0, kinds, n))
    base = random.integers(0, 1 << 63, 6, np.uint64)
    noise = np.uint64(1) << random.integers(0, 64, (3, n, 46)).astype(np.uint64)
    windows = base[random.integers(0, 6, (n, 46))] ^ np.bitwise_or.reduce(noise)
    for one in range(n):
        windows[one, 1 + shapes[one] * places : 1 + (shapes[one] + 1) * places] = windows[one, 0]
    windows = windows if crops else windows[:, :1].copy()
    whole = base[random.integers(0, 6, (n, hashes))]
    whole[:, 0] = windows[:, 0]
    sides = random.integers(1, 4, n).astype(np.uint8)
    ends = np.searchsorted(shapes, np.arange(kinds + 1))
    expected = set()
    for x in range(n):
        for y in range(x):
            bits, _ = least_bits(whole[x], windows[x], shapes[x], whole[y], windows[y], shapes[y], places)
            if bits <= 5 and sides[x] | sides[y] == 3:
                expected.add((y, x))
    left, right = np.empty(n * n, np.uint32), np.empty(n * n, np.uint32)
    columns = whole.T.copy(), windows.T.copy()
    reached, count = near_views(*columns, shapes, ends, places, sides, 5, 0, n, left, right)
    found = set(zip(left[:count].tolist(), right[:count].tolist(), strict=True))
    assert (reached, len(found)) == (n, count)
    assert len(expected) > 10
    assert found == expected
