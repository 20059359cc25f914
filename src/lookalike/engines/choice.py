"""Which way to look for pairs: what each would cost, foretold from a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lookalike.data import I64, Recipe
from lookalike.engines.counting import counted_pairs
from lookalike.engines.joins import BandedJoin, index_prefixes, join_postings
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.kernels import buckets
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Items, Postings

SAMPLE = 2000
SURE, FAR = 30, 4  # pairs in the sample, and times the limit, from which an answer is surely too large
NEAR = 1.25  # how much dearer the exact join may be and still be taken: it misses nothing
# Nanoseconds on one core, as benchmarks/costs.py measures them; only their ratios matter.
PER_ELEMENT_SKETCHED, PER_SLOT, PER_BUCKET_PAIR = 5.0, 19.0, 30.0  # 4 of the 5 for the audit
PER_ELEMENT_INDEXED, PER_POSTING, PER_POSTING_PAIR = 10.0, 32.0, 30.0
PER_ELEMENT_LISTED, PER_TRIPLE = 60.0, 2.5

Way = Literal["prefixes", "counting"]  # of the exact join: joins.exact_pairs, counting.counted_pairs


@dataclass(frozen=True)
class Choice:
    """The way taken, the seconds foretold for each on one core, and the reason in words.

    way: how the exact join goes about it; of no meaning for other methods.
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
    """A random sample of items, its index, and the pairs that all items will probably have.

    Items are classes of equal ones. weight: pairs of members that a pair of the sample stands for, on average;
    copies: pairs of members of one class.
    """

    sample: Items
    postings: Postings
    grow: float  # how many times more items there are
    sampled_pairs: int
    weight: float = 1.0
    copies: int = 0

    @property
    def expected_pairs(self) -> int:
        """Pairs of classes: never far above the pairs of members."""
        return round(self.sampled_pairs * self.grow * self.grow)

    @property
    def expected_answer(self) -> int:
        """Pairs of members. A few classes with very many of them make this less sure."""
        return round(self.sampled_pairs * self.grow * self.grow * self.weight) + self.copies

    @cached_property
    def triples(self) -> int:
        """The sum of m(m-1)/2 over elements of m sampled items."""
        spans = zip(self.sample.starts.tolist(), self.sample.sizes.tolist(), strict=True)
        elements = self.sample.elements
        whole = np.concatenate([elements[:0], *(elements[at : at + size] for at, size in spans)])
        return int(buckets.pairs_in_buckets(np.sort(whole), 0)[0])

    def exact_way(self, grow: float) -> tuple[Way, float]:
        """(the cheaper way to join so many times as many items exactly, its nanoseconds)."""
        elements = float(self.sample.sizes.sum()) * grow
        prefixes = elements * PER_ELEMENT_INDEXED + len(self.postings.packed) * grow * PER_POSTING
        prefixes += self.postings.bucket_pairs()[0] * grow * grow * PER_POSTING_PAIR
        counting = elements * PER_ELEMENT_LISTED
        if counting < prefixes:
            counting += self.triples * grow * grow * PER_TRIPLE
        return ("counting", counting) if counting < prefixes else ("prefixes", prefixes)


def preview(items: Items, bar: Bar, pool: Pool, *, seed: int, members: I64 | None = None) -> Preview | None:
    """Join a sample exactly; None where there are too few items for it to be worth while.

    members: how many equal ones each item stands for; without it, one.
    """
    if len(items) <= SAMPLE:
        return None
    picked = np.sort(np.random.default_rng(seed).choice(len(items), SAMPLE, replace=False))
    sample = items.take(picked)
    postings = index_prefixes(sample, bar, pool)
    seen = Preview(sample, postings, len(items) / SAMPLE, 0)
    if seen.exact_way(1.0)[0] == "counting":
        left, right, _ = counted_pairs(sample, bar, pool, Trace(), SAMPLE * SAMPLE)
    else:
        left, right, _ = join_postings(postings, pool, Trace(), SAMPLE * SAMPLE)
        left, right = postings.order[left], postings.order[right]
    seen = replace(seen, sampled_pairs=len(left))
    if members is None:
        return seen
    of_sample = members[picked]
    weight = float((of_sample[left] * of_sample[right]).mean()) if len(left) else 1.0
    return replace(seen, weight=weight, copies=int((members * (members - 1) // 2).sum()))


def check_size(expected: Preview, limit: int) -> None:
    """Refuse, before the work, an answer that is surely too large."""
    if expected.sampled_pairs >= SURE and expected.expected_pairs > FAR * limit:
        raise TooManyPairs(
            f"about {expected.expected_pairs:,} pairs are to be expected, far more than --max-pairs {limit:,}: "
            f"a sample of {SAMPLE:,} has {expected.sampled_pairs:,}. Ask for groups or dedup instead, raise "
            "the threshold, drop boilerplate with --max-share, or raise --max-pairs."
        )


def exact_way(items: Items, seen: Preview | None, bar: Bar, pool: Pool) -> tuple[Way, float]:
    """(the cheaper way of the exact join, its nanoseconds). Few items are their own sample."""
    seen = seen or Preview(items, index_prefixes(items, bar, pool), 1.0, 0)
    return seen.exact_way(seen.grow)


def choose(
    items: Items, seen: Preview | None, plan: Plan | None, recipe: Recipe, bar: Bar, pool: Pool,
    *, crowd: int | None = None,
) -> Choice:  # fmt: skip
    """The cheapest way that keeps the promise of recall; exact where the two cost about the same. (Divide-Compute-Merge
    is exact too, and never cheaper than the prefix join.)

    crowd: where groups can be made straight from buckets, the pairs per item above which that is the way to go.
    """
    way, exact = exact_way(items, seen, bar, pool)
    if plan is None:
        return Choice("exact", {}, "no banding keeps a promise of recall for this measure", way)
    if seen is None:
        return Choice("exact", {}, f"{len(items):,} different items are few enough to miss none", way)
    grow, elements = seen.grow, float(items.sizes.sum())
    lsh = elements * PER_ELEMENT_SKETCHED + len(items) * recipe.length * PER_SLOT
    if crowd is not None or exact > NEAR * lsh:
        join = BandedJoin(seen.sample, recipe, plan, bar, pool, Trace())
        bucket_pairs = sum(band.bucket_pairs()[0] for band in join.bands()) * grow * grow
        if crowd is not None and bucket_pairs > crowd * len(items):
            return Choice("lsh", {}, "buckets are crowded with near-copies: groups are made straight from them")
        lsh += bucket_pairs * PER_BUCKET_PAIR
    seconds = {"lsh": round(lsh / 1e9, 3), "exact": round(exact / 1e9, 3)}
    if exact <= NEAR * lsh:
        return Choice(
            "exact", seconds, "the exact join costs about as much as banding here, or less, and misses nothing", way
        )
    return Choice("lsh", seconds, f"banding is {exact / lsh:.1f} times cheaper than the exact join here")
