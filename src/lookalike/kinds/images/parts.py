"""Pairs of pictures that have a part in common, with the proof of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lookalike.kinds.images.geometry import Box, Overlap, candidate_pairs, overlap_of
from lookalike.kinds.images.hashes import U8
from lookalike.runtime.local.pool import Pool

if TYPE_CHECKING:
    from lookalike.kinds.images.reading import Hashed

WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


class Proof(NamedTuple):
    """Why two pictures match: evidence, the differing bits of what was compared, and the parts that correspond.

    features: local features that agree with the transform, 0 or None if none was needed. likeness: correlation of
    what was compared, or None if it was not kept. left_part, right_part: left, top, right and bottom,
    as fractions of the upright picture.
    """

    evidence: str
    bits: int
    features: int | None
    likeness: float | None
    left_part: Box
    right_part: Box


Proofs = dict[tuple[int, int], Proof]


def part_pairs(
    hashed: Hashed, sides: U8, bound: tuple[int, float], pool: Pool, known: Collection[tuple[int, int]], *,
    mirrored: bool,
) -> tuple[int, Proofs]:  # fmt: skip
    """Return the number of pairs that were compared, and the proofs of those whose common parts match.

    bound: the largest number of bits and the smallest correlation of the parts. known: pairs that need no proof. Two
    icons are not compared: different icons of a theme have parts in common.
    """
    max_bits, min_likeness = bound
    owner, is_icon = hashed.owner, hashed.is_icon
    candidates = [
        (left, right, flip)
        for left, right, flip in _candidates(hashed, pool, mirrored=mirrored)
        if sides[left] | sides[right] == 3
        and (left, right) not in known
        and owner[left] != owner[right]
        and not (is_icon[left] and is_icon[right])
    ]

    def compare(candidate: tuple[int, int, bool]) -> Overlap | None:
        left, right, flip = candidate
        return overlap_of(hashed.local(left), hashed.local(right), mirrored=flip)

    proofs: Proofs = {}
    for (left, right, _), overlap in zip(candidates, pool.map(compare, candidates), strict=True):
        if overlap is None or overlap.bits > max_bits or overlap.likeness < min_likeness:
            continue
        if (left, right) not in proofs or overlap.features > (proofs[left, right].features or 0):
            evidence = "mirrored part" if overlap.mirrored else "part"
            proofs[left, right] = Proof(
                evidence, overlap.bits, overlap.features, overlap.likeness, overlap.left_box, overlap.right_box
            )
    return len(candidates), proofs


def _candidates(hashed: Hashed, pool: Pool, *, mirrored: bool) -> Iterator[tuple[int, int, bool]]:
    """Yield (left, right, whether left is mirrored), left < right, where local features share enough keys."""
    codes, ends, n = hashed.codes, hashed.ends, len(hashed.owner)
    for left, right in candidate_pairs(codes, ends, pool):
        yield left, right, False
    if mirrored and n:
        flipped = np.concatenate([hashed.local(frame).mirrored for frame in range(n)])
        both = np.concatenate([codes, flipped]), np.concatenate([ends, ends[-1] + ends[1:]])
        for left, right in candidate_pairs(*both, pool):
            if left < n <= right and left < right - n:  # a picture and another one's mirror image
                yield left, right - n, True
