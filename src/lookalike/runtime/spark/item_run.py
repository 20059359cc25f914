"""The base of Spark runs over items other than documents."""

from __future__ import annotations

from dataclasses import dataclass, field

from lookalike.runtime.spark.lineage import LineageCutter
from lookalike.runtime.spark.run import SparkRun


@dataclass(frozen=True)
class ItemRun(SparkRun):
    """A run over items other than documents. roots: the frames that it persists."""

    roots: LineageCutter = field(default_factory=LineageCutter)

    def forget(self) -> None:
        super().forget()
        self.roots.forget()
