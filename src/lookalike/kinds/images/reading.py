"""Read the pictures of folders and compute their features, or take them from the cache of earlier runs."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import I64, U64
from lookalike.core.trace import Trace
from lookalike.errors import InputError
from lookalike.io.pictures import Picture, PictureFolder, left_out, load_frames, load_picture, reason_of
from lookalike.kinds.images import feature_store
from lookalike.kinds.images.feature_store import DATABASE, FeatureStore, FileState, PictureFeatures, StoredPicture
from lookalike.kinds.images.hashes import SHAPES, U8, WINDOW_POSITIONS, hash_of, views_of
from lookalike.kinds.images.icons import ICON_BYTES, reduced_icon
from lookalike.kinds.images.kernels.views import THUMB
from lookalike.kinds.images.local_features import LocalFeatures, local_features
from lookalike.kinds.images.orientations import ORIENTATIONS, turned_hashes
from lookalike.kinds.images.spec import ImageJob
from lookalike.runtime.local.pool import Pool

SCHEME = "3"  # to be changed whenever the same picture gets other features
PACKAGES = ("pillow", "imagehash", "opencv-python-headless")  # their versions are part of the recipe
MAX_HASHED_BYTES = 1 << 28  # larger files are known by their path and times only, and are not read into memory
FILES_AT_ONCE = 4096  # files that are looked up together

Feature = tuple[U64, U64, U8, int]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Hashed:
    """The features of the readable pictures. An animation has several frames; each is compared like a picture.

    readable i64[m]: numbers of the readable files among all files. owner i64[n]: for each frame, its position in
    `readable`. whole u64[n, h], windows u64[n, w], shapes i64[n]: hashes of the frames. thumbs: returns the thumbnails
    u8[k, w * 256] of given frames. codes u64[c, 2] and ends i64[n + 1]: codes of local features, those of a frame
    together. local: returns the local features of a frame. turned u64[n, 7]: hashes of the other orientations.
    sizes i64[n, 2]: width and height. icons u8[n, 192]: colours of icons, zeros for other pictures.
    """

    readable: I64
    owner: I64
    whole: U64
    windows: U64
    shapes: I64
    thumbs: Callable[[I64], U8]
    codes: U64
    ends: I64
    local: Callable[[int], LocalFeatures]
    turned: U64
    sizes: I64
    icons: U8

    @property
    def is_icon(self) -> Flags:
        """bool[n]: whether each frame is an icon."""
        return np.asarray(self.icons.any(axis=1), np.bool_)


@dataclass(frozen=True)
class _Read:
    """What a thread made of one file: its content, and its features (new or stored) or the reason of a failure."""

    content: bytes = b""
    made: Sequence[PictureFeatures] = ()
    stored: Sequence[StoredPicture] = ()
    reason: str = ""


@contextmanager
def open_store(job: ImageJob, trace: Trace) -> Iterator[FeatureStore]:
    """Open the cache of features, or a temporary store if there is to be none or it cannot be used."""
    folder = None if job.cache == "none" else Path(job.cache) if job.cache else feature_store.cache_folder()
    try:
        store = FeatureStore(folder, recipe(job))
    except (sqlite3.Error, OSError) as error:
        trace.warnings.append(f"hashes of pictures are not kept for later runs: {folder}: {error}.")
        store = FeatureStore(None, recipe(job))
    try:
        with store:
            yield store
    except sqlite3.Error as error:
        where = "a temporary file" if folder is None else folder / DATABASE
        raise InputError(
            f"the hashes of pictures in {where} cannot be used: {error}. Remove the file, or give cache='none'."
        ) from error


def recipe(job: ImageJob) -> str:
    """Return the options and versions that determine the features of a picture."""
    options = f"{','.join(job.hashes)} crops={job.crops:d} parts={job.parts:d}"
    return f"{SCHEME} {options} {' '.join(f'{name}-{version(name)}' for name in PACKAGES)}"


def read_pictures(
    folders: Sequence[PictureFolder], job: ImageJob, store: FeatureStore, pool: Pool, trace: Trace
) -> Hashed:
    """Return the features of all readable pictures; fill the tables `described` and `broken` of the folders."""
    loaded: list[StoredPicture] = []
    owner: list[int] = []
    readable: list[int] = []
    at = known = 0
    with trace.stage("read") as report:
        total = sum(len(folder.files) for folder in folders)
        for folder in folders:
            folder.broken.clear()
            folder.described.clear()
            for id_, (frames, nbytes, reason, cached) in zip(
                folder.ids, _frames_of(folder.files, job, store, pool), strict=True
            ):
                row: dict[str, str | int | None] = {"file": id_, "width": None, "height": None, "bytes": None}
                if frames:
                    row |= {"width": frames[0].width, "height": frames[0].height, "bytes": nbytes}
                    owner += [len(readable)] * len(frames)
                    readable.append(at)
                    loaded += frames
                    known += cached
                else:
                    folder.broken.append((id_, reason))
                folder.described.append(row)
                at += 1
                report(at, total)
            if unreadable := left_out(folder.name, folder.broken):
                trace.warnings.append(unreadable)
        store.commit()
    trace.add(images=total, broken=total - len(readable), cached=known)
    return _hashed(np.array(readable, np.int64), np.array(owner, np.int64), loaded, job, store)


def _frames_of(
    files: Sequence[Path], job: ImageJob, store: FeatureStore, pool: Pool
) -> Iterator[tuple[Sequence[StoredPicture], int, str, bool]]:
    """Yield for each file its frames, its size, the reason if it cannot be read, and whether it was not decoded."""
    for low in range(0, len(files), FILES_AT_ONCE):
        some = [(file, os.path.abspath(file)) for file in files[low : low + FILES_AT_ONCE]]
        states = [_state(file) for file, _ in some]
        known = store.by_path(
            [(path, state) for (_, path), state in zip(some, states, strict=True) if isinstance(state, FileState)]
        )
        unknown = [
            (file, state)
            for (file, path), state in zip(some, states, strict=True)
            if isinstance(state, FileState) and path not in known
        ]
        reads = pool.map(partial(_read, job=job, store=store), unknown)
        for (_, path), state in zip(some, states, strict=True):
            if not isinstance(state, FileState):
                yield (), 0, state, False
            elif path in known:
                yield known[path], state.size, "", True
            else:
                read = next(reads)
                frames = read.stored or (store.add(read.content, read.made) if read.made else ())
                if frames:
                    store.remember(path, state, read.content)
                yield frames, state.size, read.reason, bool(read.stored)


def _state(file: Path) -> FileState | str:
    """Return the size and times of a file, or the reason why it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            return "not a regular file"
        return FileState.of(file)
    except OSError as error:
        return reason_of(error, file)


