"""The chance of a match by what the fields tell, against all pairs of the table (Fellegi and Sunter 1969).

Candidates have met because they share something, so among them agreement seems common. What a level of similarity tells
is therefore held against all pairs: equal values are counted exactly, other levels in random pairs. Candidates hold
nearly all matches, so these teach how matches look, and the number of them, among all pairs, is what a pair has to
begin with. A rare value tells more than a common one.

Fields that depend on one another are not independent witnesses: a mail address repeats the name, a town its postcode.
How much of an agreement another one explains is seen in pairs that share a value of that other field, without the
matches among them: log2 of the share of a level there over its share among all. Only agreement in the more common
value explains, and what is explained is taken from the evidence, never more than there is.

Two classes of pairs can be told from three fields on (`ENOUGH_FIELDS`); with fewer, any division would do as well. And
these must be fields whose values others share by chance: in free text nothing is equal, and what depends on what cannot
be seen in this way.
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
INITIAL_M = np.array([0.02, 0.01, 0.02, 0.03, 0.05, 0.07, 0.8])  # levels of matches, to begin with
MATCHED = 0.25  # matches per record, to begin with
OWN = 0.5  # of the pairs that share a value may be matches; where more are, the others are too few to be seen
SPREADS = 2  # of a count, by which it must be above what matches bring
PRIOR = 5  # pairs that an explanation must overcome
MIN_EXPLAINED_BITS = 0.1  # bits, below which an explanation is none
ENOUGH_DRAWN = 20  # matches among random pairs from which on they tell how many there are

Explained = Mapping[int, Sequence[float]]  # by which field, how many bits of each level


@dataclass(frozen=True)
class Chances:
    """prior: bits before any field; bits: of the levels of each field; explained: of each field by others; chance
    f64[p]: of a match, for every pair."""

    prior: float
    bits: list[tuple[float, ...]]
    explained: list[Explained]
    chance: F64


@dataclass(frozen=True)
class EMData:
    """What is looked at. seen: the levels of the candidates in each field; same: which have the same value; rare: what
    this value tells more than any; far, far_same, far_rare: the same of random pairs; stand: candidates that one of
    these stands for."""

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

    def told(self, bits: Sequence[Sequence[float]], explained: Sequence[Explained]) -> F64:
        """The bits of the candidates, then those of the random pairs."""
        near = np.sum(parts(self.seen, bits, explained, self.rare), axis=0)
        return np.concatenate([near, np.sum(parts(self.far, bits, explained, self.far_rare), axis=0)])

    def near(self, chance: F64) -> F64:
        """Of the candidates alone."""
        return chance[: len(chance) - len(self.far[0])]

    def among(self, chance: F64, near: Mask | None = None, far: Mask | None = None) -> float:
        """How many pairs are matches by these chances (of those that a mask holds): as many as candidates are; as
        random pairs are where enough of them are. Candidates hold nearly all matches unless groups are large."""
        found = self.near(chance)
        drawn = chance[len(found) :]
        if drawn.sum() >= ENOUGH_DRAWN:
            return float((drawn if far is None else drawn[far]).sum()) / len(drawn) * self.population.pairs
        return self.stand * float((found if near is None else found[near]).sum())

    def matches(self, chance: F64) -> float:
        return float(np.clip(self.among(chance), 1e-3, self.population.pairs / 2))


def match_chances(seen: EMData, records: int) -> Chances:
    """By expectation-maximisation: first as if fields were independent, then with what they explain of one another."""
    pairs = seen.population.pairs
    m, matches = [INITIAL_M for _ in seen.seen], min(MATCHED * records, pairs / 2)
    chance: F64 = np.zeros(len(seen.seen[0]) + len(seen.far[0]))
    explained: list[Explained] = [{} for _ in seen.seen]
    for dependent in (False, True):
        for _ in range(EM_ROUNDS):
            prior = float(np.log2(matches / (pairs - matches)))
            u = estimate_u(seen, chance)
            bits = match_bits(m, u, seen.population)
            if dependent:
                explained = dependence_adjustments(seen, u, chance)
            made = probability(prior + seen.told(bits, explained))
            moved = float(np.abs(made - chance).max(initial=0.0))
            chance = made
            if moved < SETTLED:
                break
            matches = seen.matches(chance)
            m = estimate_m(seen, chance)
    return Chances(prior, bits, explained, seen.near(chance))


def match_bits(m: Sequence[F64], u: Sequence[F64], population: RandomPairs) -> list[tuple[float, ...]]:
    """What each level of each field tells; of equal values the usual ones, to which rare ones add."""
    return [(*rising_bits(one, other)[:-1], float(np.log2(one[-1] / by_chance)))
            for one, other, by_chance in zip(m, u, population.usual, strict=True)]  # fmt: skip


def parts(
    seen: Sequence[Level], bits: Sequence[Sequence[float]], explained: Sequence[Explained], rare: Sequence[F32] = ()
) -> list[F64]:
    """What each field tells of every pair, in bits."""
    out = []
    for n, (level, one) in enumerate(zip(seen, bits, strict=True)):
        told: F64 = np.array([*one, 0.0])[level]
        if rare:
            told += rare[n]
        if explained[n]:
            less = np.zeros(len(level))
            for by, lift in explained[n].items():
                less += np.where(seen[by] >= ALIKE, np.array([*lift, 0.0])[level], 0.0)
            told = np.clip(told - less, np.minimum(told, 0), np.maximum(told, 0))
        out.append(told)
    return out


def weigh(
    table: PairTable, prior: float, bits: Sequence[Sequence[float]], explained: Sequence[Explained] | None
) -> F32:
    """The probability of a match of every pair. explained: None where bits are to be taken as they stand, else of every
    field, and rare values tell more."""
    seen = [levels(field) for field in table.fields]
    rare = table.population.rare(table.left, table.right) if table.population and explained is not None else []
    return probability(prior + np.sum(parts(seen, bits, explained or [{} for _ in seen], rare), axis=0)).astype(
        np.float32
    )


def is_identifiable(seen: EMData, chance: F64, records: int) -> bool:
    """Whether enough fields have values that others share by chance: in more pairs than there are records, without the
    matches. Only there can it be seen how much fields depend on one another."""
    matched = np.array([seen.stand * float(chance[same].sum()) for same in seen.same])
    return int((seen.population.equal - matched >= records).sum()) >= ENOUGH_FIELDS


def estimate_m(seen: EMData, chance: F64) -> list[F64]:
    """How often matches are on each level of each field; half a pair on every level keeps the bits finite."""
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
    """How often all pairs but the matches are on each level of a field: candidates as they are, the rest as random."""
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
    """Of each field by the fields whose values are more common."""
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


def rising_bits(m: F64, u: F64) -> tuple[float, ...]:
    """log2(m / u) of each level, where a higher one never tells less: levels that would are taken as one.

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
