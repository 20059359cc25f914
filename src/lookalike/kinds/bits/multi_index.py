"""Multi-index hashing of bit codes: near codes agree, up to a few flipped bits, in at least one of their segments.

Exact search uses the pigeonhole principle: if the segments allow t_1, t_2, ... flips and the sum of all t_i + 1 exceeds
d, codes at most d bits apart cannot exceed the allowed flips in every segment. Approximate search allows fewer flips:
the probability that a segment finds a pair under a random order of the bits is known, and further rounds with new
random orders raise it to the required recall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from lookalike.core import formatting
from lookalike.core.arrays import F64, I64, U64

WIDEST = 24  # maximum bits of a key: its bucket table then has 2^24 entries of 8 bytes
# limits of the search for a plan: flips of a segment, segments of a round, rounds
MOST_FLIPS, MOST_PIECES, MOST_ROUNDS = 4, 24, 64
# Nanoseconds on one core, measured with benchmarks/bits.py; only their ratios matter.
COST_PER_PAIR, PER_WORD, PER_BUCKET, PER_SORTED, PER_PLACE = 0.7, 1.0, 18.0, 40.0, 1.0


@dataclass(frozen=True)
class CodeSegment:
    """A segment of a code: bit positions, and the number of these bits that may differ."""

    places: U64
    flips: int

    @property
    def xors(self) -> I64:
        """Return every key with at most `flips` one bits."""
        keys = level = [0]
        for _ in range(min(self.flips, len(self.places))):
            level = [key | 1 << bit for key in level for bit in range(key.bit_length(), len(self.places))]
            keys = keys + level
        return np.sort(np.array(keys, np.int64))

    def mask(self, words: int) -> U64:
        """Return u64[words] with one bits at the positions of the segment."""
        out = np.zeros(words, np.uint64)
        np.bitwise_or.at(
            out, (self.places >> np.uint64(6)).astype(np.int64), np.uint64(1) << (self.places % np.uint64(64))
        )
        return out


@dataclass(frozen=True, kw_only=True)
class MultiIndexPlan:
    """A plan for multi-index hashing: the segments of each round.

    bits: number of positions to choose from; threshold: number of bits that may differ; recall: the required recall.

    >>> plan = MultiIndexPlan(bits=64, threshold=8, recall=1.0, widths=(19, 15, 15, 15), flips=(2, 1, 1, 1))
    >>> plan.shape, plan.recall_at_threshold
    ('4 keys of 15 to 19 bits, up to 2 flipped', 1.0)
    """

    bits: int
    threshold: int
    recall: float
    widths: tuple[int, ...]
    flips: tuple[int, ...]
    rounds: int = 1

    @property
    def is_exact(self) -> bool:
        return sum(flips + 1 for flips in self.flips) > self.threshold

    def probability(self, distance: float) -> float:
        """Return the probability, over random bit orders, that codes at this distance share a bucket."""
        return 1.0 - missed(self.bits, round(distance), self.widths, self.flips) ** self.rounds

    @property
    def recall_at_threshold(self) -> float:
        return self.probability(self.threshold)

    @property
    def shape(self) -> str:
        if not self.widths or max(self.widths) == 0:
            return "every pair compared"
        low, high, most = min(self.widths), max(self.widths), max(self.flips)
        bits = f"{low}" if low == high else f"{low} to {high}"
        keys = len(self.widths) * self.rounds
        flipped = f", up to {most} flipped" if most else ""
        return f"{formatting.count(keys, 'keys')} of {bits} {'bit' if bits == '1' else 'bits'}{flipped}"

    def pieces(self, places: U64, seed: int) -> list[CodeSegment]:
        """Return the segments of all rounds, each round from a random order of these positions (u64[bits])."""
        draw = np.random.default_rng(seed)
        out = []
        for _ in range(self.rounds):
            order, at = draw.permutation(places), 0
            for width, flips in zip(self.widths, self.flips, strict=True):
                out.append(CodeSegment(order[at : at + width], flips))
                at += width
        return out

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"shape": self.shape, "recall_at_threshold": self.recall_at_threshold}


def missed(bits: int, distance: int, widths: tuple[int, ...], flips: tuple[int, ...]) -> float:
    """Return the probability that in every segment more bits differ than it allows, for codes at this Hamming distance.

    Of `bits` positions, `distance` random ones differ. They are drawn without replacement: as independent bits of the
    same rate, conditioned on their number.

    >>> missed(64, 8, (16, 16, 16, 16), (2, 1, 1, 1)), round(missed(64, 8, (16,) * 4, (1,) * 4), 4)
    (0.0, 0.0468)
    """
    distance = min(distance, bits)
    if distance < sum(allowed + 1 for allowed in flips):
        return 0.0
    rate = distance / bits
    ways = np.ones(1)
    for width, allowed in zip(widths, flips, strict=True):
        here = binomial(width, rate, distance).copy()
        here[: allowed + 1] = 0.0
        ways = np.convolve(ways, here)[: distance + 1]
    rest = binomial(bits - sum(widths), rate, distance)
    total = float(np.convolve(ways, rest)[distance : distance + 1].sum())
    return min(1.0, total / float(binomial(bits, rate, distance)[distance]))


@cache
def binomial(trials: int, rate: float, most: int) -> F64:
    """Return the probabilities of 0, 1, ..., min(`most`, `trials`) successes."""
    hits = np.arange(1, min(trials, most) + 1)
    if rate >= 1.0:
        return np.array([float(k == trials) for k in range(len(hits) + 1)])
    logs = np.log((trials - hits + 1) / hits * (rate / (1.0 - rate)))
    out: F64 = np.exp(trials * math.log1p(-rate) + np.concatenate([[0.0], np.cumsum(logs)]))
    return out


@dataclass(frozen=True)
class SegmentCosts:
    """Cost model for a join of n codes. differ: share of the varying bits in which two random codes differ."""

    n: int
    words: int
    differ: float

    @cache  # noqa: B019  (a planner lives for one plan)
    def piece(self, width: int, flips: int) -> float:
        """Return the cost of one segment in seconds on one core."""
        met = float(binomial(width, self.differ, flips).sum()) if width else 1.0
        pairs = self.n * self.n / 2 * met
        near = sum(math.comb(width, k) for k in range(min(flips, width) + 1))
        buckets = min(self.n, 2.0**width) * near / 2
        sort = self.n * (PER_SORTED + PER_PLACE * (width + self.words)) + 2.0**width
        return (pairs * (COST_PER_PAIR + PER_WORD * min(4, self.words - 1)) + buckets * PER_BUCKET + sort) / 1e9

    def round(self, widths: tuple[int, ...], flips: tuple[int, ...]) -> float:
        """Return the cost of one round in seconds: its segments of the first shape, then those of the second."""
        firsts = flips.count(flips[0]) if widths[0] != widths[-1] or flips[0] != flips[-1] else len(flips)
        last = (len(flips) - firsts) * self.piece(widths[-1], flips[-1]) if firsts < len(flips) else 0.0
        return firsts * self.piece(widths[0], flips[0]) + last

    def of(self, plan: MultiIndexPlan) -> float:
        return plan.rounds * self.round(plan.widths, plan.flips)


def every_pair(bits: int, threshold: int) -> MultiIndexPlan:
    """Return the plan that compares every pair: one key of no bits, hence one bucket."""
    return MultiIndexPlan(bits=bits, threshold=threshold, recall=1.0, widths=(0,), flips=(threshold,))


def exact_plan(bits: int, threshold: int, costs: SegmentCosts) -> MultiIndexPlan:
    """Return the cheapest segments that miss no pair within the threshold."""
    best = every_pair(bits, threshold)
    least = costs.of(best)
    for count in range(1, min(threshold + 1, bits) + 1):
        for widths, flips in _shapes(bits, count, threshold + 1 - count):
            seconds = costs.round(widths, flips)
            if seconds < least:
                best, least = replace(best, widths=widths, flips=flips), seconds
    return best


def lsh_plan(bits: int, threshold: int, recall: float, costs: SegmentCosts) -> MultiIndexPlan:
    """Return the cheapest rounds of segments that reach the recall for pairs at the threshold."""
    best = exact_plan(bits, threshold, costs)
    least = costs.of(best)
    for count in range(1, min(threshold + 1, MOST_PIECES) + 1):
        for spare in range(min(threshold + 1 - count, 2 * count) + 1):
            for widths, flips in _shapes(bits, count, spare):
                seconds = costs.round(widths, flips)
                if seconds >= least:
                    continue
                miss = missed(bits, threshold, widths, flips)
                rounds = (
                    1 if miss == 0.0 else math.ceil(math.log(1.0 - recall) / math.log(miss) - 1e-9) if miss < 1 else 0
                )
                if 0 < rounds <= MOST_ROUNDS and rounds * seconds < least:
                    least = rounds * seconds
                    best = replace(best, recall=recall, widths=widths, flips=flips, rounds=rounds)
    return best


def _shapes(bits: int, count: int, spare: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield (widths, flips) of `count` segments that allow `spare` flips in total.

    The segments have at most two shapes; the wider one allows one flip more.
    """
    flips, more = divmod(spare, count)
    if flips + (more > 0) > MOST_FLIPS:
        return
    for width in range(1, min(WIDEST, bits // count) + 1):
        wider = min(WIDEST, (bits - (count - more) * width) // more) if more else width
        if wider >= width:
            for wide in range(width, min(wider, width + (8 if count <= 8 else 1)) + 1):
                yield (wide,) * more + (width,) * (count - more), (flips + 1,) * more + (flips,) * (count - more)
