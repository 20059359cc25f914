"""Exact blocking: two records are candidates if, and only if, they have an equal value in a blocking column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookalike.core.arrays import I64, U64
from lookalike.errors import ColumnNotFound, TooManyPairs, UsageError, listed
from lookalike.kinds.records.fields import Field
from lookalike.kinds.records.kernels.exact_blocking import block_pairs

PREFIX = "exact:"


def parse_blocking(text: str) -> tuple[str, ...]:
    """Return the columns of a blocking rule.

    >>> parse_blocking("exact:name,phone")
    ('name', 'phone')
    """
    columns = tuple(name.strip() for name in text.removeprefix(PREFIX).split(","))
    if not text.startswith(PREFIX) or not all(columns):
        raise UsageError(f"blocking {text!r} is unknown; expected exact: and columns, such as exact:name,phone.")
    return columns


@dataclass(frozen=True)
class Blocks:
    """The blocks of one field that contain at least one pair.

    members i64[m]: record numbers, block after block; ends i64[b]: the end of each block in `members`; pairs i64[b].
    """

    field: Field
    members: I64
    ends: I64
    pairs: I64

    @classmethod
    def of(cls, field: Field, split: int) -> Blocks:
        order = np.argsort(field.values, kind="stable")
        order = order[np.searchsorted(field.values[order], 0) :]  # a missing value (-1) makes no block
        starts = np.flatnonzero(np.diff(field.values[order], prepend=-1))
        sizes = np.diff(np.append(starts, len(order)))
        if split < 0:
            pairs = sizes * (sizes - 1) // 2
        else:
            left = np.add.reduceat(order < split, starts) if len(starts) else np.empty(0, np.int64)
            pairs = left * (sizes - left)
        keep = pairs > 0
        return cls(field, order[np.repeat(keep, sizes)], np.cumsum(sizes[keep]), pairs[keep])

    def largest(self) -> tuple[int, str, int]:
        """Return (pairs, value, records) of the block with the most pairs."""
        block = int(self.pairs.argmax())
        start = int(self.ends[block - 1]) if block else 0
        value = self.field.text(int(self.members[start]))
        return int(self.pairs[block]), str(value), int(self.ends[block]) - start


def exact_candidates(fields: Sequence[Field], columns: Sequence[str], split: int, *, limit: int) -> U64:
    """Return all pairs (lower << 32 | higher, sorted) of records that have an equal value in one of the columns.

    Values are compared after folding case, accents and punctuation. Raises TooManyPairs above `limit`, before anything
    is compared.
    """
    blocks = [Blocks.of(_named(fields, column), split) for column in columns]
    total = sum(int(one.pairs.sum()) for one in blocks)
    if total > limit:
        pairs, value, records, column = max((*one.largest(), one.field.rule.column) for one in blocks if len(one.pairs))
        raise TooManyPairs(
            f"blocking by equal values of {listed(columns)} compares {total:,} pairs, more than the {limit:,} that "
            f"max_pairs allows. The largest block, {column} {value!r}, has {records:,} records and {pairs:,} pairs. "
            "Leave out that column, or allow more pairs."
        )
    found = []
    for one in blocks:
        room = np.empty(int(one.pairs.sum()), np.uint64)
        found.append(room[: block_pairs(one.members, one.ends, split, room)])
    return np.unique(np.concatenate(found))


def _named(fields: Sequence[Field], column: str) -> Field:
    names = [field.rule.column for field in fields]
    if column not in names:
        compared = (
            "the fields that are compared (by default without columns that are empty or always the same; `fields`"
        )
        raise ColumnNotFound(column, f"{compared} names others), for blocking", names)
    return fields[names.index(column)]
