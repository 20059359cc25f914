"""Pictures that are rotated by 90 degrees or mirrored: the hash of a picture in each of its eight orientations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lookalike.core.arrays import U64
from lookalike.kinds.images.hashes import THUMB, U8, cut_windows, phashes
from lookalike.kinds.images.kernels.views import likeness
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
    codes: U64, turned: U64, thumbs: U8, sides: U8, bound: tuple[int, float], known: set[tuple[int, int]]
) -> Proofs:
    """Find the pairs of which one picture matches the other in another orientation.

    codes u64[n] and turned u64[n, 7]: hashes; thumbs u8[n, 256]. bound: largest number of bits, smallest likeness.
    known: pairs that match as they are.
    """
    proofs: Proofs = {}
    max_bits, min_likeness = bound
    for right in range(1, len(codes)):
        bits = np.bitwise_count(codes[:right, None] ^ turned[right])
        for left, orientation in zip(*np.nonzero(bits <= max_bits), strict=True):
            pair = (int(left), right)
            if sides[left] | sides[right] != 3 or pair in known:
                continue
            shown = turn(thumbs[right].reshape(THUMB, THUMB), int(orientation) + 1).reshape(-1)
            score = likeness(thumbs[left], np.ascontiguousarray(shown))
            distance = int(bits[left, orientation])
            if score >= min_likeness and (pair not in proofs or distance < proofs[pair].bits):
                proofs[pair] = Proof(ORIENTATIONS[orientation], distance, 0, float(score), WHOLE, WHOLE)
    return proofs
