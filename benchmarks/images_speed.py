"""What reading a large photo costs, and a second run over many files: python benchmarks/images_speed.py [--files N]

First a generated JPEG of 12 megapixels: core time to decode it at a reduced size and at full size, and of all features.
Then N files (100,000), whose features (random ones, with 200 local features each) are put into a cache: core time and
peak memory of a run that finds all of them there. It is the work of a second run over pictures that are all unlike.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

# promise: docs/how-to/images.md | a JPEG file of 12 megapixels takes 39 core ms to decode at a reduced size
# promise: docs/how-to/images.md | takes 27 core seconds and 2.6 GB of memory
PIXELS = (4000, 3000)
LOCAL_FEATURES = 200


def photo() -> None:
    from lookalike.io.pictures import load_frames
    from lookalike.kinds.images.reading import features_of
    from lookalike.kinds.images.spec import ImageJob

    rng = np.random.default_rng(0)
    drawn = Image.fromarray(rng.integers(0, 256, (300, 400, 3), np.uint8)).resize(PIXELS, Image.Resampling.BICUBIC)
    noisy = np.clip(np.asarray(drawn) + rng.normal(0, 6, (PIXELS[1], PIXELS[0], 1)), 0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(noisy).save(file, "JPEG", quality=92)
    data = file.getvalue()
    spent: dict[str, float] = {}
    for _ in range(5):
        steps = [time.thread_time()]
        (picture,) = load_frames(Path("photo.jpg"), "photo.jpg", data)
        steps.append(time.thread_time())
        features_of(picture, ImageJob())
        steps.append(time.thread_time())
        Image.open(io.BytesIO(data)).convert("L")
        steps.append(time.thread_time())
        for name, seconds in zip(("reduced", "features", "full size"), np.diff(steps).tolist(), strict=True):
            spent[name] = min(spent.get(name, 1e9), seconds)
    shown = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in spent.items())
    sys.stdout.write(f"{len(data) / 1e6:.1f} MB of JPEG: {shown}\n")


def again(files: int, place: Path) -> None:
    import lookalike as la
    from lookalike.kinds.images.feature_store import FeatureStore, FileState, PictureFeatures
    from lookalike.kinds.images.hashes import SHAPES, WINDOW_POSITIONS
    from lookalike.kinds.images.icons import ICON_BYTES
    from lookalike.kinds.images.local_features import LocalFeatures
    from lookalike.kinds.images.orientations import ORIENTATIONS
    from lookalike.kinds.images.reading import recipe
    from lookalike.kinds.images.spec import ImageJob

    rng = np.random.default_rng(1)
    windows = 1 + len(SHAPES) * len(WINDOW_POSITIONS)
    folder = place / "files"
    folder.mkdir()
    for number in range(files):
        (folder / f"{number}.jpg").write_bytes(b"%d" % number)
    time.sleep(2.5)  # files that are older are taken from the cache
    with FeatureStore(place / "cache", recipe(ImageJob())) as store:
        for number in range(files):
            hashes = rng.integers(0, 1 << 64, 1 + windows + len(ORIENTATIONS), np.uint64, endpoint=False)
            shape = rng.integers(0, len(SHAPES), 1, np.uint64)
            codes = rng.integers(0, 1 << 64, (LOCAL_FEATURES, 2), np.uint64)
            points = rng.random((LOCAL_FEATURES, 2), np.float32)
            made = PictureFeatures(
                400, 300, np.concatenate([shape, hashes, np.zeros(ICON_BYTES // 8, np.uint64)]),
                np.zeros((windows, 256), np.uint8), LocalFeatures(points, codes, codes, np.zeros((8, 8), np.uint8)),
            )  # fmt: skip
            content = hashlib.blake2b(b"%d" % number, digest_size=16).digest()
            store.add(content, [made])
            path = folder / f"{number}.jpg"
            store.remember(os.path.abspath(path), FileState.of(path), content)
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    result = la.images.pairs(folder, cache=place / "cache")
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sys.stdout.write(
        f"{files:,} files, {result.receipt['counts']['cached']:,} from the cache: {spent:.1f} core seconds, "
        f"{time.monotonic() - began:.1f} s, peak {after.ru_maxrss / 1e3:,.0f} MB\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    given = parser.parse_args()
    photo()
    with tempfile.TemporaryDirectory() as place:
        again(given.files, Path(place))


if __name__ == "__main__":
    main()
