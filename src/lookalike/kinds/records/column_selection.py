"""Select the columns to compare by how much they tell about the identity of a record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.kinds.records.fields import Field
from lookalike.kinds.records.random_pairs import FEWEST, count_pairs

# Minimum information of a column in bits per record. A flag that is set in 5 % of the rows has 0.14; a column of
# distinct values that is filled in one row of a hundred has about 0.1.
MIN_COLUMN_BITS = 0.1


def column_bits(field: Field, split: int) -> float:
    """Return the information of a column: the share of filled rows times -log2 of the share of equal values.

    The share of equal values is that of pairs of records in which both have a value. Between two tables, the share of
    filled rows is the geometric mean, so a column that one of them never fills tells nothing.
    """
    n = len(field.values)
    first, others = (split, n - split) if split >= 0 else (n, n - 1)
    known, equal = count_pairs(field.values, split)
    if known <= 0 or first * others <= 0:
        return 0.0
    pairs = first * others / (1 if split >= 0 else 2)
    return float(np.sqrt(known / pairs) * np.log2(known / max(min(equal, known), FEWEST)))


def telling_fields(fields: Sequence[Field], split: int) -> tuple[list[Field], list[str]]:
    """Return the fields that tell records apart, and the names of the other columns; all fields if none does."""
    kept = [field for field in fields if column_bits(field, split) >= MIN_COLUMN_BITS]
    if not any(field.rule.keys for field in kept):
        return list(fields), []
    names = {field.rule.column for field in kept}
    return kept, [field.rule.column for field in fields if field.rule.column not in names]
