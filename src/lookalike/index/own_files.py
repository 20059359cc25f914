"""Leave the file of a query out of its matches, where the index stores the paths of files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from lookalike.index.index import Index
from lookalike.index.store import Id


def query_files(
    index: Index, items: Any, files: Sequence[str], threshold: float | None, k: int | None, sample: Any
) -> pa.Table:
    """Return the table of `Index.query_table` without matches of a file with itself. files: the path of each item."""
    found = index.query_table(items, threshold=threshold, k=None if k is None else k + 1, sample=sample)

    @cache
    def place(name: Id) -> str | None:
        stored = index.content(name)
        return os.path.realpath(stored) if isinstance(stored, str) and stored else None

    own = [os.path.realpath(file) for file in files]
    taken: Counter[int] = Counter()
    stays = []
    for query, name in zip(found["query"].to_pylist(), found["id"].to_pylist(), strict=True):
        good = place(name) != own[query] and (k is None or taken[query] < k)
        taken[query] += good
        stays.append(good)
    return found.filter(pa.array(stays, pa.bool_()))
