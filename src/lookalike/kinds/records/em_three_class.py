"""Expectation maximisation with a third class: pairs that are related but not the same.

Examples are people of one household, songs of one album, models of one series. Such pairs agree in some fields as
matches do, and in the others only by chance. A model of two classes takes them for matches wherever they are more
numerous than matches. A third class is therefore estimated next to matches and non-matches, unconstrained in every
field. It is accepted as a class of related pairs if it agrees in some fields only as often as by chance (`BY_CHANCE`)
and these fields suffice to separate matches from it, given the numbers of both. Otherwise the third class has absorbed
a part of the matches, and the model of two classes is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.core.arrays import F64
from lookalike.kinds.records.em import (
    ENOUGH_FIELDS,
    INITIAL_M,
    MATCHED,
    Chances,
    EMData,
    Explained,
    at_least_as_alike,
    dependence_adjustments,
    estimate_m,
    estimate_u,
    is_identifiable,
    match_bits,
    match_chances,
)
from lookalike.kinds.records.em_composite import ALIKE, EM_ROUNDS, MAX_BITS, SETTLED, Level, level_sums
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.random_pairs import RandomPairs

BY_CHANCE = 2  # agreement up to this multiple of the agreement among non-matches counts as agreement by chance
MIN_MATCHES = 20  # minimum number of expected matches for separating them from related pairs


def fit_from_fields(table: PairTable) -> Chances | None:
    """Fit the model from the fields, with a class of related pairs if there is one.

    None where there are too few fields, or where the dependence between them cannot be measured.
    """
    model = all_pairs_model(table)
    return model[0] if model is not None and model[1] else None


def all_pairs_model(table: PairTable) -> tuple[Chances, bool] | None:
    """Fit the model with u-probabilities of all pairs; None where there are fewer than three fields or no pairs.

    Derived fields are left out: they would count what they are derived from once more. Returns the model of the columns
    of the input, with a class of related pairs if there is one, and whether the dependence between fields could be
    measured.
    """
    table = table.of_columns()
    if table.population is None or len(table.fields) < ENOUGH_FIELDS or not len(table):
        return None
    seen = EMData.of(table, table.population)
    plain = match_chances(seen, table.records)
    if not is_identifiable(seen, plain.chance, table.records):
        return plain, False
    return fit_with_related_class(seen, table.records) or plain, True


def fit_with_related_class(seen: EMData, records: int) -> Chances | None:
    """Fit matches, related pairs and non-matches; None where the third class does not consist of related pairs."""
    pairs = seen.population.pairs
    m: list[F64] = [INITIAL_M for _ in seen.seen]
    r: list[F64] = []
    matches = related = min(MATCHED * records, pairs / 2)
    match, relative = (np.zeros(len(seen.seen[0]) + len(seen.far[0])) for _ in range(2))
    explained: list[Explained] = [{} for _ in seen.seen]
    for dependent in (False, True):
        for _ in range(EM_ROUNDS):
            u = estimate_u(seen, match + relative)
            r = r or [(one + other) / 2 for one, other in zip(m, u, strict=True)]
            if dependent:
                explained = dependence_adjustments(seen, u, match)
            m = [at_least_as_alike(one, other) for one, other in zip(m, u, strict=True)]
            bits = match_bits(m, u, seen.population)
            odds = [float(np.log2(count / pairs)) for count in (matches, related)]
            before = match, relative
            match, relative = _posterior(
                odds[0] + seen.match_weights(bits, explained),
                odds[1] + seen.match_weights(_free_bits(r, u, seen.population), explained),
            )
            if max(float(np.abs(a - b).max()) for a, b in zip(before, (match, relative), strict=True)) < SETTLED:
                break
            matches, related = seen.matches(match), seen.matches(relative)
            m = estimate_m(seen, match)
            near = seen.near(relative)
            r = [_levels(level, near, other) for level, other in zip(seen.seen, u, strict=True)]
    if not _are_relatives(m, r, u, matches, related):
        return None
    return Chances(odds[0], bits, explained, seen.near(match))


def _are_relatives(m: Sequence[F64], r: Sequence[F64], u: Sequence[F64], matches: float, related: float) -> bool:
    """Return whether the third class agrees only by chance in fields that suffice to separate matches from it."""
    if matches < MIN_MATCHES:
        return False
    agree = np.array([[float(one[ALIKE:].sum()) for one in some] for some in (m, r, u)])
    free = agree[1] <= np.maximum(BY_CHANCE * agree[2], np.sqrt(agree[0] * agree[2]))
    telling = float(np.log2(agree[0] / np.maximum(agree[1], 1e-9))[free].sum())
    return telling > max(float(np.log2(related / matches)), 0.0)


def _posterior(match_weight: F64, shared: F64) -> tuple[F64, F64]:
    """Return the probabilities of the first two classes from their log2 odds against the third (non-matches)."""
    top = np.maximum(np.maximum(match_weight, shared), 0)
    one, two, none = (2.0 ** np.maximum(bits - top, -MAX_BITS) for bits in (match_weight, shared, np.zeros(len(top))))
    whole = one + two + none
    return one / whole, two / whole


def _levels(level: Level, chance: F64, others: F64) -> F64:
    """Estimate the share of each comparison level among pairs with these class probabilities.

    Half a pair, distributed as `others`, is added to keep every share above 0.
    """
    known = level >= 0
    made = level_sums(level[known], chance[known]) + others / 2
    return np.asarray(made / made.sum())


def _free_bits(r: Sequence[F64], u: Sequence[F64], population: RandomPairs) -> list[tuple[float, ...]]:
    """Return the weight of each comparison level of each field, not constrained to be non-decreasing."""
    usual = population.usual
    return [tuple(np.log2(np.append(one[:-1] / other[:-1], one[-1] / by)).tolist())
            for one, other, by in zip(r, u, usual, strict=True)]  # fmt: skip
