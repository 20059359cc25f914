"""Policies for which item of a group of duplicates to keep: first, last, longest, shortest, or by a column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookalike.core.arrays import I64
from lookalike.errors import UsageError, nearest

PLAIN = ("first", "last", "longest", "shortest")
WITH_COLUMN = ("max", "min", "priority")


def preferred_column(policy: str) -> str | None:
    """Return the column that the policy reads, or None; raise UsageError for an unknown policy."""
    word, colon, rest = policy.partition(":")
    if not colon and word in PLAIN:
        return None
    column, equals, values = rest.partition("=")
    if word in WITH_COLUMN and column and (bool(equals and values) == (word == "priority")):
        return column
    raise UsageError(
        f"keep {policy!r} is unknown.{nearest(word, PLAIN)} "
        "Choices: first, last, longest, shortest, max:COLUMN, min:COLUMN, priority:COLUMN=a,b,c."
    )


def preference(policy: str, lengths: I64, columns: Mapping[str, pa.ChunkedArray]) -> I64:
    """Order the item numbers by preference, best first; ties keep input order. Nulls and unlisted values come last.

    >>> preference("longest", np.array([3, 9, 9]), {}).tolist()
    [1, 2, 0]
    """
    n = len(lengths)
    column = preferred_column(policy)
    if policy == "first":
        return np.arange(n)
    if policy == "last":
        return np.arange(n)[::-1].copy()
    if column is None:
        return np.argsort(-lengths if policy == "longest" else lengths, kind="stable")
    chunks = columns[column]
    try:
        values = chunks.combine_chunks()
        if policy.startswith("priority"):
            wanted = pa.array(policy.partition("=")[2].split(","))
            place = pc.fill_null(pc.index_in(pc.cast(values, pa.string()), wanted), len(wanted))
            return np.argsort(place.to_numpy(zero_copy_only=False), kind="stable")
        rising = "descending" if policy.startswith("max") else "ascending"
        number = pc.rank(values, rising, tiebreaker="min")  # nulls rank last by default
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UsageError(f"keep {policy!r}: column {column!r} holds {chunks.type}, which has no order.") from error
    return np.argsort(number.to_numpy(zero_copy_only=False), kind="stable")
