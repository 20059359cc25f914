"""Local engine for pictures: compare all pairs of perceptual hashes, and verify the matches by their thumbnails."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, U32, Pairs
from lookalike.core.exact_duplicates import Classes
from lookalike.core.keep_policy import preference, preferred_column
from lookalike.core.method_choice import Choice
from lookalike.core.trace import Trace
from lookalike.errors import InputError
from lookalike.io.collection import check_ids
from lookalike.io.pictures import PictureFolder, modified_ns, number_of_tags
from lookalike.kinds.images.frames import pairs_of_files, sorted_pairs
from lookalike.kinds.images.hashes import SHAPES, U8, WINDOW_POSITIONS, window_part
from lookalike.kinds.images.icons import icon_pairs
from lookalike.kinds.images.kernels import views as codes
from lookalike.kinds.images.orientations import turned_pairs
from lookalike.kinds.images.parts import WHOLE, Proof, Proofs, part_pairs
from lookalike.kinds.images.reading import Hashed, open_store, read_pictures
from lookalike.kinds.images.relations import Relations
from lookalike.kinds.images.spec import ImageJob
from lookalike.runtime.local.joins import Block, check_count, scored
from lookalike.runtime.local.memory_limit import UNLIMITED, InputNeed, MemoryLimit
from lookalike.runtime.local.pool import Pool, usable_cores
from lookalike.runtime.run_output import OutputKind, RunOutput

IMAGES_PER_TASK = 64
IMAGE_PAIR_BUFFER = 1 << 16
PAIRS_AT_ONCE = 4096  # candidates whose thumbnails are compared together; with crops, a picture has 12 kB
# Bytes of memory for each picture: hashes of its windows and orientations, and codes of its local features.
PICTURES_NEED, PARTS_NEED = InputNeed("pictures", row=15_000), InputNeed("pictures", row=26_000)
IMAGES_ADVICE = "Allow fewer bits, or raise `max_pairs`."


def run(
    folders: Sequence[PictureFolder], job: ImageJob, want: OutputKind, trace: Trace, *, keep: str = "first",
    memory: MemoryLimit = UNLIMITED,
) -> RunOutput:  # fmt: skip
    """Find the pairs of one folder, or the pairs between two; files that are not pictures are skipped."""
    column = preferred_column(keep)
    with Pool(job.threads or usable_cores(), memory.look) as pool, open_store(job, trace) as store:
        hashed = read_pictures(folders, job, store, pool, trace)
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
        proofs: Proofs = {}
        pairs = all_pairs(hashed, sides[hashed.owner], job, pool, trace, proofs)
        pairs = _with_icons(pairs, hashed, sides[hashed.owner], job, pool, trace, proofs)
        if job.orientations or job.parts:
            pairs = _with_more(pairs, hashed, sides[hashed.owner], job, pool, trace, proofs)
        if len(hashed.owner) > len(hashed.readable):
            pairs, proofs = pairs_of_files(pairs, proofs, hashed.owner)
        files = [file for folder in folders for file in folder.files]
        if cross >= 0:
            pairs = _of_two_files(pairs, [files[at] for at in hashed.readable.tolist()])
        relations = Relations([files[at] for at in hashed.readable.tolist()], proofs)
        pairs = relations.chosen(pairs, job.relations, trace)
        frames = np.bincount(hashed.owner, minlength=len(hashed.readable))
        folders[0].shows_more = relations.losses(
            pairs, frames, [names for one in ids for names in one.to_pylist()], hashed.readable
        )
        parts = "; common parts are looked up, and their recall is not measured" if job.parts else ""
        choice = Choice("exact", {}, f"all pairs of hashes are compared{parts}")
        return RunOutput(
            ids, cross, classes, np.zeros(len(classes)), order[order >= 0], choice, pairs=pairs,
            details=partial(relations.columns, number),
        )  # fmt: skip


def _of_two_files(pairs: Pairs, files: Sequence[Path]) -> Pairs:
    """Leave out the pairs of a file with itself, which is in both folders. files: by position."""
    place = cache(lambda at: os.path.realpath(files[at]))
    apart = [place(left) != place(right) for left, right in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)]
    good = np.array(apart, np.bool_)
    return Pairs(pairs.left[good], pairs.right[good], pairs.similarity[good])


def _with_icons(
    pairs: Pairs, hashed: Hashed, sides: U8, job: ImageJob, pool: Pool, trace: Trace, proofs: Proofs
) -> Pairs:
    """Replace the pairs of two icons by those whose colours match, and their proofs in `proofs`."""
    is_icon = hashed.is_icon
    if not is_icon.any():
        return pairs
    with trace.stage("icons"):
        found = icon_pairs(hashed.icons, hashed.owner, hashed.sizes.max(axis=1), sides, job.bound, pool)
    trace.add(icons=int(is_icon.sum()))
    for left, right in [pair for pair in proofs if is_icon[pair[0]] and is_icon[pair[1]]]:
        del proofs[left, right]
    stays = ~(is_icon[pairs.left] & is_icon[pairs.right])
    return _added(Pairs(pairs.left[stays], pairs.right[stays], pairs.similarity[stays]), found, job, proofs)


def _added(pairs: Pairs, found: Proofs, job: ImageJob, proofs: Proofs) -> Pairs:
    """Return the pairs with others that were proven, which are put into `proofs`."""
    check_count(len(pairs.left) + len(found), job.max_pairs, IMAGES_ADVICE)
    proofs |= found
    left, right = np.array(list(found), np.int64).reshape(-1, 2).T
    bits = np.array([-proof.bits for proof in found.values()], np.float64)
    left, right = np.concatenate([pairs.left, left]), np.concatenate([pairs.right, right])
    return sorted_pairs(left, right, np.concatenate([pairs.similarity, bits]))


def _with_more(
    pairs: Pairs, hashed: Hashed, sides: U8, job: ImageJob, pool: Pool, trace: Trace, proofs: Proofs
) -> Pairs:
    """Add the pairs that only another orientation or a common part shows, and put their proofs into `proofs`."""
    known = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    more: Proofs = {}
    with trace.stage("parts"):
        if job.orientations:
            more |= turned_pairs(hashed.windows[:, 0], hashed.turned, hashed.thumbs, sides, job.bound, known)
        if job.parts:
            compared, parts = part_pairs(hashed, sides, job.bound, pool, known | more.keys(), mirrored=job.orientations)
            more |= parts
            trace.add(compared_parts=compared)
    return _added(pairs, more, job, proofs)


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


def all_pairs(hashed: Hashed, sides: U8, job: ImageJob, pool: Pool, trace: Trace, crops: Proofs | None = None) -> Pairs:
    """Return every matching pair of pictures, as positions among the hashed ones. crops: gets those that are crops."""
    n, cut = len(hashed.owner), int(job.threshold)
    order = np.argsort(hashed.shapes, kind="stable")
    ends = np.searchsorted(hashed.shapes[order], np.arange(len(SHAPES) + 1))
    whole, windows = hashed.whole[order].T.copy(), hashed.windows[order].T.copy()
    shapes, sorted_sides = hashed.shapes[order], sides[order]
    spans = _spans(n)

    def search(span: tuple[int, int]) -> tuple[I64, I64]:
        at, stop = span
        found: list[tuple[U32, U32]] = [(np.empty(0, np.uint32), np.empty(0, np.uint32))]
        size = max(IMAGE_PAIR_BUFFER, codes.PICTURES_PER_STRIP * stop)
        while at < stop:
            left, right = np.empty(size, np.uint32), np.empty(size, np.uint32)
            at, count = codes.near_views(
                whole, windows, shapes, ends, len(WINDOW_POSITIONS), sorted_sides, cut, at, stop, left, right
            )
            found.append((left[:count].copy(), right[:count].copy()))
        one, other = (order[np.concatenate(column)] for column in zip(*found, strict=True))
        return np.minimum(one, other), np.maximum(one, other)

    def verified(left: I64, right: I64) -> Block:
        pictures = np.unique(np.concatenate([left, right]))
        row, scores = np.zeros(n, np.int64), np.empty((len(left), 2), np.int64)
        row[pictures] = np.arange(len(pictures))
        codes.verify_views(
            hashed.whole, hashed.windows, hashed.shapes, hashed.thumbs(pictures), row, len(WINDOW_POSITIONS), cut,
            job.min_likeness, left, right, scores,
        )  # fmt: skip
        bits, views = scores.T
        good = bits >= 0
        if crops is not None:
            for at in np.flatnonzero(good & (views != 0)).tolist():
                one, other = int(left[at]), int(right[at])
                crops[one, other] = _crop(hashed, one, other, int(views[at]), int(bits[at]))
        return left[good].astype(np.uint32), right[good].astype(np.uint32), -bits[good].astype(np.float64)

    def pieces() -> Iterator[tuple[Block, int]]:
        with trace.stage("match") as report:
            for done, (left, right) in enumerate(pool.map(search, spans), 1):
                report(done, len(spans))
                for low in range(0, len(left), PAIRS_AT_ONCE):
                    some = slice(low, low + PAIRS_AT_ONCE)
                    yield verified(left[some], right[some]), len(left[some])

    return sorted_pairs(*scored(pieces(), trace, job.max_pairs, advice=IMAGES_ADVICE))


def _crop(hashed: Hashed, left: int, right: int, view: int, bits: int) -> Proof:
    """Return the proof of a pair of which one picture is a window of the other; view: of `match_views`."""
    whole, other = (left, right) if view > 0 else (right, left)
    width, height = hashed.sizes[other].tolist()
    part = window_part(width, height, int(hashed.shapes[whole]), abs(view) - 1)
    return Proof("hash", bits, None, None, WHOLE if view > 0 else part, part if view > 0 else WHOLE)


def _spans(items: int) -> list[tuple[int, int]]:
    """Split the items into spans with about equal numbers of pairs."""
    tasks = max(1, min(64, items // IMAGES_PER_TASK))
    edges = sorted({round(items * math.sqrt(k / tasks)) for k in range(tasks + 1)})
    return list(pairwise(edges))
