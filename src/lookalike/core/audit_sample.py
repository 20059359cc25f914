"""Which items an audit looks at: a random sample, stratified by the partners that the run found for each item.

Nearly all pairs of skewed data belong to a few items. An item is therefore drawn with a chance that grows with the
number of its partners, and counts for as many items as it was drawn from. Items of one large group are found or missed
together, so that large groups are strata of their own: the variation between them is then no part of the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import F64, I64, U64, Pairs
from lookalike.kernels.hashing import mix_all

STRATA = 64  # stratum 0 holds the items without partners, stratum s those with 2^(s-1) to 2^s - 1
LEAST_DRAWN = 20  # items of each of these strata that are drawn even if few pairs are theirs
CELL_DRAWS = 2  # a group is a stratum of its own where this many of its items would be drawn,
CELL_SPREAD = 4  # unless an item has this many times as many partners as its items have on average
TICKETS = 1 << 20  # that an item has which is surely drawn
LEAST_OUTSIDE = 5  # items outside of such groups that are drawn from each stratum
PARTNERS = 1 << 16  # partners that the items of a sample may have altogether, in any run
PARTNERS_SHARE = 10  # in a large run, they may have this fraction of the pairs found: 1 in 10,
MOST_PARTNERS = 1 << 18  # but not more than this: their pairs are held in memory
PRICES = (0.0, *(2.0**power for power in range(-12, 9)))  # of a partner, in items, where the budget is short
ITEMS_PER_BATCH = 1 << 20  # items whose keys are computed at a time
AUDIT_SALT = 0xA0D17


class Partners(NamedTuple):
    """What a run found for each item. All i64[n].

    counts: numbers of partners. group: the smallest number of an item that shares a partner with this one (the item
    itself does). Most items of a large group have the same.
    """

    counts: I64
    group: I64


@dataclass(frozen=True)
class Sample:
    """A stratified random sample without replacement.

    items i64[n]: ascending. stratum i64[n]: of each. sizes, drawn i64[s]: items in each stratum, and items drawn.
    partners f64[s]: mean number of partners that the run found for an item of the stratum.
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


class Groups(NamedTuple):
    """Groups that may be strata of their own, by ascending numbers. All [g].

    tickets i64: of all items of the group (`Strata.tickets`). partners i64: of all items; most i64: of one item.
    """

    numbers: I64
    sizes: I64
    tickets: I64
    partners: I64
    most: I64

    def large(self) -> Groups:
        """The groups that become strata: several of their items would be drawn, and they have about equally many
        partners."""
        kept = (self.tickets >= CELL_DRAWS * TICKETS) & (self.most * self.sizes <= CELL_SPREAD * self.partners)
        return Groups(*(column[kept] for column in self))


