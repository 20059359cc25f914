"""Agreement by chance: how often the fields of two records agree among all pairs, not only among candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F32, F64, I64, U32
from lookalike.kinds.records.comparisons import compare
from lookalike.kinds.records.fields import Field

RANDOM = 5000  # number of random pairs
SHARING = 1000  # number of random pairs, for each field, with equal values of that field
SEEN = 100_000  # approximate number of records from which the latter are drawn
FEWEST = 0.5  # lower bound of the number of other records with a value, so that no value has probability 0

Drawn = tuple[U32, U32]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class RandomPairs:
    """Statistics of all pairs of records, and samples of them.

    pairs: the number of all pairs; known, equal f64[fields]: the number of pairs in which both have a value, and in
    which the values are equal; random: the similarity of random pairs (`drawn`) in each field; sharing[i][j]: the
    similarity in field j of random pairs with equal values of field i (sharing[i] is empty where no two are equal).
    """

    fields: Sequence[Field]
    pairs: float
    known: F64
    equal: F64
    random: Sequence[F32]
    drawn: Drawn
    sharing: Sequence[Sequence[F32]]

    @classmethod
    def of(cls, fields: Sequence[Field], records: int, split: int) -> RandomPairs | None:
        """Measure all pairs of one table, or those between two tables; None where there is no pair."""
        first, others = (split, records - split) if split >= 0 else (records, records - 1)
        if first < 1 or others < 1:
            return None
        rng = np.random.default_rng(0)
        left = rng.integers(0, first, RANDOM, dtype=np.uint32)
        right = rng.integers(0, others, RANDOM, dtype=np.uint32)
        right = right + np.uint32(split) if split >= 0 else right + (right >= left)
        right = right.astype(np.uint32)
        random = [compare(field, left, right) for field in fields]
        counts = [count_pairs(field.values, split) for field in fields]
        alike = [draw_sharing(field.values, split, rng) for field in fields]
        sharing = [[compare(field, *two) for field in fields] if two else [] for two in alike]
        pairs = first * others / (1 if split >= 0 else 2)
        known, equal = (np.array(part) for part in zip(*counts, strict=True))
        return cls(fields, pairs, known, equal, random, (left, right), sharing)

    def select(self, kept: Sequence[int]) -> RandomPairs:
        """Return the statistics of these fields."""
        at = np.array(kept, np.int64)
        sharing = [[some[n] for n in kept] if len(some) else [] for some in (self.sharing[n] for n in kept)]
        random = [self.random[n] for n in kept]
        return replace(self, fields=[self.fields[n] for n in kept], known=self.known[at], equal=self.equal[at],
                       random=random, sharing=sharing)  # fmt: skip

    @property
    def usual(self) -> F64:
        """Return for each field the share of the pairs with equal values, among those in which both have a value."""
        return np.asarray(np.maximum(self.equal, FEWEST) / np.maximum(self.known, 1))

    @cached_property
    def _rarity(self) -> list[F32]:
        """Return for each field the term-frequency adjustment of each value, followed by a 0 for a missing value."""
        made = []
        for field, usual in zip(self.fields, self.usual.tolist(), strict=True):
            held = np.bincount(field.values[field.values >= 0], minlength=len(field.offsets) - 1)
            made.append(value_rarity(held, usual, int(held.sum())))
        return made

    def rare(self, left: U32, right: U32) -> list[F32]:
        """Return for each field the term-frequency adjustment of the pairs, in bits; 0 where values differ.

        It is log2 of the share of pairs with equal values over the share of the records that have this value. The two
        records of the pair are not counted: a value that only a record and its copy have is rarer than it appears.
        """
        out = []
        for field, bits in zip(self.fields, self._rarity, strict=True):
            one = field.values[left]
            out.append(np.where(one == field.values[right], bits[one], np.float32(0)))
        return out


def value_rarity(held: I64, usual: float, filled: int) -> F32:
    """Return the term-frequency adjustment of each value, in bits, followed by a 0 for a missing value.

    held i64[v]: the number of records with each value; usual: the share of the pairs with equal values; filled: the
    number of records that have a value.
    """
    share = np.maximum(held - 2, FEWEST) / max(float(filled) - 1, 1.0)
    return np.append(np.log2(usual / share), 0.0).astype(np.float32)


def count_pairs(values: I32, split: int) -> tuple[float, float]:
    """Return the number of pairs in which both records have a value, and in which the values are equal."""
    if split < 0:
        held = np.bincount(values[values >= 0]).astype(np.float64)
        n = float(held.sum())
        return n * (n - 1) / 2, float((held * (held - 1)).sum() / 2)
    one, other = (_held(part, int(values.max(initial=-1)) + 1) for part in (values[:split], values[split:]))
    return float(one.sum() * other.sum()), float((one * other).sum())


def _held(values: I32, distinct: int) -> F64:
    return np.bincount(values[values >= 0], minlength=distinct).astype(np.float64)


def draw_sharing(values: I32, split: int, rng: np.random.Generator) -> Drawn | None:
    """Draw random pairs of records with equal values, uniformly among all such pairs; None where there are none.

    >>> one, other = draw_sharing(np.array([3, 0, 3, -1], np.int32), -1, np.random.default_rng(0))
    >>> sorted({*one.tolist(), *other.tolist()})
    [0, 2]
    """
    step = max(1, len(values) // SEEN)
    order = np.arange(0, len(values), step)
    order = order[values[order] >= 0]
    order = order[np.argsort(values[order], kind="stable")]
    distinct = int(values.max(initial=-1)) + 1
    every = _held(values[order], distinct)
    one = _held(values[order[order < split]], distinct) if split >= 0 else every
    ways = np.cumsum(one * (every - one if split >= 0 else every - 1))
    if not distinct or ways[-1] <= 0:
        return None
    value = np.searchsorted(ways, rng.random(SHARING) * ways[-1], side="right")
    begin = (np.cumsum(every) - every)[value]
    a = np.floor(rng.random(SHARING) * one[value])
    if split >= 0:  # records of the first table come first in each run of equal values
        b = one[value] + np.floor(rng.random(SHARING) * (every - one)[value])
    else:
        b = np.floor(rng.random(SHARING) * (every[value] - 1))
        b += b >= a
    return _at(order, begin + a), _at(order, begin + b)


def _at(order: npt.NDArray[np.int64], places: F64) -> U32:
    return order[places.astype(np.int64)].astype(np.uint32)
