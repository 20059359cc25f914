"""Strings, numbered by length, and how far their partners can reach at a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64, U32, U64
from lookalike.core.exact_duplicates import Classes, collapse_equal
from lookalike.kernels import edits
from lookalike.kernels.hashing import CHARS
from lookalike.kernels.unicode import tables
from lookalike.kinds.strings.kernels import strings

MAX_DENOMINATOR = 10**6  # the largest denominator of a similarity
VARIANTS = 600  # strings that deletions may make of one; where there are more, segments are cheaper


class EditBar(NamedTuple):
    """What a pair must reach: see kernels.edits."""

    measure: int
    num: int
    den: int


def edit_bar(measure: str, threshold: float, *, by_similarity: bool) -> EditBar:
    """The bar of a distance, or of a similarity as the fraction that the user wrote.

    >>> edit_bar("indel", 0.8, by_similarity=True)
    EditBar(measure=3, num=4, den=5)
    """
    code = edits.INDEL if measure == "indel" else edits.LEVENSHTEIN
    if not by_similarity:
        return EditBar(code, int(threshold), 1)
    share = Fraction(repr(float(threshold))).limit_denominator(MAX_DENOMINATOR)
    return EditBar(code + edits.SIMILARITY_SHARE, share.numerator, share.denominator)


@dataclass(frozen=True)
class StringsByLength:
    """n strings as code points. points u32[.]; ends i64[n+1]."""

    points: U32
    ends: I64

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def lengths(self) -> I64:
        return np.diff(self.ends)

    @classmethod
    def of(cls, texts: pa.Array, *, fold_case: bool = False, strip_accents: bool = False) -> StringsByLength:
        """Of a large_string array without nulls.

        >>> StringsByLength.of(pa.array(["É", "ß"], pa.large_string()), fold_case=True).points.tolist()
        [233, 115, 115]
        """
        folds = tables(fold_case, strip_accents)
        if not len(texts):
            return cls(np.empty(0, np.uint32), np.zeros(1, np.int64))
        offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
        data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
        points = np.empty(3 * int(offsets[-1] - offsets[0]) // (1 if fold_case else 2) + 3, np.uint32)
        ends = np.empty(len(offsets), np.int64)
        strings.decode(data, offsets, folds.folds, folds.multi, points, ends)
        return cls(points[: ends[-1]], ends)

    def collapse(self, preference: I64) -> Classes:
        """Classes of equal strings; empty ones are in none."""
        prints = np.empty(len(self), np.uint64)
        strings.fingerprints(self.points, self.ends, prints)

        def same(left: I64, right: I64) -> npt.NDArray[np.bool_]:
            out = np.empty(len(left), np.bool_)
            strings.equal(self.points, self.ends, left, right, out)
            return out

        return collapse_equal(prints, same, preference[self.lengths[preference] > 0])


@dataclass(frozen=True)
class Ranked:
    """Strings in the order of their lengths. order i64[n]: their numbers before; points: letters numbered from 0;
    starts i64[longest + 2]: the first string of each length; bags u64[n]; sides u8[n]."""

    order: I64
    texts: StringsByLength
    letters: int
    starts: I64
    bags: U64
    sides: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.order)

    @property
    def longest(self) -> int:
        return len(self.starts) - 2


def ranked(texts: StringsByLength, items: I64, sides: npt.NDArray[np.uint8]) -> Ranked:
    """These items (none empty), by length."""
    lengths = texts.lengths[items]
    order = np.argsort(lengths, kind="stable")
    used = np.zeros(0x110000, np.bool_)
    used[texts.points] = True
    letter = (np.cumsum(used) - 1).astype(np.uint32)
    whole = StringsByLength(np.empty(int(lengths.sum()), np.uint32), np.empty(len(items) + 1, np.int64))
    strings.gather(texts.points, texts.ends, items[order], letter, whole.points, whole.ends)
    bags = np.empty(len(items), np.uint64)
    strings.bags(whole.points, whole.ends, bags)
    starts = np.zeros(int(lengths.max(initial=0)) + 2, np.int64)
    np.cumsum(np.bincount(lengths, minlength=len(starts) - 1), out=starts[1:])
    return Ranked(order, whole, max(1, int(used.sum())), starts, bags, sides[order])


@dataclass(frozen=True)
class LengthBounds:
    """By length of a string, 0 to the longest: what partners it can have. All i64[longest + 1].

    shortest: of its partners that are not longer. as_anchor: the largest distance to these. as_partner: to those that
    are not shorter. short: up to which length deletions are looked at, and not segments.
    """

    shortest: I64
    as_anchor: I64
    as_partner: I64
    short: int

    @classmethod
    def of(cls, bar: EditBar, longest: int) -> LengthBounds:
        length = np.arange(longest + 1)
        if bar.measure < edits.SIMILARITY_SHARE:
            shortest, furthest = length - bar.num, length + bar.num
        else:
            # lengths differ by at most the distance: l >= s L, or l (2 - s) >= s L for both lengths together
            over = 2 * bar.den - bar.num if bar.measure & edits.INDEL else bar.den
            shortest, furthest = -(-length * bar.num // over), length * over // bar.num
        shortest, furthest = np.maximum(shortest, 1), np.minimum(furthest, longest)
        as_anchor = np.array([edits.allowed(*bar, int(n), int(n)) for n in length], np.int64)
        as_partner = np.array(
            [edits.allowed(*bar, int(m), int(n)) for n, m in zip(length, furthest, strict=True)], np.int64
        )
        return cls(shortest, as_anchor, as_partner, _short(bar, as_anchor, as_partner))

    def deletions(self, bar: EditBar) -> tuple[I64, I64]:
        """(of an anchor, of a partner) of each length up to `short`: a string remains in common after so many."""
        length = np.arange(len(self.shortest))
        if bar.measure & edits.INDEL:
            # |x| + |y| - 2 LCS <= e: the anchor loses (e + |x| - |y|) / 2 letters, the other the rest of e
            lost = np.zeros_like(length)
            for n in range(1, self.short + 1):
                lost[n] = _most_lost(bar, n, int(self.shortest[n]))
            return np.minimum(length, lost), np.minimum(length, self.as_partner // 2)
        return np.minimum(length, self.as_anchor), np.minimum(length, self.as_partner)


def _most_lost(bar: EditBar, length: int, shortest: int) -> int:
    return max(((edits.allowed(*bar, length, m) + length - m) // 2 for m in range(shortest, length + 1)), default=0)


def _short(bar: EditBar, as_anchor: I64, as_partner: I64) -> int:
    """The last of the lengths from 0 on of which deletions make few enough strings."""
    for length, (one, other) in enumerate(zip(as_anchor, as_partner // (1 + (bar.measure & edits.INDEL)), strict=True)):
        if _ways(length, int(max(one, other))) > VARIANTS:
            return length - 1
    return len(as_anchor) - 1


def variants(deletions: I64) -> I64:
    """How many strings up to so many deletions make of one of each length."""
    return np.array([_ways(length, most) for length, most in enumerate(deletions.tolist())], np.int64)


def _ways(length: int, most: int) -> int:
    return sum(math.comb(length, k) for k in range(min(length, most) + 1))


def powers(count: int) -> U64:
    """The powers of the base of the polynomial hashes, from the 0th."""
    out = np.full(count, CHARS, np.uint64)
    out[0] = 1
    return np.cumprod(out, dtype=np.uint64)
