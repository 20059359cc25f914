"""Local engine for pictures: compare all pairs of perceptual hashes, and verify the matches by their thumbnails."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, U64, Pairs
from lookalike.core.exact_duplicates import Classes
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.trace import Trace
from lookalike.errors import InputError
from lookalike.io.collection import check_ids
from lookalike.io.pictures import Picture, PictureFolder, left_out, load_picture, modified_ns, number_of_tags, reason_of
from lookalike.kinds.images.hashes import U8, WINDOW_POSITIONS, hash_of, views_of
from lookalike.kinds.images.kernels import views as codes
from lookalike.kinds.images.local_features import LocalFeatures, local_features
from lookalike.kinds.images.orientations import turned_hashes, turned_pairs
from lookalike.kinds.images.parts import Proofs, part_pairs, proof_columns
from lookalike.kinds.images.spec import ImageJob
from lookalike.runtime.local.joins import Block, check_count, scored
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import OutputKind, RunOutput

IMAGES_PER_TASK = 64
IMAGE_PAIR_BUFFER = 1 << 16
IMAGES_ADVICE = "Allow fewer bits, or raise `max_pairs`."


@dataclass(frozen=True)
class Hashed:
    """The features of the readable pictures, in order.

    readable i64[m]: their numbers among all files.

    parts: local features, if they were asked for. turned u64[m, 7]: hashes of the other orientations, likewise.
    """

    readable: I64
    whole: U64
    windows: U64
    thumbs: U8
    shapes: I64

    parts: tuple[LocalFeatures, ...] = ()
    turned: U64 | None = None


Feature = tuple[U64, U64, U8, int]


def run(
    folders: Sequence[PictureFolder], job: ImageJob, want: OutputKind, trace: Trace, *, keep: str = "first"
) -> RunOutput:
    """Find the pairs of one folder, or the pairs between two; files that are not pictures are skipped."""
    column = preferred_column(keep)
    with Pool(job.threads or usable_cores()) as pool:
        hashed = _hash_all(folders, job, pool, trace)
        ids = [pa.chunked_array([pa.array(folder.ids, pa.string())]) for folder in folders]
        for folder, names in zip(folders, ids, strict=True):
            check_ids(names, name=folder.name)
        split = len(ids[0])
        best = _preference(folders[0], keep, column)
        best = np.concatenate([best, np.arange(split, sum(len(one) for one in ids))])
        number = np.full(len(best), -1, np.int64)
        number[hashed.readable] = np.arange(len(hashed.readable))
        order = number[best]
        classes = Classes(hashed.readable, np.arange(1, len(hashed.readable) + 1))
        cross = split if len(folders) == 2 else -1
        sides = np.full(len(classes), 3, np.uint8)
        if cross >= 0:
            sides = np.where(hashed.readable < cross, 1, 2).astype(np.uint8)
        pairs = all_pairs(hashed, sides, job, pool, trace)
        proofs: Proofs = {}
        if job.orientations or job.parts:
            pairs = _with_more(pairs, hashed, sides, job, pool, trace, proofs)
        choice = Choice("exact", {}, "all pairs of hashes are compared")
        return RunOutput(
            ids, cross, classes, np.zeros(len(classes)), order[order >= 0], choice, pairs=pairs,
            details=partial(proof_columns, proofs, number) if job.orientations or job.parts else None,
        )  # fmt: skip


def _with_more(
    pairs: Pairs, hashed: Hashed, sides: U8, job: ImageJob, pool: Pool, trace: Trace, proofs: Proofs
) -> Pairs:
    """Add the pairs that only another orientation or a common part shows, and put their proofs into `proofs`."""
    known = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    with trace.stage("parts"):
        if hashed.turned is not None:
            proofs |= turned_pairs(hashed.windows[:, 0], hashed.turned, hashed.thumbs[:, 0], sides, job.bound, known)
        if hashed.parts:
            compared, parts = part_pairs(
                hashed.parts, sides, job.bound, pool, known | proofs.keys(), mirrored=job.orientations
            )
            proofs |= parts
            trace.add(compared_parts=compared)
    if not proofs:
        return pairs
    check_count(len(known) + len(proofs), job.max_pairs, IMAGES_ADVICE)
    left, right = np.array(list(proofs), np.int64).T
    bits = np.array([-proof.bits for proof in proofs.values()], np.float64)
    left, right = np.concatenate([pairs.left, left]), np.concatenate([pairs.right, right])
    order = np.lexsort((right, left))
    return Pairs(left[order], right[order], np.concatenate([pairs.similarity, bits])[order])


def _preference(folder: PictureFolder, keep: str, column: str | None) -> I64:
    """Rank the pictures by `keep`: longest and shortest refer to the number of pixels; broken files come last."""
    rows = folder.described
    pixels = np.array([(row["width"] or 0) * (row["height"] or 0) for row in rows], np.int64)
    columns = {} if column is None else {column: pa.chunked_array([_criterion(folder, column)])}
    return preference(keep, pixels, columns)


def _criterion(folder: PictureFolder, column: str) -> pa.Array:
    """Return a column of the rows, or one that only `keep` knows, for all files."""
    if column in PictureFolder.columns:
        return pa.array([row[column] for row in folder.described])
    if column == "folder":
        return pa.array([file.rpartition("/")[0] for file in folder.ids], pa.string())
    if column == "modified":
        return pa.array([modified_ns(file) for file in folder.files], pa.int64())
    if column == "exif":
        return pa.array([number_of_tags(file) for file in folder.files], pa.int64())
    if column == "bytes_per_pixel":
        sizes = [(row["bytes"], (row["width"] or 0) * (row["height"] or 0)) for row in folder.described]
        return pa.array([nbytes / pixels if pixels else None for nbytes, pixels in sizes], pa.float64())
    names = (*PictureFolder.columns, "folder", "modified", "exif", "bytes_per_pixel")
    raise InputError(f"no column {column!r} for pictures. Columns: {', '.join(names)}.")


def _hash_all(folders: Sequence[PictureFolder], job: ImageJob, pool: Pool, trace: Trace) -> Hashed:
    features: list[Feature] = []
    parts: list[LocalFeatures] = []
    turned: list[U64] = []
    readable: list[int] = []
    at = 0
    with trace.stage("read") as report:
        total = sum(len(folder.files) for folder in folders)
        for folder in folders:
            folder.broken.clear()
            folder.described.clear()
            for id_, (picture, made, more, reason) in zip(
                folder.ids, pool.map(partial(_feature, job=job), zip(folder.files, folder.ids, strict=True)),
                strict=True,
            ):  # fmt: skip
                known = {} if picture is None else {"width": picture[0], "height": picture[1], "bytes": picture[2]}
                folder.described.append({"file": id_, "width": None, "height": None, "bytes": None, **known})
                if made is None:
                    folder.broken.append((id_, reason))
                else:
                    readable.append(at)
                    features.append(made)
                    parts += more.parts
                    turned += more.turned
                at += 1
                report(at, total)
            if unreadable := left_out(folder.name, folder.broken):
                trace.warnings.append(unreadable)
    trace.add(images=total, broken=total - len(readable))
    if not features:
        nothing = np.empty((0, 1), np.uint64)
        return Hashed(np.empty(0, np.int64), nothing, nothing, np.empty((0, 1, 256), np.uint8), np.empty(0, np.int64))
    whole, windows, thumbs, shapes = zip(*features, strict=True)
    return Hashed(
        np.array(readable), np.stack(whole), np.stack(windows), np.stack(thumbs), np.array(shapes),
        tuple(parts), np.stack(turned) if turned else None,
    )  # fmt: skip


class _More(NamedTuple):
    """What `parts` and `orientations` need of one picture; empty lists if they were not asked for."""

    parts: list[LocalFeatures]
    turned: list[U64]


def _feature(
    named: tuple[Path, str], *, job: ImageJob, content: bytes | None = None
) -> tuple[tuple[int, int, int] | None, Feature | None, _More, str]:
    file, id_ = named
    try:
        picture = load_picture(file, id_, content)
        made = picture_views(picture, job)
        parts = [local_features(picture.image)] if job.parts else []
        turned = [turned_hashes(picture.image)] if job.orientations else []
    except (OSError, ValueError) as error:
        return None, None, _More([], []), reason_of(error, file)
    return (picture.width, picture.height, picture.nbytes), made, _More(parts, turned), ""


def view_of(
    file: Path, id_: str, job: ImageJob, content: bytes | None = None
) -> tuple[tuple[int, int, int] | None, Feature | None, str]:
    """Read and hash a picture: ((width, height, bytes), features, ""), or (None, None, the reason of the failure).

    content: the bytes of a file that was already read.
    """
    size, made, _, reason = _feature((file, id_), job=job, content=content)
    return size, made, reason


def picture_views(picture: Picture, job: ImageJob) -> Feature:
    """Hash a picture and its windows; also return their thumbnails and the number of the picture's shape."""
    windows, thumbs, shape = views_of(picture.image)
    whole = np.array([hash_of(picture.image, name) for name in job.hashes], np.uint64)
    return (whole, windows, thumbs, shape) if job.crops else (whole, windows[:1], thumbs[:1], shape)


