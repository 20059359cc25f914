"""Galleries kept for later probes: indexes of images and of faces."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lookalike as la
from index_kinds import SAMPLES
from lookalike.errors import InputError, LeftOutWarning, UsageError
from lookalike.index.store import Blobs, StoreCandidates
from lookalike.kinds.faces.index import FaceKind
from lookalike.kinds.images.index import ImageKind

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number, data in enumerate(SAMPLES["images"].items(6, 3)):
        (folder / f"{number}.png").write_bytes(data)
    (folder / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    return folder


def test_files_that_are_no_pictures_are_named_and_left_out(photos: Path, tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "index", kind="images") as index:
        with pytest.warns(LeftOutWarning, match=r"^1 file of .*photos was left out: broken\.jpg: [^\n]+$"):
            added = index.add_from(photos)
        assert (added.count, list(index)) == (6, [f"{number}.png" for number in range(6)])
        with pytest.raises(InputError, match=r"broken\.jpg cannot be read: not a picture that Pillow knows\."):
            index.add([photos / "1.png", photos / "broken.jpg"], ids=["x", "y"])
        assert len(index) == 6, "all of them, or none"
        assert ("3.png", 0) in index.query([(photos / "3.png").read_bytes()])[0]
        index.add([(photos / "3.png").read_bytes()], ids=["content"])
        assert index.item("content").item is None


@pytest.mark.promise("docs/how-to/images.md", "Text is not taken for a path")
@pytest.mark.parametrize("kind", ["images", "faces"])
def test_text_is_no_path(kind: str, photos: Path, tmp_path: Path) -> None:
    """Text may come from strangers, over a network; a path is what a program has made of it."""
    with la.Index.create(tmp_path / "index", kind=kind) as index:
        with pytest.raises(UsageError, match="expected"):
            index.query([str(photos / "1.png")])
        with pytest.raises(UsageError, match="expected"):
            index.add(photos / "1.png")
        index.add([photos / "1.png"])
        assert len(index) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "images", "threshold": 65}, "max_bits is 65; expected a whole number from 0 to 64"),
        ({"kind": "images", "hashes": ["phish"]}, "hash 'phish' is unknown. Nearest: 'phash'"),
        ({"kind": "images", "recall": 0.9}, "an index of images has no option 'recall'"),
        ({"kind": "faces", "grid": "24"}, "grid is '24'; expected COLUMNSxROWS"),
        ({"kind": "faces", "grid": "4x4", "dimensions": 10}, "dimensions is 10, and a grid of 4x4 makes 16"),
        ({"kind": "faces", "dimensions": 0}, "dimensions is 0; expected how many measurements"),
        ({"kind": "faces", "dimensions": 10, "tolerance": 0}, "tolerance is 0; expected a number above 0"),
        (
            {"kind": "faces", "dimensions": 5000, "threshold": 0.001},
            "no 600 tables promise a recall of 0.95 for measure",
        ),
        ({"kind": "faces", "dimensions": 3, "sample": np.ones((1, 3))}, "the sample has fewer than two items"),
        ({"kind": "faces", "sample": np.ones((9, 3))}, "items of 3 measurements; this index is of items of 672. Give"),
    ],
)
def test_creation_refuses(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        la.Index.create(tmp_path / "index", **options)
    assert not list(tmp_path.iterdir())


def test_wrong_items(photos: Path, tmp_path: Path) -> None:
    with la.Index.create(tmp_path / "numbers", kind="faces", dimensions=3) as index:
        for bad, message in {
            "these items have 2 measurements; this index is of items of 3": [[1.0, 2.0]],
            "item 1 of a batch has measurements that are missing or not finite": [[1.0, 2, 3], [1.0, 2, math.nan]],
            "pictures came; this index is of rows of numbers": [photos / "1.png"],
        }.items():
            with pytest.raises(UsageError, match=bad):
                index.add(message)
        with pytest.raises(UsageError, match="pictures came; this index is of rows of numbers"):
            index.add_from(photos)
    with la.Index.create(tmp_path / "pictures", kind="faces", grid="8x8") as index:
        with pytest.raises(
            InputError, match=r"photos: 'broken\.jpg' is no picture, or has measurements that are missing"
        ):
            index.add_from(photos)
        (photos / "broken.jpg").unlink()
        assert index.add_from(photos).count == 6
    with (
        la.Index.create(tmp_path / "images", kind="images") as index,
        pytest.raises(UsageError, match="pictures are known by the names of their files; leave `id` out"),
    ):
        index.add_from(photos, id="name")


@pytest.mark.promise("docs/how-to/faces.md", "the same answers as `faces query`")
@pytest.mark.promise("docs/how-to/faces.md", "does not match itself (an index of faces")
def test_aligned_pictures_as_in_batch(photos: Path, tmp_path: Path) -> None:
    (photos / "broken.jpg").unlink()
    with la.Index.create(tmp_path / "index", kind="faces", grid="8x8", threshold=0.7) as index:
        index.add_from(photos)
        assert index.info()["plan"]["recall_at_threshold"] >= 0.95
        files = sorted(photos.iterdir())
        found = {(files[query].name, *match) for query, row in enumerate(index.query(files)) for match in row}
        assert {(file.name, file.name, 1.0) for file in files} <= found
        found = {match for match in found if match[0] != match[1]}  # `faces.query` leaves out the file itself
    table, _ = la.faces.query(photos, photos, threshold=0.7, grid="8x8")
    assert {(row["probe"], row["match"], row["agreement"]) for row in table.to_pylist()} == found
    assert len(found) > 0


@pytest.mark.promise("docs/how-to/faces.md", "with at least the recall that `info` states")
@pytest.mark.parametrize("options", [{"threshold": 0.5, "dimensions": 40}, {"threshold": 0.75, "dimensions": 21}])
def test_the_hardest_pairs_are_found_with_the_stated_recall(options: dict[str, Any]) -> None:
    """Pairs that agree in just as many measurements as they must, by just the tolerance, and are far in the others.

    200 choices of tables and 10 pairs of each: 2,000 draws in 200 clusters; the bound is five standard errors below the
    stated recall, as of clusters that are found or missed as a whole.
    """
    draw = np.random.default_rng(4)
    met, stated = [], 0.0
    for seed in range(200):
        kind = FaceKind.make({**options, "tolerance": 3.0, "recall": 0.9, "seed": seed})
        stated = kind.ranges.recall
        need = math.ceil(options["threshold"] * kind.dimensions)
        gallery = draw.uniform(0, 100, (10, kind.dimensions)).astype(np.float32).round()
        apart = np.full(gallery.shape, 90.0, np.float32)
        for row in apart:
            row[draw.permutation(kind.dimensions)[:need]] = draw.choice([-3.0, 3.0], need)
        keys = kind.keys(kind.features(gallery)).values.reshape(10, -1)
        probes = kind.probes(kind.features(gallery + apart))
        met.append(np.mean([np.isin(probes.part(i, i + 1).values, keys[i]).any() for i in range(10)]))
    assert 0.9 <= stated < 0.97
    assert np.mean(met) > stated - 5 * math.sqrt(stated * (1 - stated) / 200)


def test_a_sample_chooses_the_keys_and_keeps_the_promise() -> None:
    draw = np.random.default_rng(6)
    alike = 50 + draw.normal(0, 6, (100, 30))  # unrelated items agree in most ranges: longer keys pay
    plain = FaceKind.make({"dimensions": 30, "threshold": 0.8, "tolerance": 2.0})
    planned = FaceKind.make({"dimensions": 30, "threshold": 0.8, "tolerance": 2.0, "sample": alike})
    assert planned.ranges.rows > plain.ranges.rows
    assert min(plain.ranges.recall, planned.ranges.recall) >= 0.95
    assert FaceKind.make(planned.settings()) == planned


def test_a_picture_with_an_impossible_shape_is_damage() -> None:
    kind = ImageKind.make({})
    good = next(kind.features(piece) for piece in kind.pieces(SAMPLES["images"].items(1, 1)))
    bad = good.data.copy()
    bad[0] = 200
    first = np.zeros(1, np.int64)
    found = StoreCandidates(first, first, bad, first, good.offsets[1:])
    with pytest.raises(la.errors.DamagedIndex, match="it has a shape that there is not"):
        kind.score(Blobs(good.data, good.offsets), found, 10)
