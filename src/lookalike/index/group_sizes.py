"""A table of group sizes that grows with an index: the number of items that each stored one represents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookalike.errors import InputError
from lookalike.io.tables import open_table

SIZE_TABLE = ("id", "group_size", "copies")
Refused = tuple[Any, Any, float]  # an item that was not added: its id, that of its match, and their score


@dataclass
class GroupSizes:
    """Sizes and copies by the id of the stored item, as text; items that are not listed have the size 1.

    equal: the score of equal items.
    """

    equal: float
    known: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, *, equal: float) -> GroupSizes:
        """Read the table of an earlier call or of `dedup --sizes`; it is empty if there is no file."""
        sizes = cls(equal)
        if not path.exists():
            return sizes
        columns = open_table(path, name=str(path)).read(SIZE_TABLE).to_pydict()
        for row, values in enumerate(zip(*(columns[name] for name in SIZE_TABLE), strict=True)):
            try:
                size, copies = int(values[1]), int(values[2])
            except (TypeError, ValueError):
                size = copies = 0
            if not 1 <= copies <= size or str(values[0]) in sizes.known:
                raise InputError(
                    f"{path}: row {row} is {', '.join(map(str, values))}; expected an id that is listed once, the size "
                    "of its group, and its copies, from 1 to that size."
                )
            sizes.known[str(values[0])] = [size, copies]
        return sizes

    def count(self, refused: Iterable[Refused]) -> None:
        """Count the items that were not added with their matches; an item that is stored itself is no copy."""
        for name, match, score in refused:
            if str(name) != str(match):
                entry = self.known.setdefault(str(match), [1, 1])
                entry[0] += 1
                entry[1] += score == self.equal

    def table(self) -> pa.Table:
        """Return the table, in the order in which its ids were first listed."""
        rows = [(name, *entry) for name, entry in self.known.items()]
        types = (pa.string(), pa.int64(), pa.int64())
        arrays = [pa.array([row[at] for row in rows], dtype) for at, dtype in enumerate(types)]
        return pa.table(dict(zip(SIZE_TABLE, arrays, strict=True)))
