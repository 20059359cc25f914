"""Draw the sample of items for a recall audit, stratified by the number of partners that the run found for each item.

In skewed data a few items take part in nearly all pairs. The inclusion probability of an item therefore grows with the
number of its partners, and the item is weighted by the inverse of that probability. Items of one large group are found
or missed together, so each large group is a separate stratum, and the variance between groups adds no error.

Each missed pair is divided between its two ends by their odds of being sampled: any fixed division leaves the estimate
unbiased, and this one has the least variance. An item whose partners were all missed has no partners that would raise
its probability, but its partners were mostly found by others, and carry the pairs for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lookalike.core.arrays import F64, I64, U64, Pairs
from lookalike.kernels.hashing import mix_all

STRATA = 64  # stratum 0 contains the items without partners, stratum s those with 2^(s-1) to 2^s - 1 partners
UNMATCHED_SHARE = 3  # items without partners that are drawn: at least 1/3 of the sample size, since they cost the least
LEAST_DRAWN = 20  # minimum number of items drawn from each of these strata, even if they have few pairs
CELL_DRAWS = 2  # a group becomes a separate stratum if at least this many of its items would be drawn,
CELL_SPREAD = 4  # unless one of its items has more than this many times the mean number of partners
TICKETS = 1 << 20  # unit of inclusion probabilities: an item with this many tickets is certain to be drawn
LEAST_OUTSIDE = 5  # minimum number of items outside of such groups that are drawn from each stratum
PARTNERS = 1 << 16  # budget for the total number of partners of the sampled items, in any run
PARTNERS_SHARE = 10  # in a large run the budget is this fraction of the pairs found: 1 in 10,
MOST_PARTNERS = 1 << 18  # but at most this, because the pairs of the sample are stored in memory
# Prices of one partner in units of items, tried in turn until the sample is within the budget for partners.
PRICES = (0.0, *(2.0**power for power in range(-12, 9)))
ITEMS_PER_BATCH = 1 << 20  # number of items whose keys are computed at a time
AUDIT_SALT = 0xA0D17
SHARE_UNITS = 1 << 20  # shares of pairs are multiples of 1 / SHARE_UNITS, so that their sums are exact


class Partners(NamedTuple):
    """The partners that a run found for each item. All i64[n].

    counts: number of partners. group: the lowest item number among the items that share a partner with this one
    (including the item itself). It is the same for most items of a large group.
    """

    counts: I64
    group: I64


@dataclass(frozen=True)
class Sample:
    """A stratified random sample without replacement.

    items i64[n]: ascending. stratum i64[n]: of each item. sizes, drawn i64[s]: items in each stratum, and items drawn.
    partners f64[s]: mean number of partners that the run found for an item of the stratum. chances: maps items to the
    probability that each of them is drawn, whether it was drawn or not.
    """

    items: I64
    stratum: I64
    sizes: I64
    drawn: I64
    partners: F64
    chances: Callable[[I64], F64]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def weights(self) -> F64:
        """Sampling weight of each sampled item: the number of items that it represents. f64[n]"""
        weights: F64 = (self.sizes / np.maximum(self.drawn, 1))[self.stratum]
        return weights

    def places(self, items: I64) -> I64:
        """Return the position of each of the given items in the sample, -1 for items that are not sampled."""
        if not len(self.items):
            return np.full(len(items), -1, np.int64)
        place = np.minimum(np.searchsorted(self.items, items), len(self.items) - 1)
        return np.asarray(np.where(self.items[place] == items, place, -1), np.int64)

    def divide(self, left: I64, right: I64) -> F64:
        """Divide pairs between their ends by the odds of being drawn. f64[2, p], summing to 1 for each pair."""
        chance = self.chances(np.concatenate([left, right])).reshape(2, len(left))
        odds = chance / np.maximum(1.0 - chance, 1.0 / SHARE_UNITS)
        first = np.rint(SHARE_UNITS * odds[0] / odds.sum(axis=0)) / SHARE_UNITS
        return np.stack([first, 1.0 - first])


class GroupStrata(NamedTuple):
    """Groups that may become separate strata, by ascending group number. All i64[g].

    tickets: sum over the items of the group (`Strata.tickets`). partners: sum over the items; most: maximum over them.
    """

    numbers: I64
    sizes: I64
    tickets: I64
    partners: I64
    most: I64

    def large(self) -> GroupStrata:
        """Select the groups that become strata: several items would be drawn, with similar numbers of partners."""
        kept = (self.tickets >= CELL_DRAWS * TICKETS) & (self.most * self.sizes <= CELL_SPREAD * self.partners)
        return GroupStrata(*(column[kept] for column in self))


@dataclass(frozen=True)
class Strata:
    """The strata of all items, and the number of items to draw from each. sizes, partners, wanted: [STRATA + cells].

    cells i64[c]: ascending numbers of the groups that are separate strata.
    """

    sizes: I64
    partners: F64
    wanted: I64
    cells: I64

    @classmethod
    def of(cls, sizes: I64, partners: I64, size: int) -> Strata:
        """Allocate about `size` draws in proportion to partners + 1, within the budget for partners.

        partners i64[STRATA]: total over the items of each stratum.
        """
        mean = partners / np.maximum(sizes, 1)
        budget = min(max(PARTNERS, int(partners.sum()) // (2 * PARTNERS_SHARE)), MOST_PARTNERS)
        for price in PRICES:
            wanted = _with_unmatched(sizes, (mean + 1.0) / np.sqrt(1.0 + price * mean), size)
            if (excess := float(wanted @ mean) / budget) <= 1:
                break
        else:
            wanted = _with_unmatched(sizes, mean + 1.0, max(1, int(size / excess)))
        return cls(sizes, mean, wanted, np.empty(0, np.int64))

    @property
    def tickets(self) -> I64:
        """Inclusion probability per stratum in units of 1 / TICKETS, as integers with order-independent sums."""
        return np.asarray(np.rint(TICKETS * self.wanted / np.maximum(self.sizes, 1)), np.int64)

    def divided(self, groups: GroupStrata, outside: I64) -> Strata:
        """Turn the groups into separate strata. outside i64[STRATA]: items of each stratum that are in no group."""
        least = np.minimum(LEAST_OUTSIDE, self.wanted)
        rest = np.minimum(np.maximum(np.rint(self.tickets * outside / TICKETS).astype(np.int64), least), outside)
        own = np.clip(np.rint(groups.tickets / TICKETS).astype(np.int64), CELL_DRAWS, groups.sizes)
        mean = groups.partners / np.maximum(groups.sizes, 1)
        return Strata(
            np.concatenate([outside, groups.sizes]), np.concatenate([self.partners, mean]),
            np.concatenate([rest, own]), groups.numbers,
        )  # fmt: skip

    def places(self, stratum: I64, group: I64) -> I64:
        """Return the stratum of each item: that of its group, if it has one, else `stratum` i64[m] (by partners)."""
        if not len(self.cells):
            return stratum
        place = np.minimum(np.searchsorted(self.cells, group), len(self.cells) - 1)
        return np.asarray(np.where(self.cells[place] == group, STRATA + place, stratum), np.int64)

    def chances(self, partners: I64, group: I64) -> F64:
        """Return the probability that an item with these found partners and this group is drawn. f64[m]"""
        chance: F64 = np.minimum(1.0, self.wanted / np.maximum(self.sizes, 1))
        return chance[self.places(strata_of(partners), group)]

    def limits(self) -> F64:
        """Return, per stratum, the fraction of the key range that contains the wanted lowest keys and a few more."""
        slack = self.wanted + 8.0 * np.sqrt(self.wanted) + 16.0
        limits: F64 = np.where(self.wanted < self.sizes, slack / np.maximum(self.sizes, 1), 1.0)
        return np.minimum(limits, 1.0)

    def sample(self, items: I64, stratum: I64, keys: U64, chances: Callable[[I64], F64]) -> Sample:
        """Draw the items with the lowest keys of each stratum. items i64[m], in any order: all below `limits`."""
        order = np.lexsort((items, keys, stratum))
        items, stratum = items[order], stratum[order]
        first = np.searchsorted(stratum, np.arange(len(self.sizes)))
        kept = np.arange(len(items)) - first[stratum] < self.wanted[stratum]
        items, stratum = items[kept], stratum[kept]
        order = np.argsort(items)
        drawn = np.bincount(stratum, minlength=len(self.sizes))
        return Sample(items[order], stratum[order], self.sizes, drawn, self.partners, chances)


def found_partners(found: Pairs, count: int) -> Partners:
    """Count the partners that the run found for each of `count` items, and assign groups."""
    return partners_in(lambda: [found], count)


def partners_in(pieces: Callable[[], Iterable[Pairs]], count: int) -> Partners:
    """As `found_partners`, of pairs that come in pieces, twice."""
    partners, nearest, group = np.zeros(count, np.int64), np.full(count, count), np.arange(count)
    for found in pieces():
        partners += np.bincount(found.left, minlength=count)
        partners += np.bincount(found.right, minlength=count)
        np.minimum.at(nearest, found.left, found.right)
        np.minimum.at(nearest, found.right, found.left)
    for found in pieces():
        np.minimum.at(group, found.left, nearest[found.right])
        np.minimum.at(group, found.right, nearest[found.left])
    return Partners(partners, group)


def draw(partners: Partners, size: int, seed: int) -> Sample:
    """Draw a stratified sample of about `size` items."""
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
    return strata.sample(items, place, keys, lambda some: strata.chances(count[some], group[some]))


def _divided(strata: Strata, stratum: I64, count: I64, group: I64) -> Strata:
    """Turn groups from which several items would be drawn into strata."""
    sizes, most = np.bincount(group), np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most, group, count)
    tickets, partners = (np.bincount(group, each).astype(np.int64) for each in (strata.tickets[stratum], count))
    groups = GroupStrata(np.arange(len(sizes)), sizes, tickets, partners, most).large()
    inside = np.zeros(len(sizes), np.bool_)
    inside[groups.numbers] = True
    return strata.divided(groups, np.bincount(stratum[~inside[group]], minlength=STRATA))


def strata_of(partners: I64) -> I64:
    """Return the stratum that belongs to each number of partners.

    >>> strata_of(np.array([0, 1, 2, 3, 4, 7, 8])).tolist()
    [0, 1, 2, 2, 3, 3, 4]
    """
    return np.frexp(partners.astype(np.float64))[1].astype(np.int64)


def keys_of(items: I64, seed: int) -> U64:
    """Compute a pseudo-random key per item, a function of the item number and the seed only."""
    keys = np.empty(len(items), np.uint64)
    mix_all(items.astype(np.uint64), np.uint64((seed ^ AUDIT_SALT) % 2**64), keys)
    return keys


def _with_unmatched(sizes: I64, measure: F64, size: int) -> I64:
    """Allocate as `_allocate` does, with a minimum for stratum 0, the items without partners."""
    wanted = _allocate(sizes, measure, size)
    wanted[0] = max(wanted[0], min(int(sizes[0]), size // UNMATCHED_SHARE))
    return wanted


def _allocate(sizes: I64, measure: F64, size: int) -> I64:
    """Return the number of draws per stratum, proportional to sizes * measure, at least a few and at most all items."""
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
