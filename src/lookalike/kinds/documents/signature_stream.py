"""Minhash signatures from a stream of (shingle, document) entries, in one pass over the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import I64, U32, U64, Recipe, ShingleRule
from lookalike.errors import InputError, UsageError
from lookalike.io.tables import OpenTable, as_ids, open_table
from lookalike.kernels import sketches
from lookalike.kinds.documents.features import shingle
from lookalike.kinds.documents.signatures import universal_functions

STREAM_RULE = ShingleRule(unit="token", k=1)
ARRAY_GROWTH = 2  # growth factor of the array of signatures
FIRST_ROOM = 1024  # initial capacity of the array, in signatures


def signatures(
    source: Any, *, shingle: str = "shingle", document: str = "document", num_hashes: int = 128, seed: int = 42
) -> pa.Table:
    """Compute the minhash signature of each document from the entries of the characteristic matrix, in one pass.

    This is the row-order algorithm of the textbooks: all signatures start at infinity; each row (shingle) is hashed
    once by every hash function, and each document in the row keeps its minimum hash. Memory holds the signatures (4
    bytes times `num_hashes` for each document) and one batch of entries; the file may have any size.

    Parameters
    ----------
    source
        A path or a table of entries, sorted by shingle. Other orders give the same signatures more slowly.
    shingle, document
        The names of the two columns. Shingles are strings or integers.
    num_hashes, seed
        Number and seed of the hash functions (scheme `minhash-1`).

    Returns
    -------
    pa.Table
        The columns document (in the order of first appearance) and signature (a list of `num_hashes` uint32), the
        same
        values as `la.MinHash(num_hashes, seed=seed, scheme="minhash-1")` gives for the shingles of the document.

    Examples
    --------
    >>> import lookalike as la
    >>> import pyarrow as pa
    >>> entries = pa.table({"shingle": ["ab", "ab", "bc", "ca"], "document": ["x", "y", "y", "x"]})
    >>> la.signatures(entries, num_hashes=4).column_names
    ['document', 'signature']
    """
    recipe = Recipe(scheme="minhash-1", seed=seed, length=num_hashes, shingles=STREAM_RULE)
    if shingle == document:
        raise UsageError(f"shingle and document are both {shingle!r}; expected two columns.")
    table = open_table(source, name="the table")
    a, b = universal_functions(recipe.seed, recipe.length)
    numbers: dict[Any, int] = {}
    values = np.full((FIRST_ROOM, num_hashes), sketches.NOTHING)
    for elements, names in _entries(table, shingle, document):
        documents = _numbered(names, numbers)
        values = _with_room(values, len(numbers))
        sketches.minhash_rows(elements, documents, a, b, np.uint64(1 << 32), values)
    flat = pa.array(np.ascontiguousarray(values[: len(numbers)]).reshape(-1))
    listed = pa.FixedSizeListArray.from_arrays(flat, num_hashes)
    return pa.table({"document": pa.array(list(numbers)), "signature": listed})


def _entries(table: OpenTable, shingle_column: str, document_column: str) -> Iterator[tuple[U64, pa.Array]]:
    """Yield the elements and the documents of the entries in batches."""
    row = 0
    for batch in table.batches([shingle_column, document_column]):
        names = as_ids(pa.chunked_array([batch[document_column]]), what=f"column {document_column!r} in {table.name}")
        tokens = batch[shingle_column]
        if tokens.null_count:
            at = row + tokens.is_null().to_pylist().index(True)
            raise InputError(f"column {shingle_column!r} in {table.name} has no shingle in row {at}.")
        yield _elements(as_ids(pa.chunked_array([tokens]), what=f"column {shingle_column!r} in {table.name}")), names
        row += batch.num_rows


def _elements(tokens: pa.ChunkedArray) -> U64:
    """Hash each token to an element, in the same way as token lists."""
    values = tokens.combine_chunks()
    single = pa.LargeListArray.from_arrays(pa.array(np.arange(len(values) + 1)), values)
    return shingle(single, STREAM_RULE).elements


def _numbered(names: pa.ChunkedArray, numbers: dict[Any, int]) -> I64:
    """Return the number of each document; new documents get the next numbers."""
    encoded = names.combine_chunks().dictionary_encode()
    known = np.array([numbers.setdefault(name, len(numbers)) for name in encoded.dictionary.to_pylist()], np.int64)
    indices: I64 = np.asarray(encoded.indices).astype(np.int64)
    return known[indices]


def _with_room(values: U32, count: int) -> U32:
    if count <= len(values):
        return values
    larger = np.full((max(count, ARRAY_GROWTH * len(values)), values.shape[1]), sketches.NOTHING)
    larger[: len(values)] = values
    return larger