@dataclass(frozen=True)
class Strata:
    """The strata of all items, and how many items to draw from each. sizes, partners, wanted: [STRATA + cells].

    cells i64[c]: ascending numbers of the groups that are strata of their own.
    """

    sizes: I64
    partners: F64
    wanted: I64
    cells: I64

    @classmethod
    def of(cls, sizes: I64, partners: I64, size: int) -> Strata:
        """Allocate about `size` draws in proportion to partners + 1, within the budget of partners.

        partners i64[STRATA]: of all items of each stratum together.
        """
        mean = partners / np.maximum(sizes, 1)
        budget = min(max(PARTNERS, int(partners.sum()) // (2 * PARTNERS_SHARE)), MOST_PARTNERS)
        for price in PRICES:
            wanted = _allocate(sizes, (mean + 1.0) / np.sqrt(1.0 + price * mean), size)
            if (excess := float(wanted @ mean) / budget) <= 1:
                break
        else:
            wanted = _allocate(sizes, mean + 1.0, max(1, int(size / excess)))
        return cls(sizes, mean, wanted, np.empty(0, np.int64))

    @property
    def tickets(self) -> I64:
        """How likely an item of each stratum is drawn, in whole TICKETS: their sums do not depend on an order."""
        return np.asarray(np.rint(TICKETS * self.wanted / np.maximum(self.sizes, 1)), np.int64)

    def divided(self, groups: Groups, outside: I64) -> Strata:
        """Make groups strata of their own. outside i64[STRATA]: items of each stratum that are in none of them."""
        least = np.minimum(LEAST_OUTSIDE, self.wanted)
        rest = np.minimum(np.maximum(np.rint(self.tickets * outside / TICKETS).astype(np.int64), least), outside)
        own = np.clip(np.rint(groups.tickets / TICKETS).astype(np.int64), CELL_DRAWS, groups.sizes)
        mean = groups.partners / np.maximum(groups.sizes, 1)
        return Strata(
            np.concatenate([outside, groups.sizes]), np.concatenate([self.partners, mean]),
            np.concatenate([rest, own]), groups.numbers,
        )  # fmt: skip

    def places(self, stratum: I64, group: I64) -> I64:
        """The stratum of items, which may be that of their group. stratum i64[m]: by the number of partners."""
        if not len(self.cells):
            return stratum
        place = np.minimum(np.searchsorted(self.cells, group), len(self.cells) - 1)
        return np.asarray(np.where(self.cells[place] == group, STRATA + place, stratum), np.int64)

    def limits(self) -> F64:
        """Keys, as shares of all keys, below which `sample` finds what it wants; a few more than that lie below."""
        slack = self.wanted + 8.0 * np.sqrt(self.wanted) + 16.0
        limits: F64 = np.where(self.wanted < self.sizes, slack / np.maximum(self.sizes, 1), 1.0)
        return np.minimum(limits, 1.0)

    def sample(self, items: I64, stratum: I64, keys: U64) -> Sample:
        """Take the items with the lowest keys of each stratum. items i64[m], in any order: all below the limits."""
        order = np.lexsort((items, keys, stratum))
        items, stratum = items[order], stratum[order]
        first = np.searchsorted(stratum, np.arange(len(self.sizes)))
        kept = np.arange(len(items)) - first[stratum] < self.wanted[stratum]
        items, stratum = items[kept], stratum[kept]
        order = np.argsort(items)
        drawn = np.bincount(stratum, minlength=len(self.sizes))
        return Sample(items[order], stratum[order], self.sizes, drawn, self.partners)


def found_partners(found: Pairs, count: int) -> Partners:
    """What the run found for each of `count` items."""
    partners = np.bincount(found.left, minlength=count)
    partners += np.bincount(found.right, minlength=count)
    nearest, group = np.full(count, count), np.arange(count)
    np.minimum.at(nearest, found.left, found.right)
    np.minimum.at(nearest, found.right, found.left)
    np.minimum.at(group, found.left, nearest[found.right])
    np.minimum.at(group, found.right, nearest[found.left])
    return Partners(partners, group)


def draw(partners: Partners, size: int, seed: int) -> Sample:
    """Draw about `size` items."""
    count, group = partners
    stratum = strata_of(count)
    sizes = np.bincount(stratum, minlength=STRATA)
    held = np.bincount(stratum, count, minlength=STRATA).astype(np.int64)
    strata = _divided(Strata.of(sizes, held, size), stratum, count, group)
    limits, parts = strata.limits(), []
    for low in range(0, max(1, len(count)), ITEMS_PER_BATCH):
        items = np.arange(low, min(low + ITEMS_PER_BATCH, len(count)))
        keys = keys_of(items, seed)
        place = strata.places(stratum[items], group[items])
        near = keys / 2.0**64 <= limits[place]
        parts.append((items[near], place[near], keys[near]))
    items, place, keys = (np.concatenate(part) for part in zip(*parts, strict=True))
    return strata.sample(items, place, keys)


def _divided(strata: Strata, stratum: I64, count: I64, group: I64) -> Strata:
    """Make strata of the groups from which several items would be drawn."""
    sizes, most = np.bincount(group), np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most, group, count)
    tickets, partners = (np.bincount(group, each).astype(np.int64) for each in (strata.tickets[stratum], count))
    groups = Groups(np.arange(len(sizes)), sizes, tickets, partners, most).large()
    inside = np.zeros(len(sizes), np.bool_)
    inside[groups.numbers] = True
    return strata.divided(groups, np.bincount(stratum[~inside[group]], minlength=STRATA))


def strata_of(partners: I64) -> I64:
    """The stratum of items with so many partners.

    >>> strata_of(np.array([0, 1, 2, 3, 4, 7, 8])).tolist()
    [0, 1, 2, 2, 3, 3, 4]
    """
    return np.frexp(partners.astype(np.float64))[1].astype(np.int64)


def keys_of(items: I64, seed: int) -> U64:
    """A random key of each item: the same for an item and a seed wherever it is computed."""
    keys = np.empty(len(items), np.uint64)
    mix_all(items.astype(np.uint64), np.uint64((seed ^ AUDIT_SALT) % 2**64), keys)
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
