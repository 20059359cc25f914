"""Explain a result without pairs, and notice a model that has collapsed."""

from __future__ import annotations

from lookalike.core.arrays import F32
from lookalike.kinds.records.rules import RecordRules
from lookalike.kinds.records.search import Search
from lookalike.kinds.records.threshold import MIN_PAIRS


def advice(search: Search, score: F32, rules: RecordRules, inferred: RecordRules, *, given: bool) -> str | None:
    """Return why no candidates match, and what to try; None if some do.

    inferred: the rules before anything was learned; given: whether the threshold is the user's own.
    """
    threshold = rules.threshold or 0.0
    if (score >= threshold).any():
        return None
    if not len(search.table):
        return (
            "no pairs: no two records share a value, a word or another key of the compared columns, so none were "
            "compared. Look at the keys with `preview`, compare other columns (fields), or add keys in the settings."
        )
    nearest = f"the most similar of {len(search.table):,} candidates reaches {score.max():.3f}"
    if rules.prior is not None:
        sums, other = search.scores(inferred, "learned", None, False)
        matches = int((other >= (sums.threshold or 1.0)).sum())
        if matches >= MIN_PAIRS:
            return (
                f"no pairs: the match weights have collapsed ({nearest}), while weighted sums find {matches:,} pairs. "
                "Use weights='learned'."
            )
    if given:
        return f"no pairs: {nearest}, below the threshold of {threshold:g}. Take a lower one to see the nearest pairs."
    return (
        f"no pairs: {nearest}, and nothing separates matches from other pairs. If there are matches, set a threshold "
        f"below that to see the nearest pairs, or name the columns that identify a record (fields)."
    )
