"""Which items an audit looks at: a random sample, stratified by how many partners the run found for each item.

Nearly all pairs of skewed data belong to a few items. An item is therefore drawn with a chance that grows with the
partners it has, and counts for as many items as it was drawn from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.data import F64, I64, U64, Pairs
from lookalike.kernels.hashing import mix_all

STRATA = 64  # stratum 0 holds the items without partners, stratum s those with 2^(s-1) to 2^s - 1
LEAST_DRAWN = 20  # items of each stratum that are drawn even if few pairs are theirs
PARTNERS = 1 << 16  # partners that the items of a sample may have altogether, in any run
PARTNERS_SHARE = 10  # in a large run, they may have this fraction of the pairs found: 1 in 10,
MOST_PARTNERS = 1 << 18  # but not more than this: their pairs are held in memory
BLOCK = 1 << 20  # items whose keys are computed at a time
SALT = 0xA0D17


@dataclass(frozen=True)
class Sample:
    """A stratified random sample without replacement.

    items i64[n]: ascending. stratum i64[n]: of each. sizes, drawn i64[STRATA]: items there are, and items drawn.
    partners f64[STRATA]: mean number of partners that the run found for an item of the stratum.
    """

    items: I64
    stratum: I64
    sizes: I64
    drawn: I64
    partners: F64

    def __len__(self) -> int:
        return len(self.items)

    @property
    def weights(self) -> F64:
        """How many items each sampled item represents. f64[n]"""
        weights: F64 = (self.sizes / np.maximum(self.drawn, 1))[self.stratum]
        return weights

    def places(self, items: I64) -> I64:
        """The place of each of these items in the sample, -1 for items outside of it."""
        if not len(self.items):
            return np.full(len(items), -1, np.int64)
        place = np.minimum(np.searchsorted(self.items, items), len(self.items) - 1)
        return np.asarray(np.where(self.items[place] == items, place, -1), np.int64)


@dataclass(frozen=True)
class Strata:
    """The strata of all items, and how many items to draw from each. All arrays are [STRATA]."""

    sizes: I64
    partners: F64
    wanted: I64

    @classmethod
    def of(cls, sizes: I64, partners: I64, size: int) -> Strata:
        """Allocate about `size` draws in proportion to partners + 1, within the budget of partners.

        partners i64[STRATA]: of all items of each stratum together.
        """
        mean = partners / np.maximum(sizes, 1)
        total = partners.sum() + sizes.sum()
        expected = float((sizes * (mean + 1.0) * mean).sum() / max(1, total))  # partners of an item that is drawn
        budget = min(max(PARTNERS, int(partners.sum()) // (2 * PARTNERS_SHARE)), MOST_PARTNERS)
        affordable = int(budget / expected) if expected > 0 else size
        return cls(sizes, mean, _allocate(sizes, mean + 1.0, max(1, min(size, affordable))))

    def limits(self) -> F64:
        """Keys, as shares of all keys, below which `sample` finds what it wants; a few more than that lie below."""
        slack = self.wanted + 8.0 * np.sqrt(self.wanted) + 16.0
        limits: F64 = np.where(self.wanted < self.sizes, slack / np.maximum(self.sizes, 1), 1.0)
        return np.minimum(limits, 1.0)

    def sample(self, items: I64, stratum: I64, keys: U64) -> Sample:
        """Take the items with the lowest keys of each stratum. items i64[m], in any order: all below the limits."""
        order = np.lexsort((items, keys, stratum))
        items, stratum = items[order], stratum[order]
        first = np.searchsorted(stratum, np.arange(STRATA))
        kept = np.arange(len(items)) - first[stratum] < self.wanted[stratum]
        items, stratum = items[kept], stratum[kept]
        order = np.argsort(items)
        drawn = np.bincount(stratum, minlength=STRATA)
        return Sample(items[order], stratum[order], self.sizes, drawn, self.partners)


def found_partners(found: Pairs, count: int) -> I64:
    """How many partners the run found for each of `count` items. i64[count]"""
    partners = np.bincount(found.left, minlength=count)
    partners += np.bincount(found.right, minlength=count)
    return partners


def draw(partners: I64, size: int, seed: int) -> Sample:
    """Draw about `size` items. partners i64[n]: how many each has."""
    stratum = strata_of(partners)
    sizes = np.bincount(stratum, minlength=STRATA)
    held = np.bincount(stratum, partners, minlength=STRATA).astype(np.int64)
    strata = Strata.of(sizes, held, size)
    limits, parts = strata.limits(), []
    for low in range(0, len(partners), BLOCK):
        items = np.arange(low, min(low + BLOCK, len(partners)))
        keys = keys_of(items, seed)
        near = keys / 2.0**64 <= limits[stratum[low : low + BLOCK]]
        parts.append((items[near], keys[near]))
    items = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
    keys = np.concatenate([np.empty(0, np.uint64), *(part[1] for part in parts)])
    return strata.sample(items, stratum[items], keys)


def strata_of(partners: I64) -> I64:
    """The stratum of items with so many partners.

    >>> strata_of(np.array([0, 1, 2, 3, 4, 7, 8])).tolist()
    [0, 1, 2, 2, 3, 3, 4]
    """
    return np.frexp(partners.astype(np.float64))[1].astype(np.int64)


def keys_of(items: I64, seed: int) -> U64:
    """A random key of each item: the same for an item and a seed wherever it is computed."""
    keys = np.empty(len(items), np.uint64)
    mix_all(items.astype(np.uint64), np.uint64((seed ^ SALT) % 2**64), keys)
    return keys


def _allocate(sizes: I64, measure: F64, size: int) -> I64:
    """Draws of each stratum, in proportion to sizes * measure, at most all of it and at least a few."""
    used = sizes > 0
    wanted, unsettled, left = np.zeros(len(sizes)), used.copy(), float(min(size, int(sizes.sum())))
    while unsettled.any() and left > 0:
        share = np.where(unsettled, sizes * measure, 0.0)
        wanted = np.where(unsettled, left * share / share.sum(), wanted)
        full = unsettled & (wanted >= sizes)
        if not full.any():
            break
        wanted = np.where(full, sizes, wanted)
        left -= float(sizes[full].sum())
        unsettled &= ~full
        wanted[unsettled] = 0.0
    least = min(LEAST_DRAWN, max(1, size // max(1, int(used.sum()))))
    return np.minimum(sizes, np.maximum(np.rint(wanted).astype(np.int64), least))
