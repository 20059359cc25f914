"""A stratified sample of pairs to judge: which pair is next, and which judged pairs belong to the sample.

The pairs of a result are divided into strata by their scores, and each has a pseudo-random rank from its two ids. In
each stratum the pairs are drawn in the order of the ranks, so the judged ones are a simple random sample whenever the
judging stops. The next pair is taken from the stratum where it reduces the error most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from lookalike.core.arrays import F64, I64, U64
from lookalike.errors import InputError
from lookalike.evaluation.stratified import EstimatedTotal, total_true

SCORE_RANGES = 8
FEWEST_DRAWN = 4  # pairs that are drawn from each stratum before the others
NOT_JUDGED, DIFFERENT, SAME, UNSURE = -1, 0, 1, 2
SORTED = ("strata_of_pairs", "by_rank")  # what does not depend on the verdicts
VERDICT_LABELS = {"different": DIFFERENT, "same": SAME, "unsure": UNSURE, "contested": UNSURE}


@dataclass(frozen=True)
class StrataPlan:
    """The strata of a sample. column: of the scores; sign: 1 for a similarity, -1 for a distance.

    edges: scores that divide the strata, the farthest first, in the units of the column. seed: of the ranks.
    """

    column: str
    sign: int
    edges: tuple[float, ...]
    seed: int = 0

    @classmethod
    def of(cls, scores: F64, column: str, sign: int) -> StrataPlan:
        """Divide scores into strata, half by their number and half by their range, so that both ends are seen."""
        near = np.sort(scores * sign)
        if not len(near):
            return cls(column, sign, ())
        width = float(near[-1] - near[0])
        by_range = (near - near[0]) / width if width else np.zeros(len(near))
        place = (np.arange(1, len(near) + 1) / len(near) + by_range) / 2
        cut = np.searchsorted(place, np.arange(1, SCORE_RANGES) / SCORE_RANGES)
        edges = np.unique(near[np.minimum(cut, len(near) - 1)])
        return cls(column, sign, tuple((edges[edges > near[0]] * sign).tolist()))

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> StrataPlan:
        """Return the plan that `as_dict` described."""
        try:
            return cls(known["column"], int(known["sign"]), tuple(map(float, known["edges"])), int(known["seed"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the plan of the verdicts cannot be read: {error}.") from error

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON-compatible data."""
        return asdict(self) | {"edges": list(self.edges)}

    def stratum(self, scores: F64) -> I64:
        """Return the stratum of each score."""
        edges = np.array(self.edges, np.float64) * self.sign
        return np.searchsorted(edges, scores * self.sign, side="right").astype(np.int64)


