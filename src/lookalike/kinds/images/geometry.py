"""Find pictures of which a part is in another one, and prove each match by a transform under which the parts agree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U64
from lookalike.kinds.images.hashes import U8, cut_windows, phashes
from lookalike.kinds.images.kernels.features import KEY_BITS, match_codes, shared_keys, sort_by_key
from lookalike.kinds.images.local_features import CODE_BITS, LocalFeatures, opencv
from lookalike.runtime.local.pool import Pool

KEYS_PER_CODE = CODE_BITS // KEY_BITS
NEIGHBORS_PER_KEY = 32  # features with the same key that are paired: bounds the work of features that are everywhere
PICTURES_PER_TASK = 256  # pictures whose candidates are searched by one task
MIN_VOTES = 4  # shared keys from which two pictures are compared
MAX_CODE_BITS = 36  # of 128: bits in which matching features may differ
CODE_MARGIN = 6  # bits by which the second best match of a feature must be farther away
MIN_INLIERS = 8  # features that must agree with the transform
INLIER_DISTANCE = 0.012  # of the long side: distance within which a feature agrees with the transform
MAX_ZOOM = 12.0  # largest ratio of the scales of two pictures
MIN_INLIERS_WITH_COVERS = 12  # features that must agree before covered blocks are left out
BLOCK_SIDE = 8  # pixels of the side of a block
MAX_COVERED = 0.25  # largest share of the blocks that may be covered
COVER_RATIO = 4.0  # a covered block's mean squared difference is at least this multiple of the median block's
COVER_ROUNDS = 3
MIN_OVERLAP = 0.05  # smallest share of a picture that must be in the other


Box = tuple[float, float, float, float]  # left, top, right, bottom


class Overlap(NamedTuple):
    """The proof of a match: which part of the left picture is which part of the right one.

    bits: differing bits of the hashes of both parts. likeness: their correlation. features: the number of features that
    agree with the transform. left_box and right_box: left, top, right and bottom of the part, as fractions of the
    picture. mirrored: whether the left picture must be mirrored.
    """

    bits: int
    likeness: float
    features: int
    left_box: Box
    right_box: Box
    mirrored: bool


def candidate_pairs(codes: U64, ends: I64, pool: Pool) -> Iterator[tuple[int, int]]:
    """Yield the pairs left < right of pictures whose codes share at least MIN_VOTES keys.

    codes u64[m, 2]: of all pictures; ends i64[n + 1]: where those of each picture begin.
    """
    n, m = len(ends) - 1, len(codes)
    dropped = max(0, KEY_BITS - max(1, m).bit_length())
    owners = np.repeat(np.arange(n, dtype=np.uint32), np.diff(ends))
    shape = (KEYS_PER_CODE, m)
    keys, sorted_owners, slots = (np.empty(shape, np.uint32) for _ in range(3))
    starts = np.zeros((KEYS_PER_CODE, (1 << KEY_BITS - dropped) + 1), np.uint32)

    def sort(number: int) -> None:
        sort_by_key(codes, owners, number, dropped, starts[number], keys[number], sorted_owners[number], slots[number])

    def search(span: tuple[int, int]) -> list[tuple[int, int]]:
        at, stop = span
        found: list[tuple[int, int]] = []
        left, right = np.empty(2 * n, np.uint32), np.empty(2 * n, np.uint32)
        while at < stop:
            at, written = shared_keys(
                ends, keys, sorted_owners, slots, starts, dropped, NEIGHBORS_PER_KEY, MIN_VOTES, at, stop, left, right
            )
            found += zip(left[:written].tolist(), right[:written].tolist(), strict=True)
        return found

    list(pool.map(sort, range(KEYS_PER_CODE)))
    for found in pool.map(search, list(pairwise([*range(0, n, PICTURES_PER_TASK), n]))):
        yield from found


def overlap_of(left: LocalFeatures, right: LocalFeatures, *, mirrored: bool = False) -> Overlap | None:
    """Return the overlap of two pictures, or None if no similarity transform is supported by enough features."""
    codes = left.mirrored if mirrored else left.codes
    partner = np.full(len(codes), -1, np.int64)
    if match_codes(codes, right.codes, MAX_CODE_BITS, CODE_MARGIN, partner) < MIN_INLIERS:
        return None
    matched = np.flatnonzero(partner >= 0)
    source = _oriented(left, mirrored)[matched].astype(np.float64)
    target = right.points[partner[matched]].astype(np.float64)
    cv2 = opencv()
    transform, agrees = cv2.estimateAffinePartial2D(
        source * 1000, target * 1000, method=cv2.RANSAC, ransacReprojThreshold=INLIER_DISTANCE * 1000, maxIters=1000
    )
    if transform is None:
        return None
    inliers = int(agrees.sum())
    zoom = float(np.hypot(transform[0, 0], transform[0, 1]))
    if inliers < MIN_INLIERS or not 1 / MAX_ZOOM <= zoom <= MAX_ZOOM:
        return None
    transform[:, 2] /= 1000
    return _compared(left.small, right.small, transform, inliers, mirrored)


def _oriented(picture: LocalFeatures, mirrored: bool) -> F64:
    points = picture.points.astype(np.float64)
    if mirrored:
        points[:, 0] = picture.small.shape[1] / max(picture.small.shape) - points[:, 0]
    return points


def _compared(left: U8, right: U8, transform: F64, inliers: int, mirrored: bool) -> Overlap | None:
    """Correlate the parts of two pictures that the transform (in fractions of the long sides) maps to each other."""
    cv2 = opencv()
    if mirrored:
        left = left[:, ::-1].copy()
    pixels = transform * (max(right.shape) / max(left.shape))
    pixels[:, 2] = transform[:, 2] * max(right.shape)
    height, width = right.shape
    warped = cv2.warpAffine(left, pixels, (width, height), flags=cv2.INTER_AREA)
    inside = cv2.warpAffine(np.full(left.shape, 255, np.uint8), pixels, (width, height)) > 250
    share = inside.mean()
    zoom = float(np.hypot(pixels[0, 0], pixels[0, 1]))
    left_share = inside.sum() / max(1e-9, zoom * zoom) / left.size
    if min(share, left_share) < MIN_OVERLAP:
        return None
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    box = np.array([[columns[0], rows[0], columns[-1] + 1.0, rows[-1] + 1.0]])
    same = _without_covers(warped, right, inside) if inliers >= MIN_INLIERS_WITH_COVERS else inside
    # What is outside, or covered in one of them, has the mean of the rest in both.
    ours, theirs = (np.where(same, part, part[same].mean()).astype(np.uint8) for part in (warped, right))
    codes = phashes(np.concatenate([cut_windows(ours, box), cut_windows(theirs, box)]))
    bits = int(codes[0] ^ codes[1]).bit_count()
    return Overlap(
        bits,
        _correlation(warped[same], right[same]),
        inliers,
        _box_in_left(box[0], pixels, left.shape, mirrored),
        (float(box[0][0] / width), float(box[0][1] / height), float(box[0][2] / width), float(box[0][3] / height)),
        mirrored,
    )


def _without_covers(left: U8, right: U8, inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return `inside` without the blocks that a caption, logo or frame covers in one of two aligned pictures.

    These differ much more than the median block after brightness and contrast are equalised. At most MAX_COVERED of the
    blocks are left out: the worst ones.
    """
    rows, columns = np.indices(inside.shape) // BLOCK_SIDE
    block = (rows * (columns.max() + 1) + columns)[inside]
    x, y = left[inside].astype(np.float64), right[inside].astype(np.float64)
    kept = np.ones(len(x), np.bool_)
    for _ in range(COVER_ROUNDS):
        slope, offset = np.polyfit(x[kept], y[kept], 1) if np.ptp(x[kept]) > 0 else (0.0, y[kept].mean())
        residual = np.bincount(block, (y - slope * x - offset) ** 2) / np.maximum(np.bincount(block), 1)
        present = np.unique(block)
        limit = max(
            COVER_RATIO * float(np.median(residual[present])), float(np.quantile(residual[present], 1 - MAX_COVERED))
        )
        kept = residual[block] <= limit
    same = inside.copy()
    same[inside] = kept
    return same


def _correlation(left: U8, right: U8) -> float:
    x, y = left.astype(np.float64), right.astype(np.float64)
    x, y = x - x.mean(), y - y.mean()
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm > len(x) else 0.0


def _box_in_left(box: F64, transform: F64, shape: tuple[int, ...], mirrored: bool) -> Box:
    """Map a box of the right picture back to the left one, cut at its edges."""
    corners = np.array([[box[0], box[1]], [box[2], box[1]], [box[0], box[3]], [box[2], box[3]]])
    back = (corners - transform[:, 2]) @ np.linalg.inv(transform[:, :2]).T
    back = np.clip(back / [shape[1], shape[0]], 0.0, 1.0)
    if mirrored:
        back[:, 0] = 1.0 - back[:, 0]
    (x0, y0), (x1, y1) = back.min(axis=0), back.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)
