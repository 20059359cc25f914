"""The match probability that the data of a table supports, and the basis of that estimate.

The u-probabilities are measured on all pairs of the table, not on the candidates, which share a block because they
agree somewhere; the m-probabilities are learned from the candidates. Match probabilities are close to the share of true
matches where the dependence between fields can be measured too, and mostly where it cannot. They are too low in groups
of many records. Between two tables where records of both have several likely partners, these are copies, or others that
are alike, and the fields do not say which. Where the data cannot support a probability, the score only ranks pairs, and
the basis says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F64
from lookalike.kinds.records.em import Chances, Explained
from lookalike.kinds.records.em_composite import LEVEL_COUNT, estimate
from lookalike.kinds.records.em_three_class import MIN_MATCHES, all_pairs_model
from lookalike.kinds.records.pair_table import PairTable
from lookalike.kinds.records.rules import Basis

# Maximum share of the expected matches that are not the first match of their record: between two tables (of the table
# with the lower share; records mostly have one partner), and within one table, where groups of more than three records
# exceed one half.
FURTHER_ACROSS, FURTHER_WITHIN = 0.1, 0.5
FURTHER_STATED = 0.05  # the same between two tables, for stating a probability
MAX_PARTNERS = 5.0  # half of the candidates that a record has by default


@dataclass(frozen=True)
class MatchModel:
    """Match weights of a Fellegi-Sunter model, and the basis of its probabilities.

    prior: the match weight before any field is compared (log2 of the prior odds); bits: the match weight of each
    comparison level of each field; explained: the reduction of match weights by agreement in other fields, None where
    the weights are used unadjusted; partners: the number of partners of the record of an average expected match;
    dependence_measured: whether the dependence between fields was measured.
    """

    prior: float
    bits: list[tuple[float, ...]]
    explained: Sequence[Explained] | None
    basis: Basis
    partners: float = 0.0
    dependence_measured: bool = False


def is_well_founded(model: MatchModel, *, one_table: bool) -> bool:
    """Return whether the model's evidence decides better than weighted sums of similarities.

    It does where the dependence between fields was measured, and entities have few records: in large groups, most of a
    record's candidates are matches, and their common values look like values shared by chance.
    """
    if model.basis in ("few fields", "few matches"):
        return False
    founded = model.dependence_measured or (one_table and model.basis == "assumed")
    return founded and model.partners <= MAX_PARTNERS


def match_model(table: PairTable) -> MatchModel:
    """Estimate the match weights, and determine the basis of the resulting match probabilities."""
    model = all_pairs_model(table)
    if model is None:
        return _ranking_only(table, "few fields")
    chances, dependence_measured = model
    most = FURTHER_WITHIN if table.split < 0 else FURTHER_ACROSS
    further = further_partners(table, chances.chance)
    if not dependence_measured and further > most:
        return _ranking_only(table, "several partners")
    partners = mean_partners(table, chances.chance)
    basis: Basis = "measured" if dependence_measured else "assumed"
    if partners > MAX_PARTNERS or (further > FURTHER_STATED and table.split >= 0):
        basis = "several partners"
    if chances.chance.sum() / table.drawn < MIN_MATCHES:
        basis = "few matches"
    bits, explained = _of_all_fields(chances, table)
    return MatchModel(chances.prior, bits, explained, basis, partners, dependence_measured)


def _of_all_fields(chances: Chances, table: PairTable) -> tuple[list[tuple[float, ...]], list[Explained]]:
    """Return match weights and explained bits of all fields, given those of the columns; derived fields have 0 bits."""
    kept = table.own_fields
    bits: list[tuple[float, ...]] = [(0.0,) * LEVEL_COUNT for _ in table.fields]
    explained: list[Explained] = [{} for _ in table.fields]
    for place, number in enumerate(kept):
        bits[number] = chances.bits[place]
        explained[number] = {kept[by]: lift for by, lift in chances.explained[place].items()}
    return bits, explained


def further_partners(table: PairTable, chance: F64) -> float:
    """Return the share of expected matches that are not the first of their record (of two tables, the lower share)."""
    if chance.sum() <= 0:
        return 0.0
    partners = [np.bincount(records, chance, table.records) for records in (table.left, table.right)]
    if table.split < 0:
        partners = [partners[0] + partners[1]]
    return min(float(np.maximum(count - 1, 0).sum() / count.sum()) for count in partners)


def mean_partners(table: PairTable, chance: F64) -> float:
    """Return the expected number of partners of the record of an average match; 0 without matches."""
    count = np.bincount(table.left, chance, table.records) + np.bincount(table.right, chance, table.records)
    return float((count**2).sum() / max(count.sum(), 1e-9))


def _ranking_only(table: PairTable, basis: Basis) -> MatchModel:
    evidence = estimate(table)
    return MatchModel(evidence.prior, evidence.bits, None, basis)
