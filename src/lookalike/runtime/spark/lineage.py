"""Frames that are kept, with what they were made from forgotten by the planner.

Spark plans every question anew from the first source on, and a frame that is joined with itself is planned twice: after
a few rounds of a loop, plans take longer than the work. A frame from here is, to the planner, a source. To the cluster
it is not: what a lost worker had is made again from what it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class LineageCutter:
    """The frames that a run keeps."""

    kept: list[DataFrame] = field(default_factory=list)

    def keep(self, frame: DataFrame) -> DataFrame:
        """The same rows, in the same partitions and order, kept by the executors from their first use on."""
        from pyspark.sql import DataFrame as Frame

        session = frame.sparkSession
        frame.persist()
        self.kept.append(frame)
        rows: Any = frame.select("*")._jdf.queryExecution().toRdd()
        made: Any = session._jsparkSession.internalCreateDataFrame(rows, frame._jdf.schema(), False)
        return Frame(made, session)

    def forget(self) -> None:
        """Let go of all of them."""
        for frame in self.kept:
            frame.unpersist()
        self.kept.clear()
