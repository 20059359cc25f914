"""Local features of a picture: SIFT keypoints of OpenCV with 128-bit codes that can be compared and looked up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.arrays import F32, U64
from lookalike.errors import MissingExtra
from lookalike.kinds.images.hashes import U8

if TYPE_CHECKING:
    from PIL.Image import Image

FEATURE_SIDE = 320  # long side, in pixels, of the picture from which features are taken
MAX_FEATURES = 200  # strongest keypoints of a picture that are kept
CONTRAST = 0.015  # OpenCV's default of 0.04 leaves smooth pictures without features
CODE_BITS = 128
OVERLAP_SIDE = 128  # long side, in pixels, of the copy in which overlaps are correlated
CODE_SEED = 20_240_601  # the projections of the codes are part of their definition


@dataclass(frozen=True)
class LocalFeatures:
    """The keypoints of one picture.

    points f32[n, 2]: x and y as fractions of the long side. codes u64[n, 2]: sign bits of random projections of the
    descriptors. mirrored u64[n, 2]: codes of the mirror image. small u8[h, w]: a reduced grey copy.
    """

    points: F32
    codes: U64
    mirrored: U64
    small: U8


def opencv() -> Any:
    try:
        import cv2
    except ImportError as error:
        raise MissingExtra("finding parts of pictures", "images") from error
    cv2.setNumThreads(1)  # the pool of the run has the threads
    return cv2


def local_features(image: Image) -> LocalFeatures:
    """Find the keypoints of a grey picture and encode their descriptors."""
    cv2 = opencv()
    pixels = _at_most(np.asarray(image, np.uint8), FEATURE_SIDE)
    keypoints, descriptors = cv2.SIFT_create(nfeatures=MAX_FEATURES, contrastThreshold=CONTRAST).detectAndCompute(
        pixels, None
    )
    long_side = max(pixels.shape)
    if descriptors is None:
        keypoints, descriptors = (), np.empty((0, 128), np.float32)
    # OpenCV may return a few more than it was asked for, if several have the same response.
    order = np.argsort([-point.response for point in keypoints], kind="stable")[:MAX_FEATURES]
    points = np.array([keypoints[i].pt for i in order], np.float32).reshape(-1, 2) / np.float32(long_side)
    chosen = descriptors[order.astype(np.int64)]
    return LocalFeatures(points, codes_of(chosen), codes_of(chosen[:, _mirror()]), _at_most(pixels, OVERLAP_SIDE))


def codes_of(descriptors: F32) -> U64:  # f32[n, 128] -> u64[n, 2]
    """Return sign bits of random projections of the descriptors' square roots, each centred on its mean.

    The Hamming distance of two codes estimates the angle between two centred descriptors.
    """
    total = np.maximum(descriptors.sum(axis=1, keepdims=True), 1e-6)
    roots = np.sqrt(descriptors / total)
    signs = (roots - roots.mean(axis=1, keepdims=True)) @ _projections() > 0
    packed: U64 = np.packbits(signs, axis=1).view(">u8").astype(np.uint64)
    return packed


@cache
def _projections() -> F32:
    return np.random.default_rng(CODE_SEED).standard_normal((128, CODE_BITS)).astype(np.float32)


@cache
def _mirror() -> Any:
    """Return the permutation that turns a SIFT descriptor (4 x 4 cells of 8 directions) into its mirror image's."""
    rows, columns, directions = np.meshgrid(np.arange(4), np.arange(4), np.arange(8), indexing="ij")
    # Relative to the keypoint's own direction, mirroring flips the axis across it and the sense of rotation.
    source = ((3 - rows) * 4 + columns) * 8 + (-directions) % 8
    return source.reshape(-1)


def _at_most(pixels: U8, side: int) -> U8:
    scale = side / max(pixels.shape)
    if scale >= 1:
        return pixels
    cv2 = opencv()
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    reduced: U8 = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return reduced