def pair_ranks(names: list[str], left: I64, right: I64, seed: int = 0) -> U64:
    """Return a pseudo-random number for each pair, from the names of its items in either order."""
    made = b"".join(
        hashlib.blake2b(f"{seed} {name}".encode(errors="surrogatepass"), digest_size=8).digest() for name in names
    )
    numbers = np.frombuffer(made, np.uint64)
    one, other = np.minimum(numbers[left], numbers[right]), np.maximum(numbers[left], numbers[right])
    with np.errstate(over="ignore"):
        mixed = one ^ (other * np.uint64(0x9E3779B97F4A7C15))
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True)
class JudgedPairs:
    """The pairs of a result with their verdicts.

    scores f64[p]; stratum i64[p]; rank u64[p]; labels i8[p]: NOT_JUDGED, DIFFERENT, SAME or UNSURE; drawn bool[p]:
    whether the pair was judged because it was drawn.
    """

    plan: StrataPlan
    scores: F64
    rank: U64
    labels: npt.NDArray[np.int8]
    drawn: npt.NDArray[np.bool_]

    @property
    def strata(self) -> int:
        return len(self.plan.edges) + 1

    @cached_property
    def strata_of_pairs(self) -> I64:
        """The stratum of each pair."""
        return self.plan.stratum(self.scores)

    @cached_property
    def by_rank(self) -> tuple[I64, I64]:
        """(pairs by stratum and rank, the begin of each stratum in it)."""
        order = np.lexsort((self.rank, self.strata_of_pairs))
        return order, np.searchsorted(self.strata_of_pairs[order], np.arange(self.strata + 1))

    def relabelled(self, labels: npt.NDArray[np.int8], drawn: npt.NDArray[np.bool_]) -> JudgedPairs:
        """Return the same pairs with other verdicts, without sorting them again."""
        made = replace(self, labels=labels, drawn=drawn)
        made.__dict__.update({name: self.__dict__[name] for name in SORTED if name in self.__dict__})
        return made

    @cached_property
    def order(self) -> tuple[I64, I64, I64]:
        """Return (pairs by stratum and rank, the begin of each stratum in it, how many of each are in the sample).

        Pairs at the end that were judged without being drawn do not belong to the sample.
        """
        order, begins = self.by_rank
        drawn = np.zeros(self.strata, np.int64)
        for at in range(self.strata):
            mine = order[begins[at] : begins[at + 1]]
            open_ = np.flatnonzero(self.labels[mine] == NOT_JUDGED)
            judged = int(open_[0]) if len(open_) else len(mine)
            last = np.flatnonzero(self.drawn[mine[:judged]])
            drawn[at] = judged if judged == len(mine) else int(last[-1]) + 1 if len(last) else 0
        return order, begins, drawn

    @cached_property
    def sample(self) -> npt.NDArray[np.bool_]:
        """Return which pairs belong to the sample."""
        order, begins, drawn = self.order
        mask = np.zeros(len(order), np.bool_)
        for begin, count in zip(begins[:-1].tolist(), drawn.tolist(), strict=True):
            mask[order[begin : begin + count]] = True
        return mask

    def following(self, count: int) -> I64:
        """Return the next pairs to judge, in this order; fewer if not as many are left."""
        order, begins, drawn = self.order
        sizes, chosen = np.diff(begins), list[int]()
        labels = self.labels
        hits = np.zeros(self.strata)
        for at, (begin, n) in enumerate(zip(begins[:-1].tolist(), drawn.tolist(), strict=True)):
            hits[at] = float((labels[order[begin : begin + n]] == SAME).sum())
        share = (hits + 1) / (drawn + 2)
        taken = drawn.astype(np.int64).copy()
        while len(chosen) < count and bool((taken < sizes).any()):
            if taken.sum() % 4 < 2:  # half of the draws in proportion to the pairs, in case the shares so far mislead
                gain = sizes / (taken + 1.0)
            else:  # where the variance of the number of true pairs falls most
                gain = sizes * sizes * share * (1 - share) / ((taken + 1.0) * np.maximum(taken, 0.5))
            gain = np.where(taken < np.minimum(FEWEST_DRAWN, sizes), 1e300 / (taken + 1), gain)
            at = int(np.argmax(np.where(taken < sizes, gain, -1.0)))
            pair = int(order[begins[at] + taken[at]])
            taken[at] += 1
            if labels[pair] == NOT_JUDGED:
                chosen.append(pair)
        return np.array(chosen, np.int64)

    def true_pairs(self, inside: npt.NDArray[np.bool_], times: float = 1.0) -> EstimatedTotal:
        """Estimate the number of true pairs `inside`. times: as if this many times more had been judged.

        Pairs that nobody is sure of widen the interval to both sides.
        """
        stratum, sample = self.strata_of_pairs, self.sample & inside
        sizes = np.bincount(stratum[inside], minlength=self.strata).astype(np.float64)
        drawn, same, unsure = (
            np.bincount(stratum[sample & mask], minlength=self.strata).astype(np.float64)
            for mask in (np.True_, self.labels == SAME, self.labels == UNSURE)
        )
        if times != 1:
            grown = np.minimum(sizes, drawn * times)
            same, unsure = (part * grown / np.maximum(drawn, 1) for part in (same, unsure))
            drawn = grown
        return true_in_strata(sizes, drawn, same, unsure)

    def true_pairs_by_level(self, level: I64, levels: int) -> list[tuple[int, int, EstimatedTotal, EstimatedTotal]]:
        """Estimate the true pairs at and below each level: (pairs at it, judged ones, true at it, true below it).

        level i64[p]: the strictest of `levels` thresholds that each pair passes; -1 if it passes none.
        """
        sample = self.sample

        def counted(mask: npt.NDArray[np.bool_]) -> F64:
            """Return the number of pairs by stratum and level, with level -1 first."""
            keys = self.strata_of_pairs[mask] * (levels + 1) + level[mask] + 1
            return np.bincount(keys, minlength=self.strata * (levels + 1)).reshape(self.strata, -1).astype(np.float64)

        masks = (
            np.ones(len(sample), np.bool_),
            sample,
            sample & (self.labels == SAME),
            sample & (self.labels == UNSURE),
        )
        below = [np.cumsum(counted(mask), axis=1) for mask in masks]
        made = []
        for at in range(levels):
            rest = [part[:, at] for part in below]
            inside = [part[:, -1] - part[:, at] for part in below]
            counts = int(inside[0].sum()), int(inside[1].sum())
            made.append((*counts, true_in_strata(*inside), true_in_strata(*rest)))
        return made


def true_in_strata(sizes: F64, drawn: F64, same: F64, unsure: F64) -> EstimatedTotal:
    """Estimate the number of true pairs. f64[h]: pairs of each stratum, drawn ones, those judged same and unsure."""
    sure = total_true(sizes, drawn - unsure, same)
    if not unsure.any():
        return sure
    low, high = total_true(sizes, drawn, same), total_true(sizes, drawn, same + unsure)
    return EstimatedTotal(sure.value, min(low.low, sure.value), max(high.high, sure.value))
