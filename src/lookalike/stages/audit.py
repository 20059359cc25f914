"""Measured recall: all true partners of a random sample, found exactly, and how many of them the run had."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lookalike.data import F64, I64, U32, U64, Pairs
from lookalike.kernels import audit, bounds, prefixes
from lookalike.measures import Bar
from lookalike.stages.candidates import Candidates, Items, commonness

OVER = "pairs of different items, also the interval and what was missed: exact copies count once"
PARTS, ENOUGH = 8, 25  # ranges of the score in which recall is told apart, at most; pairs in one, at least


@dataclass(frozen=True)
class SampleIndex:
    """The sampled items' rarest elements: enough of each to meet every partner that can match."""

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
        """For each item of the block the sampled items that may match it."""
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


def index_sample(items: Items, sample: I64, bar: Bar) -> SampleIndex:
    """Of each sampled set A the |A| - c + 1 elements rarest in the sample, c the least overlap of any match: a set
    that holds none of them shares fewer than c elements with A, whatever its own order."""
    chosen = items.take(sample)
    n = len(sample)
    need, unused = np.empty(n, np.int64), np.empty(n, np.int64)
    prefixes.prefix_lengths(chosen.sizes, *bar, need, unused)
    rarest = np.empty(int(need.sum()), np.uint32)
    prefixes.take_prefixes(
        chosen.elements, chosen.starts, chosen.sizes, need, commonness(chosen), np.cumsum(need) - need, rarest
    )
    keys = rarest + np.uint64(1)  # 0 stands for an empty slot of the table
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
class Part:
    """The true pairs of the sample whose scores lie in one range: their mean score, how many, how many were found, and
    the share that the plan expects."""

    score: float
    true: int
    found: int
    predicted: float

    def as_dict(self, sign: int) -> dict[str, object]:
        return {
            "at": sign * self.score,
            "true_pairs": self.true,
            "found_pairs": self.found,
            "recall": self.found / self.true,
            "interval_95": list(clopper_pearson(self.found, self.true)),
            "predicted": self.predicted,
        }


@dataclass(frozen=True)
class Audit:
    """sampled: items looked at; true, found: their pairs; predicted: the recall that the plan expects at the
    similarities observed; parts: the same in ranges of the score, where the plan expects something of each pair; among:
    what the sampled items were compared with, where not with all others."""

    sampled: int
    true: int
    found: int
    predicted: float
    parts: tuple[Part, ...] = ()
    among: str | None = None

    def as_dict(self, pairs: int, sign: int = 1) -> dict[str, object]:
        """For the receipt. pairs: how many the whole run found, from which the missed are reckoned; sign: -1 where
        scores are distances."""
        if self.true == 0:
            none: dict[str, object] = {
                "sampled": self.sampled,
                "true_pairs": 0,
                "recall": None,
                "note": "no pairs in the sample",
            }
            return none | ({"among": self.among} if self.among else {})
        recall = self.found / self.true
        low, high = clopper_pearson(self.found, self.true)
        return {
            "sampled": self.sampled,
            "over": OVER,
            "true_pairs": self.true,
            "found_pairs": self.found,
            "recall": recall,
            "interval_95": [low, high],
            "predicted": self.predicted,
            **({"among": self.among} if self.among else {}),
            "probably_missed": None if recall == 0 else round(pairs * (1 - recall) / recall),
            "probably_missed_at_most": None if low == 0 else math.ceil(pairs * (1 - low) / low),
            "parts": [part.as_dict(sign) for part in self.parts],
        }


def jaccard_of(pairs: Pairs, items: Items, bar: Bar) -> F64:
    """The Jaccard similarity of pairs that were scored by another measure: what the S-curve is a function of."""
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
    truth: Pairs, found: Pairs, sampled: int, probability: Iterable[float], *, among: str | None = None
) -> Audit:
    """How many of the true pairs of the sample are among the pairs that the run found."""
    known = np.sort(_packed(found))
    wanted = _packed(truth)
    at = np.searchsorted(known, wanted)
    hit = np.zeros(len(wanted), np.bool_)
    inside = at < len(known)
    hit[inside] = known[at[inside]] == wanted[inside]
    chances = np.array(list(probability), np.float64)
    parts: tuple[Part, ...] = ()
    if len(chances):  # in an order of their own, so that sums do not depend on the order of the pairs
        order = np.lexsort((chances, hit, truth.similarity))
        chances = chances[order]
        parts = _parts(truth.similarity[order], hit[order], chances)
    return Audit(sampled, len(wanted), int(hit.sum()), float(chances.mean()) if len(chances) else 1.0, parts, among)


def _parts(score: F64, hit: npt.NDArray[np.bool_], chance: F64) -> tuple[Part, ...]:
    """Ranges of the score with about as many pairs each, enough to tell something; equal scores stay together."""
    count = max(1, min(PARTS, len(score) // ENOUGH))
    edges = np.unique(np.quantile(score, np.arange(1, count) / count))
    number = np.searchsorted(edges, score, side="right")
    made = []
    for part in np.unique(number):
        here = number == part
        told = int(here.sum()), int(hit[here].sum())
        made.append(Part(float(score[here].mean()), *told, float(chance[here].mean())))
    return tuple(made)


def _packed(pairs: Pairs) -> U64:
    low, high = np.minimum(pairs.left, pairs.right), np.maximum(pairs.left, pairs.right)
    return low.astype(np.uint64) << np.uint64(32) | high.astype(np.uint64)


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share: the p at which so many hits, or so few, would be a surprise.

    >>> [round(p, 4) for p in clopper_pearson(99, 100)]
    [0.9455, 0.9997]
    """
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _bisect(lambda p: _incomplete_beta(hits, trials - hits + 1, p) < tail)
    high = 1.0 if hits == trials else _bisect(lambda p: _incomplete_beta(hits + 1, trials - hits, p) < 1 - tail)
    return low, high


def _bisect(below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (modified Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    f, c, d = 1.0, 1.0, 0.0
    for i in range(10_000):
        m = i // 2
        if i == 0:
            numerator = 1.0
        elif i % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + numerator * d or tiny)
        c = 1 + numerator / (c or tiny) or tiny
        f *= c * d
        if abs(1 - c * d) < 1e-14:
            break
    return front * (f - 1)
