"""What runs over other kinds of items than documents share."""

from __future__ import annotations

from dataclasses import dataclass, field

from lookalike.runtime.spark.lineage import LineageCutter
from lookalike.runtime.spark.run import SparkRun


@dataclass(frozen=True)
class ItemRun(SparkRun):
    """A run over another kind of item. roots: frames that it keeps."""

    roots: LineageCutter = field(default_factory=LineageCutter)

    def forget(self) -> None:
        super().forget()
        self.roots.forget()
