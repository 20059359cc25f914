"""Persist frames and cut their lineage for the query planner.

Spark plans every query from the first source on, and a frame that is joined with itself is planned twice: after a few
rounds of a loop, planning takes longer than the work. To the planner, a frame from here is a source. To the cluster it
is not: partitions lost with a worker are recomputed from their lineage.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class LineageCutter:
    """Persists the frames of a run without their lineage."""

    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """Return a frame with the same rows, partitions and order, which executors persist from its first use on."""
        from pyspark.sql import DataFrame as Frame

        session = frame.sparkSession
        frame.persist()
        self.kept.append(frame)
        rows: Any = frame.select("*")._jdf.queryExecution().toRdd()
        source: Any = session._jsparkSession.internalCreateDataFrame(rows, frame._jdf.schema(), False)
        return Frame(source, session)

    def forget(self) -> None:
        """Unpersist all frames."""
        for frame in self.kept:
            frame.unpersist()
        self.kept.clear()
