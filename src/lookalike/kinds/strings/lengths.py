"""Strings as code points, sorted by length, and the lengths and distances of possible partners at a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64, U32, U64
from lookalike.core.exact_duplicates import Classes, collapse_equal
from lookalike.kernels import edits
from lookalike.kernels.hashing import CHARS
from lookalike.kernels.unicode import tables
from lookalike.kinds.strings.kernels import strings

MAX_DENOMINATOR = 10**6  # maximum denominator of a similarity threshold
LETTERS_AT_ONCE = 1 << 20  # letters of which the distinct ones are collected at a time
VARIANTS = 600  # maximum number of deletion variants of a string; beyond it, segments are cheaper


class EditBar(NamedTuple):
    """The threshold that a pair must reach, as the arguments of kernels.edits."""

    measure: int
    num: int
    den: int


def edit_bar(measure: str, threshold: float, *, by_similarity: bool) -> EditBar:
    """Convert a distance, or a similarity (as the exact fraction that the user wrote), to an EditBar.

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
        """Decode a large_string array without nulls.

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
        """Return the classes of equal strings; empty strings belong to none."""
        prints = np.empty(len(self), np.uint64)
        strings.fingerprints(self.points, self.ends, prints)

        def same(left: I64, right: I64) -> npt.NDArray[np.bool_]:
            out = np.empty(len(left), np.bool_)
            strings.equal(self.points, self.ends, left, right, out)
            return out

        return collapse_equal(prints, same, preference[self.lengths[preference] > 0])


@dataclass(frozen=True)
class Ranked:
    """Strings sorted by length.

    order i64[n]: their original numbers; texts: their letters, numbered from 0; starts i64[longest + 2]: the first
    string of each length; bags u64[n]: see kernels.strings.bags; sides u8[n].
    """

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


def ranked(
    texts: StringsByLength, items: I64, sides: npt.NDArray[np.uint8], array: Callable[..., Any] = np.empty
) -> Ranked:
    """Sort these items (none of them empty) by length. array: makes the large arrays, of a shape and a dtype."""
    lengths = texts.ends[items + 1] - texts.ends[items]
    order = np.argsort(lengths, kind="stable")
    used = np.zeros(0x110000, np.bool_)
    for low in range(0, len(texts.points), LETTERS_AT_ONCE):
        used[texts.points[low : low + LETTERS_AT_ONCE]] = True
    letter = (np.cumsum(used) - 1).astype(np.uint32)
    whole = StringsByLength(array((int(lengths.sum()),), np.uint32), array((len(items) + 1,), np.int64))
    strings.gather(texts.points, texts.ends, items[order], letter, whole.points, whole.ends)
    bags = array((len(items),), np.uint64)
    strings.bags(whole.points, whole.ends, bags)
    starts = np.zeros(int(lengths.max(initial=0)) + 2, np.int64)
    np.cumsum(np.bincount(lengths, minlength=len(starts) - 1), out=starts[1:])
    return Ranked(order, whole, max(1, int(used.sum())), starts, bags, sides[order])


@dataclass(frozen=True)
class LengthBounds:
    """Bounds on the possible partners of a string, by its length from 0 to the longest. All i64[longest + 1].

    shortest: smallest length of a partner. as_anchor: largest distance to a partner that is not longer. as_partner:
    largest distance to a partner that is not shorter. short: maximum length for which deletion variants are used
    instead of segments.
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
            # lengths differ by at most the distance: l >= s L, or l (2 - s) >= s L for the sum of both lengths
            over = 2 * bar.den - bar.num if bar.measure & edits.INDEL else bar.den
            shortest, furthest = -(-length * bar.num // over), length * over // bar.num
        shortest, furthest = np.maximum(shortest, 1), np.minimum(furthest, longest)
        as_anchor = np.array([edits.allowed(*bar, int(n), int(n)) for n in length], np.int64)
        as_partner = np.array(
            [edits.allowed(*bar, int(m), int(n)) for n, m in zip(length, furthest, strict=True)], np.int64
        )
        return cls(shortest, as_anchor, as_partner, _short(bar, as_anchor, as_partner))

    def deletions(self, bar: EditBar) -> tuple[I64, I64]:
        """Return the maximum number of deletions of an anchor and of a partner, by length up to `short`.

        Matching strings have a string in common after at most these deletions.
        """
        length = np.arange(len(self.shortest))
        if bar.measure & edits.INDEL:
            # |x| + |y| - 2 LCS <= e: the anchor loses (e + |x| - |y|) / 2 letters, the partner the rest of e
            lost = np.zeros_like(length)
            for n in range(1, self.short + 1):
                lost[n] = _most_lost(bar, n, int(self.shortest[n]))
            return np.minimum(length, lost), np.minimum(length, self.as_partner // 2)
        return np.minimum(length, self.as_anchor), np.minimum(length, self.as_partner)


def _most_lost(bar: EditBar, length: int, shortest: int) -> int:
    return max(((edits.allowed(*bar, length, m) + length - m) // 2 for m in range(shortest, length + 1)), default=0)


def _short(bar: EditBar, as_anchor: I64, as_partner: I64) -> int:
    """Return the largest length up to which no length has more than VARIANTS deletion variants."""
    for length, (one, other) in enumerate(zip(as_anchor, as_partner // (1 + (bar.measure & edits.INDEL)), strict=True)):
        if _ways(length, int(max(one, other))) > VARIANTS:
            return length - 1
    return len(as_anchor) - 1


def variants(deletions: I64) -> I64:
    """Return the number of variants that up to deletions[length] deletions give, for each length."""
    return np.array([_ways(length, most) for length, most in enumerate(deletions.tolist())], np.int64)


def _ways(length: int, most: int) -> int:
    return sum(math.comb(length, k) for k in range(min(length, most) + 1))


def powers(count: int) -> U64:
    """Return the powers 0 to count-1 of the base of the polynomial hash."""
    out = np.full(count, CHARS, np.uint64)
    out[0] = 1
    return np.cumprod(out, dtype=np.uint64)
