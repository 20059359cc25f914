"""Choice of the join method by its cost, estimated from a random sample of the items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lookalike.core.arrays import I64, Recipe
from lookalike.core.candidates import Items, Postings
from lookalike.core.measures import Bar
from lookalike.core.method_choice import EXACT_COST_RATIO, PLANNER_SAMPLE, Choice, Way, cheaper
from lookalike.core.trace import Trace
from lookalike.cost_model.costs import SHIPPED, Costs
from lookalike.kernels import buckets
from lookalike.kinds.documents.banding import BandedJoin
from lookalike.kinds.documents.counting_join import LISTED, counted_pairs
from lookalike.kinds.documents.prefix_join import POSTING, POSTINGS_BUDGET_SHARE, postings_pairs, take_prefixes
from lookalike.kinds.documents.spec import Job
from lookalike.planning.banding import Plan
from lookalike.runtime.local.joins import ITEMS_PER_TASK, collect_blocks
from lookalike.runtime.local.memory_budget import MemoryBudget
from lookalike.runtime.local.pool import Pool
from lookalike.runtime.local.work_folder import Workspace

MOST_VISITS = 30_000_000  # postings of the sample that may be visited to count its candidates
SMALL_JOIN = 2e7  # ns; below it the prefix join is taken, so that the first run compiles the kernels of one join only
MOST_BUCKET_PAIRS = 4_000_000  # bucket pairs of the sample that may be enumerated to count its candidates
MOST_HELD = 20_000_000  # pairs that the exact join may store when groups could be formed without storing pairs

BANDS_REQUESTED = "bands, rows or estimates were asked for"
NO_BANDING = "no banding keeps a promise of recall for this measure"


@dataclass(frozen=True)
class SampleJoin:
    """A random sample of items with its inverted lists and its matching pairs.

    picked i64[s]: positions of the sampled items among all items. left, right i64[p]: positions in the sample of the
    matching pairs. grow: number of all items divided by the number of sampled items.
    """

    picked: I64
    sample: Items
    postings: Postings
    grow: float
    left: I64
    right: I64

    @classmethod
    def of_all(cls, items: Items, bar: Bar, pool: Pool) -> SampleJoin:
        """Take all items as the sample, without pairs."""
        return cls.of_sample(items, np.arange(len(items)), bar, pool)

    @classmethod
    def of_sample(cls, items: Items, picked: I64, bar: Bar, pool: Pool) -> SampleJoin:
        """Take the items at these positions, sorted by size, with their inverted lists but without pairs."""
        picked = picked[np.argsort(items.sizes[picked], kind="stable")]
        whole, none = (0, len(picked)), np.empty(0, np.int64)
        sample = items.sampled(picked, pool.rest)
        postings = take_prefixes(sample, bar, pool, Workspace(MemoryBudget(1 << 62))).index_of(whole, whole)
        return cls(picked, sample, postings, len(items) / max(1, len(picked)), none, none)

    @cached_property
    def triples(self) -> int:
        """The sum of m(m-1)/2 over all elements, where m is the number of sampled items with the element."""
        spans = zip(self.sample.starts.tolist(), self.sample.sizes.tolist(), strict=True)
        elements = self.sample.elements
        whole = np.concatenate([elements[:0], *(elements[at : at + size] for at, size in spans)])
        return int(buckets.pairs_in_buckets(np.sort(whole), 0)[0])

    @cached_property
    def visits(self) -> int:
        """The number of postings that the prefix join of the sample visits."""
        return self.postings.visits()

    @cached_property
    def candidates(self) -> int:
        """The number of candidates of the prefix join of the sample; an upper bound if counting would take long."""
        if self.visits > MOST_VISITS:
            return min(self.visits, len(self.sample) * (len(self.sample) - 1) // 2)
        blocks = self.postings.blocks(ITEMS_PER_TASK)
        return sum(len(piece) for block in blocks for piece in self.postings.candidates(block))

    def exact_way(self, grow: float, budget: int, costs: Costs = SHIPPED) -> tuple[Way, float]:
        """Return the cheaper exact join of `grow` times as many items, and its cost in nanoseconds."""
        elements, postings = float(self.sample.sizes.sum()) * grow, len(self.postings.packed) * grow
        passes = max(
            1.0, 2 * postings * POSTING / (POSTINGS_BUDGET_SHARE * budget)
        )  # the index is built for each pair of parts
        prefixes = elements * costs.element_indexed + passes * postings * costs.posting
        prefixes += self.visits * grow * grow * costs.posting_visited
        prefixes += scoring(self.candidates * grow * grow, len(self.sample) * grow, elements, costs)
        counting = elements * costs.element_listed
        if prefixes > SMALL_JOIN and counting < prefixes and elements * LISTED < POSTINGS_BUDGET_SHARE * budget:
            counting += self.triples * grow * grow * costs.triple
            if counting < prefixes:
                return "counting", counting
        return "prefixes", prefixes

    def banding(self, plan: Plan, recipe: Recipe, bar: Bar, pool: Pool) -> tuple[float, float]:
        """Return the number of bucket pairs over all bands and the number of candidates of the sample.

        A large number of candidates is estimated from a part of the sample.
        """
        step, pairs = 1, 0.0
        while True:
            part = self.sample.take(np.arange(0, len(self.sample), step))
            join = BandedJoin(part, recipe, plan, bar, pool, Trace(), Workspace(MemoryBudget(1 << 62)))
            pairs = pairs or float(sum(band.bucket_pairs()[0] for band in join.bands()))
            if pairs <= MOST_BUCKET_PAIRS * step * step:
                return pairs, float(sum(len(piece) for piece in join.proposals())) * step * step
            step *= 2


def scoring(candidates: float, items: float, elements: float, costs: Costs) -> float:
    """Estimate the nanoseconds to score this number of candidates.

    The first candidate of an item fills the item's hash table; all others are looked up in it.
    """
    first = min(candidates, items)
    size = elements / max(1.0, items)
    return size * (2 * first * costs.element_verified + (candidates - first) * costs.element_scanned)


def preview(items: Items, bar: Bar, pool: Pool, *, seed: int) -> SampleJoin | None:
    """Draw a sample and join it exactly; None if there are at most PLANNER_SAMPLE items."""
    if len(items) <= PLANNER_SAMPLE:
        return None
    return joined(SampleJoin.of_sample(items, drawn(len(items), seed), bar, pool), bar, pool)


def drawn(count: int, seed: int) -> I64:
    """Draw PLANNER_SAMPLE distinct positions below `count`, sorted."""
    return np.sort(np.random.default_rng(seed).choice(count, PLANNER_SAMPLE, replace=False))


def joined(seen: SampleJoin, bar: Bar, pool: Pool) -> SampleJoin:
    """Return the sample with all its matching pairs."""
    if seen.exact_way(1.0, 1 << 62)[0] == "counting":
        left, right, _ = counted_pairs(
            seen.sample, bar, pool, Trace(), Workspace(MemoryBudget(1 << 62)), PLANNER_SAMPLE * PLANNER_SAMPLE
        )
    else:
        (lefts, rights, _), _ = collect_blocks(
            postings_pairs(seen.postings, pool, PLANNER_SAMPLE * PLANNER_SAMPLE), PLANNER_SAMPLE * PLANNER_SAMPLE
        )
        left, right = lefts.astype(np.int64), rights.astype(np.int64)
    return replace(seen, left=left, right=right)


def decide(
    job: Job, count: int, elements: float, seen: SampleJoin | None, plan: Plan | None, pool: Pool,
    *, budget: int, crowd: int | None = None,
) -> Choice:  # fmt: skip
    """Choose the method that the job names, or else the cheapest method that reaches its recall.

    count, elements: totals over all distinct items. seen: a sample of them (None if it makes no difference because the
    job names a method other than exact). crowd: see `cheapest`.
    """
    if seen is None:
        return Choice(job.method, {}, "asked for")
    way, exact = seen.exact_way(count / max(1, len(seen.sample)), budget)
    if job.method != "auto":
        return Choice(job.method, {}, "asked for", way)
    if job.bands is not None or job.rows is not None or not job.verify:
        return Choice("lsh", {}, BANDS_REQUESTED)
    if plan is None:
        return Choice("exact", {}, NO_BANDING, way)
    if count <= PLANNER_SAMPLE:
        return Choice("exact", {}, few_items(count), way)
    return cheapest(count, elements, (way, exact), seen, plan, job, pool, crowd)


def cheapest(
    count: int, elements: float, exactly: tuple[Way, float], seen: SampleJoin, plan: Plan, job: Job, pool: Pool,
    crowd: int | None,
) -> Choice:  # fmt: skip
    """Choose between LSH and the exact join by cost, and prefer the exact join if both cost about the same.

    (Divide-Compute-Merge is exact too, and never cheaper than the prefix join.)
    exactly: the cheaper exact join and its nanoseconds. crowd: the number of pairs per item above which groups are
    formed directly from buckets, without scoring each pair of near-copies; None if groups cannot be formed that way.
    """
    (way, exact), grow = exactly, count / max(1, len(seen.sample))
    pairs = len(seen.left) * grow * grow
    crowded = crowd is not None and pairs > crowd * count
    lsh = elements * (SHIPPED.element_sketched + SHIPPED.element_audited) + count * job.num_hashes * SHIPPED.slot
    if exact > EXACT_COST_RATIO * lsh or (crowded and pairs > MOST_HELD):
        bucket_pairs, candidates = seen.banding(plan, job.recipe(), job.bar(), pool)
        # Grouping directly from buckets skips pairs of items that are already in the same group.
        unlike = 1 - min(1.0, len(seen.left) / max(1.0, candidates)) if crowded else 1.0
        bucket_pairs, candidates = (unlike * number * grow * grow for number in (bucket_pairs, candidates))
        lsh += bucket_pairs * SHIPPED.bucket_pair + scoring(candidates, count, elements, SHIPPED)
    seconds = {"lsh": round(lsh / 1e9, 3), "exact": round(exact / 1e9, 3)}
    if crowded and (exact > lsh or pairs > MOST_HELD):
        why = "buckets are crowded with near-copies: groups are made straight from them"
        return Choice("lsh", seconds, why)
    if exact <= EXACT_COST_RATIO * lsh:
        return Choice(
            "exact", seconds, "the exact join costs about as much as banding here, or less, and misses nothing", way
        )
    return Choice("lsh", seconds, cheaper("banding is", exact / lsh, "the exact join"))


def few_items(count: int) -> str:
    """Return the reason for the exact join of a small collection."""
    return f"{count:,} different items are few enough to miss none"
