"""Which way to look for pairs: what each would cost, foretold from a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lookalike.data import I64, Recipe
from lookalike.engines.bands import BandedJoin
from lookalike.engines.costs import SHIPPED
from lookalike.engines.counting import LISTED, counted_pairs
from lookalike.engines.joins import gather
from lookalike.engines.memory import Keeper
from lookalike.engines.pool import Pool
from lookalike.engines.prefixes import POSTING, SHARE, postings_pairs, take_prefixes
from lookalike.engines.trace import Trace
from lookalike.engines.work import Space
from lookalike.kernels import buckets
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Items, Postings

SAMPLE = 2000
NEAR = 1.25  # how much dearer the exact join may be and still be taken: it misses nothing

Way = Literal["prefixes", "counting"]  # of the exact join: prefixes.exact_pairs, counting.counted_pairs


@dataclass(frozen=True)
class Choice:
    """The way taken, the seconds foretold for each on one core, and the reason in words.

    way: how the exact join goes about it; of no meaning for other methods. The seconds are of shipped costs: a choice
    must be the same on every machine.
    """

    method: str
    seconds: dict[str, float]
    why: str
    way: Way = "prefixes"

    def as_dict(self) -> dict[str, Any]:
        way = {"way": self.way} if self.method == "exact" else {}
        return {"method": self.method, **way, "predicted_seconds": self.seconds, "why": self.why}


@dataclass(frozen=True)
class Preview:
    """A random sample of items, its index and its pairs.

    picked i64[s]: the numbers of the sampled items among all. left, right i64[p]: numbers in the sample.
    grow: how many times more items there are.
    """

    picked: I64
    sample: Items
    postings: Postings
    grow: float
    left: I64
    right: I64

    @classmethod
    def of_all(cls, items: Items, bar: Bar, pool: Pool) -> Preview:
        """All items as their own sample, not yet joined."""
        return cls.of_sample(items, np.arange(len(items)), bar, pool)

    @classmethod
    def of_sample(cls, items: Items, picked: I64, bar: Bar, pool: Pool) -> Preview:
        """The items of these numbers, by size, with their index; not yet joined."""
        picked = picked[np.argsort(items.sizes[picked], kind="stable")]
        whole, none = (0, len(picked)), np.empty(0, np.int64)
        sample = items.take(picked)
        postings = take_prefixes(sample, bar, pool, Space(Keeper(1 << 62))).index_of(whole, whole)
        return cls(picked, sample, postings, len(items) / max(1, len(picked)), none, none)

    @cached_property
    def triples(self) -> int:
        """The sum of m(m-1)/2 over elements of m sampled items."""
        spans = zip(self.sample.starts.tolist(), self.sample.sizes.tolist(), strict=True)
        elements = self.sample.elements
        whole = np.concatenate([elements[:0], *(elements[at : at + size] for at, size in spans)])
        return int(buckets.pairs_in_buckets(np.sort(whole), 0)[0])

    def exact_way(self, grow: float, budget: int) -> tuple[Way, float]:
        """(the cheaper way to join so many times as many items exactly, its nanoseconds)."""
        elements, postings = float(self.sample.sizes.sum()) * grow, len(self.postings.packed) * grow
        passes = max(1.0, 2 * postings * POSTING / (SHARE * budget))  # parts that are indexed one with the other
        prefixes = elements * SHIPPED.element_indexed + passes * postings * SHIPPED.posting
        prefixes += self.postings.bucket_pairs()[0] * grow * grow * SHIPPED.posting_pair
        counting = elements * SHIPPED.element_listed
        if counting < prefixes and elements * LISTED < SHARE * budget:
            counting += self.triples * grow * grow * SHIPPED.triple
            if counting < prefixes:
                return "counting", counting
        return "prefixes", prefixes


def preview(items: Items, bar: Bar, pool: Pool, *, seed: int) -> Preview | None:
    """Join a sample exactly; None where there are too few items for it to be worth while."""
    if len(items) <= SAMPLE:
        return None
    return joined(Preview.of_sample(items, drawn(len(items), seed), bar, pool), bar, pool)


def drawn(count: int, seed: int) -> I64:
    """The numbers of the items that are looked at, of so many."""
    return np.sort(np.random.default_rng(seed).choice(count, SAMPLE, replace=False))


def joined(seen: Preview, bar: Bar, pool: Pool) -> Preview:
    """The preview with all pairs of its sample."""
    if seen.exact_way(1.0, 1 << 62)[0] == "counting":
        left, right, _ = counted_pairs(seen.sample, bar, pool, Trace(), Space(Keeper(1 << 62)), SAMPLE * SAMPLE)
    else:
        (lefts, rights, _), _ = gather(postings_pairs(seen.postings, pool, SAMPLE * SAMPLE), SAMPLE * SAMPLE)
        left, right = lefts.astype(np.int64), rights.astype(np.int64)
    return replace(seen, left=left, right=right)


def exact_way(items: Items, seen: Preview | None, bar: Bar, pool: Pool, budget: int) -> tuple[Way, float]:
    """(the cheaper way of the exact join, its nanoseconds). Few items are their own sample."""
    seen = seen or Preview.of_all(items, bar, pool)
    return seen.exact_way(seen.grow, budget)


def choose(
    items: Items, seen: Preview | None, plan: Plan | None, recipe: Recipe, bar: Bar, pool: Pool,
    *, budget: int, crowd: int | None = None,
) -> Choice:  # fmt: skip
    """The cheapest way that keeps the promise of recall; exact where the two cost about the same. (Divide-Compute-Merge
    is exact too, and never cheaper than the prefix join.)

    crowd: where groups can be made straight from buckets, the pairs per item above which that is the way to go.
    """
    way, exact = exact_way(items, seen, bar, pool, budget)
    if plan is None:
        return Choice("exact", {}, "no banding keeps a promise of recall for this measure", way)
    if seen is None:
        return Choice("exact", {}, f"{len(items):,} different items are few enough to miss none", way)
    return cheapest(len(items), float(items.sizes.sum()), (way, exact), seen, plan, recipe, bar, pool, budget, crowd)


def cheapest(
    count: int, elements: float, exactly: tuple[Way, float], seen: Preview, plan: Plan, recipe: Recipe, bar: Bar,
    pool: Pool, budget: int, crowd: int | None,
) -> Choice:  # fmt: skip
    """As `choose`, of so many items with so many elements, of which a sample was seen."""
    (way, exact), grow = exactly, seen.grow
    lsh = elements * (SHIPPED.element_sketched + SHIPPED.element_audited) + count * recipe.length * SHIPPED.slot
    if crowd is not None and len(seen.left) * grow * grow > crowd * count:
        return Choice("lsh", {}, "buckets are crowded with near-copies: groups are made straight from them")
    if exact > NEAR * lsh:
        join = BandedJoin(seen.sample, recipe, plan, bar, pool, Trace(), Space(Keeper(budget)))
        bucket_pairs = sum(band.bucket_pairs()[0] for band in join.bands()) * grow * grow
        lsh += bucket_pairs * SHIPPED.bucket_pair
    seconds = {"lsh": round(lsh / 1e9, 3), "exact": round(exact / 1e9, 3)}
    if exact <= NEAR * lsh:
        return Choice(
            "exact", seconds, "the exact join costs about as much as banding here, or less, and misses nothing", way
        )
    return Choice("lsh", seconds, f"banding is {exact / lsh:.1f} times cheaper than the exact join here")
