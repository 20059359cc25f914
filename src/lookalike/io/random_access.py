"""Read single documents of several collections by number."""

from __future__ import annotations

from collections.abc import Collection as Numbers
from collections.abc import Sequence

import numpy as np

from lookalike.core.arrow import as_arrow
from lookalike.io.collection import Collection


def pick_texts(collections: Sequence[Collection], wanted: Numbers[int]) -> dict[int, str]:
    """Return the texts of the wanted documents, numbered across all collections, in one pass that ends with the last.

    >>> from lookalike.io.read import open_collection
    >>> pick_texts([open_collection(["a", "b"]), open_collection(["c"])], {1, 2})
    {1: 'b', 2: 'c'}
    """
    numbers = np.array(sorted(wanted), np.int64)
    by_number: dict[int, str] = {}
    first = 0
    for collection in collections:
        for batch in collection.texts():
            here = numbers[np.searchsorted(numbers, first) : np.searchsorted(numbers, first + len(batch))]
            texts = batch.texts.take(as_arrow(here - first)).to_pylist()
            by_number.update(zip(here.tolist(), texts, strict=True))
            first += len(batch)
            if len(by_number) == len(numbers):
                return by_number
    return by_number
