"""Refuse an answer that will be too large before the work starts."""

from __future__ import annotations

from lookalike.errors import TooManyPairs

MIN_SAMPLED_PAIRS, CERTAIN_EXCESS = (
    30,
    4,
)  # pairs in the sample, and times the limit, from which an answer is surely too large


def check_size(expected: int, limit: int, *, sampled: int, sample: str, advice: str) -> None:
    """Refuse, before the work, an answer that is surely too large.

    sampled: pairs of the sample that foretells them; sample: that sample, with its verb.
    """
    if sampled >= MIN_SAMPLED_PAIRS and expected > CERTAIN_EXCESS * limit:
        raise TooManyPairs(
            f"about {expected:,} pairs are to be expected, far more than --max-pairs {limit:,}: "
            f"{sample} {sampled:,}. {advice}"
        )
