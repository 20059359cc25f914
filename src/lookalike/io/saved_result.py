"""Results that were saved into a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lookalike.core.results import ArrowRows
from lookalike.io.results import read_folder, write_folder


class SavedResult(ArrowRows):
    """A result that was saved into a folder: its receipt, and its tables by name. Made by `la.load`."""

    __slots__ = ("receipt", "tables")

    def __init__(self, receipt: dict[str, Any], tables: Mapping[str, pa.Table]) -> None:
        self.receipt, self.tables = receipt, dict(tables)

    def __getattr__(self, name: str) -> pa.Table:
        """Return a table by its name, such as `pairs`."""
        if name in SavedResult.__slots__ or name not in self.tables:
            raise AttributeError(f"this result has no table {name!r}; it has {', '.join(self.tables)}.")
        return self.tables[name]

    @property
    def score_column(self) -> str:
        """The name of the column of scores in the table of pairs."""
        if "scale" in self.receipt:
            return str(self.receipt["scale"]["column"])
        return str(self.tables["pairs"].column_names[2])  # after left and right

    def to_arrow(self) -> pa.Table:
        """Return the requested table: pairs, groups, kept rows, passages or stories."""
        asked = self.receipt["asked"]
        return self.tables["kept" if asked == "dedup" else asked]

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> str:
        """Write the tables and the receipt into a new folder."""
        write_folder(self.tables, self.receipt, folder, force=force)
        return os.fspath(folder)

    def done(self) -> None:
        """Do nothing: a saved result keeps nothing else."""

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {table.num_rows:,}" for name, table in self.tables.items())
        return f"<SavedResult of {self.receipt['asked']}: {sizes}>"


def load(folder: str | os.PathLike[str]) -> SavedResult:
    """Load a result that `save` or `-o FOLDER` wrote: its tables by name, and its receipt.

    Parameters
    ----------
    folder
        The folder of the result.

    Returns
    -------
    SavedResult
        A result with the tables that the folder has as attributes, such as `pairs` and `groups`.

    Examples
    --------
    >>> import lookalike as la, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = la.groups(["one two three", "one two three", "four"], k=2).save(folder, force=True)
    ...     saved = la.load(folder)
    >>> saved.groups["id"].to_pylist(), len(saved)
    ([0, 1], 2)
    """
    tables, receipt = read_folder(folder)
    return SavedResult(receipt, tables)