def _read(file_and_state: tuple[Path, FileState], *, job: ImageJob, store: FeatureStore) -> _Read:
    """Read a file; decode and hash it unless its content is stored."""
    file, state = file_and_state
    try:
        data = file.read_bytes() if state.size <= MAX_HASHED_BYTES else None
        name = data if data is not None else f"{os.path.abspath(file)} {state}".encode(errors="surrogateescape")
        content = hashlib.blake2b(name, digest_size=16).digest()
        if stored := store.by_content(content):
            return _Read(content, stored=stored)
        frames = load_frames(file, file.name, data)
        return _Read(content, [features_of(frame, job) for frame in frames])
    except (OSError, ValueError) as error:
        return _Read(reason=reason_of(error, file))
    except MemoryError:
        return _Read(reason="it needs more memory than there is")


def features_of(picture: Picture, job: ImageJob) -> PictureFeatures:
    """Compute the features of a picture that a run compares."""
    whole, windows, thumbs, shape = picture_views(picture, job)
    icon = reduced_icon(picture.colours).view(np.uint64)
    head = np.concatenate([np.array([shape], np.uint64), whole, windows, turned_hashes(picture.image), icon])
    return PictureFeatures(
        picture.width, picture.height, head, thumbs, local_features(picture.image) if job.parts else None
    )


def view_of(
    file: Path, id_: str, job: ImageJob, content: bytes | None = None
) -> tuple[tuple[int, int, int] | None, Feature | None, str]:
    """Read and hash a picture: ((width, height, bytes), features, ""), or (None, None, the reason of the failure).

    content: the bytes of a file that was already read.
    """
    try:
        picture = load_picture(file, id_, content)
        return (picture.width, picture.height, picture.nbytes), picture_views(picture, job), ""
    except (OSError, ValueError) as error:
        return None, None, reason_of(error, file)


def picture_views(picture: Picture, job: ImageJob) -> Feature:
    """Hash a picture and its windows; also return their thumbnails and the number of the picture's shape."""
    windows, thumbs, shape = views_of(picture.image)
    whole = np.array([hash_of(picture.image, name) for name in job.hashes], np.uint64)
    return (whole, windows, thumbs, shape) if job.crops else (whole, windows[:1], thumbs[:1], shape)


def _hashed(readable: I64, owner: I64, loaded: Sequence[StoredPicture], job: ImageJob, store: FeatureStore) -> Hashed:
    windows = 1 + len(SHAPES) * len(WINDOW_POSITIONS) if job.crops else 1
    width = 1 + len(job.hashes) + windows + len(ORIENTATIONS) + ICON_BYTES // 8
    heads = np.frombuffer(b"".join(one.head for one in loaded), np.uint64).reshape(-1, width)
    codes = np.frombuffer(b"".join(one.codes for one in loaded), np.uint64).reshape(-1, 2)
    ends = np.concatenate([[0], np.cumsum([len(one.codes) // 16 for one in loaded])]).astype(np.int64)
    ids = np.array([one.id for one in loaded], np.int64)

    def thumbs(frames: I64) -> U8:
        chosen = ids[frames].tolist()
        found = store.thumbs(chosen)
        return np.frombuffer(b"".join(found[number] for number in chosen), np.uint8).reshape(-1, windows * THUMB)

    first = 1 + len(job.hashes)
    return Hashed(
        readable, owner, heads[:, 1:first].copy(), heads[:, first : first + windows].copy(),
        heads[:, 0].astype(np.int64), thumbs, codes, ends, lambda frame: store.local(int(ids[frame])),
        heads[:, first + windows : first + windows + len(ORIENTATIONS)].copy(),
        np.array([(one.width, one.height) for one in loaded], np.int64).reshape(-1, 2),
        np.ascontiguousarray(heads[:, -ICON_BYTES // 8 :]).view(np.uint8),
    )  # fmt: skip
