"""Baskets: sets of items, and the input rows that belong to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lookalike.core.arrays import I64
from lookalike.io.collection import Collection
from lookalike.io.columnar import TableInMemory
from lookalike.io.origin import origin
from lookalike.io.reader import Reader
from lookalike.io.tables import numbered

if TYPE_CHECKING:
    from lookalike.io.contents import Content

BASKETS_PER_BATCH = 1 << 14


@dataclass(frozen=True, kw_only=True)
class Baskets:
    """Baskets in the order of their first appearance, each a list of item numbers.

    set_name, item_name: column names of baskets and items. form: how the input was read. ids: the id of each basket;
    items: the name of each item number. numbers i64[nnz]: item numbers, basket by basket, repeated by multiplicity;
    offsets i64[n+1]. given: the input rows with all their columns, or None if the baskets themselves are the rows.
    owners: (basket, item) of each of these rows, i64[rows] each; None if each row is one basket. extra: further input
    columns, with one value for each basket. paths: as given by the user; files: what they expand to; read_by: the rule
    by which they were read.
    """

    name: str
    form: str
    set_name: str
    item_name: str
    ids: pa.Array
    items: pa.Array
    numbers: I64
    offsets: I64
    given: Collection | None = None
    owners: tuple[I64, I64] | None = None
    extra: dict[str, pa.Array] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    read_by: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, basket: int) -> I64:
        return self.numbers[self.offsets[basket] : self.offsets[basket + 1]]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.set_name, self.item_name) if self.given is None else self.given.columns

    @property
    def readers(self) -> tuple[Reader, ...]:
        """Return the readers of the input rows; none if the baskets themselves are the rows."""
        return () if self.given is None else self.given.readers

    def describe(self) -> dict[str, Any]:
        read = {"name": self.name, "form": self.form, "set": self.set_name, "item": self.item_name}
        return {**read, "rule": self.read_by, "origin": origin(self.paths, self.files)}

    def contents(self) -> BasketContents:
        """Return the baskets for display."""
        return BasketContents(self)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Return one row for each basket: the input row if there is one, else its id and the list of its items."""
        if self.given is not None and self.owners is None:
            return self.given.rows()
        return iter(self.named_lists().to_batches(max_chunksize=BASKETS_PER_BATCH))

    def named_lists(self) -> pa.Table:
        """Return a table of two columns: the id of each basket, and the list of its items."""
        return self._lists(self.items.take(int64(self.numbers)))

    def given_rows(self) -> Iterator[pa.RecordBatch]:
        """Return the input rows, of which a basket may have several; without input rows, the same as `rows`."""
        return self.given.rows() if self.given is not None else self.rows()

    def rows_that_stay(self, stays: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return which of `given_rows` belong to the baskets that are kept. stays bool[n]."""
        return stays if self.owners is None else stays[self.owners[0]]

    def collection(self) -> Collection:
        """Return the baskets as documents: lists of tokens, which are item numbers."""
        table = self._lists(int64(self.numbers))
        for name, values in self.extra.items():
            table = table.append_column(name, values)
        return Collection(
            name=self.name,
            text_column=self.item_name,
            id_column=self.set_name,
            columns=tuple(table.column_names),
            nbytes=table.nbytes,
            rows_hint=len(self),
            on_bad_text="error",
            readers=(TableInMemory(table, self.name),),
        )

    def dual(self) -> Baskets:
        """Return the transpose: each item as the set of the baskets that contain it, with the same multiplicities.

        >>> from lookalike.kinds.baskets.formats import of_lists
        >>> made = of_lists("the list", ["a", "b"], [["milk", "bread"], ["milk"]]).dual()
        >>> [(name, made.items.take(int64(made[i])).to_pylist()) for i, name in enumerate(made.ids.to_pylist())]
        [('milk', ['a', 'b']), ('bread', ['a'])]
        """
        numbers, offsets = by_owner(
            self.numbers, np.repeat(np.arange(len(self)), np.diff(self.offsets)), len(self.items)
        )
        return replace(
            self,
            set_name=self.item_name,
            item_name=self.set_name,
            ids=self.items,
            items=self.ids,
            numbers=numbers,
            offsets=offsets,
            given=None if self.owners is None else self.given,
            owners=None if self.owners is None else self.owners[::-1],
            extra={},
        )

    def renamed(self, number_of: I64, items: pa.Array) -> Baskets:
        """Return the same baskets with each item i replaced by item number_of[i] of `items`."""
        return replace(self, numbers=number_of[self.numbers], items=items)

    def _lists(self, values: pa.Array) -> pa.Table:
        lists = pa.LargeListArray.from_arrays(int64(self.offsets), values)
        return pa.table([self.ids, lists], names=[self.set_name, self.item_name])


def aligned(left: Baskets, right: Baskets) -> tuple[Baskets, Baskets]:
    """Renumber the items of two collections so that equal items have equal numbers.

    >>> from lookalike.kinds.baskets.formats import of_lists
    >>> a, b = of_lists("a", [0], [["milk"]]), of_lists("b", [0], [["bread", "milk"]])
    >>> [baskets.numbers.tolist() for baskets in aligned(a, b)]
    [[0], [1, 0]]
    """
    (first, second), names = numbered([pa.chunked_array([side.items]) for side in (left, right)])
    return left.renamed(first, names), right.renamed(second, names)


def together(baskets: Sequence[Baskets]) -> Baskets:
    """Concatenate one or two aligned collections; the ids of two are replaced by numbers."""
    if len(baskets) == 1:
        return baskets[0]
    left, right = baskets
    return replace(
        left,
        ids=int64(np.arange(len(left) + len(right))),
        numbers=np.concatenate([left.numbers, right.numbers]),
        offsets=np.concatenate([left.offsets, right.offsets[1:] + left.offsets[-1]]),
        given=None,
        owners=None,
        extra={},
    )


def by_owner(owners: I64, values: I64, count: int) -> tuple[I64, I64]:
    """Return (the values sorted by owner, i64[nnz]; offsets i64[count+1]). owners i64[nnz], below `count`."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=count), out=offsets[1:])
    if np.all(owners[1:] >= owners[:-1]):
        return values, offsets
    return values[np.argsort(owners, kind="stable")], offsets


def int64(values: I64) -> pa.Array:
    """Return the numbers as an Arrow array, without a copy. (`pa.array` would import pandas to inspect them.)"""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


@dataclass(frozen=True)
class BasketContents:
    """The items of baskets for display, by row number."""

    baskets: Baskets

    def ids(self) -> pa.ChunkedArray | None:
        return pa.chunked_array([self.baskets.ids])

    def take(self, rows: Iterable[int]) -> dict[int, Content]:
        names = self.baskets.items
        known = [row for row in rows if row < len(self.baskets)]
        return {row: {"items": names.take(int64(self.baskets[row])).to_pylist()} for row in known}
