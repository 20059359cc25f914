"""Public API for time series and motions: pairs of windows that have the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from lookalike.core.arrow import as_arrow
from lookalike.core.formatting import count
from lookalike.core.notebook import NOTEBOOK_ROWS, card, table
from lookalike.core.options import accepts
from lookalike.core.results import ArrowRows
from lookalike.core.run_options import Against
from lookalike.core.trace import Trace
from lookalike.errors import UsageError
from lookalike.kinds.series.options import SeriesOptions
from lookalike.kinds.series.spec import SeriesJob

if TYPE_CHECKING:
    from lookalike.kinds.series.local import Found
    from lookalike.kinds.series.source import SeriesSet


@dataclass(frozen=True, kw_only=True)
class SeriesPairs(ArrowRows):
    """The result of `pairs` of series.

    pairs: table of left, left_start, right, right_start, distance and correlation, nearest first. receipt: what was
    requested, counted and measured.
    """

    job: SeriesJob
    found: Found
    sets: Sequence[SeriesSet]
    receipt: dict[str, Any]

    @cached_property
    def pairs(self) -> pa.Table:
        """The table of pairs. left, right: names of the series; left_start, right_start: first step of the window.

        distance: of the z-normalised windows, over all columns of a motion; correlation: the mean one of the columns.
        """
        names = pa.array([name for each in self.sets for name in each.names], pa.string())
        series, starts, distance = self.found.series, self.found.starts, self.found.distance
        correlation = 1.0 - distance**2 / (2.0 * self.job.steps * self.found.columns)
        return pa.table(
            {
                "left": names.take(as_arrow(series[:, 0])),
                "left_start": as_arrow(starts[:, 0]),
                "right": names.take(as_arrow(series[:, 1])),
                "right_start": as_arrow(starts[:, 1]),
                "distance": as_arrow(distance),
                "correlation": as_arrow(correlation),
            }
        )

    @property
    def score_column(self) -> str:
        """The name of the column of scores: distance."""
        return self.job.scale.column

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables that `save` writes, by name."""
        return {"pairs": self.pairs}

    def to_arrow(self) -> pa.Table:
        """Return the table of pairs."""
        return self.pairs

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write pairs.parquet and receipt.json into a new folder."""
        from lookalike.io.results import write_folder

        write_folder(self.tables, self.receipt, folder, force=force)
        return Path(folder)

    def done(self) -> None:
        """Do nothing: the result keeps no files."""

    def __repr__(self) -> str:
        return f"<SeriesPairs: {count(len(self), 'pairs')}, {self.job.words()}>"

    def _repr_html_(self) -> str:
        rows = [list(row.values()) for row in self.pairs.slice(0, NOTEBOOK_ROWS).to_pylist()]
        return card(self.job.words(), [("pairs", len(self))], table(self.pairs.column_names, rows, len(self)))


@accepts(SeriesOptions)
def pairs(source: Any, *, against: Against = None, **options: Unpack[SeriesOptions]) -> SeriesPairs:
    """Find all pairs of windows with the same shape, within series and between them.

    Windows are z-normalised, so that level and scale do not count, and compared by their Euclidean distance. No pair is
    missed. Windows of one series that overlap by more than `exclusion` allows are not compared, and of pairs that lie
    next to one another the nearest is reported.

    Parameters
    ----------
    source
        A NumPy array (one series, or one in each column), a list or dict of arrays, paths, an Arrow table or
        anything that exports an Arrow stream. A table has a row for each step, or a column of lists.

    Returns
    -------
    SeriesPairs
        The table `pairs` has the columns left, left_start, right, right_start, distance and correlation.

    Examples
    --------
    >>> import lookalike as la
    >>> wave = [0, 1, 3, 1, 0, 5, 2, 7, 0, 2, 6, 2, 0, 9]
    >>> la.series.pairs(wave, window=5, within=0.1).pairs.select(["left_start", "right_start"]).to_pylist()
    [{'left_start': 0, 'right_start': 8}]
    """
    from lookalike.kinds.series.local import run
    from lookalike.kinds.series.source import SeriesColumns, open_series

    given: dict[str, Any] = dict(options)
    if given.pop("engine", "local") != "local":
        raise UsageError("series are compared on one machine only. Leave the engine out.")
    trace = Trace(given.pop("progress", Trace().progress))
    value = given.pop("value", None) or ()
    names = (value,) if isinstance(value, str) else tuple(value)
    columns = SeriesColumns(names, given.pop("series", None), motion=bool(given.get("motion", False)))
    job = SeriesJob(**given)
    with trace.stage("read"):
        sets = [open_series(one, columns) for one in (source, against) if one is not None]
    found = run(sets, job, trace)
    trace.counts["pairs"] = len(found.distance)
    return SeriesPairs(job=job, found=found, sets=sets, receipt=_receipt(sets, job, trace))


def _receipt(sets: Sequence[SeriesSet], job: SeriesJob, trace: Trace) -> dict[str, Any]:
    from lookalike.runtime.receipt import NO_WORK, peak_memory, versions

    return {
        "asked": "pairs",
        "inputs": [one.describe() for one in sets],
        "items": job.noun,
        "compared": job.words(),
        "scale": {"column": job.scale.column, "sign": job.scale.sign},
        "job": job.as_dict(),
        "choice": {"method": "exact", "reason": "products along diagonals"},
        "plan": None,
        "recall_at_threshold": 1.0,
        "recall_measured": None,
        "verified": True,
        "counts": trace.counts,
        "seconds": trace.seconds,
        "peak_memory_mb": round(peak_memory() / 1e6),
        "warnings": trace.warnings,
        "left_out": [],
        "work": NO_WORK,
        "versions": versions(),
    }


__all__ = ["SeriesPairs", "pairs"]
