"""Contributions: how much each field adds to the similarity of a pair, as further columns of a table of pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.core.arrays import F32, F64
from lookalike.kinds.records.em import parts
from lookalike.kinds.records.em_composite import levels
from lookalike.kinds.records.pair_table import MIN_WEIGHT_SHARE
from lookalike.kinds.records.rules import RIVALS, WHOLE, RecordRules
from lookalike.kinds.records.threshold import LIFT


def contribution_names(rules: RecordRules, *, rivals: bool) -> list[str]:
    """Return the names of the columns of `explain_pairs`."""
    names = [rule.column for rule in rules.fields]
    if rules.prior is not None:
        return names
    return [*names, *([WHOLE] if rules.whole > 0 else []), *([RIVALS] if rivals else [])]


def explain_pairs(
    rules: RecordRules, seen: Sequence[F32], whole: F32, similarity: F64, rare: Sequence[F32], *, rivals: bool
) -> dict[str, F64]:
    """Return the contribution of each column to the scores of pairs: f64[p], NaN where a value is missing.

    Contributions are match weights in bits, or shares that add up to the similarity. seen: the similarity of the pairs
    in each field, NaN where a value is missing; whole: the similarity of all their words; rare: the term-frequency
    adjustments, if the rules use them; rivals: whether the similarity is adjusted for competing pairs.
    """
    names = contribution_names(rules, rivals=rivals)
    if rules.prior is not None:
        bits = [rule.bits or () for rule in rules.fields]
        made = parts([levels(one) for one in seen], bits, rules.explained or [{} for _ in seen], rare)
        return {n: np.where(np.isnan(s), np.nan, m) for n, m, s in zip(names, made, seen, strict=True)}
    weights = [rule.weight or 0.0 for rule in rules.fields]
    there = sum(w * ~np.isnan(one) for w, one in zip(weights, seen, strict=True))
    scale = np.minimum(1, there / max(sum(weights), 1e-9) / MIN_WEIGHT_SHARE) / ((1 + LIFT) if rivals else 1)
    each = (1 - rules.whole) * scale / np.maximum(there, 1e-9)
    out = {n: w * one.astype(np.float64) * each for n, w, one in zip(names, weights, seen, strict=False)}
    if rules.whole > 0:
        out[WHOLE] = rules.whole * scale * whole
    if rivals:
        out[RIVALS] = similarity - sum(np.nan_to_num(part) for part in out.values())
    return out
