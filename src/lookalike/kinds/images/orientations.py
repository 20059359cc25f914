"""Pictures that are rotated by 90 degrees or mirrored: the hash of a picture in each of its eight orientations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.kinds.images.hashes import THUMB as THUMB_SIDE
from lookalike.kinds.images.hashes import U8, cut_windows, phashes
from lookalike.kinds.images.kernels.views import THUMB, likeness
from lookalike.kinds.images.parts import WHOLE, Proof, Proofs

if TYPE_CHECKING:
    from PIL.Image import Image

ORIENTATIONS = (
    "rotated 90", "rotated 180", "rotated 270", "mirrored", "mirrored, rotated 90", "mirrored, rotated 180",
    "mirrored, rotated 270",
)  # fmt: skip


def turn(pixels: U8, orientation: int) -> U8:
    """Turn the last two axes of square pictures; orientation: an index of ORIENTATIONS plus 1, or 0 for as they are."""
    flipped = pixels[..., ::-1] if orientation >= 4 else pixels
    return np.rot90(flipped, orientation % 4, axes=(-2, -1))


def turned_hashes(image: Image) -> U64:
    """Return the perceptual hashes of a picture in the seven other orientations."""
    width, height = image.size
    pixels = cut_windows(np.asarray(image).copy(), np.array([[0.0, 0.0, float(width), float(height)]]))[0]
    return phashes(np.stack([turn(pixels, orientation) for orientation in range(1, 8)]))


def turned_pairs(
    codes: U64, turned: U64, thumbs: Callable[[I64], U8], sides: U8, bound: tuple[int, float],
    known: set[tuple[int, int]],
) -> Proofs:  # fmt: skip
    """Find the pairs of which one picture matches the other in another orientation.

    codes u64[n] and turned u64[n, 7]: hashes; thumbs: returns the thumbnails u8[k, ...] of pictures. bound: largest
    number of bits, smallest likeness. known: pairs that match as they are.
    """
    proofs: Proofs = {}
    max_bits, min_likeness = bound
    for right in range(1, len(codes)):
        bits = np.bitwise_count(codes[:right, None] ^ turned[right])
        near = [
            (int(left), int(orientation))
            for left, orientation in zip(*np.nonzero(bits <= max_bits), strict=True)
            if sides[left] | sides[right] == 3 and (int(left), right) not in known
        ]
        if not near:
            continue
        pictures = thumbs(np.array([right, *(left for left, _ in near)]))[:, :THUMB]
        for (left, orientation), other in zip(near, pictures[1:], strict=True):
            shown = turn(pictures[0].reshape(THUMB_SIDE, THUMB_SIDE), orientation + 1).reshape(-1)
            score = likeness(np.ascontiguousarray(other), np.ascontiguousarray(shown))
            distance, pair = int(bits[left, orientation]), (left, right)
            if score >= min_likeness and (pair not in proofs or distance < proofs[pair].bits):
                proofs[pair] = Proof(ORIENTATIONS[orientation], distance, 0, float(score), WHOLE, WHOLE)
    return proofs
