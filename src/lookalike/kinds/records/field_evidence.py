"""The evidence of one field in a pair of records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FieldEvidence:
    """The evidence of one field in a pair of records.

    level: the comparison level in words; m, u: how often matches and other pairs are on this level; match_weight: log2
    of m / u; term_frequency: the adjustment for the frequency of an equal value; dependence: what agreement in other
    fields explains of it. The last three are in bits, and add up to the contribution of the field.
    """

    field: str
    level: str
    m: float
    u: float
    match_weight: float
    term_frequency: float
    dependence: float
