"""Entities: the rows of all sources that refer to the same thing, with ids that survive the next run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, Pairs
from lookalike.errors import UsageError
from lookalike.kinds.records.kernels.linking import constrained_components

MAX_LIMITED_SOURCES = 64  # one bit of a 64-bit word for each source without duplicates


def limited_pairs(pairs: Pairs, source: I64, limited: Sequence[bool], records: int) -> Pairs:
    """Return the pairs within components in which each limited source has at most one record.

    Pairs are joined in descending order of similarity; a pair that would bring two records of a limited source together
    is left out. source i64[records].

    >>> pairs = Pairs(np.array([0, 1]), np.array([2, 2]), np.array([0.8, 0.9]))
    >>> limited_pairs(pairs, np.array([0, 0, 1]), [True, False], 3).left.tolist()
    [1]
    """
    if sum(limited) > MAX_LIMITED_SOURCES:
        raise UsageError(f"{sum(limited)} sources are unique; expected at most {MAX_LIMITED_SOURCES}.")
    if not any(limited):
        return pairs
    bits = np.zeros(len(limited), np.uint64)
    numbers = np.flatnonzero(limited)
    bits[numbers] = np.uint64(1) << np.arange(len(numbers), dtype=np.uint64)
    kept = np.empty(len(pairs), np.bool_)
    order = np.lexsort((pairs.right, pairs.left, -pairs.similarity))
    constrained_components(pairs.left, pairs.right, order, bits[source], np.arange(records), kept)
    return Pairs(pairs.left[kept], pairs.right[kept], pairs.similarity[kept])


def number_entities(representative: I64) -> I64:
    """Number the entities by their first records. representative i64[n]: equal for the records of one entity.

    >>> number_entities(np.array([2, 1, 2, 1])).tolist()
    [0, 1, 0, 1]
    """
    _, first, number = np.unique(representative, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int64)[number]


def entity_ids(entity: I64, keys: Sequence[str], before: Sequence[str | None]) -> tuple[list[str], pa.Table]:
    """Return the id of each entity, and a table of what changed since the previous run.

    keys: what identifies each record across runs; before: the entity of each record in the previous run. An entity
    keeps the id that most of its records had; of several entities with records of one previous entity, the one with
    most of them keeps the id. New ids are hashes of the key of the first record, so they do not depend on the others.

    >>> ids, changes = entity_ids(np.array([0, 0, 1]), ["a", "b", "c"], ["x", "x", "x"])
    >>> ids[0], ids[1] == "x", changes.column_names
    ('x', False, ['previous', 'entity', 'records'])
    """
    votes: dict[tuple[int, str], int] = {}
    first: dict[int, int] = {}
    for record, (number, previous) in enumerate(zip(entity.tolist(), before, strict=True)):
        first.setdefault(number, record)
        if previous is not None:
            votes[number, previous] = votes.get((number, previous), 0) + 1
    ids: dict[int, str] = {}
    taken = {previous for _, previous in votes}
    assigned: set[str] = set()
    for number, previous in sorted(votes, key=lambda vote: (-votes[vote], vote)):
        if number not in ids and previous not in assigned:
            ids[number] = previous
            assigned.add(previous)
    for number, record in first.items():
        if number not in ids:
            ids[number] = _new_id(keys[record], taken)
            taken.add(ids[number])
    changed = [(previous, ids[number], count) for (number, previous), count in votes.items() if ids[number] != previous]
    columns = [[row[i] for row in sorted(changed)] for i in range(3)]
    types = (pa.string(), pa.string(), pa.int64())
    arrays = [pa.array(column, dtype) for column, dtype in zip(columns, types, strict=True)]
    return [ids[number] for number in range(len(ids))], pa.table(arrays, ["previous", "entity", "records"])


def _new_id(key: str, taken: set[str]) -> str:
    """Return an id made from a key, with a counter if that id is taken."""
    attempt = 0
    while True:
        text = key if not attempt else f"{key}\x1f{attempt}"
        made = "e" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        if made not in taken:
            return made
        attempt += 1
