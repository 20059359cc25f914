"""Codes of bits cut into pieces: two codes that are near agree in a piece but for a few flips.

Exactly, by the pigeonhole: where pieces allow t_1, t_2, ... flips and the sum of all t_i + 1 is above d, codes at most
d bits apart cannot exceed the flips of every piece. Approximately, with fewer flips: under a random order of the bits
the chance that some piece holds a pair is known, and rounds of fresh random orders make it as high as wished.
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

WIDEST = 24  # bits of a key: the table of its buckets has 2^24 places of 8 bytes
MOST_FLIPS, MOST_PIECES, MOST_ROUNDS = 4, 24, 64  # of a round: pieces; flips and rounds that can pay
# Nanoseconds on one core, as benchmarks/bits.py measures them; only their ratios matter.
COST_PER_PAIR, PER_WORD, PER_BUCKET, PER_SORTED, PER_PLACE = 0.7, 1.0, 18.0, 40.0, 1.0


@dataclass(frozen=True)
class Segment:
    """Some places of a code, and how many of their bits may differ."""

    places: U64
    flips: int

    @property
    def xors(self) -> I64:
        """Every key with at most `flips` ones."""
        keys = level = [0]
        for _ in range(min(self.flips, len(self.places))):
            level = [key | 1 << bit for key in level for bit in range(key.bit_length(), len(self.places))]
            keys = keys + level
        return np.sort(np.array(keys, np.int64))

    def mask(self, words: int) -> U64:
        """u64[words] with ones at the places."""
        out = np.zeros(words, np.uint64)
        np.bitwise_or.at(
            out, (self.places >> np.uint64(6)).astype(np.int64), np.uint64(1) << (self.places % np.uint64(64))
        )
        return out


@dataclass(frozen=True, kw_only=True)
class MultiIndexPlan:
    """Pieces of each round. bits: places to choose from; threshold: bits that may differ; recall: the wish.

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
        """The probability that codes this far apart meet, over the random order of the bits."""
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

    def pieces(self, places: U64, seed: int) -> list[Segment]:
        """The pieces of all rounds, from a random order of these places (u64[bits]) for each."""
        draw = np.random.default_rng(seed)
        out = []
        for _ in range(self.rounds):
            order, at = draw.permutation(places), 0
            for width, flips in zip(self.widths, self.flips, strict=True):
                out.append(Segment(order[at : at + width], flips))
                at += width
        return out

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"shape": self.shape, "recall_at_threshold": self.recall_at_threshold}


def missed(bits: int, distance: int, widths: tuple[int, ...], flips: tuple[int, ...]) -> float:
    """The probability that in every piece more bits differ than it allows, where `distance` random ones of `bits` do.

    The bits that differ are drawn without replacement: independent ones of the same rate, given their number.

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
    """The chances of 0, 1, ..., `most` hits (fewer where there are fewer trials)."""
    hits = np.arange(1, min(trials, most) + 1)
    if rate >= 1.0:
        return np.array([float(k == trials) for k in range(len(hits) + 1)])
    logs = np.log((trials - hits + 1) / hits * (rate / (1.0 - rate)))
    out: F64 = np.exp(trials * math.log1p(-rate) + np.concatenate([[0.0], np.cumsum(logs)]))
    return out


@dataclass(frozen=True)
class SegmentCosts:
    """What a join of n codes costs. differ: the share of their varying bits in which two random codes differ."""

    n: int
    words: int
    differ: float

    @cache  # noqa: B019  (a planner lives for one plan)
    def piece(self, width: int, flips: int) -> float:
        """Seconds on one core for one piece."""
        met = float(binomial(width, self.differ, flips).sum()) if width else 1.0
        pairs = self.n * self.n / 2 * met
        near = sum(math.comb(width, k) for k in range(min(flips, width) + 1))
        buckets = min(self.n, 2.0**width) * near / 2
        sort = self.n * (PER_SORTED + PER_PLACE * (width + self.words)) + 2.0**width
        return (pairs * (COST_PER_PAIR + PER_WORD * min(4, self.words - 1)) + buckets * PER_BUCKET + sort) / 1e9

    def round(self, widths: tuple[int, ...], flips: tuple[int, ...]) -> float:
        """Of one round: pieces of the first kind, then of the second."""
        firsts = flips.count(flips[0]) if widths[0] != widths[-1] or flips[0] != flips[-1] else len(flips)
        last = (len(flips) - firsts) * self.piece(widths[-1], flips[-1]) if firsts < len(flips) else 0.0
        return firsts * self.piece(widths[0], flips[0]) + last

    def of(self, plan: MultiIndexPlan) -> float:
        return plan.rounds * self.round(plan.widths, plan.flips)


def every_pair(bits: int, threshold: int) -> MultiIndexPlan:
    """One key of no bits: all codes in one bucket."""
    return MultiIndexPlan(bits=bits, threshold=threshold, recall=1.0, widths=(0,), flips=(threshold,))


def exact_plan(bits: int, threshold: int, costs: SegmentCosts) -> MultiIndexPlan:
    """The cheapest pieces that no pair within the threshold can escape."""
    best = every_pair(bits, threshold)
    least = costs.of(best)
    for count in range(1, min(threshold + 1, bits) + 1):
        for widths, flips in _shapes(bits, count, threshold + 1 - count):
            seconds = costs.round(widths, flips)
            if seconds < least:
                best, least = replace(best, widths=widths, flips=flips), seconds
    return best


def lsh_plan(bits: int, threshold: int, recall: float, costs: SegmentCosts) -> MultiIndexPlan:
    """The cheapest rounds of pieces that hold a pair at the threshold with probability `recall` at least."""
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
    """(widths, flips) of `count` pieces that allow `spare` flips in all: of two kinds, the wider with one flip more."""
    flips, more = divmod(spare, count)
    if flips + (more > 0) > MOST_FLIPS:
        return
    for width in range(1, min(WIDEST, bits // count) + 1):
        wider = min(WIDEST, (bits - (count - more) * width) // more) if more else width
        if wider >= width:
            for wide in range(width, min(wider, width + (8 if count <= 8 else 1)) + 1):
                yield (wide,) * more + (width,) * (count - more), (flips + 1,) * more + (flips,) * (count - more)
