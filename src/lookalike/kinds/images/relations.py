"""What matching pictures are to each other: copies, parts, frames of an animation, or photos of a burst."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Pairs
from lookalike.core.trace import Trace
from lookalike.io.pictures import capture_time
from lookalike.kinds.images.geometry import Box
from lookalike.kinds.images.parts import Proofs

NEARLY_ALL = 0.9  # share of a picture from which a part counts as the whole picture


class Relations:
    """The relations of pairs of files, and the columns that prove them. files: the readable ones, in order."""

    def __init__(self, files: Sequence[Path], proofs: Proofs) -> None:
        self._proofs = proofs
        self._time = cache(lambda at: capture_time(files[at]))

    def of(self, left: int, right: int) -> str:
        """Return "copy", "part", "frame" or "burst"."""
        one, other = self._time(left), self._time(right)
        if one is not None and other is not None and _differ(one, other):
            return "burst"
        proof = self._proofs.get((left, right))
        if proof is None:
            return "copy"
        if proof.evidence == "frame":
            return "frame"
        return "part" if min(_area(proof.left_part), _area(proof.right_part)) < NEARLY_ALL else "copy"

    def chosen(self, pairs: Pairs, relations: Sequence[str], trace: Trace) -> Pairs:
        """Return the pairs with one of these relations, and count the others."""
        named = [self.of(*pair) for pair in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)]
        good = np.array([name in relations for name in named], np.bool_)
        trace.add(other_relations=len(named) - int(good.sum()))
        return Pairs(pairs.left[good], pairs.right[good], pairs.similarity[good])

    def losses(self, pairs: Pairs, frames: I64, ids: Sequence[str], readable: I64) -> set[tuple[str, str]]:
        """Return the pairs (file, other file) of which the first shows more than the second."""
        found = set()
        for left, right in zip(pairs.left.tolist(), pairs.right.tolist(), strict=True):
            proof = self._proofs.get((left, right))
            names = ids[readable[left]], ids[readable[right]]
            parts = (1.0, 1.0) if proof is None else (_area(proof.left_part), _area(proof.right_part))
            if parts[0] < NEARLY_ALL or frames[left] > 1 == frames[right]:
                found.add(names)
            if parts[1] < NEARLY_ALL or frames[right] > 1 == frames[left]:
                found.add(names[::-1])
        return found

    def columns(self, number: I64, left: I64, right: I64, _bits: F64) -> dict[str, pa.Array]:
        """Return the columns that say why two files match. number i64[files]: their numbers among the readable ones."""
        pairs = list(zip(number[left].tolist(), number[right].tolist(), strict=True))
        rows = [self._proofs.get(pair) for pair in pairs]
        return {
            "relation": pa.array([self.of(*pair) for pair in pairs], pa.string()),
            "evidence": pa.array(["hash" if row is None else row.evidence for row in rows], pa.string()),
            "features": pa.array([None if row is None else row.features for row in rows], pa.int64()),
            "likeness": pa.array(
                [row.likeness and round(row.likeness, 4) if row else None for row in rows], pa.float64()
            ),
            "left_part": pa.array([None if row is None else _shown(row.left_part) for row in rows], pa.string()),
            "right_part": pa.array([None if row is None else _shown(row.right_part) for row in rows], pa.string()),
        }


def _differ(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Return whether two times (seconds, digits after the second or "") are different moments."""
    return one[0] != other[0] or bool(one[1] and other[1] and one[1].rstrip("0") != other[1].rstrip("0"))


def _area(part: Box) -> float:
    return (part[2] - part[0]) * (part[3] - part[1])


def _shown(part: Box) -> str:
    """Return a part as left, top, right and bottom in percent of the picture.

    >>> _shown((0.0, 0.25, 0.5, 1.0))
    '0 25 50 100'
    """
    return " ".join(f"{100 * edge:.0f}" for edge in part)
