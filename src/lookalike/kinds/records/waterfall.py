"""The waterfall of a pair: comparison level, m, u, match weight and term-frequency adjustment of each field."""

from __future__ import annotations

import numpy as np

from lookalike.core.arrays import I64
from lookalike.kinds.records.comparisons import compare
from lookalike.kinds.records.em import parts
from lookalike.kinds.records.em_composite import LEVEL_COUNT, level_sums, levels
from lookalike.kinds.records.field_evidence import FieldEvidence
from lookalike.kinds.records.rules import EDGES, RecordRules
from lookalike.kinds.records.search import Search


def waterfall(search: Search, rules: RecordRules, left: I64, right: I64) -> list[FieldEvidence]:
    """Return the evidence of each field that both records have, for rules with match weights.

    u is measured on all pairs of the input; m follows from it and the match weight of the level.
    """
    population = search.table.population
    if rules.prior is None or population is None:
        return []
    a, b = (search.number[side].astype(np.uint32) for side in (left, right))
    level = [levels(compare(field, a, b)) for field in search.fields]
    rare = population.rare(a, b) if rules.explained is not None else [np.zeros(1, np.float32) for _ in level]
    bits = [rule.bits or (0.0,) * LEVEL_COUNT for rule in rules.fields]
    total = parts(level, bits, rules.explained or [{} for _ in level], rare)
    out = []
    for n, rule in enumerate(rules.fields):
        place = int(level[n][0])
        if place < 0:
            continue
        u, weight, frequency = _chance(search, n, place), bits[n][place], float(rare[n][0])
        lost = float(total[n][0]) - weight - frequency
        m = min(1.0, u * 2.0**weight)
        out.append(FieldEvidence(rule.column, level_name(place), m, u, weight, frequency, lost))
    return out


def level_name(place: int) -> str:
    """Name a comparison level by the similarities that fall on it.

    >>> level_name(6), level_name(5), level_name(0)
    ('equal', '0.88 or more', 'below 0.2')
    """
    if place == len(EDGES):
        return "equal"
    return f"{EDGES[place - 1]:g} or more" if place else f"below {EDGES[0]:g}"


def _chance(search: Search, field: int, place: int) -> float:
    """Return the share of all pairs of the input that are on a comparison level of a field."""
    population = search.table.population
    assert population is not None
    equal = float(population.usual[field])
    if place == LEVEL_COUNT - 1:
        return equal
    drawn = levels(population.random[field])
    counts = level_sums(drawn[drawn >= 0], np.ones(int((drawn >= 0).sum())))[:-1] + 0.5
    return float((1 - equal) * counts[place] / counts.sum())
