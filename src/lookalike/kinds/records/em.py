"""Match probabilities from the fields, with u-probabilities of all pairs of the table (Fellegi and Sunter 1969).

Candidates share a block, so agreement is more frequent among them than among all pairs. The u-probabilities are
therefore estimated for all pairs: equal values are counted exactly, other comparison levels in random pairs. Candidates
contain nearly all matches, so the m-probabilities are estimated from them by expectation maximisation; their expected
number of matches, relative to all pairs, gives the prior. Match weights have a term-frequency adjustment: agreement on
a rare value is stronger evidence than agreement on a common one.

Dependent fields are not independent evidence: a mail address repeats the name, a postcode determines the town. How much
of the agreement in a field is explained by agreement in another one is measured on pairs that share a value of the
other field, without the matches among them: log2 of the share of a comparison level there over its share among all
pairs. Only agreement in the field with the more common values explains agreement in the other. What is explained is
subtracted from the match weight, which never changes its sign by that.

Two classes of pairs are identifiable from three fields (`ENOUGH_FIELDS`); with fewer, any division fits as well. These
must be fields whose values are shared by chance: in free text no values are equal, and dependence cannot be measured in
this way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F32, F64
from lookalike.kinds.records.em_composite import (
    AGREE,
    ALIKE,
    EM_ROUNDS,
    LEVEL_COUNT,
    SETTLED,
    Level,
    level_sums,
    levels,
    probability,
)
from lookalike.kinds.records.pair_table import Mask, PairTable
from lookalike.kinds.records.random_pairs import FEWEST, RandomPairs

ENOUGH_FIELDS = 3
INITIAL_M = np.array([0.02, 0.01, 0.02, 0.03, 0.05, 0.07, 0.8])  # initial m-probability of each comparison level
MATCHED = 0.25  # initial number of matches per record
OWN = 0.5  # maximum share of matches among the pairs with equal values; above it, too few others remain to measure
SPREADS = 2  # standard deviations by which a count must exceed the expected contribution of matches
PRIOR = 5  # pseudo-counts that shrink an explained weight towards 0
MIN_EXPLAINED_BITS = 0.1  # smaller explained weights, in bits, are ignored
ENOUGH_DRAWN = 20  # minimum number of matches among the random pairs for estimating the total from them

Explained = Mapping[int, Sequence[float]]  # number of the explaining field -> explained bits of each comparison level


@dataclass(frozen=True)
class Chances:
    """A fitted model with the match probabilities of its candidates.

    prior: the match weight before any field is compared (log2 of the prior odds); bits: the match weight of each
    comparison level of each field; explained: the bits of each field that other fields explain; chance f64[p]: the
    match probability of each pair.
    """

    prior: float
    bits: list[tuple[float, ...]]
    explained: list[Explained]
    chance: F64


@dataclass(frozen=True)
class EMData:
    """Comparison levels of candidates and of random pairs, as input of expectation maximisation.

    seen: the comparison levels of the candidates in each field; same: whether their values are equal; rare: their
    term-frequency adjustments, in bits; far, far_same, far_rare: the same for random pairs; stand: the sampling weight,
    the number of candidates that each sampled one represents.
    """

    population: RandomPairs
    stand: float
    seen: list[Level]
    same: list[Mask]
    rare: list[F32]
    far: list[Level]
    far_same: list[Mask]
    far_rare: list[F32]

    @classmethod
    def of(cls, table: PairTable, population: RandomPairs) -> EMData:
        far = population.random
        return cls(
            population,
            1 / table.drawn,
            [levels(field) for field in table.fields],
            [field == 1 for field in table.fields],
            population.rare(table.left, table.right),
            [levels(field) for field in far],
            [field == 1 for field in far],
            population.rare(*population.drawn),
        )

    def match_weights(self, bits: Sequence[Sequence[float]], explained: Sequence[Explained]) -> F64:
        """Return the summed match weights of the candidates, followed by those of the random pairs."""
        near = np.sum(parts(self.seen, bits, explained, self.rare), axis=0)
        return np.concatenate([near, np.sum(parts(self.far, bits, explained, self.far_rare), axis=0)])

    def near(self, chance: F64) -> F64:
        """Return the part of `chance` that belongs to the candidates."""
        return chance[: len(chance) - len(self.far[0])]

    def among(self, chance: F64, near: Mask | None = None, far: Mask | None = None) -> float:
        """Return the expected number of matches among all pairs, or among those that the masks select.

        It is extrapolated from the random pairs where these contain enough matches (`ENOUGH_DRAWN`), else it is that of
        the candidates, which contain nearly all matches unless groups are large.
        """
        found = self.near(chance)
        drawn = chance[len(found) :]
        if drawn.sum() >= ENOUGH_DRAWN:
            return float((drawn if far is None else drawn[far]).sum()) / len(drawn) * self.population.pairs
        return self.stand * float((found if near is None else found[near]).sum())

    def matches(self, chance: F64) -> float:
        return float(np.clip(self.among(chance), 1e-3, self.population.pairs / 2))


def match_chances(seen: EMData, records: int) -> Chances:
    """Fit the model by expectation maximisation: first with independent fields, then with explained weights."""
    pairs = seen.population.pairs
    m, matches = [INITIAL_M for _ in seen.seen], min(MATCHED * records, pairs / 2)
    chance: F64 = np.zeros(len(seen.seen[0]) + len(seen.far[0]))
    explained: list[Explained] = [{} for _ in seen.seen]
    for dependent in (False, True):
        for _ in range(EM_ROUNDS):
            prior = float(np.log2(matches / (pairs - matches)))
            u = estimate_u(seen, chance)
            m = [at_least_as_alike(one, other) for one, other in zip(m, u, strict=True)]
            bits = match_bits(m, u, seen.population)
            if dependent:
                explained = dependence_adjustments(seen, u, chance)
            made = probability(prior + seen.match_weights(bits, explained))
            moved = float(np.abs(made - chance).max(initial=0.0))
            chance = made
            if moved < SETTLED:
                break
            matches = seen.matches(chance)
            m = estimate_m(seen, chance)
    return Chances(prior, bits, explained, seen.near(chance))


def match_bits(m: Sequence[F64], u: Sequence[F64], population: RandomPairs) -> list[tuple[float, ...]]:
    """Return the match weight of each comparison level of each field.

    The weight of equal values is that of a value of average frequency; the term-frequency adjustment is added to it.
    """
    return [(*rising_bits(one, other)[:-1], max(float(np.log2(one[-1] / by_chance)), 0.0))
            for one, other, by_chance in zip(m, u, population.usual, strict=True)]  # fmt: skip


def parts(
    seen: Sequence[Level], bits: Sequence[Sequence[float]], explained: Sequence[Explained], rare: Sequence[F32] = ()
) -> list[F64]:
    """Return the match weight of each field for every pair, in bits: f64[p] each, 0 where a value is missing."""
    out = []
    for n, (level, one) in enumerate(zip(seen, bits, strict=True)):
        match_weights: F64 = np.array([*one, 0.0])[level]
        if rare:
            match_weights += rare[n]
        if explained[n]:
            less = np.zeros(len(level))
            for by, lift in explained[n].items():
                less += np.where(seen[by] >= ALIKE, np.array([*lift, 0.0])[level], 0.0)
            match_weights = np.clip(match_weights - less, np.minimum(match_weights, 0), np.maximum(match_weights, 0))
        out.append(match_weights)
    return out


def weigh(
    table: PairTable, prior: float, bits: Sequence[Sequence[float]], explained: Sequence[Explained] | None
) -> F32:
    """Return the match probability of every pair (f32[p]).

    explained: the explained bits of every field; term frequencies are adjusted for then. None to use the match weights
    unadjusted.
    """
    seen = [levels(field) for field in table.fields]
    rare = table.population.rare(table.left, table.right) if table.population and explained is not None else []
    return probability(prior + np.sum(parts(seen, bits, explained or [{} for _ in seen], rare), axis=0)).astype(
        np.float32
    )


def is_identifiable(seen: EMData, chance: F64, records: int) -> bool:
    """Return whether the dependence between fields can be measured.

    It can where enough fields (`ENOUGH_FIELDS`) have values that are shared by chance: at least as many non-matching
    pairs with equal values as there are records.
    """
    matched = np.array([seen.stand * float(chance[same].sum()) for same in seen.same])
    return int((seen.population.equal - matched >= records).sum()) >= ENOUGH_FIELDS


def estimate_m(seen: EMData, chance: F64) -> list[F64]:
    """Estimate the m-probability of each comparison level of each field.

    Half a pair is added to every level to keep match weights finite. The levels that agree get at least `AGREE`.
    """
    out = []
    near = seen.near(chance)
    for level in seen.seen:
        known = level >= 0
        m = level_sums(level[known], near[known]) + 0.5
        m /= m.sum()
        agree = float(m[ALIKE:].sum())
        if agree < AGREE:
            m[:ALIKE] *= (1 - AGREE) / (1 - agree)
            m[ALIKE:] *= AGREE / agree
        out.append(np.asarray(m))
    return out


def estimate_u(seen: EMData, chance: F64) -> list[F64]:
    """Estimate the u-probability of each comparison level of each field, over all pairs that are not matches.

    Candidates contribute their own levels, all other pairs those of the random pairs; equal values are counted exactly.
    """
    near = seen.near(chance)
    drawn = 1 - chance[len(near) :]
    out = []
    for n, (level, far) in enumerate(zip(seen.seen, seen.far, strict=True)):
        known, there = level >= 0, far >= 0
        share = level_sums(far[there], drawn[there]) / max(float(drawn[there].sum()), 1.0)
        beside = seen.stand * level_sums(level[known], 1 - near[known])
        both = float(seen.population.known[n])
        u = share * max(both - seen.stand * float(known.sum()), 0.0) + beside + 0.5
        every = max(both - seen.among(chance, known, there), 1.0)
        alike = float(seen.population.equal[n]) - seen.among(chance, seen.same[n], seen.far_same[n])
        equal = min(max(alike, FEWEST) / every, 1 - 1e-6)
        u[:-1] *= (1 - equal) / u[:-1].sum()
        u[-1] = equal
        out.append(np.asarray(u))
    return out


def dependence_adjustments(seen: EMData, u: Sequence[F64], chance: F64) -> list[Explained]:
    """Measure for each field how many bits are explained by agreement in the fields with more common values."""
    population, near = seen.population, seen.near(chance)
    order = np.argsort(-population.usual, kind="stable")
    out: list[dict[int, tuple[float, ...]]] = [{} for _ in u]
    for place, by in enumerate(order.tolist()):
        matched = near * seen.same[by]
        share = seen.among(chance, seen.same[by], seen.far_same[by]) / max(float(population.equal[by]), FEWEST)
        if share > OWN or not population.sharing[by]:
            continue
        for n in order[place + 1 :].tolist():
            drawn = levels(population.sharing[by][n])
            counts = np.bincount(drawn[drawn >= 0], minlength=LEVEL_COUNT).astype(np.float64)
            known = seen.seen[n] >= 0
            brought = level_sums(seen.seen[n][known], matched[known])
            brought *= share * counts.sum() / max(float(brought.sum()), 1e-9)
            left = np.maximum(counts - brought - SPREADS * np.sqrt(brought), 0)
            lift = rising_bits((left + PRIOR * u[n]) / (left.sum() + PRIOR), u[n])
            if max(map(abs, lift)) >= MIN_EXPLAINED_BITS:
                out[n][by] = lift
    return list(out)


def at_least_as_alike(m: F64, u: F64) -> F64:
    """Raise m-probabilities so that a match reaches every comparison level at least as often as another pair does.

    Without this bound, agreement in nearly constant columns would count against a match while few matches are known.

    >>> at_least_as_alike(np.array([0.2, 0.8]), np.array([0.05, 0.95])).round(2).tolist()
    [0.05, 0.95]
    >>> at_least_as_alike(np.array([0.1, 0.9]), np.array([0.7, 0.3])).round(2).tolist()
    [0.1, 0.9]
    """
    reached = np.maximum(np.cumsum(m[::-1]), np.cumsum(u[::-1]))[::-1]
    return np.asarray(np.maximum(reached - np.append(reached[1:], 0.0), 1e-9))


def rising_bits(m: F64, u: F64) -> tuple[float, ...]:
    """Return log2(m / u) of each comparison level, non-decreasing: adjacent levels that would decrease are pooled.

    >>> rising_bits(np.array([0.1, 0.5, 0.4]), np.array([0.8, 0.1, 0.1]))
    (-3.0, 2.169925001442312, 2.169925001442312)
    """
    blocks: list[tuple[float, float, int]] = []
    for one, other in zip(m.tolist(), u.tolist(), strict=True):
        count = 1
        while blocks and blocks[-1][0] * other > one * blocks[-1][1]:
            before = blocks.pop()
            one, other, count = one + before[0], other + before[1], count + before[2]
        blocks.append((one, other, count))
    return tuple(float(np.log2(one / other)) for one, other, count in blocks for _ in range(count))
