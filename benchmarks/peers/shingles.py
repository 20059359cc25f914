"""What the libraries that take token sets leave to their users: read, split, shingle; and write the pairs down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

WORDS = re.compile(r"\w+").findall
BATCH = 10_000


def shingles(text: str) -> set[str]:
    """The word 5-shingles of a text; one shingle where it is shorter. The fastest way plain Python offers."""
    words = WORDS(text.lower())
    if len(words) < 5:
        return {" ".join(words)} if words else set()
    return set(map(" ".join, zip(words, words[1:], words[2:], words[3:], words[4:], strict=False)))


def documents(corpus: str) -> Iterator[tuple[list[int], list[str]]]:
    """(ids, texts) in batches."""
    for batch in pq.ParquetFile(corpus).iter_batches(batch_size=BATCH, columns=["id", "text"]):
        yield batch.column(0).to_pylist(), batch.column(1).to_pylist()


def write_neighbours(ids: list[int], neighbours: list[list[int]], out: str) -> None:
    """Write (left, right) for each document and those found near it, each pair once."""
    left = np.repeat(np.array(ids, np.int64), list(map(len, neighbours)))
    right = np.fromiter(chain.from_iterable(neighbours), np.int64, len(left))
    keep = left < right
    pq.write_table(pa.table({"left": left[keep], "right": right[keep]}), out)
