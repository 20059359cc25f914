"""Exact duplicates: records that are equal in every field are collapsed to one class before anything is compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.core.exact_duplicates import Classes
from lookalike.kernels import hashing
from lookalike.kinds.records.fields import Field


def equal_records(fields: Sequence[Field], preference: I64, split: int, *, collapse: bool = True) -> Classes:
    """Return the classes of equal records, ordered by their first record; records without any value are left out.

    preference: record numbers, the most preferred first. Records of two tables are never in one class, so the classes
    of the first table come first. Without `collapse`, every record is a class of one.
    """
    there = np.zeros(len(preference), np.bool_)
    for field in fields:
        there |= field.values >= 0
    if not collapse:
        members = np.flatnonzero(there)
        return Classes(members, np.arange(1, len(members) + 1))
    order = preference[there[preference]]
    prints = _prints(fields, split)
    order = order[np.argsort(prints[order], kind="stable")]
    new = np.ones(len(order), np.bool_)
    new[1:] = prints[order[1:]] != prints[order[:-1]]
    new |= _differ(fields, order, new)
    start = np.flatnonzero(new)
    lowest = np.minimum.reduceat(order, start) if len(start) else start
    by_first = np.argsort(lowest, kind="stable")
    counts = np.diff(start, append=len(order))[by_first]
    ends = np.cumsum(counts)
    spread = np.repeat(start[by_first] - (ends - counts), counts) + np.arange(len(order))
    return Classes(order[spread], ends)


def _prints(fields: Sequence[Field], split: int) -> U64:
    """Return one 64-bit hash per record; equal records have equal hashes."""
    n = len(fields[0].values)
    out = np.zeros(n, np.uint64)
    if split >= 0:
        out[split:] = 1
    for field in fields:
        hashing.mix_all(out + field.values.astype(np.uint64) + np.uint64(1), np.uint64(3), out)
    return out


def _differ(fields: Sequence[Field], order: I64, new: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> np.ndarray[
    tuple[int], np.dtype[np.bool_]
]:  # fmt: skip
    """Return where a record differs from the previous one although their hashes are equal (bool[n])."""
    differ = np.zeros(len(order), np.bool_)
    copies = np.flatnonzero(~new)
    for field in fields:
        differ[copies] |= field.values[order[copies]] != field.values[order[copies - 1]]
    return differ
