"""Measure recall: find all true partners of sampled items exactly, and count how many of them the run found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U32, U64, Pairs
from lookalike.core.audit_sample import Sample
from lookalike.core.candidates import Candidates, Items, commonness
from lookalike.core.measures import Bar
from lookalike.core.recall_interval import Total, total_missed
from lookalike.kernels import audit, bounds, prefixes

ONCE = "exact copies count once"
OVER = f"pairs of different items; {ONCE}"
OVER_GROUPS = f"pairs of different items, found where both are in one group; {ONCE}"
OVER_KEPT = f"pairs of different items, found unless both are kept; {ONCE}"
# Maximum number of score ranges with a separate recall; minimum number of sampled pairs in each.
MOST_PARTS, PAIRS_OF_PART = 8, 25
PAIRS_PER_BATCH = 1 << 22  # found pairs that are filtered per batch

Counted = Callable[[F64], I64]  # maps scores to the number of pairs that the run found at or above each


@dataclass(frozen=True)
class SampleIndex:
    """Inverted index of the rarest elements of the sampled items: enough of them to share one with every match."""

    sample: I64
    table: U64
    slots: I64
    bloom: U64
    ends: I64
    postings: U32
    shortest: I64
    longest: I64
    is_sampled: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def candidates(self, items: Items, block: tuple[int, int]) -> Iterator[Candidates]:
        """Yield, for each item of the block, the sampled items that may match it."""
        at, stop = block
        while at < stop:
            anchors, ends = np.empty(stop - at, np.uint32), np.empty(stop - at, np.int64)
            partners = np.empty(max(2 * len(self.sample), 1 << 16), np.uint32)
            at, a, p = audit.sample_candidates(
                items.elements, items.starts, items.sizes, at, stop, self.table, self.slots, self.bloom, self.ends,
                self.postings, self.sample, self.shortest, self.longest, items.sides, self.is_sampled,
                anchors, ends, partners,
            )  # fmt: skip
            yield Candidates(anchors[:a], ends[:a], partners[:p])


def index_sample(items: Items, sample: I64, bar: Bar, after: Callable[[], None] = lambda: None) -> SampleIndex:
    """Index the |A| - c + 1 rarest elements (within the sample) of each sampled set A.

    c is the smallest overlap of any match with A. A set that contains none of these elements shares fewer than c
    elements with A, for any order of its elements. after: called after every few items.
    """
    chosen = items.sampled(sample, after)
    n = len(sample)
    need, unused = np.empty(n, np.int64), np.empty(n, np.int64)
    prefixes.prefix_lengths(chosen.sizes, *bar, need, unused)
    rarest = np.empty(int(need.sum()), np.uint32)
    prefixes.take_prefixes(
        chosen.elements, chosen.starts, chosen.sizes, need, commonness(chosen, after), np.cumsum(need) - need, rarest
    )
    keys = rarest + np.uint64(1)  # 0 marks an empty slot of the table
    order = np.argsort(keys, kind="stable")
    distinct, runs = np.unique(keys[order], return_counts=True)
    size = 1 << max(4, int(4 * len(distinct)).bit_length())
    table, slots, bloom = np.zeros(size, np.uint64), np.zeros(size, np.int64), np.zeros(1 << 16, np.uint64)
    audit.fill_table(distinct, table, slots, bloom)
    shortest, longest = np.empty(n, np.int64), np.empty(n, np.int64)
    audit.partner_sizes(chosen.sizes, int(items.sizes.max(initial=0)), *bar, shortest, longest)
    flags = np.zeros(len(items), np.bool_)
    flags[sample] = True
    owner = np.repeat(np.arange(n, dtype=np.uint32), need)[order]
    return SampleIndex(sample, table, slots, bloom, np.cumsum(runs), owner, shortest, longest, flags)


@dataclass(frozen=True)
class Share:
    """Recall of a run, with the counts behind it.

    true, found: number of true pairs of sampled items, and of those that the run found. run: number of pairs that the
    whole run found, estimated if `is_counted` is false. missed: estimated number of pairs that it missed. predicted:
    the recall that the plan expects at the similarities of the sampled pairs.
    """

    true: int
    found: int
    run: float
    is_counted: bool
    missed: Total
    predicted: float

    @property
    def recall(self) -> float | None:
        """Estimated recall; None if there are no pairs."""
        return self._at(self.missed.value)

    @property
    def interval(self) -> tuple[float, float] | None:
        low, high = self._at(self.missed.high), self._at(self.missed.low)
        return None if low is None or self.recall is None else (low, self.recall if high is None else high)

    def _at(self, missed: float) -> float | None:
        return self.run / (self.run + missed) if self.run + missed > 0 else None

    def as_dict(self) -> dict[str, object]:
        return {
            "true_pairs": self.true,
            "found_pairs": self.found,
            "recall": self.recall,
            "interval_95": None if self.interval is None else list(self.interval),
            "predicted": self.predicted,
        }


@dataclass(frozen=True)
class ScoreRange:
    """Recall of the pairs in one range of scores, whose mean is `score`."""

    score: float
    share: Share

    def as_dict(self, sign: int) -> dict[str, object]:
        return {"at": sign * self.score, **self.share.as_dict()}


@dataclass(frozen=True)
class Audit:
    """The recall of a run, measured on a sample of items.

    parts: recall by range of scores, if the plan predicts the probability of each pair. among: what the sampled items
    were compared with, if not with all others. over: which pairs count, and when a pair counts as found.
    """

    sampled: int
    share: Share
    parts: tuple[ScoreRange, ...] = ()
    among: str | None = None
    over: str = OVER

    def as_dict(self, sign: int = 1) -> dict[str, object]:
        """Return the audit as a dict for the receipt. sign: -1 if scores are distances."""
        share = self.share
        return {
            "sampled": self.sampled,
            "over": self.over,
            **share.as_dict(),
            **({"among": self.among} if self.among else {}),
            "run_pairs": int(share.run) if share.is_counted else None,
            "probably_missed": round(share.missed.value),
            "probably_missed_at_most": math.ceil(share.missed.high),
            "parts": [part.as_dict(sign) for part in self.parts],
        } | ({} if share.recall is not None else {"note": "no pairs were found, and none are in the sample"})


def jaccard_of(pairs: Pairs, items: Items, bar: Bar) -> F64:
    """Convert scores of another set measure to Jaccard similarities, on which the S-curve depends. f64[p]"""
    a, b = items.sizes[pairs.left], items.sizes[pairs.right]
    if bar.code == bounds.DICE:
        shared = pairs.similarity * (a + b) / 2
    elif bar.code == bounds.COSINE:
        shared = pairs.similarity * np.sqrt(a.astype(np.float64) * b)
    else:
        return pairs.similarity
    jaccard: F64 = shared / (a + b - shared)
    return jaccard


def measure(
    truth: Pairs, found: Pairs, sample: Sample, chances: Iterable[float], *, verified: bool = True,
    among: str | None = None,
) -> Audit:  # fmt: skip
    """Compare the true pairs of the sample with the pairs that the run found.

    chances: the planned probability of finding each true pair, or empty. verified: every found pair is a true pair.
    """
    return measure_in(truth, lambda: [found], sample, chances, verified=verified, among=among)


def measure_in(
    truth: Pairs, pieces: Callable[[], Iterable[Pairs]], sample: Sample, chances: Iterable[float], *,
    verified: bool = True, among: str | None = None,
) -> Audit:  # fmt: skip
    """As `measure`, with found pairs that come in pieces, several times."""

    def counted(scores: F64) -> I64:
        out = np.zeros(len(scores), np.int64)
        for found in pieces():
            out += [np.count_nonzero(found.similarity >= score) for score in scores]
        return out

    hit = _are_found(truth, pieces(), sample)
    return audit_of(truth, hit, sample, chances, counted if verified else None, among=among)


def audit_of(
    truth: Pairs, hit: npt.NDArray[np.bool_], sample: Sample, chances: Iterable[float], counted: Counted | None, *,
    among: str | None = None, over: str = OVER,
) -> Audit:  # fmt: skip
    """Estimate the recall from the true pairs of a sample.

    hit bool[p]: whether the run found the pair; counted: None if the number of true pairs found by the run is unknown.
    """
    ends = np.stack([sample.places(truth.left), sample.places(truth.right)])
    shares = np.full(ends.shape, 0.5)
    shares[:, ~hit] = sample.divide(truth.left[~hit], truth.right[~hit])
    weight = np.where(ends >= 0, np.append(sample.weights, 0.0)[ends], 0.0).sum(axis=0) / 2
    chance = np.asarray(chances if isinstance(chances, np.ndarray) else list(chances), np.float64)
    has_plan = len(chance) > 0
    chance = chance if has_plan else np.ones(len(hit))
    # in a canonical order, so that floating-point sums do not depend on the order of the pairs
    order = np.lexsort((weight, chance, hit, truth.similarity))
    score, hit, chance, weight = truth.similarity[order], hit[order], chance[order], weight[order]
    ends, shares = ends[:, order], shares[:, order]

    def share(here: npt.NDArray[np.bool_], run: int | None) -> Share:
        expected = float(np.average(chance[here], weights=weight[here])) if here.any() else 1.0
        there, gone = here & hit, here & ~hit
        found, missed = (sum_by_item(ends[:, part], shares[:, part], len(sample)) for part in (there, gone))
        return share_of(sample, found, missed, run, true=int(here.sum()), found=int(there.sum()), predicted=expected)

    everywhere = np.ones(len(hit), np.bool_)
    whole = share(everywhere, None if counted is None else int(counted(np.array([-np.inf]))[0]))
    parts = []
    if has_plan:
        edges = _edges(score)
        number = np.searchsorted(edges, score, side="right")
        runs = None if counted is None else -np.diff(counted(np.array([-np.inf, *edges, np.inf])))
        for part in np.unique(number):
            here = number == part
            made = share(here, None if runs is None else int(runs[part]))
            parts.append(ScoreRange(float(np.average(score[here], weights=weight[here])), made))
    return Audit(len(sample), whole, tuple(parts), among, over)


def share_of(
    sample: Sample, found_shares: F64, missed_shares: F64, run: int | None, *, true: int, found: int, predicted: float
) -> Share:
    """Estimate recall from the found and missed pairs of each sampled item. f64[n] both.

    A found pair counts 1/2 at each of its ends, a missed pair as `Sample.divide` says.
    """
    if run is not None:
        missed = total_missed(sample, missed_shares)
        return Share(true, found, float(run), True, _at_least(missed, true - found), predicted)
    estimated = float((sample.weights * found_shares).sum())
    ratio = float((sample.weights * missed_shares).sum()) / estimated if estimated else 0.0
    missed = total_missed(sample, missed_shares, missed_shares - ratio * found_shares)
    return Share(true, found, estimated, False, _at_least(missed, true - found), predicted)


def _at_least(missed: Total, seen: int) -> Total:
    """Raise the estimate and its limits to at least the number of missed pairs in the sample."""
    return Total(max(missed.value, seen), max(missed.low, seen), max(missed.high, seen))


def sum_by_item(ends: I64, shares: F64, size: int) -> F64:
    """Sum the shares f64[2, p] of the pairs of each sampled item. ends i64[2, p]: positions in the sample, or -1."""
    both = ends >= 0
    return np.bincount(ends[both], shares[both], minlength=size).astype(np.float64)


def _edges(score: F64) -> F64:
    """Return scores that split the sampled pairs into ranges of about equal size; equal scores stay together."""
    count = max(1, min(MOST_PARTS, len(score) // PAIRS_OF_PART))
    return np.unique(np.quantile(score, np.arange(1, count) / count)) if len(score) else np.empty(0)


def _are_found(truth: Pairs, pieces: Iterable[Pairs], sample: Sample) -> npt.NDArray[np.bool_]:
    """Return which of the true pairs the run found. bool[p]"""
    parts = [np.empty(0, np.uint64)]
    for found in pieces:
        highest = max((int(side.max(initial=-1)) for side in (found.left, found.right)), default=0)
        sampled = np.zeros(1 + highest, np.bool_)
        sampled[sample.items[sample.items < len(sampled)]] = True
        for low in range(0, len(found), PAIRS_PER_BATCH):
            left, right = found.left[low : low + PAIRS_PER_BATCH], found.right[low : low + PAIRS_PER_BATCH]
            here = sampled[left] | sampled[right]
            parts.append(_packed(left[here], right[here]))
    known, wanted = np.sort(np.concatenate(parts)), _packed(truth.left, truth.right)
    place = np.searchsorted(known, wanted)
    hit = np.zeros(len(wanted), np.bool_)
    inside = place < len(known)
    hit[inside] = known[place[inside]] == wanted[inside]
    return hit


def _packed(left: I64, right: I64) -> U64:
    low, high = np.minimum(left, right), np.maximum(left, right)
    return low.astype(np.uint64) << np.uint64(32) | high.astype(np.uint64)
