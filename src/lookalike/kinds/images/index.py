"""Index of pictures by perceptual hashes of the whole and of windows; finds every picture within the threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import F64, I64, U64, Scale
from lookalike.core.formatting import count
from lookalike.errors import DamagedIndex, UsageError
from lookalike.index.items import Batch
from lookalike.index.kinds import too_loose
from lookalike.index.stable_random import words
from lookalike.index.store import Blobs, StoreCandidates, StoredKeys, ends_of
from lookalike.io.paths import readable
from lookalike.io.pictures import is_picture, load_item, open_pictures
from lookalike.kinds.bits.index import BitKind
from lookalike.kinds.bits.multi_index import SegmentCosts, exact_plan
from lookalike.kinds.images.hashes import SHAPES, WINDOW_POSITIONS
from lookalike.kinds.images.kernels import views as kernels
from lookalike.kinds.images.options import Hash
from lookalike.kinds.images.reading import Feature, picture_views, view_of
from lookalike.kinds.images.spec import ImageJob
from lookalike.runtime.local.pool import Pool, usable_cores

HASH_BITS = 64  # length of a perceptual hash
EXPECTED_IMAGES = 100_000  # number of pictures for which the keys are planned
# a threshold above all distances: the bits are returned even if the thumbnails do not correlate
EVERY_LIKENESS = HASH_BITS + 1
PICTURES_AT_ONCE = 64  # pictures that are decoded together


@dataclass(frozen=True)
class Viewed:
    """Decoded pictures: the features of each, and the file that it was read from ("" if its content was given)."""

    features: list[Feature]
    files: list[str]

    def __len__(self) -> int:
        return len(self.files)


@dataclass(frozen=True, kw_only=True)
class ImageKind:
    """Pictures that match if their hashes differ in at most `threshold` of 64 bits and their thumbnails correlate.

    With `crops`, a picture also matches its crops.
    """

    name: ClassVar[str] = "images"
    scheme: ClassVar[str] = "views-1"
    queries_at_once: ClassVar[int | None] = PICTURES_AT_ONCE
    is_own_feature: ClassVar[bool] = False
    scale: ClassVar[Scale] = ImageJob.scale

    threshold: int = 10
    hashes: tuple[Hash, ...] = ("phash",)
    crops: bool = True
    min_likeness: float = 0.7
    seed: int = 42
    codes: BitKind

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return ("threshold", "hashes", "crops", "min_likeness", "seed")

    @classmethod
    def make(cls, options: Mapping[str, Any]) -> Self:
        given = dict(options)
        planned = given.pop("plan", None)
        given["hashes"] = tuple(given.get("hashes", ImageJob.hashes))
        seed = given.pop("seed", cls.seed)
        job = ImageJob(**given)
        plan = {"bits": HASH_BITS, "threshold": int(job.threshold), "seed": seed}
        if planned is not None:
            codes = BitKind.make(plan | {"plan": planned})
        else:
            codes = replace(
                BitKind.make(plan),
                fixed=exact_plan(HASH_BITS, int(job.threshold), SegmentCosts(EXPECTED_IMAGES, 1, 0.5)),
            )
        return cls(
            threshold=int(job.threshold), hashes=job.hashes, crops=job.crops, min_likeness=job.min_likeness,
            seed=seed, codes=codes,
        )  # fmt: skip

    def read(
        self, source: Any, column: str | None, id: str | None,  # noqa: A002
    ) -> Iterator[Batch]:  # fmt: skip
        """Yield the items of a source in batches, with file names as ids; unreadable files are skipped."""
        for name, value in (("column", column), ("id", id)):
            if value is not None:
                raise UsageError(f"pictures are known by the names of their files; leave `{name}` out.")
        folder = open_pictures(source)
        folder.broken.clear()
        with Pool(usable_cores()) as pool:
            view = partial(_viewed, self)
            for low in range(0, len(folder.files), PICTURES_AT_ONCE):
                files, names = folder.files[low : low + PICTURES_AT_ONCE], folder.ids[low : low + PICTURES_AT_ONCE]
                views: list[tuple[Feature | None, str]] = list(pool.map(view, zip(files, names, strict=True)))
                broken = [(name, reason) for name, (_, reason) in zip(names, views, strict=True) if reason]
                folder.broken.extend(broken)
                good = [(file, name, made) for file, name, (made, _) in zip(files, names, views, strict=True) if made]
                if good:
                    viewed = Viewed([made for _, _, made in good], [readable(str(file)) for file, _, _ in good])
                    yield viewed, pa.array([name for _, name, _ in good], pa.large_string())

    def settings(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in self.options()}
        return own | {"hashes": list(self.hashes), "plan": self.codes.settings()["plan"]}

    def plan(self) -> dict[str, Any]:
        made = self.codes.plan()
        views = count(len(self.hashes) + (self._windows if self.crops else 0), "views")
        return made | {"shape": f"{made['shape']}, of {views}"}

    def check(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        ImageJob(threshold=threshold)
        if threshold > self.threshold:
            raise too_loose(threshold, f"pictures whose hashes are within {self.threshold} bits", "fewer")
        return threshold

    @cached_property
    def job(self) -> ImageJob:
        return ImageJob(
            threshold=self.threshold, hashes=self.hashes, crops=self.crops, min_likeness=self.min_likeness, parts=False
        )

    def view(self, item: PathLike[str] | bytes) -> Feature:
        """Decode and hash one picture; raise InputError if it cannot be read."""
        return picture_views(load_item(item), self.job)

    def pieces(self, items: Any) -> Iterator[Viewed | Sequence[Any]]:
        if isinstance(items, Viewed):
            for low in range(0, len(items), PICTURES_AT_ONCE):
                high = low + PICTURES_AT_ONCE
                yield Viewed(items.features[low:high], items.files[low:high])
            return
        if is_picture(items) or isinstance(items, str) or not hasattr(items, "__iter__"):
            raise UsageError(f"got one {type(items).__name__}; expected several items: a list of paths of pictures.")
        pictures = list(items)
        for item in pictures:
            if not is_picture(item):
                raise UsageError(
                    f"an item is of type {type(item).__name__}; expected a pathlib.Path or the bytes of a picture file."
                )
        for low in range(0, len(pictures), PICTURES_AT_ONCE):
            yield pictures[low : low + PICTURES_AT_ONCE]

    def features(self, piece: Viewed | Sequence[Any]) -> Blobs:
        views = piece.features if isinstance(piece, Viewed) else [self.view(item) for item in piece]
        out = np.zeros(len(views), self._layout)
        for row, (whole, windows, thumbs, shape) in enumerate(views):
            out[row] = (shape, whole, windows, thumbs)
        return Blobs(out.view(np.uint8).reshape(-1), np.arange(len(views) + 1) * self._layout.itemsize)

    @cached_property
    def _windows(self) -> int:
        return 1 + len(SHAPES) * len(WINDOW_POSITIONS) if self.crops else 1

    @cached_property
    def _layout(self) -> np.dtype[Any]:
        fields = [
            ("shape", np.uint64), ("whole", np.uint64, (len(self.hashes),)), ("windows", np.uint64, (self._windows,)),
            ("thumbs", np.uint8, (self._windows, kernels.THUMB)),
        ]  # fmt: skip
        return np.dtype(fields)

    def keys(self, features: Blobs) -> StoredKeys:
        """Return keys of the hashes of the whole, of the whole by its shape, and of each window by its shape."""
        return self._keys_of(features, whole=len(self.hashes), windows=len(self.hashes) + len(SHAPES), probe=False)

    def probes(self, features: Blobs) -> StoredKeys:
        """Return the keys to look up: a whole probes windows of its shape, a window probes wholes of its shape."""
        return self._keys_of(features, whole=len(self.hashes) + len(SHAPES), windows=len(self.hashes), probe=True)

    def _keys_of(self, features: Blobs, *, whole: int, windows: int, probe: bool) -> StoredKeys:
        """Return keys or probes.

        whole, windows: the first salt, of one for each shape, of window 0 and of the other windows.
        """
        rows = features.data.view(self._layout)
        codes: U64 = np.concatenate([rows["whole"], rows["windows"]] if self.crops else [rows["whole"]], axis=1)
        salts = np.broadcast_to(np.arange(codes.shape[1]), codes.shape).copy()
        if self.crops:
            salts[:, len(self.hashes)] = whole + rows["shape"].astype(np.int64)
            salts[:, len(self.hashes) + 1 :] = windows + np.repeat(np.arange(len(SHAPES)), len(WINDOW_POSITIONS))
        marked = codes ^ self._salts[salts]
        row, view = np.nonzero(_is_first(marked))  # equal windows have equal keys
        chosen = np.ascontiguousarray(codes[row, view])
        plain = Blobs(chosen.view(np.uint8), np.arange(len(chosen) + 1) * 8)
        made = (self.codes.probes if probe else self.codes.keys)(plain).values.reshape(len(chosen), -1)
        made ^= self._salts[salts[row, view]][:, None]
        counts = np.bincount(row, minlength=len(features)) * made.shape[1]
        return StoredKeys(made.reshape(-1), ends_of(counts))

    @cached_property
    def _salts(self) -> U64:
        """Return salts that keep different views apart: hashes of the whole, wholes by shape, windows by shape."""
        return words(self.seed, 1, len(self.hashes) + 2 * len(SHAPES))

    def score(self, queries: Blobs, found: StoreCandidates, threshold: float) -> F64:
        size = self._layout.itemsize
        found.check_sizes(size)
        data, starts = found.data.view(np.uint64), found.starts >> 3
        if np.any(data[starts] >= len(SHAPES)):
            raise DamagedIndex("a picture of the index is damaged: it has a shape that there is not.")
        out = np.empty(len(found), np.float64)
        asked = queries.data.view(np.uint64).reshape(-1, size // 8)
        least = -2.0 if threshold == EVERY_LIKENESS else self.min_likeness
        kernels.score_views(
            asked,
            found.query,
            data,
            starts,
            len(self.hashes),
            self._windows,
            len(WINDOW_POSITIONS),
            int(threshold),
            least,
            out,
        )
        return out

    def farthest(self, one: Blobs, other: Blobs) -> float:
        return EVERY_LIKENESS

    def raw(self, piece: Viewed | Sequence[Any]) -> Blobs:
        """Return the path of each file, which is all that the index stores of it; empty if the content was given."""
        files = piece.files if isinstance(piece, Viewed) else [_name(item) for item in piece]
        return Blobs.of([file.encode() for file in files])

    def item(self, raw: bytes) -> str | None:
        return raw.decode() or None


def _name(item: PathLike[str] | bytes) -> str:
    return "" if isinstance(item, bytes) else readable(str(Path(fspath(item))))


def _is_first(values: U64) -> npt.NDArray[np.bool_]:
    """Return whether each value is its first occurrence in its row. values u64[n, m]."""
    order: I64 = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    first = np.ones(values.shape, np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    out = np.empty_like(first)
    np.put_along_axis(out, order, first, axis=1)
    return out


def _viewed(kind: ImageKind, named: tuple[Path, str]) -> tuple[Feature | None, str]:
    _, made, reason = view_of(*named, kind.job)
    return made, reason
