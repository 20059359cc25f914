"""Recognise related records among the pairs that a model states as matches, by the groups in which these pairs are.

A person and a relative at the same address agree in all fields but a few, in which they differ as two unrelated
records do. So do the records of a person who moved. But a relative brings the copies of both together: the pairs that
differ in the first name are in groups of three or more far more often than the pairs that agree in it. An entity that
moved has as many copies as any other. In dirty tables, copies of copies differ more often in every field, so the
excess counts only as far as it exceeds that of the median field.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.core.arrays import F32
from lookalike.kinds.records.em_composite import ALIKE, Level, levels
from lookalike.kinds.records.fields import Field
from lookalike.kinds.records.pair_table import Mask, PairTable

EXAMINED_FROM, GROUPED_FROM = 0.9, 0.5  # probabilities from which pairs are examined, and from which they make groups
LEVELS_UNLIKE = 2  # comparison levels below this one are those of unrelated values
FEWEST_UNLIKE = 5  # minimum number of stated pairs that differ in a field


def related_share(table: PairTable, score: F32) -> float:
    """Estimate the share of the pairs stated at `EXAMINED_FROM` or more that connect different entities.

    score f32[p]: the match probability of each pair. Of the fields in which they may differ, the one counts whose
    estimate exceeds that of the median field by most.
    """
    stated, partners = score >= EXAMINED_FROM, score >= GROUPED_FROM
    degree = np.bincount(table.left[partners], minlength=table.records)
    degree += np.bincount(table.right[partners], minlength=table.records)
    grouped = (degree[table.left] > 1) | (degree[table.right] > 1)
    fields = table.population.fields if table.population else ()
    shares = sorted(_excess(levels(table.fields[n]), stated & _is_readable(fields, n, table), grouped)
                    for n in table.own_fields)  # fmt: skip
    return shares[-1] - shares[(len(shares) - 1) // 2] if shares else 0.0


def _excess(level: Level, stated: Mask, grouped: Mask) -> float:
    """Return the share of the stated pairs that differ in a field and are in a group because of that."""
    unlike, alike = stated & (level >= 0) & (level < LEVELS_UNLIKE), stated & (level >= ALIKE)
    if np.count_nonzero(unlike) < FEWEST_UNLIKE or not alike.any():
        return 0.0
    usual = float(grouped[alike].mean())
    often = float(grouped[unlike].mean())
    share = np.count_nonzero(unlike) / np.count_nonzero(stated & (level >= 0))
    return share * (often - usual) / (1 - usual) if usual < 1 else 0.0


def _is_readable(fields: Sequence[Field], number: int, table: PairTable) -> Mask:
    """Return which pairs have comparable values: a date with a typo may be none, and is like no other value."""
    every = np.ones(len(table), np.bool_)
    if not fields or fields[number].rule.compare != "date":
        return every
    unread, values = np.isnan(fields[number].days), fields[number].values
    return every & ~unread[values[table.left]] & ~unread[values[table.right]]
