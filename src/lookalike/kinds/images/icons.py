"""Icons: small pictures with transparent pixels, compared by colours within the box of what is visible.

A perceptual hash sees little of an icon but its outline. Versions of an icon that were drawn for several sizes differ
in margins and details, and different icons of a theme share outlines and colours. So the distance of two icons counts
in proportion to how near their other neighbours are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.io.pictures import pillow
from lookalike.kinds.images.hashes import U8
from lookalike.kinds.images.parts import WHOLE, Proof, Proofs
from lookalike.runtime.local.pool import Pool

if TYPE_CHECKING:
    from PIL.Image import Image

ICON_SIDE = 8  # pixels of the side of a reduced icon
ICON_BYTES = ICON_SIDE * ICON_SIDE * 3
MIN_TRANSPARENT = 0.02  # share of transparent pixels that makes a small picture an icon
TRANSPARENT_ALPHA = 32  # of 255: pixels with less are transparent
PAPER = 128  # grey level behind transparent pixels
NEIGHBOR = 6  # the distance of this neighbour says how crowded the surroundings of an icon are
MAX_NEIGHBOR_RATIO = 0.75  # largest ratio of a match's distance to that of these neighbours
DISTANCE_PER_BIT = 0.02  # distance of two icons that counts as one differing bit
LARGE_ICON = 64  # pixels of the long side from which versions of an icon are seldom drawn separately
LARGE_BITS = 0.2  # share of the allowed bits by which two large icons may differ
EQUAL_ICONS = 0.01  # distance up to which two icons match in any surroundings
NUMBERS_PER_TASK = 1 << 22  # distances that a task computes


def reduced_icon(image: Image | None) -> U8:
    """Return the colours of an icon on grey paper as u8[192], or zeros if the picture is none."""
    nothing = np.zeros(ICON_BYTES, np.uint8)
    if image is None or not _may_be_transparent(image):
        return nothing
    pixels = np.asarray(image.convert("RGBA"), np.float32)
    visible = pixels[..., 3] >= TRANSPARENT_ALPHA
    if not visible.any() or 1 - visible.mean() < MIN_TRANSPARENT:
        return nothing
    rows, columns = np.flatnonzero(visible.any(axis=1)), np.flatnonzero(visible.any(axis=0))
    inner = pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    alpha = inner[..., 3:] / 255
    colours = inner[..., :3] * alpha + PAPER * (1 - alpha)
    module: Any = pillow()
    smooth = module.Resampling.BOX if min(inner.shape[:2]) >= ICON_SIDE else module.Resampling.BILINEAR
    small = [
        np.asarray(module.fromarray(np.ascontiguousarray(colours[..., channel])).resize((ICON_SIDE,) * 2, smooth))
        for channel in range(3)
    ]
    out: U8 = np.clip(np.rint(np.stack(small, axis=2)), 0, 255).astype(np.uint8).reshape(-1)
    return out


def _may_be_transparent(image: Image) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info


def icon_pairs(icons: U8, owner: I64, lengths: I64, sides: U8, bound: tuple[int, float], pool: Pool) -> Proofs:
    """Return the pairs of icons that match. icons u8[n, 192], zeros for other pictures; owner i64[n]: their files.
    lengths i64[n]: their long sides in pixels.

    The distance is one minus the correlation of colours. It must be at most DISTANCE_PER_BIT for each bit of the bound,
    and at most MAX_NEIGHBOR_RATIO of the mean distance of both icons to their sixth nearest ones. For two icons with
    LARGE_ICON pixels or more, LARGE_BITS of the bound count.
    """
    places = np.flatnonzero(icons.any(axis=1))
    colours, files, is_large = icons[places], owner[places], lengths[places] >= LARGE_ICON
    n = len(places)
    spans = [(at, min(n, at + step)) for step in [max(1, NUMBERS_PER_TASK // max(1, n))] for at in range(0, n, step)]

    def crowd(span: tuple[int, int]) -> F64:
        distance = _distances(colours, *span)
        distance[files[span[0] : span[1], None] == files] = 2.0
        return np.partition(distance, NEIGHBOR - 1, axis=1)[:, NEIGHBOR - 1]

    around = np.concatenate([*pool.map(crowd, spans)]) if n > NEIGHBOR else np.full(n, 2.0)
    max_bits, min_likeness = bound

    def near(span: tuple[int, int]) -> Iterator[tuple[int, int, float]]:
        first, last = span
        distance = _distances(colours, first, last)
        limit = np.maximum(MAX_NEIGHBOR_RATIO * (around[first:last, None] + around) / 2, EQUAL_ICONS)
        allowed = max_bits * DISTANCE_PER_BIT * np.where(is_large[first:last, None] & is_large, LARGE_BITS, 1.0)
        good = (distance <= limit) & (distance <= np.minimum(allowed, 1 - min_likeness))
        good &= (files[first:last, None] < files) & (sides[places[first:last], None] | sides[places] == 3)
        rows, columns = np.nonzero(good)
        left, right = places[rows + first].tolist(), places[columns].tolist()
        return zip(left, right, distance[rows, columns].tolist(), strict=True)

    return {
        (left, right): Proof(
            "colours", int(np.ceil(distance / DISTANCE_PER_BIT - 1e-9)), None, 1 - distance, WHOLE, WHOLE
        )
        for found in pool.map(near, spans)
        for left, right, distance in found
    }


def _distances(colours: U8, first: int, last: int) -> F64:
    """Return one minus the correlation of the icons first to last - 1 with all. Products and sums are exact."""
    values = colours.astype(np.float32)  # products of bytes, summed over 192 of them, are exact: below 2^24
    sums = values.sum(axis=1, dtype=np.float64)
    norms = np.sqrt(np.maximum(ICON_BYTES * (values**2).sum(axis=1, dtype=np.float64) - sums**2, 1.0))
    products = (values[first:last] @ values.T).astype(np.float64)
    covariance = ICON_BYTES * products - sums[first:last, None] * sums
    out: F64 = 1.0 - covariance / (norms[first:last, None] * norms)
    return out
