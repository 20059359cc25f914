"""Stop a run before the search if its result would be far too large."""

from __future__ import annotations

from lookalike.errors import TooManyPairs

# A run is refused if the sample has this many pairs and the expected number exceeds this multiple of the limit.
MIN_SAMPLED_PAIRS, CERTAIN_EXCESS = 30, 4


def check_size(expected: int, limit: int, *, sampled: int, sample: str, advice: str) -> None:
    """Raise TooManyPairs if the expected number of pairs is far above the limit.

    sampled: number of pairs in the sample behind the estimate; sample: subject and verb that describe that sample in
    the message.
    """
    if sampled >= MIN_SAMPLED_PAIRS and expected > CERTAIN_EXCESS * limit:
        raise TooManyPairs(f"{far_more(expected, limit)}: {sample} {sampled:,}. {advice}")


def far_more(expected: int, limit: int) -> str:
    """Return the words for an expected number of pairs that is far above the limit."""
    return f"about {expected:,} pairs are to be expected, far more than `max_pairs={limit:,}`"
