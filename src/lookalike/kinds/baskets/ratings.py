"""Ratings: which items count, and with which multiplicity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import F64, I64
from lookalike.errors import InputError, UsageError

RATING_FRACTIONS = (1, 2, 4, 5, 10, 20, 100)  # accepted denominators of ratings
MAX_ELEMENTS = 1 << 31  # maximum number of elements of all baskets after applying ratings


@dataclass(frozen=True)
class Ratings:
    """How ratings are applied.

    least: the lowest rating that counts, or None. bag: ratings are multiplicities. what: the column, for messages.
    """

    least: float | None
    bag: bool
    what: str

    def times(self, ratings: F64 | None) -> I64 | None:
        """Return the multiplicity of each entry, or None if each counts once. An entry without a rating does not count.

        In a bag, ratings in steps of a half are doubled: the similarity of two bags does not depend on the unit.

        >>> Ratings(3.0, False, "stars").times(np.array([5.0, 2.5, 3.0])).tolist()
        [1, 0, 1]
        >>> Ratings(None, True, "stars").times(np.array([5.0, 2.5, 0.0])).tolist()
        [10, 5, 0]
        """
        if ratings is None:
            if self.least is not None:
                raise UsageError(
                    f"min_rating is {self.least:g}, but there are no ratings; name their column (`rating`)."
                )
            return None
        counts = ~np.isnan(ratings)
        if self.least is not None:
            counts &= ratings >= self.least
        if not self.bag:
            return counts.astype(np.int64)
        times = np.where(counts, ratings, 0.0)
        if times.min(initial=0.0) < 0 or not np.isfinite(times).all():
            raise InputError(
                f"{self.what} holds {times[np.argmin(times)]:g}; as multiplicities ratings are 0 or more. "
                "Use `min_rating`."
            )
        for step in RATING_FRACTIONS:
            whole = times * step
            if np.array_equal(whole, np.round(whole)):
                break
        else:
            odd = times[times * RATING_FRACTIONS[-1] != np.round(times * RATING_FRACTIONS[-1])][0]
            raise InputError(
                f"{self.what} holds {odd:g}; as multiplicities ratings have at most two decimals. Use `min_rating`."
            )
        if whole.sum() > MAX_ELEMENTS:
            raise InputError(
                f"the ratings in {self.what} add up to {times.sum():,.0f}, too many copies of items. Use `min_rating`."
            )
        return whole.astype(np.int64)