def all_pairs(hashed: Hashed, sides: U8, job: ImageJob, pool: Pool, trace: Trace) -> Pairs:
    """Return every matching pair of pictures, as positions among the hashed ones."""
    spans = _spans(len(hashed.readable))
    thumbs = np.ascontiguousarray(hashed.thumbs).reshape(len(hashed.thumbs), hashed.thumbs[0:1].size)

    def search(span: tuple[int, int]) -> tuple[Block, int]:
        at, stop = span
        found: list[Block] = []
        total = 0
        while at < stop:
            size = max(IMAGE_PAIR_BUFFER, stop)
            left, right, bits = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, np.int64)
            at, count, compared = codes.near_views(
                hashed.whole, hashed.windows, hashed.shapes, thumbs, len(WINDOW_POSITIONS), sides, int(job.threshold),
                job.min_likeness, at, stop, left, right, bits,
            )  # fmt: skip
            total += compared
            found.append((left[:count], right[:count], -bits[:count].astype(np.float64)))
        whole = [np.concatenate(column) for column in zip(*found, strict=True)]
        return (whole[0], whole[1], whole[2]), total

    def pieces() -> Iterator[tuple[Block, int]]:
        with trace.stage("match") as report:
            for done, piece in enumerate(pool.map(search, spans), 1):
                report(done, len(spans))
                yield piece

    return Pairs(
        *scored(
            pieces(),
            trace,
            job.max_pairs,
            advice=IMAGES_ADVICE,
        )
    )


def _spans(items: int) -> list[tuple[int, int]]:
    """Split the items into spans with about equal numbers of pairs."""
    tasks = max(1, min(64, items // IMAGES_PER_TASK))
    edges = sorted({round(items * math.sqrt(k / tasks)) for k in range(tasks + 1)})
    return list(pairwise(edges))
