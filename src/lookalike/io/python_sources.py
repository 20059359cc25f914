"""Convert rows and frames of Python libraries, which are recognised by what they offer, to lists and Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lookalike.errors import UsageError


def plain_source(source: Any) -> Any:
    """Return a list or an Arrow table for rows, iterators, arrays of strings, lazy frames and data sets, or the source.

    Rows are dicts. Of a Hugging Face Dataset the rows that it selects are read; an IterableDataset is read to its end.

    >>> plain_source(text for text in ("one", "two"))
    ['one', 'two']
    >>> plain_source([{"id": 1, "text": "a"}, {"text": "b", "more": 2}]).to_pydict()
    {'id': [1, None], 'text': ['a', 'b'], 'more': [None, 2]}
    """
    if isinstance(source, str | bytes) or hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return source
    if isinstance(source, list | tuple):
        return _table(source) if source and all(isinstance(row, Mapping) for row in source) else source
    if type(source).__name__ == "LazyFrame" and hasattr(source, "collect"):  # Polars
        return source.collect()
    if hasattr(source, "with_format") and hasattr(source, "features"):  # Hugging Face datasets
        return source.with_format("arrow")[:] if hasattr(source, "__getitem__") else plain_source(list(source))
    if getattr(getattr(source, "dtype", None), "kind", "") in ("U", "T", "S", "O") and getattr(source, "ndim", 0) == 1:
        return plain_source(source.tolist())  # NumPy
    if isinstance(source, Iterator):
        return plain_source(list(source))
    return source


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table with the columns of all of them, null where a row has no value."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        try:
            columns[str(name)] = pa.array([row.get(name) for row in rows])
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise UsageError(f"the values of {name!r} in the rows are of several types; expected one type.") from error
    return pa.table(columns)
