"""Which way to look for pairs: what each would cost, foretold from a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.data import I64, Recipe
from lookalike.engines.joins import POSTING, SHARE, BandedJoin, gather, postings_pairs, take_prefixes
from lookalike.engines.memory import Keeper
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.engines.work import Space
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Items, Postings

SAMPLE = 2000
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


def preview(items: Items, bar: Bar, pool: Pool, *, seed: int) -> Preview | None:
    """Join a sample exactly; None where there are too few items for it to be worth while."""
    if len(items) <= SAMPLE:
        return None
    picked = np.sort(np.random.default_rng(seed).choice(len(items), SAMPLE, replace=False))
    picked = picked[np.argsort(items.sizes[picked], kind="stable")]
    sample = items.take(picked)
    whole = (0, SAMPLE)
    postings = take_prefixes(sample, bar, pool, Space(Keeper(1 << 62))).index_of(whole, whole)
    (left, right, _), _ = gather(postings_pairs(postings, pool, SAMPLE * SAMPLE), SAMPLE * SAMPLE)
    return Preview(picked, sample, postings, len(items) / SAMPLE, left.astype(np.int64), right.astype(np.int64))


def choose(
    items: Items, seen: Preview | None, plan: Plan | None, recipe: Recipe, bar: Bar, pool: Pool,
    *, budget: int, crowd: int | None = None,
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
    postings = len(seen.postings.packed) * grow
    passes = max(1.0, 2 * postings * POSTING / (SHARE * budget))  # parts that are indexed one with the other
    exact = elements * PER_ELEMENT_INDEXED + passes * postings * PER_POSTING
    exact += seen.postings.bucket_pairs()[0] * grow * grow * PER_POSTING_PAIR
    lsh = elements * PER_ELEMENT_SKETCHED + len(items) * recipe.length * PER_SLOT
    if crowd is not None or exact > NEAR * lsh:
        join = BandedJoin(seen.sample, recipe, plan, bar, pool, Trace(), Space(Keeper(budget)))
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
