"""Perceptual hashes of 64 bits: of a whole picture, and of windows of other aspect ratios in it, which find crops."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, U64
from lookalike.errors import MissingExtra
from lookalike.kinds.images.kernels import windows

if TYPE_CHECKING:
    from PIL.Image import Image

U8 = npt.NDArray[np.uint8]
HASHES = ("ahash", "phash", "dhash", "whash")
SHAPES = (1 / 2, 9 / 16, 2 / 3, 3 / 4, 1.0, 4 / 3, 3 / 2, 16 / 9, 2.0)  # usual aspect ratios (width / height) of crops
WINDOW_POSITIONS = (0.0, 0.25, 0.5, 0.75, 1.0)  # relative positions of a window along the side that it shortens
ASPECT_TOLERANCE = 1.06  # aspect ratios that differ by less than this factor count as equal
SIDE, THUMB, HASH_SIDE = 32, 16, 8
WINDOW_SOURCE_SIDE = 64  # short side, in pixels, of the image from which windows are cut


def hash_of(image: Image, name: str) -> np.uint64:
    """Compute one of the hashes of the imagehash package, as an integer.

    ahash: pixels above the mean; dhash: brighter than the left neighbour; phash: low cosine frequencies above their
    median; whash: the same with wavelets.
    """
    try:
        import imagehash
    except ImportError as error:
        raise MissingExtra("hashing pictures", "images") from error
    make: dict[str, Any] = {
        "ahash": imagehash.average_hash,
        "phash": imagehash.phash,
        "dhash": imagehash.dhash,
        "whash": imagehash.whash,
    }
    bits = np.asarray(make[name](image).hash, np.bool_).reshape(-1)
    return np.uint64(np.packbits(bits).view(">u8")[0])


def own_shape(width: float, height: float) -> int:
    """Return the index in SHAPES of the nearest aspect ratio.

    >>> SHAPES[own_shape(1920, 1080)]
    1.7777777777777777
    """
    return min(range(len(SHAPES)), key=lambda s: abs(math.log(width / height / SHAPES[s])))


def views_of(image: Image) -> tuple[U64, U8, int]:
    """Hash every window of a picture.

    Returns (phashes u64[1 + shapes * positions], thumbnails u8[.., 256], index of the picture's own shape). Window 0 is
    the whole picture. A window of the picture's own shape is also the whole picture.
    """
    width, height = image.size
    shrink = WINDOW_SOURCE_SIDE / min(width, height)
    if shrink < 0.75:
        image = image.resize((max(1, round(width * shrink)), max(1, round(height * shrink))), 4)  # box filter
        width, height = image.size
    own = own_shape(width, height)
    boxes = [_box(width, height, shape, place) for shape in SHAPES for place in WINDOW_POSITIONS]
    different = {box: at for at, box in enumerate(dict.fromkeys([(0.0, 0.0, float(width), float(height)), *boxes]))}
    pixels = cut_windows(np.asarray(image).copy(), np.array(list(different)))
    hashes, thumbs = phashes(pixels), _thumbnails(pixels)
    at = [0, *(different[box] for box in boxes)]
    return hashes[at], thumbs[at], own


def window_part(width: float, height: float, shape: int, place: int) -> tuple[float, float, float, float]:
    """Return a window as fractions of the picture: left, top, right, bottom.

    >>> window_part(400, 300, SHAPES.index(1.0), 0)
    (0.0, 0.0, 0.75, 1.0)
    """
    left, top, right, bottom = _box(width, height, SHAPES[shape], WINDOW_POSITIONS[place])
    return left / width, top / height, right / width, bottom / height


def cut_windows(pixels: U8, boxes: F64) -> F64:  # pixels u8[h, w]; boxes f64[k, 4]: left, top, right, bottom
    """Reduce each window to 32 by 32 averages of equal areas: f64[k, 32, 32]."""
    sums = np.zeros((pixels.shape[0] + 1, pixels.shape[1] + 1))
    windows.sums_before(pixels, sums)
    out = np.empty((len(boxes), SIDE, SIDE))
    windows.cut_windows(sums, boxes, out)
    return out


def _box(width: float, height: float, shape: float, place: float) -> tuple[float, float, float, float]:
    """Return the largest window of this shape, or the whole picture if it has nearly this shape."""
    ratio = width / height / shape
    if 1 / ASPECT_TOLERANCE < ratio < ASPECT_TOLERANCE:
        return 0.0, 0.0, float(width), float(height)
    if ratio > 1:
        wide = height * shape
        left = place * (width - wide)
        return left, 0.0, left + wide, float(height)
    high = width / shape
    top = place * (height - high)
    return 0.0, top, float(width), top + high


def phashes(pixels: F64) -> U64:  # pixels f64[k, 32, 32]
    """Return the phash of each window: which of the 8 by 8 lowest frequencies lie above their median."""
    low = _cosines() @ pixels @ _cosines().T
    flat = low.reshape(len(pixels), -1)
    middle = np.sort(flat, axis=1)[:, flat.shape[1] // 2 - 1 : flat.shape[1] // 2 + 1].mean(axis=1, keepdims=True)
    bits = flat > middle
    out: U64 = np.packbits(bits, axis=1).view(">u8").astype(np.uint64)[:, 0]
    return out


@cache
def _cosines() -> F64:
    """Return the first 8 rows of the discrete cosine transform of 32 numbers."""
    k, n = np.arange(HASH_SIDE)[:, None], np.arange(SIDE)[None, :]
    rows: F64 = 2.0 * np.cos(math.pi * k * (2 * n + 1) / (2 * SIDE))
    return rows


def _thumbnails(pixels: F64) -> U8:
    """Return flattened thumbnails of 16 by 16 pixels."""
    fold = SIDE // THUMB
    small = pixels.reshape(len(pixels), THUMB, fold, THUMB, fold).mean(axis=(2, 4))
    out: U8 = np.clip(np.rint(small), 0, 255).astype(np.uint8).reshape(len(pixels), -1)
    return out
