"""The result of `nearest` for any kind of item: one row per neighbour, and a receipt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.core.arrays import F64, I64, Scale
from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import count
from lookalike.core.notebook import NOTEBOOK_ROWS, card, table
from lookalike.core.results import ArrowRows
from lookalike.core.trace import Trace
from lookalike.errors import TooManyPairs
from lookalike.io.results import write_folder
from lookalike.runtime.local.memory_limit import UNLIMITED, MemoryLimit
from lookalike.runtime.receipt import NO_WORK, peak_memory, source_warnings, versions
from lookalike.runtime.run_output import Source

PER_NEIGHBOUR = 100  # bytes of memory of a row of the result, from its place among others to the table


@dataclass(frozen=True)
class Ranking:
    """The nearest items of each item. nearest i64[m, k]: places in the searched collection, nearest first, -1 for none;
    score f64[m, k]: higher is nearer; filled i64[m]: the number of neighbours."""

    nearest: I64
    score: F64
    filled: I64

    @classmethod
    def empty(
        cls, items: int, top: int, searched: int, *, itself: bool, limit: int, trace: Trace,
        memory: MemoryLimit = UNLIMITED,
    ) -> Ranking:  # fmt: skip
        """Make room for the neighbours of `items` among `searched` items.

        itself: both are one collection, and an item is not its own neighbour. Warns if `top` is larger than the number
        of other items, raises TooManyPairs if the result may have more than `limit` rows, and UsageError if they need
        more memory than allowed.
        """
        others = max(0, searched - itself)
        width = min(int(top), others)
        if items * width > limit:
            raise TooManyPairs(
                f"{items:,} items with {width:,} neighbours each are {items * width:,} rows, more than "
                f"`max_pairs={limit:,}`. Take a smaller `top`, or raise `max_pairs`."
            )
        memory.check(memory.need + PER_NEIGHBOUR * items * width, f"a table of {items * width:,} neighbours")
        if top > others and items:
            rest = "other items" if itself else "items to choose from"
            trace.warnings.append(f"top is {top:,}, but there are only {others:,} {rest}: no item has more neighbours.")
        return cls(np.full((items, width), -1, np.int64), np.zeros((items, width)), np.zeros(items, np.int64))

    def spread(self, items: I64, count: int, searched: I64) -> Ranking:
        """Return the ranking of all `count` items from that of a part; items, searched: the places of this part."""
        nearest = np.full((count, self.nearest.shape[1]), -1, np.int64)
        score, filled = np.zeros(nearest.shape), np.zeros(count, np.int64)
        known = np.arange(nearest.shape[1])[None, :] < self.filled[:, None]
        part = np.full(self.nearest.shape, -1, np.int64)
        part[known] = searched[self.nearest[known]]
        nearest[items], score[items], filled[items] = part, self.score, self.filled
        return Ranking(nearest, score, filled)


@dataclass(frozen=True)
class NearestSpec:
    """What was asked: the plural name of the items, the scale of the score, the comparison in words, the options."""

    noun: str
    scale: Scale
    words: str
    options: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class NearestResult(ArrowRows):
    """The result of `nearest`.

    nearest: table of left, right, rank (1 for the nearest) and the score (similarity, distance, angle or cosine), in
    the order of the input, nearest first. receipt: what was requested, counted and measured.
    """

    nearest: pa.Table
    receipt: dict[str, Any]

    @property
    def score_column(self) -> str:
        """The name of the column of scores."""
        return str(self.receipt["scale"]["column"])

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that `save` writes, by name."""
        return {"nearest": self.nearest}

    def to_arrow(self) -> pa.Table:
        """Return the table of neighbours."""
        return self.nearest

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write nearest.parquet and receipt.json into a new folder."""
        write_folder(self.tables, self.receipt, Path(folder), force=force)
        return Path(folder)

    def done(self) -> None:
        """Do nothing: the result keeps no files."""

    def __repr__(self) -> str:
        return f"<NearestResult: {count(len(self), 'neighbours')}>"

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self.nearest.slice(0, NOTEBOOK_ROWS).to_pylist()]
        return card(self.receipt["compared"], [("neighbours", len(self))],
                    table(self.nearest.column_names, rows, len(self)))  # fmt: skip


def nearest_result(
    sources: Sequence[Source], ids: Sequence[pa.ChunkedArray], ranking: Ranking, spec: NearestSpec, trace: Trace
) -> NearestResult:
    """Build the table and the receipt. ids: of the items, and of the searched collection if it is another one."""
    known = np.arange(ranking.nearest.shape[1])[None, :] < ranking.filled[:, None]
    left, rank = np.nonzero(known)
    scale = spec.scale
    rows = pa.table(
        {
            "left": ids[0].take(as_arrow(left.astype(np.int64))),
            "right": ids[-1].take(as_arrow(ranking.nearest[known])),
            "rank": as_arrow(rank.astype(np.int64) + 1),
            scale.column: as_arrow(ranking.score[known] * scale.sign + 0.0),
        }
    )
    trace.add(neighbours=len(rows), without_neighbours=int((ranking.filled == 0).sum()))
    receipt = {
        "asked": "nearest",
        "inputs": [{**one.describe(), "rows": len(names)} for one, names in zip(sources, ids, strict=True)],
        "items": spec.noun,
        "compared": spec.words,
        "scale": {"column": scale.column, "sign": scale.sign},
        "job": spec.options,
        "choice": {"method": "nearest"},
        "plan": None,
        "recall_at_threshold": 1.0,
        "recall_measured": None,
        "verified": True,
        "counts": trace.counts,
        "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "warnings": [*source_warnings(sources), *trace.warnings],
        "left_out": [what for one in sources for what in getattr(one, "left_out", ())],
        "work": NO_WORK,
        "versions": versions(),
    }
    return NearestResult(nearest=rows, receipt=receipt)
