"""Pairs of files from pairs of frames: an animation matches a picture that is one of its frames."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from lookalike.core.arrays import F64, I64, Pairs
from lookalike.kinds.images.parts import WHOLE, Proof, Proofs

MIN_COMMON_FRAMES = 0.5  # share of the frames of the shorter of two animations that must match


def sorted_pairs(left: I64, right: I64, score: F64) -> Pairs:
    """Return pairs in ascending order of (left, right)."""
    order = np.lexsort((right, left))
    return Pairs(left[order], right[order], score[order])


def pairs_of_files(pairs: Pairs, proofs: Proofs, owner: I64) -> tuple[Pairs, Proofs]:
    """Return the pairs of files, with their proofs, from pairs of frames. owner i64[frames]: the file of each frame.

    A file with one frame matches an animation if it matches a frame of it; two animations match if at least half of
    the frames of the one with fewer have a match in the other. The frames with the fewest differing bits count.
    """
    first = np.searchsorted(owner, np.arange(owner[-1] + 2))
    frames = np.diff(first)
    met: dict[tuple[int, int], list[tuple[float, int, int]]] = defaultdict(list)
    for left, right, score in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.similarity.tolist(), strict=True):
        one, other = int(owner[left]), int(owner[right])
        if one != other:
            met[one, other].append((-score, left, right))
    found: dict[tuple[int, int], float] = {}
    shown: Proofs = {}
    for (one, other), matches in met.items():
        common = min(len({left for _, left, _ in matches}), len({right for _, _, right in matches}))
        fewest = min(frames[one], frames[other])
        if fewest > 1 and common < MIN_COMMON_FRAMES * fewest:
            continue
        bits, left, right = min(matches)
        found[one, other] = -bits
        if (left, right) in proofs:
            shown[one, other] = proofs[left, right]
        elif fewest == 1 < max(frames[one], frames[other]):
            shown[one, other] = Proof("frame", int(bits), 0, None, WHOLE, WHOLE)
    left, right = np.array(list(found), np.int64).reshape(-1, 2).T
    return sorted_pairs(left, right, np.array(list(found.values()), np.float64)), shown
