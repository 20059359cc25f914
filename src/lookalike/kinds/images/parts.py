"""Pairs of pictures that have a part in common, with the proof of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64
from lookalike.kinds.images.geometry import Box, Overlap, candidate_pairs, overlap_of
from lookalike.kinds.images.hashes import U8
from lookalike.runtime.local.pool import Pool

if TYPE_CHECKING:
    from lookalike.kinds.images.reading import Hashed

WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


class Proof(NamedTuple):
    """Why two pictures match: evidence, the differing bits of what was compared, and the parts that correspond.

    features: local features that agree with the transform, 0 if none was needed. likeness: correlation of what was
    compared, or None if it was not kept. left_part, right_part: left, top, right and bottom,
    as fractions of the upright picture.
    """

    evidence: str
    bits: int
    features: int
    likeness: float | None
    left_part: Box
    right_part: Box


Proofs = dict[tuple[int, int], Proof]


def part_pairs(
    hashed: Hashed, sides: U8, bound: tuple[int, float], pool: Pool, known: Collection[tuple[int, int]], *,
    mirrored: bool,
) -> tuple[int, Proofs]:  # fmt: skip
    """Return the number of pairs that were compared, and the proofs of those whose common parts match.

    bound: the largest number of bits and the smallest correlation of the parts. known: pairs that need no proof.
    """
    max_bits, min_likeness = bound
    owner = hashed.owner
    candidates = [
        (left, right, flip)
        for left, right, flip in _candidates(hashed, pool, mirrored=mirrored)
        if sides[left] | sides[right] == 3 and (left, right) not in known and owner[left] != owner[right]
    ]

    def compare(candidate: tuple[int, int, bool]) -> Overlap | None:
        left, right, flip = candidate
        return overlap_of(hashed.local(left), hashed.local(right), mirrored=flip)

    proofs: Proofs = {}
    for (left, right, _), overlap in zip(candidates, pool.map(compare, candidates), strict=True):
        if overlap is None or overlap.bits > max_bits or overlap.likeness < min_likeness:
            continue
        if (left, right) not in proofs or overlap.features > proofs[left, right].features:
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


def proof_columns(proofs: Proofs, number: I64, left: I64, right: I64, _bits: F64) -> dict[str, pa.Array]:
    """Return the columns that say why two files match. number i64[files]: their numbers among the readable ones."""
    rows = [proofs.get(pair) for pair in zip(number[left].tolist(), number[right].tolist(), strict=True)]
    return {
        "evidence": pa.array(["hash" if row is None else row.evidence for row in rows], pa.string()),
        "features": pa.array([None if row is None else row.features for row in rows], pa.int64()),
        "likeness": pa.array([row.likeness and round(row.likeness, 4) if row else None for row in rows], pa.float64()),
        "left_part": pa.array([None if row is None else _shown(row.left_part) for row in rows], pa.string()),
        "right_part": pa.array([None if row is None else _shown(row.right_part) for row in rows], pa.string()),
    }


def _shown(part: Box) -> str:
    """Return a part as left, top, right and bottom in percent of the picture.

    >>> _shown((0.0, 0.25, 0.5, 1.0))
    '0 25 50 100'
    """
    return " ".join(f"{100 * edge:.0f}" for edge in part)
