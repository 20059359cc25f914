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

from lookalike.data import F32, F64
from lookalike.stages.evidence import AGREE, ALIKE, LEVELS, ROUNDS, SETTLED, Level, levels, probability
from lookalike.stages.pair_table import Mask, PairTable
from lookalike.stages.population import FEWEST, Population

ENOUGH_FIELDS = 3
USUAL = np.array([0.02, 0.01, 0.02, 0.03, 0.05, 0.07, 0.8])  # levels of matches, to begin with
MATCHED = 0.25  # matches per record, to begin with
OWN = 0.5  # of the pairs that share a value may be matches; where more are, the others are too few to be seen
SPREADS = 2  # of a count, by which it must be above what matches bring
PRIOR = 5  # pairs that an explanation must overcome
LEAST = 0.1  # bits, below which an explanation is none

Explained = Mapping[int, Sequence[float]]  # by which field, how many bits of each level


@dataclass(frozen=True)
class Chances:
    """prior: bits before any field; bits: of the levels of each field; explained: of each field by others; chance
    f64[p]: of a match, for every pair."""

    prior: float
    bits: list[tuple[float, ...]]
    explained: list[Explained]
    chance: F64


def told_by_fields(table: PairTable) -> Chances | None:
    """The chances, where enough fields have values that others share by chance: only there can it be seen how much
    fields depend on one another."""
    if table.population is None or len(table.fields) < ENOUGH_FIELDS or not len(table):
        return None
    made = match_chances(table, table.population)
    return made if common_fields(table, table.population, made.chance) >= ENOUGH_FIELDS else None


def match_chances(table: PairTable, population: Population) -> Chances:
    """By expectation-maximisation: first as if fields were independent, then with what they explain of one another."""
    rare = population.rare(table.left, table.right)
    # Candidates that were drawn stand for all.
    stand = 1 / table.drawn
    seen = [levels(field) for field in table.fields]
    same = [field == 1 for field in table.fields]
    m, matches = [USUAL for _ in seen], min(MATCHED * table.records, population.pairs / 2)
    chance: F64 = np.zeros(len(table))
    explained: list[Explained] = [{} for _ in seen]
    for dependent in (False, True):
        for _ in range(ROUNDS):
            prior = float(np.log2(matches / (population.pairs - matches)))
            u = [_others(n, seen[n], same[n], chance, population, stand) for n in range(len(seen))]
            bits = [(*rising_bits(one, other)[:-1], float(np.log2(one[-1] / by_chance)))
                    for one, other, by_chance in zip(m, u, population.usual, strict=True)]  # fmt: skip
            if dependent:
                explained = _explained(seen, same, u, chance, population, stand)
            made = probability(prior + np.sum(parts(seen, bits, explained, rare), axis=0))
            moved = float(np.abs(made - chance).max(initial=0.0))
            chance = made
            if moved < SETTLED:
                break
            matches = float(np.clip(stand * chance.sum(), 1e-3, population.pairs / 2))
            m = [_of_matches(level, chance) for level in seen]
    return Chances(prior, bits, explained, chance)


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


def common_fields(table: PairTable, population: Population, chance: F64) -> int:
    """Fields in which more pairs than there are records have the same value and are no matches."""
    matched = np.array([float(chance[field == 1].sum()) for field in table.fields])
    return int((population.equal - matched / table.drawn >= table.records).sum())


def _of_matches(level: Level, chance: F64) -> F64:
    """How often matches are on each level; half a pair on every level keeps the bits finite."""
    known = level >= 0
    m = np.bincount(level[known], chance[known], LEVELS) + 0.5
    m /= m.sum()
    agree = float(m[ALIKE:].sum())
    if agree < AGREE:
        m[:ALIKE] *= (1 - AGREE) / (1 - agree)
        m[ALIKE:] *= AGREE / agree
    return np.asarray(m)


def _others(n: int, level: Level, same: Mask, chance: F64, population: Population, stand: float) -> F64:
    """How often all pairs but the matches are on each level of a field: candidates as they are, the rest as random."""
    far = levels(population.random[n])
    share = np.bincount(far[far >= 0], minlength=LEVELS) / max(int((far >= 0).sum()), 1)
    known = level >= 0
    near = np.bincount(level[known], 1 - chance[known], LEVELS)
    u = share * max(float(population.known[n]) - stand * float(known.sum()), 0.0) + stand * near + 0.5
    every = max(float(population.known[n]) - stand * float(chance[known].sum()), 1.0)
    equal = min(max(float(population.equal[n]) - stand * float(chance[same].sum()), FEWEST) / every, 1 - 1e-6)
    u[:-1] *= (1 - equal) / u[:-1].sum()
    u[-1] = equal
    return np.asarray(u)


def _explained(
    seen: Sequence[Level], same: Sequence[Mask], u: Sequence[F64], chance: F64, population: Population, stand: float
) -> list[Explained]:
    """Of each field by the fields whose values are more common."""
    order = np.argsort(-population.usual, kind="stable")
    out: list[dict[int, tuple[float, ...]]] = [{} for _ in seen]
    for place, by in enumerate(order.tolist()):
        matched = chance * same[by]
        share = stand * float(matched.sum()) / max(float(population.equal[by]), FEWEST)
        if share > OWN or not population.sharing[by]:
            continue
        for n in order[place + 1 :].tolist():
            drawn = levels(population.sharing[by][n])
            counts = np.bincount(drawn[drawn >= 0], minlength=LEVELS).astype(np.float64)
            known = seen[n] >= 0
            brought = np.bincount(seen[n][known], matched[known], LEVELS)
            brought *= share * counts.sum() / max(float(brought.sum()), 1e-9)
            left = np.maximum(counts - brought - SPREADS * np.sqrt(brought), 0)
            lift = rising_bits((left + PRIOR * u[n]) / (left.sum() + PRIOR), u[n])
            if max(map(abs, lift)) >= LEAST:
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
