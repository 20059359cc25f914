"""What all results have in common, on every engine and for every kind of item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Protocol

import pyarrow as pa


class AnyResult(Protocol):
    """The protocol of results: `Result`, `SparkResult`, `Passages`, `SparkPassages`, `Stories`, and `la.load`.

    The requested table is that of pairs, groups, kept rows, passages or stories; `to_arrow` returns it, and `len`,
    iteration and any library that reads Arrow streams (such as polars.DataFrame(result)) use it. `tables` holds it and
    its companions by name, Arrow tables or Spark DataFrames; each is computed when it is first read.
    """

    @property
    def receipt(self) -> dict[str, Any]: ...  # what was requested, planned, counted and measured

    @property
    def score_column(self) -> str: ...  # name of the column of scores in the table of pairs

    @property
    def tables(self) -> Mapping[str, Any]: ...  # those that `save` writes, by name

    def to_arrow(self) -> pa.Table: ...

    def save(self, folder: Any, *, force: bool = False) -> Any: ...  # all tables, and the receipt

    def done(self) -> None: ...  # deletes what the run kept for further questions

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[dict[str, Any]]: ...

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowRows:
    """Length, iteration and the Arrow stream of a result, from its `to_arrow`."""

    __slots__ = ()
    __hash__: ClassVar[Any] = object.__hash__

    def to_arrow(self) -> pa.Table:
        """Return the requested table."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the number of rows of the requested table."""
        count: int = self.to_arrow().num_rows
        return count

    def __bool__(self) -> bool:
        """Return True: a result without rows is a result."""
        return True

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of the requested table, as dicts."""
        for batch in self.to_arrow().to_batches():
            yield from batch.to_pylist()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the requested table to any library that reads Arrow streams."""
        stream: object = self.to_arrow().__arrow_c_stream__(requested_schema)
        return stream
