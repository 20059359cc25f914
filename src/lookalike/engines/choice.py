"""Which way to look for pairs: what each would cost, foretold from a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.data import Recipe
from lookalike.engines.joins import ADVICE, BandedJoin, index_prefixes, join_postings
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Items, Postings

SAMPLE = 2000
SURE, FAR = 30, 4  # pairs in the sample, and times the limit, from which an answer is surely too large
NEAR = 1.25  # how much dearer the exact join may be and still be taken: it misses nothing
# Nanoseconds on one core, as benchmarks/costs.py measures them; only their ratios matter.
PER_ELEMENT_SKETCHED, PER_SLOT, PER_BUCKET_PAIR = 5.0, 19.0, 30.0  # 4 of the 5 for the audit
PER_ELEMENT_INDEXED, PER_POSTING, PER_POSTING_PAIR = 10.0, 32.0, 30.0


@dataclass(frozen=True)
class Choice:
    """The way taken, the seconds foretold for each on one core, and the reason in words."""

    method: str
    seconds: dict[str, float]
    why: str

    def as_dict(self) -> dict[str, Any]:
        return {"method": self.method, "predicted_seconds": self.seconds, "why": self.why}


@dataclass(frozen=True)
class Preview:
    """A random sample of items, its index, and the pairs that all items will probably have."""

    sample: Items
    postings: Postings
    grow: float  # how many times more items there are
    sampled_pairs: int


def preview(items: Items, bar: Bar, pool: Pool, *, seed: int) -> Preview | None:
    """Join a sample exactly; None where there are too few items for it to be worth while."""
    if len(items) <= SAMPLE:
        return None
    picked = np.sort(np.random.default_rng(seed).choice(len(items), SAMPLE, replace=False))
    sample = items.take(picked)
    postings = index_prefixes(sample, bar, pool)
    pairs = len(join_postings(postings, pool, Trace(), SAMPLE * SAMPLE)[0])
    return Preview(sample, postings, len(items) / SAMPLE, pairs)


def check_size(sampled_pairs: int, grow: float, limit: int, *, noun: str = "documents", advice: str = ADVICE) -> int:
    """How many pairs are to be expected, where a sample has so many and all items are `grow` times as many; an answer
    that is surely too large is refused, before the work."""
    expected = round(sampled_pairs * grow * grow)
    if sampled_pairs >= SURE and expected > FAR * limit:
        raise TooManyPairs(
            f"about {expected:,} pairs are to be expected, far more than --max-pairs {limit:,}: "
            f"a sample of {SAMPLE:,} {noun} has {sampled_pairs:,}. {advice}"
        )
    return expected


def choose(
    items: Items, seen: Preview | None, plan: Plan | None, recipe: Recipe, bar: Bar, pool: Pool,
    *, crowd: int | None = None,
) -> Choice:  # fmt: skip
    """The cheapest way that keeps the promise of recall; exact where the two cost about the same. (Divide-Compute-Merge
    is exact too, and never cheaper than the prefix join.)

    crowd: where groups can be made straight from buckets, the pairs per item above which that is the way to go.
    """
    if plan is None:
        return Choice("exact", {}, "no banding keeps a promise of recall for this measure")
    if seen is None:
        return Choice("exact", {}, f"{len(items):,} different items are few enough to miss none")
    grow, elements = seen.grow, float(items.sizes.sum())
    exact = elements * PER_ELEMENT_INDEXED + len(seen.postings.packed) * grow * PER_POSTING
    exact += seen.postings.bucket_pairs()[0] * grow * grow * PER_POSTING_PAIR
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
            "exact", seconds, "the exact join costs about as much as banding here, or less, and misses nothing"
        )
    return Choice("lsh", seconds, f"banding is {exact / lsh:.1f} times cheaper than the exact join here")
