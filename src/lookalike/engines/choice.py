"""Which way to look for pairs: what each would cost, foretold from a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lookalike.data import Recipe
from lookalike.engines.joins import BandedJoin, index_prefixes
from lookalike.engines.pool import Pool
from lookalike.engines.trace import Trace
from lookalike.measures import Bar
from lookalike.plan import Plan
from lookalike.stages.candidates import Items

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


def choose(
    items: Items, plan: Plan | None, recipe: Recipe, bar: Bar, pool: Pool, *, crowd: int | None = None
) -> Choice:
    """The cheapest way that keeps the promise of recall; exact where the two cost about the same.

    crowd: where groups can be made straight from buckets, the pairs per item above which that is the way to go.
    """
    if plan is None:
        return Choice("exact", {}, "no banding keeps a promise of recall for this measure")
    if len(items) <= SAMPLE:
        return Choice("exact", {}, f"{len(items):,} items are few enough to miss none")
    picked = np.sort(np.random.default_rng(recipe.seed).choice(len(items), SAMPLE, replace=False))
    sample = items.take(picked)
    grow = len(items) / SAMPLE
    elements = float(items.sizes.sum())
    join = BandedJoin(sample, recipe, plan, bar, pool, Trace())
    bucket_pairs = sum(band.bucket_pairs()[0] for band in join.bands()) * grow * grow
    lsh = elements * PER_ELEMENT_SKETCHED + len(items) * recipe.length * PER_SLOT + bucket_pairs * PER_BUCKET_PAIR
    if crowd is not None and bucket_pairs > crowd * len(items):
        return Choice("lsh", {}, "buckets are crowded with near-copies: groups are made straight from them")
    postings = index_prefixes(sample, bar, pool)
    pairs, _, _ = postings.bucket_pairs()
    exact = elements * PER_ELEMENT_INDEXED + len(postings.packed) * grow * PER_POSTING
    exact += pairs * grow * grow * PER_POSTING_PAIR
    seconds = {"lsh": round(lsh / 1e9, 3), "exact": round(exact / 1e9, 3)}
    if exact <= NEAR * lsh:
        return Choice(
            "exact", seconds, "the exact join costs about as much as banding here, or less, and misses nothing"
        )
    return Choice("lsh", seconds, f"banding is {exact / lsh:.1f} times cheaper than the exact join here")
